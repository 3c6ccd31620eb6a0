/** Applies and answers uploads of users (spec 4.3 rules 4 and 5; docs/spec-notes.md#audience-uploads). */
import type { Reply } from '../area.ts'
import { listOf, recordOf } from '../../unknownValue.ts'
import { operationRefusal, type AdsError } from '../refusal.ts'
import { shuffled } from '../shuffled.ts'
import type { SwitchValue } from '../state/switches.ts'
import { startProcessing } from './audienceSize.ts'
import { addMonths, isoSeconds } from '../timestamps.ts'
import { IDENTIFIER_TYPES, keyOf, type Memberships } from './memberships.ts'
import { DEFAULT_MONTHS, readOperations, TYPE_NUMBER, type Operation, type User, type UserList, type UsersCall } from './operations.ts'

/**
 * Applies an upload and returns the counts. Applies nothing if an operation is wrong, except with the switch `partial_apply`.
 *
 * @throws {Refusal} 400 with `operation_errors`
 */
export function uploadUsers(call: UsersCall, list: UserList): Reply {
  const errors: AdsError[][] = []
  const operations = readOperations(call, list, errors)
  const correct = operations.filter((operation) => operation !== undefined)
  const isWrong = correct.length < operations.length
  const isApplied = !isWrong || (correct.length > 0 && call.world.switch('partial_apply') === 'on')
  if (isApplied) {
    startProcessing(call, list.audience)
    applyAll(call, list, correct)
  }
  const request = operations.map((operation, index) => echoOf(call, list, operation, index))
  if (isWrong) throw Object.assign(operationRefusal(call.world, errors, request), { isPartlyApplied: isApplied })
  return answer(call, list, correct, request)
}

/** Applies the operations, in the order that the switch `operation_order` sets. */
function applyAll(call: UsersCall, list: UserList, operations: readonly Operation[]): void {
  const order = call.world.switch('operation_order')
  const ordered = order === 'random' ? shuffled(operations, call.world.random) : [...operations]
  if (order === 'deletes_first') ordered.sort((a, b) => Number(a.type === 'Update') - Number(b.type === 'Update'))
  const defaults = { effectiveAt: Math.floor(call.now / 1000), expiresAt: Math.floor(addMonths(call.now, DEFAULT_MONTHS) / 1000) }
  const replaces = call.world.switch('audience_update') === 'replace'
  const reach = call.world.switch('delete_reach')
  const { memberships } = list.audience
  for (const operation of ordered) {
    const times = { effectiveAt: operation.effectiveAt ?? defaults.effectiveAt, expiresAt: operation.expiresAt ?? defaults.expiresAt }
    operation.users.forEach((user, index) => {
      const values = Object.values(user)
      if (!call.applies(operation.firstUser + index, values[0]?.[0] ?? '')) return
      if (operation.type === 'Delete') deleteUser(memberships, user, reach)
      else {
        if (replaces) deleteUser(memberships, user, 'user')
        addUser(call, list, user, times)
      }
    })
  }
}

/** Adds the identifiers of a user object and joins them to one user. */
function addUser(call: UsersCall, list: UserList, user: User, times: { effectiveAt: number; expiresAt: number }): void {
  const { memberships } = list.audience
  let first = -1
  for (const type in user) {
    const number = TYPE_NUMBER.get(type) ?? 0
    for (const value of user[type] ?? []) {
      const key = keyOf(number, value)
      if (list.suppressed.length > 0) reportSuppressed(call, list, number, key)
      const record = memberships.put(number, key, times, type === 'partner_user_id' ? value : undefined)
      if (first === -1) first = record
      else memberships.join(first, record)
    }
  }
}

/** Removes the known identifiers of a user object. With the reach `user`, also removes all other identifiers of the same users. */
function deleteUser(memberships: Memberships, user: User, reach: SwitchValue<'delete_reach'>): void {
  for (const type in user) {
    const number = TYPE_NUMBER.get(type) ?? 0
    for (const value of user[type] ?? []) {
      const record = memberships.find(number, keyOf(number, value))
      if (record === -1) continue
      if (reach === 'user') memberships.removeUser(record)
      else memberships.removeOne(record)
    }
  }
}

/** Reports a violation if the identifier is on a do-not-reach list of the account, and its membership is in force. */
function reportSuppressed(call: UsersCall, list: UserList, number: number, key: Buffer): void {
  for (const memberships of list.suppressed) {
    const record = memberships.find(number, key)
    if (record === -1) continue
    const { effectiveAt, expiresAt } = memberships.member(record)
    const nowS = call.now / 1000
    if (effectiveAt <= nowS && expiresAt > nowS)
      call.world.reportViolation(
        'update_of_suppressed',
        `an ${IDENTIFIER_TYPES[number] ?? ''} on the do-not-reach list was added to an audience`,
      )
  }
}

/**
 * Returns the counts of an upload. The switch `count_basis` sets what is counted, and `audience_users_response` the form of the answer. For
 * do-not-reach lists the form is always `array`.
 */
function answer(call: UsersCall, list: UserList, operations: readonly Operation[], request: unknown): Reply {
  const results = operations.map(({ users }) => {
    const count = counted(call, users)
    return { success_count: count, total_count: count }
  })
  const form = list.kind === 'do-not-reach' ? 'array' : call.world.switch('audience_users_response')
  if (form === 'array') return { kind: 'ads', data: results, request }
  const total = results.reduce((sum, one) => sum + one.total_count, 0)
  const sums = { success_count: total, total_count: total }
  return { kind: 'ads', data: form === 'object' ? sums : [sums] }
}

/** Returns the count of an operation on the users. */
function counted(call: UsersCall, users: readonly User[]): number {
  switch (call.world.switch('count_basis')) {
    case 'users':
      return users.length
    case 'operations':
      return 1
    case 'identifiers':
      return users.flatMap((user) => Object.values(user).flat()).length
  }
}

/**
 * Returns the echo of an operation: the ids of the path, the type of the operation, and the dates that were sent, without users.
 * `operation`: undefined for a wrong operation, whose echo has no dates.
 */
function echoOf(call: UsersCall, list: UserList, operation: Operation | undefined, index: number): unknown {
  const type = operation?.type ?? recordOf(listOf(call.body)[index])['operation_type']
  return {
    params: {
      ...list.echo,
      ...(operation?.effectiveAt === undefined ? {} : { effective_at: isoSeconds(operation.effectiveAt * 1000) }),
      ...(operation?.expiresAt === undefined ? {} : { expires_at: isoSeconds(operation.expiresAt * 1000) }),
    },
    ...(type === undefined ? {} : { operation_type: type }),
  }
}
