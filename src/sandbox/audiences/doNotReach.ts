/** Handles the endpoints of do-not-reach lists (spec 2.3, 4.3). An account has at most one list that is not deleted. */
import { markDeleted } from '../accountRecords.ts'
import type { Call, Handler } from '../area.ts'
import { listReply } from '../lists.ts'
import { recordOfParam, textParam } from '../params.ts'
import { adsRefusal, ok } from '../refusal.ts'
import { sizeAndTargetingOf } from './audienceSize.ts'
import { newAudience, type Audience, type AudienceState } from './state.ts'
import { uploadUsers } from './uploadUsers.ts'

type AudienceCall = Call<AudienceState>

export const doNotReachHandlers: Readonly<Record<string, Handler<AudienceState>>> = {
  'doNotReachLists.list': (call) => listReply(call, ownLists(call), { render: (one) => listWire(call, one) }),
  'doNotReachLists.create': (call) => {
    if (ownLists(call).some((one) => !one.deleted)) throw adsRefusal('ACTION_NOT_ALLOWED', 'An account can have only one do-not-reach list')
    const list = newAudience(call, 'Do Not Reach List')
    list.description = textParam(call, 'description')
    call.state.lists.set(list.id, list)
    return ok(listWire(call, list))
  },
  'doNotReachLists.delete': (call) => ok(listWire(call, markDeleted(call, listOfPath(call)))),
  'doNotReachLists.users': (call) => {
    const list = listOfPath(call)
    return uploadUsers(call, {
      audience: list,
      kind: 'do-not-reach',
      doNotReachLists: [],
      pathIds: { do_not_reach_list_id: list.id, account_id: list.accountId },
    })
  },
}

/** Returns the do-not-reach lists of the call's account, deleted ones included. */
export function ownLists(call: AudienceCall): Audience[] {
  return [...call.state.lists.values()].filter((one) => one.accountId === call.account?.id)
}

/** Returns the list in the path parameter. @throws {Refusal} 404 if it is unknown, deleted, or belongs to another account */
function listOfPath(call: AudienceCall): Audience {
  const isOwn = ({ accountId, deleted }: Audience) => accountId === call.account?.id && !deleted
  return recordOfParam(call, 'do_not_reach_list_id', call.state.lists, 'NOT_FOUND', isOwn)
}

function listWire(call: AudienceCall, list: Audience): Record<string, unknown> {
  const { id, name, description, created_at, updated_at, deleted } = list
  const { size, targeting } = sizeAndTargetingOf(call, list)
  return { id, name, description, ...targeting, list_size: size, created_at, updated_at, deleted }
}
