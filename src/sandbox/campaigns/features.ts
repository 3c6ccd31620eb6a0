/** Features of accounts by the control API: also those that no endpoint of the service grants (spec 5 rule 7). */
import { ControlError, type ControlHandler } from '../area.ts'
import type { CampaignsState } from './state.ts'
import { recordOf } from '../../unknownValue.ts'

/** The features of an account from now on, as the journal keeps it. */
export interface FeaturesSet {
  readonly kind: 'features'
  readonly account: string
  readonly features: readonly string[]
}

export const featureControls: Readonly<Record<string, ControlHandler<CampaignsState>>> = {
  'GET /_sandbox/features': ({ state, rest }) => state.features.get(rest[0] ?? '') ?? [],
  'PUT /_sandbox/features': ({ world, state, body }) => {
    const { account_id: account, add = [], remove = [] } = recordOf(body)
    if (typeof account !== 'string' || !world.accounts.has(account)) throw new ControlError(400, `no account ${String(account)}`)
    if (!areKeys(add) || !areKeys(remove)) throw new ControlError(400, 'add and remove are arrays of feature keys')
    const features = [...new Set([...(state.features.get(account) ?? []), ...add])].filter((key) => !remove.includes(key))
    world.record('campaigns', { kind: 'features', account, features } satisfies FeaturesSet)
    return features
  },
}

export function applyFeatures(state: CampaignsState, { account, features }: FeaturesSet): void {
  state.features.set(account, [...features])
}

function areKeys(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string' && /^[A-Z][A-Z0-9_]*$/.test(one))
}
