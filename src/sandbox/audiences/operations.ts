/** Reads and checks the operations of an upload of users (spec 4.3 rules 1 to 3; docs/spec-notes.md#audience-uploads). */
import { hash } from 'node:crypto'
import { doNotReachIdentifiers } from '../../service/contract/audienceResources.ts'
import type { Call } from '../area.ts'
import { isWrittenAsPhone, looksLikeEmail, looksLikePhone } from '../ledger/rawIdentifiers.ts'
import { invalidParameter, missingParameter, type AdsError } from '../refusal.ts'
import { isPlainRecord, listOf } from '../../unknownValue.ts'
import { addMonths, isoSeconds, parseTimestamp } from '../timestamps.ts'
import { IDENTIFIER_TYPES, type Memberships } from './memberships.ts'
import type { Audience, AudienceState } from './state.ts'

/** Call of an endpoint that uploads users. */
export type UsersCall = Call<AudienceState>
/** Identifiers of one user by type. */
export type User = Readonly<Record<string, readonly string[]>>

/** Checked operation of an upload. */
export interface Operation {
  readonly type: 'Update' | 'Delete'
  readonly users: readonly User[]
  /** Both times as requested, in seconds since 1970; undefined for the default. */
  readonly effectiveAt: number | undefined
  readonly expiresAt: number | undefined
  /** Index of the operation's first user among all users of the request. Operations without a known type or without users do not count. */
  readonly firstUserIndex: number
}

/** Audience or do-not-reach list that an upload changes. */
export interface UploadTarget {
  readonly audience: Audience
  readonly kind: 'audience' | 'do-not-reach'
  /**
   * Members of the account's do-not-reach lists. An `Update` that adds one of them to an audience is a violation
   * (docs/sandbox.md#violations). Empty if the upload changes a do-not-reach list.
   */
  readonly doNotReachLists: readonly Memberships[]
  /** Ids of the path, for the echo of each operation. */
  readonly pathIds: Readonly<Record<string, string>>
}

/** Months from now to the default of `expires_at` (spec 8). An `expires_at` for a do-not-reach list must be earlier. */
export const DEFAULT_MONTHS = 13
/** Index of each identifier type, as `Memberships` stores it. */
export const TYPE_INDEX: ReadonlyMap<string, number> = new Map(IDENTIFIER_TYPES.map((type, index) => [type, index]))
const DO_NOT_REACH_TYPES: readonly string[] = doNotReachIdentifiers
const HEX = /^[0-9a-f]{64}$/
const HEX_ANY_CASE = /^[0-9a-fA-F]{64}$/
/** Digests of the empty text and of placeholders. A client should not hash such a value. */
const JUNK_DIGESTS: ReadonlySet<string> = new Set(
  ['', ' ', 'null', 'undefined', 'none', 'n/a', 'na', 'unknown', '0', '-', 'nan', 'test', 'test@test.com'].map((text) =>
    hash('sha256', text),
  ),
)

/**
 * Returns the operations of the body in order, undefined for each wrong operation. Appends to `errors` a list for each operation, empty if
 * it is correct. Reports violations.
 */
export function readOperations(call: UsersCall, target: UploadTarget, errors: AdsError[][]): (Operation | undefined)[] {
  let firstUserIndex = 0
  return listOf(call.body).map((input) => {
    const errorsOfOperation: AdsError[] = []
    errors.push(errorsOfOperation)
    const operation = readOperation(call, target, input, firstUserIndex, errorsOfOperation)
    if (operation !== undefined) firstUserIndex += operation.users.length
    return errorsOfOperation.length > 0 ? undefined : operation
  })
}

