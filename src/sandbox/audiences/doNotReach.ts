/** Handles the endpoints of do-not-reach lists (spec 2.3, 4.3). An account has at most one list that is not deleted. */
import type { Call, Handler, Reply } from '../area.ts'
import { listReply } from '../lists.ts'
import { textParam } from '../params.ts'
import { adsRefusal, ok } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { sizeOf, TARGETABLE_FROM } from './audienceSize.ts'
import { newAudience, type Audience, type AudienceState } from './state.ts'
import { uploadUsers } from './users.ts'

type AudienceCall = Call<AudienceState>

export const doNotReachHandlers: Readonly<Record<string, Handler<AudienceState>>> = {
  'doNotReachLists.list': listLists,
  'doNotReachLists.create': createList,
  'doNotReachLists.delete': deleteList,
  'doNotReachLists.users': (call) => {
    const list = doNotReachListOf(call)
    return uploadUsers(call, {
      audience: list,
      kind: 'do-not-reach',
      suppressed: [],
      echo: { do_not_reach_list_id: list.id, account_id: list.accountId },
    })
  },
}

function listLists(call: AudienceCall): Reply {
  const own = [...call.state.lists.values()].filter((one) => one.accountId === call.account?.id)
  return listReply(call, own, { render: (one) => listWire(call, one) })
}

function createList(call: AudienceCall): Reply {
  if ([...call.state.lists.values()].some((one) => one.accountId === call.account?.id && !one.deleted))
    throw adsRefusal('ACTION_NOT_ALLOWED', 'An account can have only one do-not-reach list')
  const list = newAudience(call, 'Do Not Reach List')
  list.description = textParam(call, 'description')
  call.state.lists.set(list.id, list)
  return ok(listWire(call, list))
}

function deleteList(call: AudienceCall): Reply {
  const list = doNotReachListOf(call)
  list.deleted = true
  list.updated_at = isoSeconds(call.now)
  return ok(listWire(call, list))
}

function listWire(call: AudienceCall, list: Audience): Record<string, unknown> {
  const { id, name, description, created_at, updated_at, deleted } = list
  const { size, reasons } = sizeOf(call, list)
  return {
    id,
    name,
    description,
    targetable: size >= TARGETABLE_FROM,
    reasons_not_targetable: reasons,
    list_size: size >= TARGETABLE_FROM ? size : null,
    created_at,
    updated_at,
    deleted,
  }
}

/** Returns the account's list that the path names. @throws {Refusal} 404 for an unknown or deleted list, or a list of another account */
function doNotReachListOf(call: AudienceCall): Audience {
  const id = String(call.params['do_not_reach_list_id'])
  const found = call.state.lists.get(id)
  if (found === undefined || found.deleted || found.accountId !== call.account?.id)
    throw adsRefusal('NOT_FOUND', `Do not reach list ${id} was not found`, { parameter: 'do_not_reach_list_id' })
  return found
}
