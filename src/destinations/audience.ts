/** Custom audiences: user lists by upload (spec 4.3). */
import type { Destination } from './destination.ts'
import { judgeUsers, userLimits } from './userList.ts'

export const audience: Destination = {
  kind: 'audience',
  limits: () => userLimits,
  request: (target) => ({
    method: 'POST',
    path: `/${target.version}/accounts/${encodeURIComponent(target.accountId ?? '')}/custom_audiences/${encodeURIComponent(target.targetId)}/users`,
    limitClass: 'user_lists',
  }),
  frame: () => ({ open: '[', close: ']' }),
  idOf: () => null,
  judge: judgeUsers,
}
