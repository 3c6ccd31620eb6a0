/**
 * Masks personal values, so that the user can find them in the source file, and another person cannot use them
 * (docs/guarantees.md#no-raw-identifier-at-rest).
 */
import { cutText } from '../cutText.ts'
import { identifierTypes, type IdentifierType } from '../model/record.ts'

const digitsOf = (text: string) => text.replace(/\P{Nd}/gu, '')
const hasAt = (text: string) => /[@＠]/.test(text)

/** Masks an email, also an invalid one: `jane.doe@example.com` → `j***@e***.com`. */
function maskEmail(email: string): string {
  const text = email.toLowerCase().replaceAll('＠', '@')
  const at = text.lastIndexOf('@')
  if (at < 0) return maskText(email)
  const domain = text.slice(at + 1)
  const dot = domain.lastIndexOf('.')
  const ending = dot > 0 && /^\.[a-z]{2,10}$/i.test(domain.slice(dot)) ? domain.slice(dot) : ''
  return `${firstCharacter(text.slice(0, at))}***@${firstCharacter(domain)}***${ending}`
}

/** Masks a phone number: `+1 202 555 0143` → `***43`; `***` if there are fewer than six digits. */
function maskPhone(text: string): string {
  const digits = digitsOf(text)
  return digits.length < 6 ? '***' : `***${digits.slice(-2)}`
}

/** Returns true for a text with `***`, the sign of a masked value. */
export function hasMask(text: string): boolean {
  return text.includes('***')
}

/** Masks a text: `Jane` → `J***`. */
export function maskText(text: string): string {
  return text === '' ? '' : `${firstCharacter(text)}***`
}

/** Masks a value of unknown type. With an @: as an email. With six or more digits: as a phone number. Otherwise: by `maskText`. */
export function maskUnknown(text: string): string {
  if (hasAt(text)) return maskEmail(text)
  return digitsOf(text).length >= 6 ? maskPhone(text) : maskText(text)
}

/** Masks an identifier by its type. Text with an @ is masked as an email. */
export function maskIdentifier(type: IdentifierType, text: string): string {
  if (hasAt(text)) return maskEmail(text)
  if (type === 'phone_number') return maskPhone(text)
  return type === 'email' ? maskText(text) : maskUnknown(text)
}

/**
 * Describes a packed identifier by its type and the first 12 hex digits of its digest. Of a `partner_user_id`, which is in clear, returns
 * only the type.
 */
export function describeIdentifier(packed: Buffer): string {
  const type = identifierTypes[(packed[0] ?? 1) - 1] ?? 'identifier'
  return type === 'partner_user_id' ? type : `${type} ${packed.toString('hex', 1, 7)}…`
}

// Emails (also with `%40` for the @), phone numbers with `+`, and user and password in a web address. A password may contain an @.
const emailLike = /(?<![^\s@"'<>()[\]{},;:=/?&])[^\s@"'<>()[\]{},;:=/?&]+(?:[@＠]|%40)[^\s@"'<>()[\]{},;/?&]+/gi
const phoneLike = /[+＋]\p{Nd}[\p{Nd}\s()./\u2010-\u2015\u2212-]{6,24}\p{Nd}/gu
const credentials = /\/\/[^/\s]*@/g

/** Number of characters that `maskedExcerpt` keeps of a text, and searches for personal data. */
const searchedLength = 2_000

/**
 * Masks a product value or a column name for a message as `redactPersonalData` does, then cuts it to `length` characters and `…`. In the
 * other order, an email could lose its `@` and would not be found.
 */
export function maskedExcerpt(text: string, length = 60): string {
  const masked = redactPersonalData(cutText(text, searchedLength))
  return masked.length > length ? `${cutText(masked, length)}…` : masked
}

/** Masks credentials, emails and international phone numbers in a text of a source. Texts of the service: `redactServiceText.ts`. */
export function redactPersonalData(text: string): string {
  let shown = text
  if (shown.includes('//')) shown = shown.replace(credentials, '//***@')
  if (hasAt(shown) || shown.includes('%40'))
    shown = shown.replace(emailLike, (found) => (found.startsWith('***@') ? found : maskEmail(found.replace('%40', '@'))))
  if (/[+＋]/.test(shown)) shown = shown.replace(phoneLike, (found) => (digitsOf(found).length >= 8 ? maskPhone(found) : found))
  return shown
}

function firstCharacter(text: string): string {
  const point = text.codePointAt(0)
  return point === undefined ? '' : String.fromCodePoint(point)
}
