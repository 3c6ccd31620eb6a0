/** Custom audiences, do-not-reach lists, permissions and insights (spec 2.3, 4.3; spec/gaps.md 5, 7, 8), and the control door's view of members. */
import { createHash } from 'node:crypto'
import { ControlText, defineArea, type Call, type Reply } from '../area.ts'
import { listReply, matchesPrefix } from '../lists.ts'
import { adsRefusal, notFound, ok } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { estimateAudience, searchKeywords } from './insights.ts'
import { eachLine } from './memberships.ts'
import {
  cloneAudienceState,
  loadAudienceState,
  saveAudienceState,
  createAudienceState,
  type Audience,
  type AudienceState,
  type Permission,
} from './state.ts'
import { targetingOf } from './targeted.ts'
import { uploadUsers } from './users.ts'

type AudienceCall = Call<AudienceState>

/** Members from which on an audience can be targeted (gaps 5 'Processing'). */
const TARGETABLE_FROM = 100

export const audiencesArea = defineArea<AudienceState>({
  name: 'audiences',
  createState: createAudienceState,
  cloneState: cloneAudienceState,
  saveState: saveAudienceState,
  loadState: (_world, plain, bytes) => loadAudienceState(plain, bytes),
  handlers: {
    'keywords.search': searchKeywords,
    'audiencePermissions.list': listPermissions,
    'audiencePermissions.create': createPermission,
    'audiencePermissions.delete': deletePermission,
    'audiences.list': listAudiences,
    'audiences.get': (call) => ok(audienceShape(call, audienceOf(call, true))),
    'audiences.create': createAudience,
    'audiences.update': updateAudience,
    'audiences.delete': deleteAudience,
    'audiences.targeted': targeted,
    'audiences.users': (call) => {
      const audience = audienceOf(call)
      const suppressed = [...call.state.lists.values()]
        .filter((list) => list.accountId === audience.accountId && !list.deleted && list.memberships.size > 0)
        .map((list) => list.memberships)
      return uploadUsers(call, {
        memberships: audience.memberships,
        kind: 'audience',
        suppressed,
        echo: { custom_audience_id: audience.id, account_id: audience.accountId },
      })
    },
    'audiences.estimate': estimateAudience,
    'doNotReachLists.list': listLists,
    'doNotReachLists.create': createList,
    'doNotReachLists.delete': deleteList,
    'doNotReachLists.users': (call) => {
      const list = listOf(call)
      return uploadUsers(call, {
        memberships: list.memberships,
        kind: 'do-not-reach',
        suppressed: [],
        echo: { do_not_reach_list_id: list.id, account_id: list.accountId },
      })
    },
  },
  control: {
    'GET /_sandbox/audiences': ({ world, state, rest }) => {
      const found = state.audiences.get(rest[0] ?? '') ?? state.lists.get(rest[0] ?? '')
      if (found === undefined) return undefined
      const nowS = world.now() / 1000
      if (rest[1] === undefined) return { ...found.memberships.count(nowS), digest: membersDigest(found, nowS) }
      if (rest[1] !== 'identifiers') return undefined
      const parts: string[] = []
      eachLine(
        found.memberships,
        nowS,
        ({ type, value, expiresAt }) => `${type}\t${value}\t${isoSeconds(expiresAt * 1000)}\n`,
        (text) => parts.push(text),
      )
      return new ControlText(parts.join(''))
    },
  },
})

/** SHA-256 over all lines `type TAB value LF` in force, sorted bytewise (interface.md 5). */
export function membersDigest(audience: Audience, nowS: number): string {
  const digest = createHash('sha256')
  eachLine(
    audience.memberships,
    nowS,
    ({ type, value }) => `${type}\t${value}\n`,
    (text) => digest.update(text),
  )
  return digest.digest('hex')
}

