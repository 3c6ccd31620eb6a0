/** The identifiers of one row: normalized, hashed and packed, and the key they may give (spec 4.3 rule 3, bad-inputs 6). */
import { firstText } from '../fields.ts'
import { countryCode } from '../identifiers/country.ts'
import { packDigest, packHash, packKey, packPlain } from '../identifiers/digest.ts'
import { normalizeEmail } from '../identifiers/email.ts'
import { keyText } from '../identifiers/keyText.ts'
import { misplaced } from '../identifiers/misplaced.ts'
import { normalizeIdentifier } from '../identifiers/normalize.ts'
import { normalizePhone, withoutPlus } from '../identifiers/phone.ts'
import { isPlaceholder, junkDigests } from '../identifiers/placeholders.ts'
import type { Normalized } from '../identifiers/result.ts'
import { maskFor } from '../mask.ts'
import type { Cell, PackedIdentifier, Row, Warning } from '../record.ts'
import type { RecordCode } from '../rejectCodes.ts'
import { trimText } from '../text.ts'
import { TransformFault } from '../transforms.ts'
import type { BoundIdentifier, MemberBinding } from './memberBinding.ts'

export const maxIdentifiers = 50
const absentKeys = new Set(['null', 'undefined', 'n/a', 'none', 'nan', '-', '#n/a'])
const noWarnings: readonly Warning[] = []
const sha256Hex = /^[0-9a-fA-F]{64}$/

/** The identifiers of one row, read when it is made; the warnings of the row are gathered here. */
export class RowIdentifiers {
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
    this.#readAll()
  }

  get warnings(): readonly Warning[] {
    return this.#warnings ?? noWarnings
  }

  get firstField(): string {
    return this.#binding.identifiers[0]?.field ?? 'key'
  }

  #readAll(): void {
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
    if (result.note !== undefined) this.warn(result.note, field, maskFor(kind, text))
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
    if (!hashed) this.warn('ALREADY_HASHED', field, 'was hashed already')
    else if (lower !== text) this.warn('HASH_NORMALIZED', field, 'was written in another form')
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
      this.warn(
        'IDENTIFIER_DROPPED',
        this.fault.field,
        `${this.fault.message} (${this.fault.code}${this.#dropped > 1 ? ` and ${this.#dropped - 1} more` : ''})`,
      )
  }

  warn(code: RecordCode, field: string, message: string): void {
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
}
