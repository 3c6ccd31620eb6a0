/** Handles the endpoints of custom audiences (spec 2.3, 4.3; docs/spec-notes.md#custom-audiences). */
import { audienceTargetingTypes } from '../../service/contract/campaignResources.ts'
import { markDeleted } from '../accountRecords.ts'
import { accountOf, type Call, type Handler, type Reply } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import { isServing, isWithinFlight } from '../campaigns/state.ts'
import { listReply, matchesPrefix } from '../lists.ts'
import { listParam, passesFilter, recordOfParam, textParam } from '../params.ts'
import { adsRefusal, ok } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { sizeAndTargetingOf } from './audienceSize.ts'
import { ownLists } from './doNotReach.ts'
import { newAudience, type Audience, type AudienceState } from './state.ts'
import { uploadUsers } from './uploadUsers.ts'

type AudienceCall = Call<AudienceState>

export const audienceHandlers: Readonly<Record<string, Handler<AudienceState>>> = {
  'audiences.list': listAudiences,
  'audiences.get': (call) => ok(audienceWire(call, readableAudience(call))),
  'audiences.create': createAudience,
  'audiences.update': updateAudience,
  'audiences.delete': (call) => ok(audienceWire(call, markDeleted(call, ownAudience(call, 'custom_audience_id')))),
  'audiences.targeted': (call) => {
    const entries = targetingEntries(call, readableAudience(call), call.params['with_active'] !== false)
    return listReply(call, entries, { idOf: (entry) => entry.campaign_id })
  },
  'audiences.users': (call) => {
    const audience = writableAudience(call)
    return uploadUsers(call, {
      audience,
      kind: 'audience',
      doNotReachLists: ownLists(call)
        .filter((list) => !list.deleted && list.memberships.size > 0)
        .map((list) => list.memberships),
      pathIds: { custom_audience_id: audience.id, account_id: accountOf(call).id },
    })
  },
}

function listAudiences(call: AudienceCall): Reply {
  const ids = listParam(call, 'custom_audience_ids')
  const levels = sharedLevels(call)
  const isOwn = (one: Audience) => one.accountId === call.account?.id
  const isShared = (one: Audience) => !isOwn(one) && levels.has(one.id)
  const isInScope = call.params['permission_scope'] === 'SHARED' ? isShared : isOwn
  const audiences = [...call.state.audiences.values()].filter(
    (one) => isInScope(one) && passesFilter(ids, one.id) && matchesPrefix(one.name, call.params['q']),
  )
  return listReply(call, audiences, { render: (one) => audienceWire(call, one) })
}

/** Returns the permission levels of the call's account on audiences that are shared with it, by audience id. */
function sharedLevels(call: AudienceCall): ReadonlyMap<string, string> {
  return new Map(
    [...call.state.permissions.values()]
      .filter((one) => one.granted_account_id === call.account?.id && !one.deleted)
      .map((one) => [one.tailored_audience_id, one.permission_level]),
  )
}

function createAudience(call: AudienceCall): Reply {
  const name = String(call.params['name'])
  refuseTakenName(call, name, accountOf(call).id, undefined)
  const audience = newAudience(call, name)
  audience.description = textParam(call, 'description')
  call.state.audiences.set(audience.id, audience)
  return ok(audienceWire(call, audience))
}

function updateAudience(call: AudienceCall): Reply {
  const audience = writableAudience(call)
  if (typeof call.params['name'] === 'string') {
    refuseTakenName(call, call.params['name'], audience.accountId, audience)
    audience.name = call.params['name']
  }
  if (call.givenNames.has('description')) audience.description = textParam(call, 'description')
  audience.updated_at = isoSeconds(call.now)
  return ok(audienceWire(call, audience))
}

interface TargetingEntry {
  readonly campaign_id: string
  readonly campaign_name: string
  readonly line_items: { readonly id: string; readonly name: string | null; readonly servable: boolean }[]
}

/**
 * Returns the line items of the call's account that target the audience, by campaign (spec 2.3). Omits line items that exclude the audience
 * (operator `NE`). `activeOnly`: also omits line items that cannot serve.
 */
