/** User-list uploads of custom audiences and do-not-reach lists (spec 4.3 rules 1 to 5; spec/gaps.md 5). */
import { hash } from 'node:crypto'
import { doNotReachIdentifiers } from '../../service/contract/resources.ts'
import type { Call, Reply } from '../area.ts'
import { jsonRefusal, invalidParameter, missingParameter, type AdsError } from '../refusal.ts'
import { addMonths, isoSeconds, parseTimestamp } from '../timestamps.ts'
import { looksLikeEmail, looksLikePhone } from '../ledger/rawIdentifiers.ts'
import { IDENTIFIER_TYPES, keyOf, type Memberships } from './memberships.ts'
import type { AudienceState } from './state.ts'

type UsersCall = Call<AudienceState>
type User = Readonly<Record<string, readonly string[]>>

interface Operation {
  readonly type: 'Update' | 'Delete'
  readonly users: readonly User[]
  /** As asked for; undefined when left to the default. */
  readonly effectiveAt: number | undefined
  readonly expiresAt: number | undefined
  /** Number of its first user in the request. */
  readonly firstUser: number
}

export interface UserList {
  readonly memberships: Memberships
  readonly kind: 'audience' | 'do-not-reach'
  /** In force on the account's do-not-reach list: whoever is there must not be added (guarantees 6.5). */
  readonly suppressed: readonly Memberships[]
  /** What every echoed operation names. */
  readonly echo: Readonly<Record<string, string>>
}

const DEFAULT_MONTHS = 13
const TYPE_NUMBER: ReadonlyMap<string, number> = new Map(IDENTIFIER_TYPES.map((type, index) => [type, index]))
const LIST_TYPES: readonly string[] = doNotReachIdentifiers
const HEX = /^[0-9a-f]{64}$/
const ANY_HEX = /^[0-9a-fA-F]{64}$/
/** Digests of nothing and of placeholders: whoever sends them hashed junk. */
const JUNK: ReadonlySet<string> = new Set(
  ['', ' ', 'null', 'undefined', 'none', 'n/a', 'na', 'unknown', '0', '-', 'nan', 'test', 'test@test.com'].map((text) =>
    hash('sha256', text),
  ),
)

export function uploadUsers(call: UsersCall, list: UserList): Reply {
  const errors: AdsError[][] = []
  const operations = readOperations(call, list, errors)
  const wrong = errors.some((one) => one.length > 0)
  if (!wrong || call.world.switch('partial_apply') === 'on') applyAll(call, list, operations)
  const request = operations.map((operation, index) => echoOf(call, list, operation, index))
  if (wrong)
    throw jsonRefusal(400, { operation_errors: call.world.switch('operation_errors') === 'aligned' ? errors : flat(errors), request })
  return answer(call, list, operations as readonly Operation[], request)
}

/** One error list an operation, empty where it is right; a wrong operation is undefined. */
function readOperations(call: UsersCall, list: UserList, errors: AdsError[][]): (Operation | undefined)[] {
  const nowS = Math.floor(call.now / 1000)
  let firstUser = 0
  // The contract checked that the body is an array (verify/validate.ts).
  return (call.body as readonly unknown[]).map((one) => {
    const found: AdsError[] = []
    errors.push(found)
    const operation = readOperation(call, list, one, nowS, firstUser, found)
    if (operation !== undefined) firstUser += operation.users.length
    return found.length > 0 ? undefined : operation
  })
}

function readOperation(
  call: UsersCall,
  list: UserList,
  input: unknown,
  nowS: number,
  firstUser: number,
  errors: AdsError[],
): Operation | undefined {
  if (!isObject(input)) return void errors.push(invalidParameter('operation', 'object', ''))
  for (const name in input) if (name !== 'operation_type' && name !== 'params') errors.push(unknownField(name))
  const type = input['operation_type']
  if (type === undefined) errors.push(missingParameter('operation_type'))
  else if (type !== 'Update' && type !== 'Delete') errors.push(invalidParameter('operation_type', 'one of Update, Delete', type))
  const params = input['params']
  if (params === undefined) return void errors.push(missingParameter('params'))
  if (!isObject(params)) return void errors.push(invalidParameter('params', 'object', ''))
  for (const name in params)
    if (name !== 'users' && name !== 'expires_at' && (name !== 'effective_at' || list.kind === 'do-not-reach'))
      errors.push(unknownField(name))
  const effectiveAt = time(params['effective_at'], 'effective_at', errors)
  const expiresAt = time(params['expires_at'], 'expires_at', errors)
  if (type !== 'Delete') checkTimes(call, list, { nowS, effectiveAt, expiresAt }, errors)
  const users = params['users']
  if (users === undefined) return void errors.push(missingParameter('users'))
  if (!Array.isArray(users) || users.length === 0) return void errors.push(invalidParameter('users', 'array of at least one user', ''))
  for (const user of users as unknown[]) checkUser(call, list, user, errors)
  if (type !== 'Update' && type !== 'Delete') return undefined
  // checkUser saw each of them.
  return { type, users: users as User[], effectiveAt, expiresAt, firstUser }
}