function readOperation(
  call: UsersCall,
  target: UploadTarget,
  input: unknown,
  firstUserIndex: number,
  errors: AdsError[],
): Operation | undefined {
  if (!isPlainRecord(input)) return void errors.push(invalidParameter('operation', 'object', ''))
  for (const name in input) if (name !== 'operation_type' && name !== 'params') errors.push(unknownFieldError(call, name))
  const type = input['operation_type']
  if (type === undefined) errors.push(missingParameter('operation_type'))
  else if (type !== 'Update' && type !== 'Delete') errors.push(invalidParameter('operation_type', 'one of Update, Delete', type))
  const params = input['params']
  if (params === undefined) return void errors.push(missingParameter('params'))
  if (!isPlainRecord(params)) return void errors.push(invalidParameter('params', 'object', ''))
  for (const name in params)
    if (name !== 'users' && name !== 'expires_at' && (name !== 'effective_at' || target.kind === 'do-not-reach'))
      errors.push(unknownFieldError(call, name))
  const effectiveAt = readTime(params['effective_at'], 'effective_at', errors)
  const expiresAt = readTime(params['expires_at'], 'expires_at', errors)
  if (type !== 'Delete') checkTimes(call, target, { effectiveAt, expiresAt }, errors)
  const users = params['users']
  if (users === undefined) return void errors.push(missingParameter('users'))
  if (!Array.isArray(users) || users.length === 0) return void errors.push(invalidParameter('users', 'array of at least one user', ''))
  for (const user of listOf(users)) checkUser(call, target, user, errors)
  if (type !== 'Update' && type !== 'Delete') return undefined
  // checkUser has checked each user. A copy would cost time for every upload.
  return { type, users: users as User[], effectiveAt, expiresAt, firstUserIndex }
}

/** Checks the times of an `Update`. The default of `effective_at` is now, that of `expires_at` is 13 months from now. */
function checkTimes(
  call: UsersCall,
  target: UploadTarget,
  { effectiveAt, expiresAt }: Pick<Operation, 'effectiveAt' | 'expiresAt'>,
  errors: AdsError[],
): void {
  if (expiresAt === undefined) {
    if (target.kind === 'do-not-reach' && call.world.switchValue('dnr_expires_at') === 'required')
      errors.push(missingParameter('expires_at'))
    if (effectiveAt !== undefined && effectiveAt * 1000 >= addMonths(call.now, DEFAULT_MONTHS)) {
      call.world.reportViolation('expires_before_effective', 'the default of expires_at is not later than effective_at')
      errors.push(invalidParameter('effective_at', 'time under 13 months ahead, or expires_at', isoSeconds(effectiveAt * 1000)))
    }
    return
  }
  if (expiresAt <= (effectiveAt ?? Math.floor(call.now / 1000))) {
    call.world.reportViolation('expires_before_effective', 'expires_at is not later than effective_at')
    errors.push(
      invalidParameter(
        'expires_at',
        effectiveAt === undefined ? 'time later than now' : 'time later than effective_at',
        isoSeconds(expiresAt * 1000),
      ),
    )
  } else if (target.kind === 'do-not-reach' && expiresAt * 1000 >= addMonths(call.now, DEFAULT_MONTHS))
    errors.push(invalidParameter('expires_at', 'time under 13 months ahead', isoSeconds(expiresAt * 1000)))
}

/**
 * Adds an error for each mistake in a user, and reports violations. To save time, tests first for a correct digest: a request has up to
 * 2,500 operations with any number of users.
 */
function checkUser(call: UsersCall, target: UploadTarget, user: unknown, errors: AdsError[]): void {
  if (!isPlainRecord(user)) return void errors.push(invalidParameter('users', 'array of objects', ''))
  let count = 0
  for (const type in user) {
    const typeIndex = TYPE_INDEX.get(type)
    const values = user[type]
    if (typeIndex === undefined || (target.kind === 'do-not-reach' && !DO_NOT_REACH_TYPES.includes(type))) {
      reportRawIdentifier(call, values)
      errors.push(unknownFieldError(call, type))
      continue
    }
    if (!Array.isArray(values)) {
      reportRawIdentifier(call, values)
      errors.push(invalidParameter(type, 'array of strings', ''))
      continue
    }
    for (const value of listOf(values)) {
      count++
      if (type === 'partner_user_id') checkPartnerId(call, value, errors)
      else if (typeof value === 'string' && HEX.test(value)) reportJunk(call, type, value)
      else checkWrongDigest(call, type, value, errors)
    }
  }
  if (count === 0) errors.push(invalidParameter('users', 'users with at least one identifier', ''))
}

