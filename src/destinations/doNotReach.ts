/** Do-not-reach lists: emails and phones that must not be reached (spec 4.3, docs/spec-notes.md#audience-uploads). */
import type { DestinationDefinition } from '../model/pipeline.ts'
import type { Destination } from './destination.ts'
import { bodyLimitsOf, endpointOf, requestOf } from './endpoints.ts'
import { classifyUsers } from './userList.ts'

const upload = endpointOf('doNotReachLists.users')
const limits = bodyLimitsOf(upload)

type ListDefinition = Extract<DestinationDefinition, { kind: 'do-not-reach' }>

export const doNotReach: Destination<ListDefinition> = {
  kind: 'do-not-reach',
  identity: ({ accountId, listId }) => ({ accountId, targetId: listId }),
  name: ({ listId }) => `do-not-reach list ${listId}`,
  words: { records: 'people', exampleKey: 'jane@example.com' },
  keys: 'identifiers',
  keyField: 'key',
  // A person comes off a list only by a row that says so.
  missing: () => 'ignore',
  guardsDeletes: false,
  leavesBy: 'identifier',
  reachesPeople: false,
  suppresses: true,
  heedsSuppression: () => false,
  membership: ({ expiresIn, renewBefore }) => ({
    expiresIn,
    renewBefore,
    usersPerOperation: 1,
    withEffectiveAt: false,
    endsExactly: false,
  }),
  keepsEntries: '30 days',
  probe: ({ accountId, listId }, version) => ({
    path: `/${version}/accounts/${accountId}/do_not_reach_lists`,
    accountId,
    listed: { id: listId, setting: 'list_id' },
  }),
  limits: () => limits,
  request: ({ accountId, targetId, version }) =>
    requestOf(upload, version, { account_id: accountId ?? '', do_not_reach_list_id: targetId }),
  frame: () => ({ open: '[', close: ']' }),
  idOf: () => null,
  evidence: 'counts',
  refusedDeleteIsGone: false,
  classify: classifyUsers,
}
