/** Normalizes, hashes and packs the identifiers of one row, and computes its key (spec 4.3 rule 3; docs/inputs.md). */
import { firstText } from '../fields.ts'
import { countryCode } from '../identifiers/country.ts'
import { keyText, shortHash } from '../identifiers/keyHash.ts'
import { addressesIn, listSeparator } from '../identifiers/email.ts'
import { identifiersIn, normalizeIdentifier } from '../identifiers/normalize.ts'
import { hashIdentifier, packDigest, packPlain } from '../identifiers/packIdentifier.ts'
import { phonesIn } from '../identifiers/phone.ts'
import { isPlaceholder, placeholderDigests } from '../identifiers/placeholders.ts'
import { maskIdentifier } from '../redactPersonalData.ts'
import type { Cell, IdentifierType, PackedIdentifier, SourceRow, Warning } from '../../model/record.ts'
import type { RecordCode } from '../rejectCodes.ts'
import { trimText } from '../text.ts'
import { TransformError } from '../transforms.ts'
import { passesTest } from '../consent/consentTest.ts'
import type { BoundIdentifier, MemberBinding } from './memberBinding.ts'

export const maxIdentifiers = 50
/** Lower-case texts of a key column that count as empty. */
const emptyKeyTexts = new Set(['null', 'undefined', 'n/a', 'none', 'nan', '-', '#n/a'])
const noWarnings: readonly Warning[] = []
const noFaults: readonly IdentifierFault[] = []
const noIdentifiers: readonly PackedIdentifier[] = []
/** Matches most emails. Any other text may contain several emails, or have a second form (docs/decisions/both-forms.md). */
const ordinaryAddress = /^[\w.+-]+@[a-z\d.-]+$/i
const sha256Hex = /^[0-9a-fA-F]{64}$/
/** Matches each digest in a text: 64 hex digits, or 43 characters of base64. */
const digestLike = /(?<![\da-f])[\da-f]{64}(?![\da-f])|(?<![\w+/-])[\w+/-]{43}=?(?![\w+/=-])/gi

/** Reason why an identifier is not usable, or why its row is rejected. */
export interface IdentifierFault {
  readonly code: RecordCode
  readonly field: string
  /** Follows the name of the field: `is missing`. Values in it are masked. */
  readonly message: string
  /** True for an email in a phone column, or the reverse. */
  readonly isMisplaced?: true
}

/** Identifiers of one row, all read by the constructor, and the warnings about them. */
export class RowIdentifiers {
  readonly #row: SourceRow
  readonly #binding: MemberBinding
  readonly #isPermitted: boolean
  #warnings: Warning[] | undefined
  /** Normalized identifier of the key column, if that column is an identifier too. */
  #keyText: string | undefined
  /** First normalized identifier of the key's type in other columns. */
  #sameTypeKeyText: string | undefined
  /** First normalized identifier of each of `otherKeyTypes`. */
  #keyTextsByType: Map<IdentifierType, string> | undefined
  /** First text of the key cell, if the key column is an identifier too. */
  readonly #keyCell: string | undefined
  /** True while a cell with the text of the key column is read as an identifier. */
  #isKeyCell = false
  /** Usable identifiers, sorted bytewise, without duplicates. Leaves out the types that `consentByType` excludes. */
  readonly packed: PackedIdentifier[] = []
  // Created when needed: nearly no row needs them.
  #withoutConsent: PackedIdentifier[] | undefined
  #bothForms: PackedIdentifier[] | undefined
  #faults: IdentifierFault[] | undefined
  /** List that `#add` and `#append` add to: `packed`, or `#withoutConsent` for a type without consent. */
  #currentList = this.packed
  /** True if a list has to be sorted. */
  #isUnsorted = false
  /**
   * Number of values that are not placeholders, valid or not, plus the second forms. Values after the first `maxIdentifiers` are read only
   * to opt them out.
   */
  valueCount = 0

