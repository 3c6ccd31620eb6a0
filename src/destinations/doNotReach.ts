/** Do-not-reach lists: emails and phones that must not be reached (spec 4.3, docs/spec-notes.md#audience-uploads). */
import { z } from 'zod'
import { memberBinder, type MemberPolicy } from '../mapping/bindMember.ts'
import type { DestinationDefinition, Duration } from '../model/pipeline.ts'
import { id, strict } from '../settings/values.ts'
import { membershipSettings, membershipTimes, identifierProblems } from './membership.ts'
import type { Destination } from './destination.ts'
import { audienceEndpoints } from '../service/contract/audiences.ts'
import { endpointIn, requestOf } from './endpoints.ts'
import { userList } from './userList.ts'

const upload = endpointIn(audienceEndpoints, 'doNotReachLists.users')

/** Settings of a do-not-reach list, with defaults filled in. */
export interface DoNotReachDefinition extends DestinationDefinition {
  readonly kind: 'do-not-reach'
  readonly accountId: string
  readonly listId: string
  readonly expiresIn: Duration
  readonly renewBefore: Duration
}

/**
 * Longest membership. The service refuses an entry that ends 13 months or more ahead (docs/spec-notes.md#audience-uploads). The shortest 13
 * months have 393 days. One day less allows for a difference between the clocks of database and service.
 */
const longest: Duration = { ms: 392 * 86_400_000 }

const settings = strict({ kind: z.literal('do-not-reach'), account_id: id, list_id: id, ...membershipSettings }).transform(
  (given): DoNotReachDefinition => ({
    kind: 'do-not-reach',
    accountId: given.account_id,
    listId: given.list_id,
    ...membershipTimes(given, longest),
  }),
)

const policy: MemberPolicy = {
  identifiers: ['email', 'phone_number'],
  requiresKey: false,
  appliesConsent: false,
  isDoNotReach: true,
  takesEffectiveAt: false,
  longestMembership: longest,
  // An audience may have sent either form of an address with an international domain, so the list has both.
  sendsBothEmailForms: true,
}

export const doNotReach: Destination<DoNotReachDefinition> & { readonly settings: typeof settings } = {
  kind: 'do-not-reach',
  settings,
  ...userList,
  fields: ['key', 'email', 'phone_number', 'expires_at', 'remove'],
  checkMap: ({ fields, hasPreset, hasConsent }) => [
    ...(fields.length === 0 || hasPreset ? [] : identifierProblems(fields, policy.identifiers)),
    // A consent test would remove people without consent, who belong on the list.
    ...(hasConsent
      ? [
          {
            setting: 'consent' as const,
            message: 'belongs to audiences; map.remove removes people from a do-not-reach list',
            hint: 'map: { remove: { column, values } }',
          },
        ]
      : []),
  ],
  bind: (pipeline, today) => memberBinder(pipeline, today, { ...policy, expiresIn: pipeline.destination.expiresIn }),
  identity: ({ accountId, listId }) => ({ accountId, targetId: listId }),
  name: ({ listId }) => `do-not-reach list ${listId}`,
  // Only `map.remove` removes people; a missing row does not.
  missing: () => 'ignore',
  guardsDeletes: false,
  removesBy: 'identifier',
  reachesPeople: false,
  suppresses: true,
  appliesSuppression: () => false,
  membership: ({ expiresIn, renewBefore }) => ({
    expiresIn,
    renewBefore,
    usersPerOperation: 1,
    takesEffectiveAt: false,
    endsExactly: false,
  }),
  init: {
    noun: 'do-not-reach list',
    needsAccount: true,
    settings: (targetId, accountId) => ({ account_id: accountId, list_id: targetId }),
    comments: ['expires_in: 392 days    # an entry ends then (392 days is the maximum); it is renewed 30 days before'],
  },
  probe: ({ accountId, listId }, version) => ({
    path: `/${version}/accounts/${accountId}/do_not_reach_lists`,
    accountId,
    listed: { id: listId, setting: 'list_id' },
  }),
  limitClass: () => upload.limit,
  request: ({ accountId, targetId, version }) =>
    requestOf(upload, version, { account_id: accountId ?? '', do_not_reach_list_id: targetId }),
}
