/** Custom audiences: user lists by upload (spec 4.3). */
import type { Destination } from './destination.ts'
import { bodyLimitsOf, endpointOf, requestOf } from './endpoints.ts'
import { classifyUsers } from './userList.ts'

const upload = endpointOf('audiences.users')
const limits = bodyLimitsOf(upload)

export const audience: Destination = {
  kind: 'audience',
  limits: () => limits,
  request: ({ accountId, targetId, version }) => requestOf(upload, version, { account_id: accountId ?? '', custom_audience_id: targetId }),
  frame: () => ({ open: '[', close: ']' }),
  idOf: () => null,
  classify: classifyUsers,
}
