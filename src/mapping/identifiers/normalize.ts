import type { IdentifierType } from '../../model/record.ts'
import { isCardNumber, isIban } from '../accountNumbers.ts'
import { foldedText, trimText, withoutInvisible } from '../text.ts'
import { addressesIn, listSeparator, normalizeEmail, type EmailOptions } from './email.ts'
import { normalizePhone, normalizePhoneAsBoth, withAsciiDigits, withPlusFreeForm } from './phone.ts'
import type { IdentifierResult } from './identifierResult.ts'

export interface IdentifierRules {
  readonly email: EmailOptions
  /** Adds the form of a phone number without its `+`, except to a number that is read as two. */
  readonly addsPlusFreeForm: boolean
  /** Reads a phone number that may be national or international as both. If false, such a number is rejected. */
  readonly readsAmbiguousPhonesAsBoth: boolean
}

/** Normalizes one raw value. Does not recognize digests. `country`: two-letter code for phone numbers without `+`. */
export function normalizeIdentifier(
  type: IdentifierType,
  value: string,
  country: string | undefined,
  rules: IdentifierRules = plainRules,
): IdentifierResult {
  const text = trimText(value)
  switch (type) {
    case 'email':
      return normalizeEmail(text, rules.email)
    case 'phone_number': {
      const normalized = rules.readsAmbiguousPhonesAsBoth ? normalizePhoneAsBoth(text, country) : normalizePhone(text, country)
      return rules.addsPlusFreeForm && !('otherForm' in normalized) ? withPlusFreeForm(normalized) : normalized
    }
    case 'handle':
      return normalizeHandle(visibleText(text))
    case 'service_id':
      return normalizeServiceId(withoutApostrophe(visibleText(text)))
    case 'device_id':
      return normalizeDeviceId(withoutApostrophe(visibleText(text)))
    case 'partner_user_id':
      return normalizePartnerId(withoutApostrophe(visibleText(text)))
  }
}

/** Removes invisible characters. Pages put direction marks around handles and numbers. */
function visibleText(text: string): string {
  return /[^ -~]/.test(text) ? trimText(withoutInvisible(text)) : text
}

const plainRules: IdentifierRules = {
  email: { acceptsWrapped: false, convertsDomainToAscii: false, addsOtherForm: false },
  addsPlusFreeForm: false,
  readsAmbiguousPhonesAsBoth: false,
}

/** Rules that return each form of a value that a setting may send. A phone number that may be national or international is rejected. */
export const everyFormRules: IdentifierRules = {
  email: { ...plainRules.email, addsOtherForm: true },
  addsPlusFreeForm: true,
  readsAmbiguousPhonesAsBoth: false,
}

/** As `everyFormRules`, for a do-not-reach list: a number that may be national or international becomes two. */
export const everyFormRulesForDoNotReach: IdentifierRules = { ...everyFormRules, readsAmbiguousPhonesAsBoth: true }

