/** One row to one member: identifiers normalized, hashed and packed, consent and times read (spec 4.3 rule 3, bad-inputs 6 and 8.2). */
import type { ValueTest } from '../pipeline/definition.ts'
import type { BoundField } from './fields.ts'
import { firstText } from './fields.ts'
import { packDigest, packHash, packKey, packPlain } from './identifiers/digest.ts'
import { normalizeEmail, type EmailOptions } from './identifiers/email.ts'
import { countryCode } from './identifiers/country.ts'
import { normalizePhone, withoutPlus } from './identifiers/phone.ts'
import { isPlaceholder, junkDigests } from './identifiers/placeholders.ts'
import { normalizeDeviceId, normalizeHandle, normalizePartnerId, normalizeServiceId } from './identifiers/plain.ts'
import type { Normalized } from './identifiers/result.ts'
import { parseInstant } from './instant.ts'
import { isChild, type BoundAge } from './age.ts'
import { maskEmail, maskPhone, maskText, maskUnknown } from './mask.ts'
import type { Cell, IdentifierType, Mapped, PackedIdentifier, Reject, Row, Warning } from './record.ts'
import { mendOf, type RecordCode } from './rejectCodes.ts'
import { trimText } from './text.ts'
import { TransformFault } from './transforms.ts'

export interface MemberBinding {
  /** Undefined for do-not-reach lists without a key: the row's identifiers together are its key. */
  readonly key: BoundField | undefined
  /** The identifier kind that reads the very same column as the key does. */
  readonly keyKind: IdentifierType | undefined
  readonly identifiers: readonly BoundIdentifier[]
  readonly effectiveAt: BoundField | undefined
  readonly expiresAt: BoundField | undefined
  /** When a membership of today ends whose row names no end; milliseconds since 1970. */
  readonly defaultEndMs: number
  /** All of them must say yes; none: everybody counts as consenting. */
  readonly consent: readonly BoundTest[]
  readonly ages: readonly BoundAge[]
  /** Do-not-reach lists: a row of which all of them are true comes off the list; none: nobody does. */
  readonly remove: readonly BoundTest[]
  readonly rules: MemberRules
}

export interface BoundTest {
  readonly index: number
  readonly values: ReadonlySet<string>
}

export interface BoundIdentifier extends BoundField {
  readonly kind: IdentifierType
  readonly hashed: boolean
  /** Fixed country, or the index of the column that holds it. */
  readonly country: string | number | undefined
}

export interface MemberRules {
  readonly email: EmailOptions
  /** Phones count without their `+` as well. */
  readonly bothPhones: boolean
  /** Base64 digests in columns declared as hashed are taken (bad-inputs 115). */
  readonly base64: boolean
  /** Cells that hold several addresses are cut at `,` `;` `|` and ` ::: ` (bad-inputs 104, 191). */
  readonly splitLists: boolean
}

const maxIdentifiers = 50
const absentKeys = new Set(['null', 'undefined', 'n/a', 'none', 'nan', '-', '#n/a'])
const noWarnings: readonly Warning[] = []
const sha256Hex = /^[0-9a-fA-F]{64}$/

/** Values of a test as `isOneOf` compares them. */
export function testValues(test: Pick<ValueTest, 'values'>): ReadonlySet<string> {
  return new Set(test.values.map((value) => trimText(value).toLowerCase()))
}

