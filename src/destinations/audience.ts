/** Custom audiences: user lists by upload (spec 4.3). */
import type { DestinationDefinition } from '../model/pipeline.ts'
import type { Destination } from './destination.ts'
import { bodyLimitsOf, endpointOf, requestOf } from './endpoints.ts'
import { classifyUsers } from './userList.ts'

const upload = endpointOf('audiences.users')
const limits = bodyLimitsOf(upload)

type AudienceDefinition = Extract<DestinationDefinition, { kind: 'audience' }>

export const audience: Destination<AudienceDefinition> = {
  kind: 'audience',
  identity: ({ accountId, audienceId }) => ({ accountId, targetId: audienceId }),
  name: ({ audienceId }) => `audience ${audienceId}`,
  words: { records: 'people', exampleKey: 'jane@example.com' },
  keys: 'identifiers',
  keyField: 'key',
  missing: () => 'delete',
  guardsDeletes: true,
  leavesBy: 'key',
  reachesPeople: true,
  suppresses: false,
  heedsSuppression: ({ suppress }) => suppress !== 'none',
  membership: ({ expiresIn, renewBefore, usersPerOperation }) => ({
    expiresIn,
    renewBefore,
    usersPerOperation,
    withEffectiveAt: true,
    endsExactly: true,
  }),
  keepsEntries: '30 days',
  probe: ({ accountId, audienceId }, version) => ({
    path: `/${version}/accounts/${accountId}/custom_audiences/${audienceId}`,
    accountId,
  }),
  limits: () => limits,
  request: ({ accountId, targetId, version }) => requestOf(upload, version, { account_id: accountId ?? '', custom_audience_id: targetId }),
  frame: () => ({ open: '[', close: ']' }),
  idOf: () => null,
  evidence: 'counts',
  refusedDeleteIsGone: false,
  classify: classifyUsers,
}
