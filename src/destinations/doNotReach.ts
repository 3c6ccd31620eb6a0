/** Do-not-reach lists: emails and phones that must not be reached (spec 4.3, spec/gaps.md 5). */
import type { Destination } from './destination.ts'
import { judgeUsers, userLimits } from './userList.ts'

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