/** Pure. Where no identifier is usable the row is a reject; where only some are, they are left out with a warning. */
export function mapMember(row: Row, binding: MemberBinding): Mapped {
  const work = new MemberWork(row, binding)
  work.readIdentifiers()
  const key = work.key()
  const reject = (code: RecordCode, field: string, message: string): Mapped => {
    const made: Reject = { line: row.line, code, field, message: `${field} ${message}`, mend: mendOf(code) }
    return { reject: key === undefined ? made : { ...made, key }, warnings: work.warnings }
  }
  if (binding.key !== undefined && key === undefined) return reject('KEY_MISSING', 'key', 'is missing')
  const wanted =
    binding.consent.every((test) => isOneOf(row, test)) &&
    !binding.ages.some((age) => isChild(row, age)) &&
    (binding.remove.length === 0 || !binding.remove.every((test) => isOneOf(row, test)))
  // Who withdraws is let go even if the export has blanked the identifiers: the key says who it was.
  if (!wanted && key !== undefined)
    return { record: { kind: 'member', key, line: row.line, identifiers: work.packed, wanted }, warnings: work.warnings }
  if (work.count > maxIdentifiers)
    return reject('TOO_MANY_IDENTIFIERS', work.firstField, `holds ${work.count} identifiers, ${maxIdentifiers} are allowed`)
  if (key === undefined || work.packed.length === 0) {
    const fault = work.fault
    return fault === undefined
      ? reject('NO_IDENTIFIER', work.firstField, 'and every other identifier are empty')
      : reject(fault.code, fault.field, fault.message)
  }
  const effectiveAtMs = work.time('effective_at', binding.effectiveAt)
  const expiresAtMs = work.time('expires_at', binding.expiresAt)
  if (expiresAtMs === null) return reject('EXPIRES_AT_INVALID', 'expires_at', 'is no ISO 8601 date or time with offset')
  if (effectiveAtMs !== undefined && effectiveAtMs !== null && expiresAtMs !== undefined && effectiveAtMs >= expiresAtMs)
    return reject('TIMES_CONTRADICT', 'effective_at', 'is not before expires_at')
  // The service would refuse the whole membership.
  if (typeof effectiveAtMs === 'number' && expiresAtMs === undefined && effectiveAtMs >= binding.defaultEndMs)
    return reject('TIMES_CONTRADICT', 'effective_at', 'is not before the end that destination.expires_in gives')
  work.sayDropped()
  const record = { kind: 'member' as const, key, line: row.line, identifiers: work.packed, wanted }
  if (effectiveAtMs === undefined && expiresAtMs === undefined) return { record, warnings: work.warnings }
  return {
    record: {
      ...record,
      ...(typeof effectiveAtMs === 'number' ? { effectiveAtMs } : {}),
      ...(expiresAtMs === undefined ? {} : { expiresAtMs }),
    },
    warnings: work.warnings,
  }
}

/** The key of a row that is not mapped for another reason. */
export function memberKey(row: Row, binding: MemberBinding): Uint8Array | undefined {
  const work = new MemberWork(row, binding)
  work.readIdentifiers()
  return work.key()
}

/**
 * Normalizes one value of a kind, with no row around it: for look-ups by `explain` and `forget` and for tests. A SHA-256
 * in hex is taken as a digest.
 */
export function normalizeIdentifier(
  kind: IdentifierType,
  value: string,
  country: string | undefined,
  rules: MemberRules = plainRules,
): Normalized {
  const text = trimText(value)
  switch (kind) {
    case 'email':
      return normalizeEmail(text, rules.email)
    case 'phone_number':
      return rules.bothPhones ? withoutPlus(normalizePhone(text, country)) : normalizePhone(text, country)
    case 'handle':
      return normalizeHandle(text)
    case 'service_id':
      return normalizeServiceId(unquote(text))
    case 'device_id':
      return normalizeDeviceId(unquote(text))
    case 'partner_user_id':
      return normalizePartnerId(unquote(text))
  }
}

const plainRules: MemberRules = {
  email: { wrapped: false, idnToAscii: false, bothForms: false },
  bothPhones: false,
  base64: false,
  splitLists: false,
}

/** Every form under which a value may have been sent, whatever the settings were. */
export const everyForm: MemberRules = { ...plainRules, email: { ...plainRules.email, bothForms: true }, bothPhones: true }

class MemberWork {
  readonly #row: Row
  readonly #binding: MemberBinding
  #warnings: Warning[] | undefined
  #keyText: string | undefined
  #dropped = 0
  /** Sorted bytewise, without repeats. */
  readonly packed: PackedIdentifier[] = []
  count = 0
  fault: { readonly code: RecordCode; readonly field: string; readonly message: string } | undefined

  constructor(row: Row, binding: MemberBinding) {
    this.#row = row
    this.#binding = binding
  }

  get warnings(): readonly Warning[] {
    return this.#warnings ?? noWarnings
  }

  get firstField(): string {
    return this.#binding.identifiers[0]?.field ?? 'key'
  }

  readIdentifiers(): void {
    for (const bound of this.#binding.identifiers) {
      const cell = this.#cell(bound)
      if (cell === undefined || cell === '') {
        // Nothing there, or several columns of which the reader takes the first only.
      } else if (typeof cell === 'string') this.#readText(bound, cell)
      else for (const text of cell) this.#readText(bound, text)
    }
  }

