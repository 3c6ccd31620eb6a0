/**
 * Handles the features of accounts. The endpoints add and remove only some features (spec 4.5). Some calls need other features, such as
 * `PROMOTED_MEDIA_POLLS` (spec 5 rule 7). So the control API adds and removes any feature.
 */
import { accountOf, type Call, type ControlHandler, type Handler, type World } from '../area.ts'
import { ControlError, readFields } from '../controlError.ts'
import { areaRefs } from '../areaRefs.ts'
import { listParam, passesFilter } from '../params.ts'
import { ok, okWholeList } from '../refusal.ts'
import { textOf } from '../text.ts'
import type { CampaignsState, FeaturesChanged } from './state.ts'

export const featureHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  'features.list': (call) => okWholeList(featuresOf(call).filter((feature) => passesFilter(listParam(call, 'feature_keys'), feature))),
  'features.add': (call) => {
    const features = [...new Set([...featuresOf(call), ...(listParam(call, 'feature_keys') ?? [])])]
    call.state.features.set(accountOf(call).id, features)
    return ok(features)
  },
  'features.remove': (call) => {
    const features = featuresOf(call).filter((feature) => !(listParam(call, 'feature_keys') ?? []).includes(feature))
    call.state.features.set(accountOf(call).id, features)
    return ok(features)
  },
}

/** Handlers of the control API: `GET features/ACCOUNT` and `PUT features`. */
export const featureControls: Readonly<Record<string, ControlHandler<CampaignsState>>> = {
  'GET /_sandbox/features': ({ world, state, rest: [account = ''] }) =>
    world.accounts.has(account) ? (state.features.get(account) ?? []) : undefined,
  'PUT /_sandbox/features': ({ world, state, body }) => {
    const { account_id: account, add = [], remove = [] } = readFields(body, ['account_id', 'add', 'remove'])
    if (typeof account !== 'string' || !world.accounts.has(account)) throw new ControlError(`no account ${textOf(account)}`)
    if (!areFeatureKeys(add) || !areFeatureKeys(remove))
      throw new ControlError('add and remove must be arrays of feature keys in upper case')
    const features = [...new Set([...(state.features.get(account) ?? []), ...add])].filter((key) => !remove.includes(key))
    world.recordEvent(areaRefs.campaigns, { kind: 'features', account, features })
    return features
  },
}

export function hasFeature({ world, account }: Call<unknown>, feature: string): boolean {
  return account !== undefined && world.stateOf(areaRefs.campaigns).features.get(account.id)?.includes(feature) === true
}

/** Applies the event of `PUT features`: stores the new features of an account. */
export function applyFeaturesChanged(_world: World, state: CampaignsState, { account, features }: FeaturesChanged): void {
  state.features.set(account, [...features])
}

/** Returns true for an array of keys such as `AGE_TARGETING`. */
function areFeatureKeys(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && /^[A-Z][A-Z0-9_]*$/.test(one))
}

function featuresOf(call: Call<CampaignsState>): readonly string[] {
  return call.state.features.get(accountOf(call).id) ?? []
}
