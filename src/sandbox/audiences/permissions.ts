/** Handles the endpoints that share a custom audience with other accounts (spec 2.3, 4.3). */
import { creationFields, markDeleted } from '../accountRecords.ts'
import type { Call, Handler, Reply } from '../area.ts'
import { hasFeature } from '../campaigns/features.ts'
import { listReply } from '../lists.ts'
import { listParam, passesFilter, recordOfParam } from '../params.ts'
import { adsRefusal, ok } from '../refusal.ts'
import { isoSeconds } from '../timestamps.ts'
import { ownAudience } from './audiences.ts'
import type { AudienceState, Permission } from './state.ts'

type AudienceCall = Call<AudienceState>

export const permissionHandlers: Readonly<Record<string, Handler<AudienceState>>> = {
  'audiencePermissions.list': listPermissions,
  'audiencePermissions.create': createPermission,
  'audiencePermissions.delete': deletePermission,
}

function listPermissions(call: AudienceCall): Reply {
  const audience = ownAudience(call, 'tailored_audience_id')
  const accounts = listParam(call, 'granted_account_ids')
  const ids = listParam(call, 'tailored_audience_permission_ids')
  const permissions = [...call.state.permissions.values()].filter(
    (one) => one.tailored_audience_id === audience.id && passesFilter(accounts, one.granted_account_id) && passesFilter(ids, one.id),
  )
  return listReply(call, permissions, { render: (one) => permissionWire(call, one) })
}

/**
 * Shares an audience with an account, or changes the level of its permission.
 *
 * @throws {Refusal} if the account is of another business, and the switch `share_outside_business` forbids it
 */
function createPermission(call: AudienceCall): Reply {
  const audience = ownAudience(call, 'tailored_audience_id')
  const grantedAccountId = String(call.params['granted_account_id'])
  const business = call.account?.business_name ?? undefined
  const isSameBusiness = business !== undefined && call.world.accounts.get(grantedAccountId)?.business_name === business
  if (!isSameBusiness) checkMayShareOutside(call)
  const level = String(call.params['permission_level'])
  const existing = [...call.state.permissions.values()].find(
    (one) => one.tailored_audience_id === audience.id && one.granted_account_id === grantedAccountId && !one.deleted,
  )
  if (existing !== undefined) {
    existing.permission_level = level
    existing.updated_at = isoSeconds(call.now)
    return ok(permissionWire(call, existing))
  }
  const permission: Permission = {
    id: call.world.newShortId(),
    tailored_audience_id: audience.id,
    granted_account_id: grantedAccountId,
    permission_level: level,
    ...creationFields(call),
  }
  call.state.permissions.set(permission.id, permission)
  return ok(permissionWire(call, permission))
}

function deletePermission(call: AudienceCall): Reply {
  const audience = ownAudience(call, 'tailored_audience_id')
  const isOfAudience = (one: Permission) => one.tailored_audience_id === audience.id && !one.deleted
  const permission = recordOfParam(call, 'tailored_audience_permission_id', call.state.permissions, 'NOT_FOUND', isOfAudience)
  return ok(permissionWire(call, markDeleted(call, permission)))
}

/** Refuses to share with another business, unless the switch `share_outside_business` allows it (spec 5 rule 7). @throws {Refusal} */
function checkMayShareOutside(call: AudienceCall): void {
  const choice = call.world.switchValue('share_outside_business')
  if (choice === 'granted' || (choice === 'by_feature' && hasFeature(call, 'SHARE_AUDIENCE_OUTSIDE_BUSINESS'))) return
  const message =
    choice === 'by_feature'
      ? 'The account needs the feature SHARE_AUDIENCE_OUTSIDE_BUSINESS'
      : 'The audience cannot be shared with an account of another business'
  throw adsRefusal('FEATURE_NOT_AVAILABLE', message, { parameter: 'granted_account_id' })
}

/** Returns the permission in wire form. On the path of custom audiences, adds `custom_audience_id`. */
function permissionWire(call: AudienceCall, permission: Permission): object {
  return 'custom_audience_id' in call.echo ? { ...permission, custom_audience_id: permission.tailored_audience_id } : permission
}
