/** Do-not-reach lists: emails and phones that must not be reached (spec 4.3, docs/spec-notes.md#audience-uploads). */
import type { Destination } from './destination.ts'
import { bodyLimitsOf, endpointOf, requestOf } from './endpoints.ts'
import { classifyUsers } from './userList.ts'

const upload = endpointOf('doNotReachLists.users')
const limits = bodyLimitsOf(upload)

export const doNotReach: Destination = {
  kind: 'do-not-reach',
  limits: () => limits,
  request: ({ accountId, targetId, version }) =>
    requestOf(upload, version, { account_id: accountId ?? '', do_not_reach_list_id: targetId }),
  frame: () => ({ open: '[', close: ']' }),
  idOf: () => null,
  classify: classifyUsers,
}
