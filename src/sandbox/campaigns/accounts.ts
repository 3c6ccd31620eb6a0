/** Handles the endpoints of accounts, their apps and their history (spec 4.5). */
import { creationFields, markDeleted, recordsOf } from '../accountRecords.ts'
import { accountOf, type Handler, type SandboxAccount } from '../area.ts'
import { listReply, matchesPrefix } from '../lists.ts'
import { givenFields, listParam, passesFilter } from '../params.ts'
import { adsRefusals, invalidParameter, ok } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import type { CampaignsState } from './state.ts'

export const accountHandlers: Readonly<Record<string, Handler<CampaignsState>>> = {
  'accounts.list': (call) => {
    const ids = listParam(call, 'account_ids')
    const accessible = [...call.world.accounts.values()].filter(
      (account) =>
        account.userIds.includes(call.user?.id ?? '') && passesFilter(ids, account.id) && matchesPrefix(account.name, call.params['q']),
    )
    return listReply(call, accessible, { render: toWire })
  },
  'accounts.get': (call) => ok(toWire(accountOf(call))),
  'accounts.create': (call) => {
    const id = call.world.newShortId()
    const created = creationFields(call)
    const account: SandboxAccount = {
      id,
      name: `Sandbox account ${id}`,
      business_name: null,
      business_id: null,
      timezone: 'UTC',
      timezone_switch_at: created.created_at,
      approval_status: 'ACCEPTED',
      industry_type: 'OTHER',
      ...created,
      userIds: [call.user?.id ?? ''],
      roles: {},
      currency: 'USD',
    }
    call.world.accounts.set(id, account)
    return { kind: 'ads', data: [toWire(account)], nextCursor: null }
  },
  'accounts.update': (call) => {
    const account = Object.assign(accountOf(call), givenFields(call), { updated_at: isoSeconds(call.now) })
    return ok(toWire(account))
  },
  'accounts.delete': (call) => ok(toWire(markDeleted(call, accountOf(call)))),
  'accountApps.list': (call) => listReply(call, recordsOf(call, call.state.apps).values()),
  'accountHistory.list': (call) => {
    const [start, end] = [String(call.params['start_time']), String(call.params['end_time'])]
    if (end <= start)
      throw adsRefusals([{ ...invalidParameter('end_time', 'a time later than start_time', end), code: 'INVALID_TIME_WINDOW' }])
    const user = call.params['user_id']
    const entries = (call.state.history.get(accountOf(call).id) ?? []).filter(
      (entry) =>
        entry.entity === call.params['entity_type'] &&
        entry.entity_id === call.params['entity_id'] &&
        entry.change_time >= start &&
        entry.change_time < end &&
        (user === undefined || entry.change_by.user_id === String(user)),
    )
    // A cursor contains an id. Entries of the history have none, so the cursor contains their position.
    const positions = new Map(entries.map((entry, index) => [entry, String(index)]))
    return listReply(call, entries, { idOf: (entry) => positions.get(entry) ?? '' })
  },
}

/** Returns the account as the service shows it: without the fields that only the sandbox uses. */
function toWire({ userIds: _users, roles: _roles, currency: _currency, ...wire }: SandboxAccount): object {
  return wire
}