function listAudiences(call: AudienceCall): Reply {
  const ids = call.params['custom_audience_ids']
  const own = [...call.state.audiences.values()].filter(
    (one) =>
      one.accountId === call.account?.id && (!Array.isArray(ids) || ids.includes(one.id)) && matchesPrefix(one.name, call.params['q']),
  )
  return listReply(call, own, { render: (one) => audienceShape(call, one) })
}

function createAudience(call: AudienceCall): Reply {
  const name = String(call.params['name'])
  refuseTakenName(call, name, undefined)
  const audience = newAudience(call, name)
  audience.description = textOrNull(call.params['description'])
  call.state.audiences.set(audience.id, audience)
  return ok(audienceShape(call, audience))
}

function updateAudience(call: AudienceCall): Reply {
  const audience = audienceOf(call)
  if (typeof call.params['name'] === 'string') {
    refuseTakenName(call, call.params['name'], audience)
    audience.name = call.params['name']
  }
  if (call.given.has('description')) audience.description = textOrNull(call.params['description'])
  audience.updated_at = isoSeconds(call.now)
  return ok(audienceShape(call, audience))
}

function deleteAudience(call: AudienceCall): Reply {
  const audience = audienceOf(call)
  audience.deleted = true
  audience.updated_at = isoSeconds(call.now)
  return ok(audienceShape(call, audience))
}

function targeted(call: AudienceCall): Reply {
  const audience = audienceOf(call)
  const entries = targetingOf(call.world, audience, call.params['with_active'] !== false)
  return listReply(call, entries, { idOf: (entry) => entry.campaign_id })
}

function listPermissions(call: AudienceCall): Reply {
  const audience = permittedAudience(call)
  const accounts = call.params['granted_account_ids']
  const ids = call.params['tailored_audience_permission_ids']
  const found = [...call.state.permissions.values()].filter(
    (one) =>
      one.tailored_audience_id === audience.id &&
      (!Array.isArray(accounts) || accounts.includes(one.granted_account_id)) &&
      (!Array.isArray(ids) || ids.includes(one.id)),
  )
  return listReply(call, found, { sortable: ['created_at', 'updated_at'] })
}

/** Sharing outside a business needs the feature (spec 5 rule 7). */
function createPermission(call: AudienceCall): Reply {
  const audience = permittedAudience(call)
  const granted = String(call.params['granted_account_id'])
  const inside = call.world.accounts.get(granted)?.business_name === call.account?.business_name
  if (!inside && call.world.switch('share_outside_business') === 'denied')
    throw adsRefusal('FEATURE_NOT_AVAILABLE', 'The account needs the feature SHARE_AUDIENCE_OUTSIDE_BUSINESS', {
      parameter: 'granted_account_id',
    })
  const now = isoSeconds(call.now)
  const known = [...call.state.permissions.values()].find(
    (one) => one.tailored_audience_id === audience.id && one.granted_account_id === granted && !one.deleted,
  )
  if (known !== undefined) {
    known.permission_level = String(call.params['permission_level'])
    known.updated_at = now
    return ok(known)
  }
  const permission: Permission = {
    id: call.world.newShortId(),
    tailored_audience_id: audience.id,
    granted_account_id: granted,
    permission_level: String(call.params['permission_level']),
    created_at: now,
    updated_at: now,
    deleted: false,
  }
  call.state.permissions.set(permission.id, permission)
  return ok(permission)
}

function deletePermission(call: AudienceCall): Reply {
  const audience = permittedAudience(call)
  const id = String(call.params['tailored_audience_permission_id'])
  const permission = call.state.permissions.get(id)
  if (permission === undefined || permission.deleted || permission.tailored_audience_id !== audience.id)
    throw adsRefusal('NOT_FOUND', `Tailored audience permission ${id} was not found`, { parameter: 'tailored_audience_permission_id' })
  permission.deleted = true
  permission.updated_at = isoSeconds(call.now)
  return ok(permission)
}

function listLists(call: AudienceCall): Reply {
  const own = [...call.state.lists.values()].filter((one) => one.accountId === call.account?.id)
  return listReply(call, own, { render: (one) => listShape(call, one) })
}