  /** What no transform fits is one identifier the less, like every other that is not usable. */
  #cell(bound: BoundIdentifier): Cell | undefined {
    try {
      return bound.read(this.#row)
    } catch (error) {
      if (!(error instanceof TransformFault)) throw error
      this.#reject('TRANSFORM_FAILED', bound.field, `${error.message} (${error.transform})`)
      return undefined
    }
  }

  #readText(bound: BoundIdentifier, cell: string): void {
    if (this.#binding.rules.splitLists && bound.kind === 'email' && /[,;|]| ::: /.test(cell)) {
      for (const part of cell.split(/\s*(?:[,;|]|:::)\s*/)) this.#readOne(bound, part)
    } else this.#readOne(bound, cell)
  }

  #readOne(bound: BoundIdentifier, cell: string): void {
    const text = trimText(cell)
    if (isPlaceholder(text)) return
    this.count += 1
    if (this.count > maxIdentifiers) return
    const { kind, field } = bound
    if (kind !== 'partner_user_id' && (bound.hashed || (text.length === 64 && sha256Hex.test(text)))) return this.#readDigest(bound, text)
    let result: Normalized
    if (kind === 'email') result = normalizeEmail(text, this.#binding.rules.email)
    else if (kind === 'phone_number') {
      result = normalizePhone(text, this.#country(bound))
      if (this.#binding.rules.bothPhones) result = withoutPlus(result)
    } else result = normalizeIdentifier(kind, text, undefined)
    if ('code' in result) {
      // A plus sign or a bare country code is what forms leave behind: nothing was given (bad-inputs 197).
      if (kind === 'phone_number' && /^\+?[\s(]*\d{0,3}[\s)]*$/.test(text)) return
      this.#reject(result.code, field, `${maskFor(kind, text)} ${misplaced(kind, text) ?? result.message}`)
      return
    }
    if (result.note !== undefined) this.#warn(result.note, field, maskFor(kind, text))
    if (kind === this.#binding.keyKind) this.#keyText ??= result.text
    this.#add(kind === 'partner_user_id' ? packPlain(result.text) : packHash(kind, result.text))
    if (result.also === undefined) return
    this.count += 1
    this.#add(packHash(kind, result.also))
  }

  #readDigest(bound: BoundIdentifier, text: string): void {
    const { field, kind, hashed } = bound
    let hex = text
    if (!sha256Hex.test(hex))
      hex = hex
        .replace(/^["'\s]+|["'\s]+$/g, '')
        .replace(/^(?:0x|sha-?256[:=])/i, '')
        .replace(/\s+/g, '')
    if (!sha256Hex.test(hex) && this.#binding.rules.base64 && /^[A-Za-z0-9+/_-]{43}=?$/.test(hex))
      hex = Buffer.from(hex, 'base64url').toString('hex')
    if (!sha256Hex.test(hex)) {
      const raw = /@|^\+?[\d\s().-]{6,24}$/.test(text)
      this.#reject(
        raw ? 'HASH_EXPECTED' : 'HASH_INVALID',
        field,
        raw ? `${maskFor(kind, text)} is a raw value` : `has ${text.length} characters and is no SHA-256 in hex`,
      )
      return
    }
    const lower = hex.toLowerCase()
    if (junkDigests.has(lower)) {
      this.#reject('HASH_OF_PLACEHOLDER', field, 'is the digest of nothing or of a placeholder')
      return
    }
    if (!hashed) this.#warn('ALREADY_HASHED', field, 'was hashed already')
    else if (lower !== text) this.#warn('HASH_NORMALIZED', field, 'was written in another form')
    if (kind === this.#binding.keyKind) this.#keyText ??= lower
    this.#add(packDigest(kind, lower))
  }

  #country(bound: BoundIdentifier): string | undefined {
    const { country } = bound
    if (typeof country !== 'number') return country
    const text = firstText(this.#row.cells[country])
    return text === undefined ? undefined : countryCode(trimText(text))
  }

  /** Kinds come in the order of their type bytes, so only those of one kind have to find their place. */
  #add(identifier: PackedIdentifier): void {
    const { packed } = this
    let at = packed.length
    while (at > 0) {
      const before = packed[at - 1] as PackedIdentifier // at is within the array
      if (before[0] !== identifier[0]) break
      const order = before.compare(identifier)
      if (order === 0) return
      if (order < 0) break
      at -= 1
    }
    if (at === packed.length) packed.push(identifier)
    else packed.splice(at, 0, identifier)
  }

  #reject(code: RecordCode, field: string, message: string): void {
    this.fault ??= { code, field, message }
    this.#dropped += 1
  }

  sayDropped(): void {
    if (this.fault !== undefined)
      this.#warn(
        'IDENTIFIER_DROPPED',
        this.fault.field,
        `${this.fault.message} (${this.fault.code}${this.#dropped > 1 ? ` and ${this.#dropped - 1} more` : ''})`,
      )
  }

  #warn(code: RecordCode, field: string, message: string): void {
    this.#warnings ??= []
    this.#warnings.push({ line: this.#row.line, code, field, message: `${field} ${message}` })
  }

  /** By the key column; the normalized identifier where that is one, so that case variants of an email are one key. */
  key(): Buffer | undefined {
    const { key } = this.#binding
    // All identifiers together: two rows of one email with different phones must not cancel each other out, and a changed
    // row must not take an identifier off the list without a word (interface.md 4: removals only by `remove`).
    if (key === undefined) return this.packed.length === 0 ? undefined : packKey(this.packed.map((one) => one.toString('latin1')).join(''))
    if (this.#keyText !== undefined) return packKey(this.#keyText)
    const text = trimText(firstText(key.read(this.#row)) ?? '')
    if (text === '' || (text.length <= 9 && absentKeys.has(text.toLowerCase()))) return undefined
    return packKey(keyText(text, this.#binding.keyKind))
  }

  /** Undefined: absent or left out. Null: an expiry that cannot be read, which must not become a longer one. */
  time(field: 'effective_at', bound: BoundField | undefined): number | undefined
  time(field: 'expires_at', bound: BoundField | undefined): number | undefined | null
  time(field: 'effective_at' | 'expires_at', bound: BoundField | undefined): number | undefined | null {
    if (bound === undefined) return undefined
    let text: string
    try {
      text = trimText(firstText(bound.read(this.#row)) ?? '')
    } catch (error) {
      if (!(error instanceof TransformFault) || field === 'expires_at') throw error
      this.#warn('TRANSFORM_DROPPED', field, `${error.message} (${error.transform})`)
      return undefined
    }
    if (isPlaceholder(text)) return undefined
    const instant = parseInstant(text, 'utc-midnight')
    if (instant !== undefined) return instant.ms
    if (field === 'expires_at') return null
    this.#warn('EFFECTIVE_AT_DROPPED', field, 'is no ISO 8601 date or time with offset')
    return undefined
  }
}

/** The text that is hashed to a key: NFC, lower case where the key is an email. */
export function keyText(text: string, kind: IdentifierType | undefined): string {
  const trimmed = trimText(text)
  const plain = isAscii(trimmed) ? trimmed : trimmed.normalize('NFC')
  return kind === 'email' ? plain.toLowerCase().normalize('NFC') : plain
}

/** A loop rather than a pattern: keys are short and there is one a row. */
function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false
  return true
}

/** An absent cell is an empty one: JSON and XML leave out what CSV writes as nothing. */
function isOneOf(row: Row, test: BoundTest): boolean {
  return test.values.has(trimText(firstText(row.cells[test.index] as Cell | undefined) ?? '').toLowerCase())
}

function unquote(text: string): string {
  return text.replace(/^['\u2018\u2019]/, '')
}

/** An email among phones or a phone among emails: many of them mean a wrong mapping (bad-inputs 112). */
function misplaced(kind: IdentifierType, text: string): string | undefined {
  if (kind === 'phone_number' && text.includes('@')) return looksLikeEmail
  return kind === 'email' && /^\+?\d[\d\s().-]{6,22}$/.test(text) ? looksLikePhone : undefined
}

export const looksLikeEmail = 'looks like an email'
export const looksLikePhone = 'looks like a phone number'

/** A personal value as messages may show it. */
export function maskFor(kind: IdentifierType, text: string): string {
  if (text.includes('@') && kind !== 'handle') return maskEmail(text)
  if (kind === 'phone_number') return maskPhone(text)
  return kind === 'email' ? maskText(text) : maskUnknown(text)
}