  /** `isPermitted`: result of `mayBeSent`. If false, the row opts out all its identifiers. */
  constructor(row: SourceRow, binding: MemberBinding, isPermitted = true) {
    this.#row = row
    this.#binding = binding
    this.#isPermitted = isPermitted
    this.#keyCell = binding.keyType === undefined ? undefined : firstText(binding.key?.read(row))
    this.#readAll()
    if (!this.#isUnsorted) return
    sortUnique(this.packed)
    if (this.#withoutConsent !== undefined) sortUnique(this.#withoutConsent)
  }

  get warnings(): readonly Warning[] {
    return this.#warnings ?? noWarnings
  }

  /** Reasons why identifiers are not usable, by type, then by column. */
  get faults(): readonly IdentifierFault[] {
    return this.#faults ?? noFaults
  }

  /** Usable identifiers of the types that `consentByType` excludes for this row. */
  get withoutConsent(): readonly PackedIdentifier[] {
    return this.#withoutConsent ?? noIdentifiers
  }

  /** Identifiers that are two forms of one, in pairs one after the other. Undefined if there are none. */
  get bothForms(): readonly PackedIdentifier[] | undefined {
    return this.#bothForms
  }

  /** `packed` and `withoutConsent` together, sorted bytewise, without duplicates. */
  get all(): readonly PackedIdentifier[] {
    return this.#withoutConsent === undefined ? this.packed : sortUnique([...this.packed, ...this.#withoutConsent])
  }

  /** Field to name in a fault that is about all identifiers. */
  get firstField(): string {
    return this.#binding.identifiers[0]?.field ?? 'key'
  }

  #readAll(): void {
    const { identifiers, consentByType } = this.#binding
    for (const identifier of identifiers) {
      const { type } = identifier
      if (consentByType.length > 0) {
        const hasConsent = consentByType.every((bound) => bound.test.appliesTo !== type || passesTest(this.#row, bound))
        this.#currentList = hasConsent ? this.packed : (this.#withoutConsent ??= [])
      }
      const cell = this.#readCell(identifier)
      if (cell === undefined || cell === '') continue
      if (typeof cell === 'string') this.#readText(identifier, cell)
      else for (const text of cell) this.#readText(identifier, text)
    }
  }

  /** Returns the cell. If its transform fails, adds a fault and returns undefined. */
  #readCell(bound: BoundIdentifier): Cell | undefined {
    try {
      return bound.read(this.#row)
    } catch (error) {
      if (!(error instanceof TransformError)) throw error
      this.#addFault({ code: 'TRANSFORM_FAILED', field: bound.field, message: `${error.message} (${error.transform})` })
      return undefined
    }
  }

  #readText(bound: BoundIdentifier, cell: string): void {
    this.#isKeyCell = cell === this.#keyCell
    if (this.#binding.rules.splitsLists && bound.type === 'email' && /[,;|]| ::: /.test(cell)) {
      for (const part of cell.split(listSeparator)) this.#readOne(bound, part)
    } else this.#readOne(bound, cell)
  }

  /** Normalizes and adds one value, or adds a fault. A value to opt out is also searched for further identifiers (`#optOutParts`). */
  #readOne(bound: BoundIdentifier, value: string): void {
    const text = trimText(value)
    if (isPlaceholder(text)) return
    this.valueCount += 1
    const { type, field } = bound
    const optsOut = !this.#isPermitted || this.#currentList !== this.packed
    if (!optsOut && this.valueCount > maxIdentifiers) return
    const isDigest = bound.hashed || (text.length === 64 && sha256Hex.test(text))
    if (isDigest && type !== 'partner_user_id') {
      if (!this.#readDigest(bound, text) && optsOut) this.#optOutParts(bound, text)
      return
    }
    const country = type === 'phone_number' ? this.#countryOf(bound) : undefined
    const normalized = normalizeIdentifier(type, text, country, this.#binding.rules)
    if (optsOut && 'code' in normalized) this.#optOutParts(bound, text)
    else if (optsOut && type === 'email' && mayHaveOtherForms(text)) this.#optOutEmails(text)
    if ('code' in normalized) {
      // Web forms leave a plus sign or only a country code if no number was entered (docs/inputs.md, case 197).
      if (type === 'phone_number' && /^\+?[\s(]*(?:(?:\d{1,3}|\))[\s)]*)?$/.test(text)) return
      const misplaced = misplacedMessage(type, text)
      const message = `${maskIdentifier(type, text)} ${misplaced ?? normalized.message}`
      this.#addFault({ code: normalized.code, field, message, ...(misplaced === undefined ? {} : { isMisplaced: true }) })
      return
    }
    if (normalized.note !== undefined) this.warn(normalized.note, field, maskIdentifier(type, text))
    this.#storeKeyText(type, normalized.text)
    const identifier = type === 'partner_user_id' ? packPlain(normalized.text) : hashIdentifier(type, normalized.text)
    this.#add(identifier)
    if (normalized.otherForm === undefined) return
    this.valueCount += 1
    const other = hashIdentifier(type, normalized.otherForm)
    this.#add(other)
    this.#bothForms ??= []
    this.#bothForms.push(identifier, other)
  }

  /** Adds every identifier in a text that is not a valid identifier itself, such as a list or a sentence. */
  #optOutParts(bound: BoundIdentifier, text: string): void {
    for (const hex of digestsIn(text)) this.#append(packDigest(bound.type, hex))
    for (const other of this.#binding.identifiers) {
      const { type } = other
      const isContact = type === 'email' || type === 'phone_number'
      // A row that opts out all its identifiers also opts out one in the wrong column.
      if (other !== bound && (this.#isPermitted || !isContact)) continue
      if (type === 'email') this.#optOutEmails(text)
      else if (type === 'phone_number') this.#optOutPhones(other, text)
      else if (type !== 'partner_user_id') for (const id of identifiersIn(type, text)) this.#append(hashIdentifier(type, id))
    }
  }

  #optOutEmails(text: string): void {
    for (const address of addressesIn(text)) this.#append(hashIdentifier('email', address))
  }

  #optOutPhones(bound: BoundIdentifier, text: string): void {
    for (const number of phonesIn(text, this.#countryOf(bound))) {
      this.#append(hashIdentifier('phone_number', number))
      if (this.#binding.rules.addsPlusFreeForm) this.#append(hashIdentifier('phone_number', number.slice(1)))
    }
  }

  /** Adds a digest and returns true. Adds a fault and returns false for any other text, and for the digest of a placeholder. */
  #readDigest(bound: BoundIdentifier, text: string): boolean {
    const { field, type, hashed } = bound
    const hex = hexDigest(text, this.#binding.rules.acceptsBase64)
    if (hex === undefined) {
      const isRaw = /@|^\+?[\d\s().-]{6,24}$/.test(text)
      this.#addFault({
        code: isRaw ? 'HASH_EXPECTED' : 'HASH_INVALID',
        field,
        message: isRaw ? `${maskIdentifier(type, text)} is a raw value` : `has ${text.length} characters and is not a SHA-256 in hex`,
      })
      return false
    }
    if (placeholderDigests.has(hex)) {
      this.#addFault({ code: 'HASH_OF_PLACEHOLDER', field, message: 'is the digest of an empty text or of a placeholder' })
      return false
    }
    if (!hashed) this.warn('ALREADY_HASHED', field, 'was hashed already')
    else if (hex !== text) this.warn('HASH_NORMALIZED', field, 'was rewritten as 64 lower-case hex digits')
    this.#storeKeyText(type, hex)
    this.#add(packDigest(type, hex))
    return true
  }

  #storeKeyText(type: IdentifierType, text: string): void {
    const { keyType, otherKeyTypes } = this.#binding
    if (type === keyType) {
      if (this.#isKeyCell) this.#keyText ??= text
      else this.#sameTypeKeyText ??= text
    } else if (otherKeyTypes.length > 0 && otherKeyTypes.includes(type)) {
      this.#keyTextsByType ??= new Map()
      if (!this.#keyTextsByType.has(type)) this.#keyTextsByType.set(type, text)
    }
  }

  /** Returns the first usable identifier of the first of `otherKeyTypes` that has one. */
  #keyTextOfOtherType(): string | undefined {
    const keyTexts = this.#keyTextsByType
    return keyTexts === undefined
      ? undefined
      : this.#binding.otherKeyTypes.map((type) => keyTexts.get(type)).find((text) => text !== undefined)
  }

  /** Returns the two-letter code of the country for phone numbers without `+`. */
  #countryOf(bound: BoundIdentifier): string | undefined {
    const { country } = bound
    if (typeof country !== 'number') return country
    const text = firstText(this.#row.cells[country])
    return text === undefined ? undefined : countryCode(trimText(text))
  }

  /**
   * Inserts an identifier in sort order, without duplicates. Compares only identifiers of the same type: types are read in the order of
   * their bytes.
   */
  #add(identifier: PackedIdentifier): void {
    const list = this.#currentList
    // A row that opts out may have thousands of identifiers.
    if (this.valueCount > maxIdentifiers) return this.#append(identifier)
    let at = list.length
    while (at > 0) {
      const previousIdentifier = list[at - 1] as PackedIdentifier // at is within the array
      if (previousIdentifier[0] !== identifier[0]) break
      const order = previousIdentifier.compare(identifier)
      if (order === 0) return
      if (order < 0) break
      at -= 1
    }
    if (at === list.length) list.push(identifier)
    else list.splice(at, 0, identifier)
  }