function createList(call: AudienceCall): Reply {
  if ([...call.state.lists.values()].some((one) => one.accountId === call.account?.id && !one.deleted))
    throw adsRefusal('ACTION_NOT_ALLOWED', 'An account can hold one do-not-reach list')
  const list = newAudience(call, 'Do Not Reach List')
  list.description = textOrNull(call.params['description'])
  call.state.lists.set(list.id, list)
  return ok(listShape(call, list))
}

function deleteList(call: AudienceCall): Reply {
  const list = listOf(call)
  list.deleted = true
  list.updated_at = isoSeconds(call.now)
  return ok(listShape(call, list))
}

function audienceShape(call: AudienceCall, audience: Audience): Record<string, unknown> {
  const { id, name, description, accountId, created_at, updated_at, deleted } = audience
  const size = audience.memberships.count(call.now / 1000).members
  return {
    id,
    name,
    description,
    audience_type: 'CRM',
    audience_size: size >= TARGETABLE_FROM ? size : null,
    targetable: size >= TARGETABLE_FROM,
    reasons_not_targetable: size >= TARGETABLE_FROM ? [] : ['TOO_SMALL'],
    permission_level: 'READ_WRITE',
    owner_account_id: accountId,
    created_at,
    updated_at,
    deleted,
  }
}

function listShape(call: AudienceCall, list: Audience): Record<string, unknown> {
  const { id, name, description, created_at, updated_at, deleted } = list
  const size = list.memberships.count(call.now / 1000).members
  return {
    id,
    name,
    description,
    targetable: size >= TARGETABLE_FROM,
    reasons_not_targetable: size >= TARGETABLE_FROM ? [] : ['TOO_SMALL'],
    list_size: size >= TARGETABLE_FROM ? size : null,
    created_at,
    updated_at,
    deleted,
  }
}

function newAudience(call: AudienceCall, name: string): Audience {
  const now = isoSeconds(call.now)
  const empty = createAudienceState(call.world).audiences.get('1nmth')
  if (empty === undefined) throw new Error('the first state has the audience 1nmth')
  return { ...empty, id: call.world.newShortId(), accountId: call.account?.id ?? '', name, created_at: now, updated_at: now }
}

/** A deleted one is found only `with_deleted`, and never to be changed. */
function audienceOf(call: AudienceCall, reads = false): Audience {
  const id = String(call.params['custom_audience_id'])
  const found = call.state.audiences.get(id)
  if (found === undefined || found.accountId !== call.account?.id || (found.deleted && !(reads && call.params['with_deleted'] === true)))
    throw notFound('TAILORED_AUDIENCE_NOT_FOUND', 'custom_audience_id', id)
  return found
}

function permittedAudience(call: AudienceCall): Audience {
  const id = String(call.params['tailored_audience_id'])
  const found = call.state.audiences.get(id)
  if (found === undefined || found.deleted || found.accountId !== call.account?.id)
    throw notFound('TAILORED_AUDIENCE_NOT_FOUND', 'tailored_audience_id', id)
  return found
}

function listOf(call: AudienceCall): Audience {
  const id = String(call.params['do_not_reach_list_id'])
  const found = call.state.lists.get(id)
  if (found === undefined || found.deleted || found.accountId !== call.account?.id)
    throw adsRefusal('NOT_FOUND', `Do not reach list ${id} was not found`, { parameter: 'do_not_reach_list_id' })
  return found
}

function refuseTakenName(call: AudienceCall, name: string, except: Audience | undefined): void {
  const taken = [...call.state.audiences.values()].some(
    (one) => one !== except && !one.deleted && one.accountId === call.account?.id && one.name === name,
  )
  if (taken)
    throw adsRefusal('INVALID_PARAMETER', `An audience named "${name}" exists already`, {
      parameter: 'name',
      value: name,
      details: 'name is not unique',
    })
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null
}