/** Removes the apostrophe that spreadsheets put before digits. */
function withoutApostrophe(text: string): string {
  return text.replace(/^['\u2018\u2019]/, '')
}

/**
 * Normalizes a handle: no @, lower case, 1 to 15 letters, digits and underscores (docs/spec-notes.md#normalization;
 * docs/inputs.md, case 124).
 */
function normalizeHandle(text: string): IdentifierResult {
  const handle = (text.startsWith('@') ? text.slice(1) : text).trim().toLowerCase()
  return /^[a-z0-9_]{1,15}$/.test(handle)
    ? { text: handle }
    : { code: 'HANDLE_INVALID', message: 'is not a handle of 1 to 15 letters, digits and underscores' }
}

/** Normalizes a service id: 1 to 20 decimal digits as text, zeros kept (docs/inputs.md, case 125). */
function normalizeServiceId(text: string): IdentifierResult {
  return /^\d{1,20}$/.test(text) ? { text } : { code: 'SERVICE_ID_INVALID', message: 'is not made of up to 20 digits' }
}

/**
 * Normalizes an advertising id: a UUID with dashes, or the 16 hex digits of an Android id, in lower case. Rejects ids of zeros only
 * (docs/spec-notes.md#normalization; docs/inputs.md, case 123).
 */
function normalizeDeviceId(text: string): IdentifierResult {
  const id = text.toLowerCase()
  if (!/^(?:[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|[0-9a-f]{16})$/.test(id))
    return { code: 'DEVICE_ID_INVALID', message: 'is not an advertising id' }
  return /^[0-]+$/.test(id) ? { code: 'DEVICE_ID_INVALID', message: 'is all zeros: the device does not allow tracking' } : { text: id }
}

/** Matches a UUID with or without dashes of any kind, and the 16 hex digits of an Android id. */
const deviceIdLike =
  /(?<![\da-f])(?:([\da-f]{8})\p{Pd}?([\da-f]{4})\p{Pd}?([\da-f]{4})\p{Pd}?([\da-f]{4})\p{Pd}?([\da-f]{12})|[\da-f]{16})(?![\da-f])/giu

/**
 * Returns the identifiers in a text or list, also in odd spellings. Examples: a handle in the address of a profile, a UUID in braces or
 * without dashes, a service id as `1001.0`. Also returns texts that only look like identifiers: use it only for identifiers that are not
 * sent.
 */
export function identifiersIn(type: 'handle' | 'device_id' | 'service_id', text: string): readonly string[] {
  const folded = foldedText(text.replace(/[\n\r\u2028\u2029]/g, ';'))
  const found = new Set<string>()
  for (const part of partsLike[type](folded)) {
    const normalized = normalizeIdentifier(type, part, undefined)
    if ('text' in normalized) found.add(normalized.text)
  }
  return [...found]
}

const partsLike = { handle: handlesLike, device_id: deviceIdsLike, service_id: serviceIdsLike }

function* handlesLike(text: string): Iterable<string> {
  for (const [, handle = ''] of text.matchAll(/(?<![\w.])@ ?(\w{1,15})(?!\w)/g)) yield handle
  // A part without spaces, also in quotes, or the last step of an address: `https://social.example/jack?lang=en`.
  const parts = text.split(listSeparator)
  // A handle with a remark: `jack (Jack)`.
  const partsAroundBrackets = parts.flatMap((part) => (part.includes('(') ? part.split(/[()]/) : []))
  for (const part of [...parts, ...partsAroundBrackets]) {
    const [address = ''] = part.trim().split(/[?#]/, 1)
    const path = address.endsWith('/') ? address.slice(0, -1) : address
    yield path.slice(path.lastIndexOf('/') + 1).replace(/^[^\p{L}\p{N}_]+|(?<![^\p{L}\p{N}_])[^\p{L}\p{N}_]+$/gu, '')
  }
}

function* deviceIdsLike(text: string): Iterable<string> {
  for (const [id, ...groups] of text.matchAll(deviceIdLike)) yield groups[0] === undefined ? id : groups.join('-')
}

function* serviceIdsLike(text: string): Iterable<string> {
  for (const part of text.split(listSeparator)) {
    yield digitsOf(part)
    // Several ids. Fewer digits are a group of one number: `1 001 002`.
    const words = part.trim().split(/[\s/]+/)
    if (words.length > 1) yield* words.filter((word) => /\d{4}/.test(word)).map(digitsOf)
  }
}

/** Returns the text from the first digit to the last one. No pattern here takes quadratic time for a long cell. */
function digitsOf(text: string): string {
  return (/\d[^]*\d|\d/.exec(text)?.[0] ?? '').replace(/\.0+$/, '')
}

/** Matches prefixes of messengers and web forms before a phone number. */
const phoneScheme = /^(?:p:(?=\+)|(?:tel|sms|callto|whatsapp):\s*)/i

/**
 * Returns a partner id unchanged. It is sent in clear, so texts like an email, phone, card or bank account number are rejected
 * (docs/inputs.md, cases 126 and 199). Of plain digits, rejects only a card number, and a phone number that begins with 00. Digits
 * and signs of all scripts count.
 */
function normalizePartnerId(text: string): IdentifierResult {
  const personal = (content: string): IdentifierResult => ({ code: 'PARTNER_ID_PERSONAL', message: `looks like ${content}` })
  if (text.length > 256 || !text.isWellFormed() || /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\ufeff]/.test(text))
    return { code: 'PARTNER_ID_INVALID', message: 'is too long or contains control characters' }
  if (/\S(?:@|%40|＠)\S/i.test(text) || (/@|＠|\bat\b|&/i.test(text) && addressesIn(text).length > 0)) return personal('an email')
  if (isIban(text)) return personal('a bank account number')
  if (/^\d+$/.test(text)) {
    if (/^00[1-9]\d{8,13}$/.test(text)) return personal('a phone number')
    return isCardNumber(text) ? personal('a card number') : { text }
  }
  const ascii = /[^\u0000-\u007f]/.test(text) ? withAsciiDigits(text.normalize('NFKC')) : text
  const number = ascii.replace(phoneScheme, '')
  if (/^[\d\s+().\-/\u2010-\u2015]+$/.test(number)) {
    const digits = number.replace(/\D/g, '')
    if (isCardNumber(digits)) return personal('a card number')
    const isWrittenAsPhone =
      number !== ascii ||
      number.startsWith('+') ||
      number.includes('(') ||
      /^(?:1[ .-])?\d{3}[ .\u2010-\u2015-]\d{3}[ .\u2010-\u2015-]\d{4}$/.test(number) ||
      /^0\d{1,4}[\s/-]\d/.test(number)
    if (isWrittenAsPhone && digits.length >= 7 && digits.length <= 15) return personal('a phone number')
  }
  return { text }
}