  /**
   * Adds an identifier at the end of the list, which is sorted later. Opted-out identifiers may be out of order, and so many that inserting
   * each in order would take too long.
   */
  #append(identifier: PackedIdentifier): void {
    this.#currentList.push(identifier)
    this.#isUnsorted = true
  }

  #addFault(fault: IdentifierFault): void {
    this.#faults ??= []
    this.#faults.push(fault)
  }

  /** Adds one warning for all unusable identifiers together. */
  warnDropped(): void {
    const [first, ...others] = this.faults
    if (first === undefined) return
    const message = `${first.message} (${first.code}${others.length > 0 ? ` and ${others.length} more` : ''})`
    this.warn('IDENTIFIER_DROPPED', first.field, message, first.isMisplaced)
  }

  /** `message` follows the name of the field. */
  warn(code: RecordCode, field: string, message: string, isMisplaced?: true): void {
    this.#warnings ??= []
    this.#warnings.push({
      line: this.#row.line,
      code,
      field,
      message: `${field} ${message}`,
      ...(isMisplaced === undefined ? {} : { isMisplaced }),
    })
  }

  /** Returns the hash of all usable identifiers of the row, also those without consent; undefined if there are none. */
  keyOfIdentifiers(): Buffer | undefined {
    return hashOfAll(this.all)
  }

  /**
   * Returns the hash of the first of these texts that the row has; undefined if it has none:
   * - the normalized identifier in the key column, so that case variants of an email are one key;
   * - the first usable identifier of the same type in other columns;
   * - the first usable identifier of the other types of the key's columns;
   * - the text of the key column.
   *
   * Without a key column, returns the hash of `packed`; undefined if `expectsKeyColumn`, or if `packed` is empty.
   *
   * @throws {TransformError} if a transform of the key column fails
   */
  key(): Buffer | undefined {
    const { key, expectsKeyColumn } = this.#binding
    // In JSON, only some rows may have the key column.
    if (key === undefined && expectsKeyColumn) return undefined
    // All identifiers together are the key. So two rows with one email and different phone numbers are two records. A changed row has a new
    // key, so it does not silently remove an identifier from the list.
    if (key === undefined) return hashOfAll(this.packed)
    const normalized = this.#keyText ?? this.#sameTypeKeyText ?? this.#keyTextOfOtherType()
    if (normalized !== undefined) return shortHash(normalized)
    const text = trimText(firstText(key.read(this.#row)) ?? '')
    if (isEmptyKey(text)) return undefined
    return shortHash(keyText(text, this.#binding.keyType))
  }
}

/**
 * Returns the 64 lower-case hex digits of a digest, also with quotes, spaces, or a prefix such as `0x` or `sha256:`. With `acceptsBase64`,
 * also reads base64. Returns undefined for any other text.
 */
function hexDigest(text: string, acceptsBase64: boolean): string | undefined {
  if (sha256Hex.test(text)) return text.toLowerCase()
  const plain = text
    .replace(/^["'\s]+|(?<!["'\s])["'\s]+$/g, '')
    .replace(/^(?:0x|sha-?256[:=])/i, '')
    .replace(/\s+/g, '')
  if (sha256Hex.test(plain)) return plain.toLowerCase()
  return acceptsBase64 && /^[A-Za-z0-9+/_-]{43}=?$/.test(plain) ? Buffer.from(plain, 'base64url').toString('hex') : undefined
}

/** Returns the digests in a text in hex, in any spelling. Leaves out digests of placeholders. */
function digestsIn(text: string): readonly string[] {
  const texts = [text, ...(text.match(digestLike) ?? [])]
  return texts.flatMap((one) => hexDigest(one, true) ?? []).filter((hex) => !placeholderDigests.has(hex))
}

/** Returns true for an email that may have a second form, and for a text that may contain several emails. */
function mayHaveOtherForms(email: string): boolean {
  return !ordinaryAddress.test(email) || /xn--/i.test(email)
}

/**
 * Returns the message for an email in a phone column, or the reverse. Many misplaced values show that the mapping is wrong (docs/inputs.md,
 * case 112).
 */
function misplacedMessage(type: IdentifierType, text: string): string | undefined {
  if (type === 'phone_number' && text.includes('@')) return 'looks like an email'
  return type === 'email' && /^\+?\d[\d\s().-]{6,22}$/.test(text) ? 'looks like a phone number' : undefined
}

function hashOfAll(identifiers: readonly PackedIdentifier[]): Buffer | undefined {
  return identifiers.length === 0 ? undefined : shortHash(identifiers.map((identifier) => identifier.toString('latin1')).join(''))
}

/** Returns true for a trimmed key that is empty or one of `emptyKeyTexts`. Most keys start with a digit and need no search. */
function isEmptyKey(text: string): boolean {
  if (text === '') return true
  const first = text.charCodeAt(0)
  // The longest of `emptyKeyTexts` has nine characters.
  return (first < 48 || first > 57) && text.length <= 9 && emptyKeyTexts.has(text.toLowerCase())
}

/** Sorts the list bytewise in place, removes duplicates, and returns it. */
function sortUnique(identifiers: PackedIdentifier[]): PackedIdentifier[] {
  identifiers.sort((a, b) => a.compare(b))
  const unique = identifiers.filter((identifier, index) => index === 0 || identifiers[index - 1]?.equals(identifier) !== true)
  identifiers.splice(0, identifiers.length, ...unique)
  return identifiers
}
