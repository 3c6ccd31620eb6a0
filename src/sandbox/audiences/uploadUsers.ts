/** Applies and answers uploads of users (spec 4.3 rules 4 and 5; docs/spec-notes.md#audience-uploads). */
import { firstIdentifierOf } from '../appliedPart.ts'
import type { Reply } from '../area.ts'
import { listOf, recordOf } from '../../unknownValue.ts'
import { operationRefusal, type AdsError } from '../refusal.ts'
import { shuffled } from '../shuffled.ts'
import type { SwitchValue } from '../state/switches.ts'
import { startProcessing } from './audienceSize.ts'
import { addMonths, isoSeconds } from '../timestamps.ts'
import { IDENTIFIER_TYPES, digestBytes, type Memberships } from './memberships.ts'
import { DEFAULT_MONTHS, readOperations, TYPE_INDEX, type Operation, type User, type UploadTarget, type UsersCall } from './operations.ts'

/**
 * Applies an upload and returns the counts.
 *
 * @throws {Refusal} 400 with `operation_errors` if an operation is wrong. Nothing is then applied. Exception: with the switch
 * `partial_apply: on`, the correct operations are applied.
 */
export function uploadUsers(call: UsersCall, target: UploadTarget): Reply {
  const errors: AdsError[][] = []
  const operations = readOperations(call, target, errors)
  const correct = operations.filter((operation) => operation !== undefined)
  const hasWrongOperation = correct.length < operations.length
  const isApplied = !hasWrongOperation || (correct.length > 0 && call.world.switchValue('partial_apply') === 'on')
  if (isApplied) {
    startProcessing(call, target.audience)
    applyAll(call, target, correct)
  }
  const request = operations.map((operation, index) => echoOf(call, target, operation, index))
  if (hasWrongOperation) throw Object.assign(operationRefusal(call.world, errors, request), { isPartlyApplied: isApplied })
  return replyOf(call, target, correct, request)
}

/** Applies the operations in the order of the switch `operation_order`. */
function applyAll(call: UsersCall, target: UploadTarget, operations: readonly Operation[]): void {
  const order = call.world.switchValue('operation_order')
  const ordered = order === 'random' ? shuffled(operations, call.world.random) : [...operations]
  if (order === 'deletes_first') ordered.sort((a, b) => Number(a.type === 'Update') - Number(b.type === 'Update'))
  const defaults = { effectiveAt: Math.floor(call.now / 1000), expiresAt: Math.floor(addMonths(call.now, DEFAULT_MONTHS) / 1000) }
  const replaces = call.world.switchValue('audience_update') === 'replace'
  const reach = call.world.switchValue('delete_reach')
  const { memberships } = target.audience
  for (const operation of ordered) {
    const times = { effectiveAt: operation.effectiveAt ?? defaults.effectiveAt, expiresAt: operation.expiresAt ?? defaults.expiresAt }
    operation.users.forEach((user, index) => {
      if (!call.appliesEntry(operation.firstUserIndex + index, firstIdentifierOf(user))) return
      if (operation.type === 'Delete') deleteUser(memberships, user, reach)
      else {
        if (replaces) deleteUser(memberships, user, 'user')
        addUser(call, target, user, times)
      }
    })
  }
}

/** Adds the identifiers of a user object, and merges the users that have them into one. */
function addUser(call: UsersCall, target: UploadTarget, user: User, times: { effectiveAt: number; expiresAt: number }): void {
  const { memberships } = target.audience
  let firstRecord = -1
  for (const type in user) {
    const typeIndex = TYPE_INDEX.get(type) ?? 0
    for (const value of user[type] ?? []) {
      const digest = digestBytes(typeIndex, value)
      if (target.doNotReachLists.length > 0) reportSuppressed(call, target, typeIndex, digest)
      const record = memberships.put(typeIndex, digest, times, type === 'partner_user_id' ? value : undefined)
      if (firstRecord === -1) firstRecord = record
      else memberships.mergeUsers(firstRecord, record)
    }
  }
}

/** Removes the stored identifiers of a user object. With `reach: user`, removes all identifiers of every user that has one of them. */
function deleteUser(memberships: Memberships, user: User, reach: SwitchValue<'delete_reach'>): void {
  for (const type in user) {
    const typeIndex = TYPE_INDEX.get(type) ?? 0
    for (const value of user[type] ?? []) {
      const record = memberships.find(typeIndex, digestBytes(typeIndex, value))
      if (record === -1) continue
      if (reach === 'user') memberships.removeUser(record)
      else memberships.removeOne(record)
    }
  }
}

/** Reports a violation for each do-not-reach list of the account on which the identifier is in force. */
function reportSuppressed(call: UsersCall, target: UploadTarget, typeIndex: number, digest: Buffer): void {
  for (const memberships of target.doNotReachLists) {
    const record = memberships.find(typeIndex, digest)
    if (record === -1) continue
    const { effectiveAt, expiresAt } = memberships.member(record)
    const nowS = call.now / 1000
    if (effectiveAt <= nowS && expiresAt > nowS)
      call.world.reportViolation(
        'update_of_suppressed',
        `an ${IDENTIFIER_TYPES[typeIndex] ?? ''} on the do-not-reach list was added to an audience`,
      )
  }
}

/**
 * Returns the reply with the counts of an upload. The switch `audience_users_response` sets its form. For a do-not-reach list, the form is
 * always `array`.
 */
function replyOf(call: UsersCall, target: UploadTarget, operations: readonly Operation[], request: unknown): Reply {
  const results = operations.map(({ users }) => {
    const count = reportedCount(call, users)
    return { success_count: count, total_count: count }
  })
  const form = target.kind === 'do-not-reach' ? 'array' : call.world.switchValue('audience_users_response')
  if (form === 'array') return { kind: 'ads', data: results, request }
  const total = results.reduce((sum, one) => sum + one.total_count, 0)
  const sums = { success_count: total, total_count: total }
  return { kind: 'ads', data: form === 'object' ? sums : [sums] }
}

/** Returns the count that an operation with these users reports, by the switch `count_basis`. */
function reportedCount(call: UsersCall, users: readonly User[]): number {
  switch (call.world.switchValue('count_basis')) {
    case 'users':
      return users.length
    case 'operations':
      return 1
    case 'identifiers':
      return users.flatMap((user) => Object.values(user).flat()).length
  }
}

/**
 * Returns the echo of an operation: the ids of the path, its type, and the times that were sent. `operation`: undefined for a wrong
 * operation, whose echo has no times.
 */
function echoOf(call: UsersCall, target: UploadTarget, operation: Operation | undefined, index: number): unknown {
  const type = operation?.type ?? recordOf(listOf(call.body)[index])['operation_type']
  return {
    params: {
      ...target.pathIds,
      ...(operation?.effectiveAt === undefined ? {} : { effective_at: isoSeconds(operation.effectiveAt * 1000) }),
      ...(operation?.expiresAt === undefined ? {} : { expires_at: isoSeconds(operation.expiresAt * 1000) }),
    },
    ...(type === undefined ? {} : { operation_type: type }),
  }
}
