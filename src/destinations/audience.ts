/** Custom audiences: user lists by upload (spec 4.3). */
import { z } from 'zod'
import { memberBinder, type MemberPolicy } from '../mapping/bindMember.ts'
import { identifierTypes } from '../model/record.ts'
import type { DestinationDefinition, Duration } from '../model/pipeline.ts'
import { count, id, oneOf, strict } from '../settings/values.ts'
import { membershipSettings, membershipTimes, identifierProblems } from './membership.ts'
import type { Destination } from './destination.ts'
import { audienceEndpoints } from '../service/contract/audiences.ts'
import { endpointIn, requestOf } from './endpoints.ts'
import { userList } from './userList.ts'

const upload = endpointIn(audienceEndpoints, 'audiences.users')

/** Settings of an audience, with defaults filled in. */
export interface AudienceDefinition extends DestinationDefinition {
  readonly kind: 'audience'
  readonly accountId: string
  readonly audienceId: string
  readonly expiresIn: Duration
  readonly renewBefore: Duration
  /** Maximum number of users in one operation. */
  readonly usersPerOperation: number
  /** `do-not-reach`: people on the account's do-not-reach lists are not sent. */
  readonly suppress: 'do-not-reach' | 'none'
}

const settings = strict({
  kind: z.literal('audience'),
  account_id: id,
  audience_id: id,
  ...membershipSettings,
  users_per_operation: count(1, 2500).optional(),
  suppress: oneOf(['do-not-reach', 'none']).optional(),
}).transform((given): AudienceDefinition => ({
  kind: 'audience',
  accountId: given.account_id,
  audienceId: given.audience_id,
  ...membershipTimes(given),
  usersPerOperation: given.users_per_operation ?? 1,
  suppress: given.suppress ?? 'do-not-reach',
}))

const policy: MemberPolicy = {
  identifiers: identifierTypes,
  requiresKey: true,
  appliesConsent: true,
  isDoNotReach: false,
  takesEffectiveAt: true,
  sendsBothEmailForms: false,
}

export const audience: Destination<AudienceDefinition> & { readonly settings: typeof settings } = {
  kind: 'audience',
  settings,
  ...userList,
  fields: ['key', ...identifierTypes, 'effective_at', 'expires_at'],
  checkMap: ({ fields, hasPreset }) => {
    if (fields.length === 0 || hasPreset) return []
    return [
      ...(fields.includes('key')
        ? []
        : [{ setting: 'map' as const, message: 'needs key: the column that identifies a row', hint: 'map: { key: customer_id }' }]),
      ...identifierProblems(fields, policy.identifiers),
    ]
  },
  bind: (pipeline, today) => memberBinder(pipeline, today, { ...policy, expiresIn: pipeline.destination.expiresIn }),
  identity: ({ accountId, audienceId }) => ({ accountId, targetId: audienceId }),
  name: ({ audienceId }) => `audience ${audienceId}`,
  missing: () => 'delete',
  guardsDeletes: true,
  removesBy: 'key',
  reachesPeople: true,
  suppresses: false,
  appliesSuppression: ({ suppress }) => suppress !== 'none',
  membership: ({ expiresIn, renewBefore, usersPerOperation }) => ({
    expiresIn,
    renewBefore,
    usersPerOperation,
    takesEffectiveAt: true,
    endsExactly: true,
  }),
  init: {
    noun: 'audience',
    needsAccount: true,
    settings: (targetId, accountId) => ({ account_id: accountId, audience_id: targetId }),
    comments: [
      'expires_in: 13 months    # a membership ends then; it is renewed 30 days before',
      'suppress: do-not-reach   # people on the do-not-reach lists of this account are not sent; or: none',
    ],
  },
  probe: ({ accountId, audienceId }, version) => ({
    path: `/${version}/accounts/${accountId}/custom_audiences/${audienceId}`,
    accountId,
  }),
  limitClass: () => upload.limit,
  request: ({ accountId, targetId, version }) => requestOf(upload, version, { account_id: accountId ?? '', custom_audience_id: targetId }),
}