/** Checks a `partner_user_id`, which is not hashed. Reports a violation if it looks like an email or phone, or is in `JUNK_DIGESTS`. */
function checkPartnerId(call: UsersCall, value: unknown, errors: AdsError[]): void {
  if (typeof value !== 'string' || value === '' || value.length > 1000)
    return void errors.push(identifierError('partner_user_id', 'text of 1 to 1,000 characters'))
  if (looksLikeEmail(value) || isWrittenAsPhone(value))
    call.world.reportViolation('raw_identifier', 'partner_user_id looks like an email or phone')
  reportJunk(call, 'partner_user_id', value)
}

/**
 * Reports a violation for an identifier that is not a lower-case digest. Adds an error, except for a digest with upper-case letters. No
 * message contains the value.
 */
function checkWrongDigest(call: UsersCall, type: string, value: unknown, errors: AdsError[]): void {
  call.world.reportViolation('digest_not_64_lower_hex', `${type} is not 64 lower-case hex digits`)
  if (typeof value === 'string' && HEX_ANY_CASE.test(value)) return reportJunk(call, type, value.toLowerCase())
  if (typeof value === 'string' && (looksLikeEmail(value) || looksLikePhone(value)))
    call.world.reportViolation('raw_identifier', `${type} looks like an email or phone`)
  errors.push(identifierError(type, 'SHA-256 in hex'))
}

function reportJunk(call: UsersCall, type: string, value: string): void {
  if (JUNK_DIGESTS.has(value)) call.world.reportViolation('junk_digest', `${type} is the digest of an empty or placeholder value`)
}

/** Returns the error for a wrong identifier. Omits the value, because it may be personal. */
function identifierError(type: string, expected: string): AdsError {
  return { ...invalidParameter(type, expected, ''), message: `Expected ${expected} for ${type}` }
}

/** Reports a violation if the value of a wrong field, or a text in it, looks like an email or phone number. */
function reportRawIdentifier(call: UsersCall, value: unknown): void {
  const texts = Array.isArray(value) ? listOf(value) : [value]
  if (texts.some((text) => typeof text === 'string' && (looksLikeEmail(text) || looksLikePhone(text))))
    call.world.reportViolation('raw_identifier', 'an unknown field, or one that is not an array, looks like an email or phone')
}

/** Returns a time in seconds since 1970; undefined if it is absent, null or wrong. Adds an error for a wrong time. */
function readTime(value: unknown, name: string, errors: AdsError[]): number | undefined {
  if (value === undefined || value === null) return undefined
  const at = typeof value === 'string' ? parseTimestamp(value) : undefined
  // `Memberships` stores times as 32-bit numbers.
  if (at === undefined || at < 0 || at > 4_294_967_295_000) {
    errors.push(invalidParameter(name, 'time', typeof value === 'string' ? value.slice(0, 40) : '', 'invalid date'))
    return undefined
  }
  return Math.floor(at / 1000)
}

/**
 * Returns the error for an unknown field, and reports a raw identifier in its name. The error contains the name only if it consists of
 * letters and `_`. Any other name may be personal.
 */
function unknownFieldError(call: UsersCall, name: string): AdsError {
  reportRawIdentifier(call, name)
  const isWord = /^[a-z_]{1,40}$/i.test(name)
  return {
    code: 'INVALID_PARAMETER',
    message: `${isWord ? `"${name}"` : 'a field'} is not a field of this operation`,
    parameter: isWord ? name : 'users',
  }
}