function checkTimes(
  call: UsersCall,
  list: UserList,
  times: { nowS: number; effectiveAt: number | undefined; expiresAt: number | undefined },
  errors: AdsError[],
): void {
  const { nowS, effectiveAt, expiresAt } = times
  if (expiresAt === undefined) {
    if (list.kind === 'do-not-reach' && call.world.switch('dnr_expires_at') === 'required') errors.push(missingParameter('expires_at'))
    return
  }
  if (expiresAt <= (effectiveAt ?? nowS)) {
    call.world.violation('expires_before_effective', 'expires_at is not later than effective_at')
    errors.push(
      invalidParameter(
        'expires_at',
        effectiveAt === undefined ? 'time later than now' : 'time later than effective_at',
        isoSeconds(expiresAt * 1000),
      ),
    )
  } else if (list.kind === 'do-not-reach' && expiresAt * 1000 > addMonths(call.now, DEFAULT_MONTHS))
    errors.push(invalidParameter('expires_at', 'time under 13 months ahead', isoSeconds(expiresAt * 1000)))
}

/** Hot: 2,500 users and more a request. Errors are rare, so the checks come first and the words after. */
function checkUser(call: UsersCall, list: UserList, user: unknown, errors: AdsError[]): void {
  if (!isObject(user)) return void errors.push(invalidParameter('users', 'array of objects', ''))
  let count = 0
  for (const type in user) {
    const number = TYPE_NUMBER.get(type)
    const values = user[type]
    if (number === undefined || (list.kind === 'do-not-reach' && !LIST_TYPES.includes(type))) {
      noteRaw(call, values)
      errors.push(unknownField(type))
      continue
    }
    if (!Array.isArray(values)) {
      noteRaw(call, values)
      errors.push(invalidParameter(type, 'array of strings', ''))
      continue
    }
    for (const value of values as unknown[]) {
      count++
      if (typeof value === 'string' && (type === 'partner_user_id' ? value !== '' && value.length <= 1000 : HEX.test(value))) {
        if (type === 'partner_user_id' && (looksLikeEmail(value) || looksLikePhone(value)))
          call.world.violation('raw_identifier', 'partner_user_id looks like an email or phone')
        if (JUNK.has(value)) call.world.violation('junk_digest', `${type} is the digest of an empty or placeholder value`)
        continue
      }
      checkOddValue(call, type, value, errors)
    }
  }
  if (count === 0) errors.push(invalidParameter('users', 'users with at least one identifier', ''))
}

/** Upper-case hex is taken (gaps 5 'Hash case') and reported; anything else is no digest. The value itself is never repeated. */
function checkOddValue(call: UsersCall, type: string, value: unknown, errors: AdsError[]): void {
  call.world.violation('digest_not_64_lower_hex', `${type} is not 64 lower-case hex digits`)
  if (typeof value === 'string' && ANY_HEX.test(value)) return
  if (typeof value === 'string' && (looksLikeEmail(value) || looksLikePhone(value)))
    call.world.violation('raw_identifier', `${type} looks like an email or phone`)
  errors.push({ ...invalidParameter(type, 'SHA-256 in hex', ''), message: `Expected SHA-256 in hex for ${type}` })
}

/** Where no identifier belongs: is one there in clear? */
function noteRaw(call: UsersCall, value: unknown): void {
  const texts = Array.isArray(value) ? (value as unknown[]) : [value]
  if (texts.some((text) => typeof text === 'string' && (looksLikeEmail(text) || looksLikePhone(text))))
    call.world.violation('raw_identifier', 'a field that is none of the identifiers looks like an email or phone')
}

function applyAll(call: UsersCall, list: UserList, operations: readonly (Operation | undefined)[]): void {
  const ready = operations.filter((operation) => operation !== undefined)
  const order = call.world.switch('operation_order')
  if (order === 'deletes_first') ready.sort((a, b) => Number(a.type === 'Update') - Number(b.type === 'Update'))
  else if (order === 'random') ready.sort(() => call.world.random() - 0.5)
  const defaults = { effectiveAt: Math.floor(call.now / 1000), expiresAt: Math.floor(addMonths(call.now, DEFAULT_MONTHS) / 1000) }
  const replaces = call.world.switch('audience_update') === 'replace'
  const reachesUser = call.world.switch('delete_reach') === 'user'
  for (const operation of ready) {
    const times = { effectiveAt: operation.effectiveAt ?? defaults.effectiveAt, expiresAt: operation.expiresAt ?? defaults.expiresAt }
    operation.users.forEach((user, index) => {
      const values = Object.values(user)
      if (!call.applies(operation.firstUser + index, values[0]?.[0] ?? '')) return
      if (operation.type === 'Delete') deleteUser(list.memberships, user, reachesUser)
      else updateUser(call, list, user, times, replaces)
    })
  }
}