function targetingEntries(call: AudienceCall, audience: Audience, activeOnly: boolean): TargetingEntry[] {
  const campaigns = call.world.stateOf(areaRefs.campaigns)
  const accountId = accountOf(call).id
  const criteria = campaigns.targeting.get(accountId)?.values() ?? []
  const entries = new Map<string, TargetingEntry>()
  for (const criterion of criteria) {
    const { targeting_type: type, targeting_value: value, operator_type: operator } = criterion
    if (criterion.deleted || !audienceTargetingTypes.includes(type) || value !== audience.id || operator === 'NE') continue
    const item = campaigns.lineItems.get(accountId)?.get(criterion.line_item_id)
    const campaign = campaigns.campaigns.get(accountId)?.get(item?.campaign_id ?? '')
    if (item === undefined || item.deleted || campaign === undefined || campaign.deleted) continue
    const servable = isServing(campaigns, accountId, item) && isWithinFlight(item, call.now)
    if (activeOnly && !servable) continue
    const entry = entries.get(campaign.id) ?? { campaign_id: campaign.id, campaign_name: campaign.name, line_items: [] }
    if (entry.line_items.some(({ id }) => id === item.id)) continue
    entry.line_items.push({ id: item.id, name: item.name, servable })
    entries.set(campaign.id, entry)
  }
  return [...entries.values()]
}

function audienceWire(call: AudienceCall, audience: Audience): Record<string, unknown> {
  const { id, name, description, accountId, created_at, updated_at, deleted } = audience
  const { size, targeting } = sizeAndTargetingOf(call, audience)
  return {
    id,
    name,
    description,
    audience_type: 'CRM',
    audience_size: size,
    ...targeting,
    permission_level: accountId === call.account?.id ? 'READ_WRITE' : (sharedLevels(call).get(id) ?? 'READ_ONLY'),
    owner_account_id: accountId,
    created_at,
    updated_at,
    deleted,
  }
}

/** Returns the audience in the path parameter. @throws {Refusal} 404 if it is unknown, deleted, or belongs to another account */
export function ownAudience(call: AudienceCall, parameter: 'custom_audience_id' | 'tailored_audience_id'): Audience {
  const isOwn = ({ accountId, deleted }: Audience) => accountId === call.account?.id && !deleted
  return recordOfParam(call, parameter, call.state.audiences, 'TAILORED_AUDIENCE_NOT_FOUND', isOwn)
}

/**
 * Returns the audience in the path parameter: one that the account owns, or that is shared with the account.
 *
 * @throws {Refusal} 404 if the audience is not accessible, or if it is deleted and the call has no `with_deleted`
 */
function readableAudience(call: AudienceCall): Audience {
  const isReadable = ({ id, accountId, deleted }: Audience) =>
    (accountId === call.account?.id || sharedLevels(call).has(id)) && (!deleted || call.params['with_deleted'] === true)
  return recordOfParam(call, 'custom_audience_id', call.state.audiences, 'TAILORED_AUDIENCE_NOT_FOUND', isReadable)
}

/**
 * Returns the audience in the path parameter: one that the account owns, or that is shared with the account as `READ_WRITE`.
 *
 * @throws {Refusal} 404 if the audience is not accessible, deleted, or shared as `READ_ONLY`
 */
function writableAudience(call: AudienceCall): Audience {
  const shared = call.state.audiences.get(String(call.params['custom_audience_id']))
  if (shared !== undefined && !shared.deleted && sharedLevels(call).get(shared.id) === 'READ_WRITE') return shared
  return ownAudience(call, 'custom_audience_id')
}

/** Refuses a name that another audience of the owner has. Deleted audiences do not count. `except`: the audience to rename. */
function refuseTakenName(call: AudienceCall, name: string, ownerId: string, except: Audience | undefined): void {
  const isNameTaken = [...call.state.audiences.values()].some(
    (one) => one !== except && !one.deleted && one.accountId === ownerId && one.name === name,
  )
  if (isNameTaken)
    throw adsRefusal('INVALID_PARAMETER', `An audience named "${name}" exists already`, {
      parameter: 'name',
      value: name,
      details: 'name is not unique',
    })
}
