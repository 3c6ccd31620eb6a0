/** Do-not-reach lists: emails and phones that must not be reached (spec 4.3, spec/gaps.md 5). */
import { identifierTypes, type PackedIdentifier } from '../records/record.ts'
import type { Destination } from './destination.ts'
import { judgeUsers, userLimits } from './userList.ts'
import { renderUserOperation, type UserOperation } from './userOperation.ts'

export const doNotReach: Destination = {
  kind: 'do-not-reach',
  limits: () => userLimits,
  request: (target) => ({
    method: 'POST',
    path: `/${target.version}/batch/accounts/${encodeURIComponent(target.accountId ?? '')}/do_not_reach_lists/${encodeURIComponent(target.targetId)}/users`,
    limitClass: 'user_lists',
  }),
  frame: () => ({ open: '[', close: ']' }),
  idOf: () => null,
  judge: judgeUsers,
}

const allowed = new Set([identifierTypes.indexOf('email') + 1, identifierTypes.indexOf('phone_number') + 1])

/** These lists know only emails and phones: other identifiers are left out, and an operation has no start (spec 2.3). */
export function isDoNotReachIdentifier(identifier: PackedIdentifier): boolean {
  return allowed.has(identifier[0] ?? 0)
}

/** As `renderUserOperation`, with what such a list takes. Undefined when no identifier is left. */
export function renderDoNotReachOperation(operation: Omit<UserOperation, 'effectiveAtMs'>): Buffer | undefined {
  const users = operation.users.map((user) => user.filter(isDoNotReachIdentifier)).filter((user) => user.length > 0)
  return users.length === 0 ? undefined : renderUserOperation({ op: operation.op, users, ...(operation.expiresAtMs === undefined ? {} : { expiresAtMs: operation.expiresAtMs }) })
}