/** All identifiers of a user object belong together from now on; `replace`: and nothing else does. */
function updateUser(
  call: UsersCall,
  list: UserList,
  user: User,
  times: { effectiveAt: number; expiresAt: number },
  replaces: boolean,
): void {
  const { memberships } = list
  let first = -1
  if (replaces) deleteUser(memberships, user, true)
  for (const type in user) {
    const number = TYPE_NUMBER.get(type) ?? 0
    for (const value of user[type] ?? []) {
      const plain = type === 'partner_user_id'
      const key = keyOf(number, value)
      if (list.suppressed.length > 0) noteSuppressed(call, list, number, key)
      const record = memberships.put(number, key, times, plain ? value : undefined)
      if (first === -1) first = record
      else memberships.join(first, record)
    }
  }
}

/** Any one key given at add time reaches the user (gaps 5 'Delete'); unknown ones count as done. */
function deleteUser(memberships: Memberships, user: User, reachesUser: boolean): void {
  for (const type in user) {
    const number = TYPE_NUMBER.get(type) ?? 0
    for (const value of user[type] ?? []) {
      const record = memberships.find(number, keyOf(number, value))
      if (record === -1) continue
      if (reachesUser) memberships.removeUser(record)
      else memberships.removeOne(record)
    }
  }
}

function noteSuppressed(call: UsersCall, list: UserList, number: number, key: Buffer): void {
  for (const memberships of list.suppressed) {
    const record = memberships.find(number, key)
    if (record === -1) continue
    const { effectiveAt, expiresAt } = memberships.member(record)
    const nowS = call.now / 1000
    if (effectiveAt <= nowS && expiresAt > nowS)
      call.world.violation('update_of_suppressed', `an ${IDENTIFIER_TYPES[number] ?? ''} on the do-not-reach list was added to an audience`)
  }
}

/** Counts of user objects (gaps 5 'Counts'), one result an operation unless the switch says otherwise. */
function answer(call: UsersCall, list: UserList, operations: readonly Operation[], request: unknown): Reply {
  const basis = call.world.switch('count_basis')
  const results = operations.map(({ users }) => {
    const count =
      basis === 'users'
        ? users.length
        : basis === 'operations'
          ? 1
          : users.reduce((sum, user) => sum + Object.values(user).reduce((all, values) => all + values.length, 0), 0)
    return { success_count: count, total_count: count }
  })
  const form = list.kind === 'do-not-reach' ? 'array' : call.world.switch('audience_users_response')
  if (form === 'array') return { kind: 'ads', data: results, request }
  const total = results.reduce((sum, one) => sum + one.total_count, 0)
  const sums = { success_count: total, total_count: total }
  return { kind: 'ads', data: form === 'object' ? sums : [sums] }
}

/** Each operation again without its users; dates only where they were given. */
function echoOf(call: UsersCall, list: UserList, operation: Operation | undefined, index: number): unknown {
  const given = (call.body as readonly unknown[])[index]
  const type = operation?.type ?? (isObject(given) ? given['operation_type'] : undefined)
  return {
    params: {
      ...list.echo,
      ...(operation?.effectiveAt === undefined ? {} : { effective_at: isoSeconds(operation.effectiveAt * 1000) }),
      ...(operation?.expiresAt === undefined ? {} : { expires_at: isoSeconds(operation.expiresAt * 1000) }),
    },
    ...(type === undefined ? {} : { operation_type: type }),
  }
}

/** The other form: an object or null an operation (the switch operation_errors: flat). */
function flat(errors: readonly (readonly AdsError[])[]): unknown[] {
  return errors.map((one) => one[0] ?? null)
}

function time(value: unknown, name: string, errors: AdsError[]): number | undefined {
  if (value === undefined || value === null) return undefined
  const at = typeof value === 'string' ? parseTimestamp(value) : undefined
  if (at === undefined || at < 0 || at > 4_294_967_295_000) {
    errors.push(invalidParameter(name, 'time', typeof value === 'string' ? value.slice(0, 40) : '', 'invalid date'))
    return undefined
  }
  return Math.floor(at / 1000)
}

function unknownField(name: string): AdsError {
  const shown = looksLikeEmail(name) ? 'a field' : `"${name.slice(0, 40)}"`
  return {
    code: 'INVALID_PARAMETER',
    message: `${shown} is not a field of this operation`,
    parameter: looksLikeEmail(name) ? 'users' : name.slice(0, 40),
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}
