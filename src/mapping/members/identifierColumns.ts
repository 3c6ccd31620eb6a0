/** Recognizes emails and phone numbers by their form, and columns of phone numbers or of other people by their name. Pure. */
import { isDetailName, nameWords } from '../consent/columnName.ts'
import { normalizeEmail } from '../identifiers/email.ts'

const emailOptions = { acceptsWrapped: true, convertsDomainToAscii: false, addsOtherForm: false }

/** Returns true if a trimmed cell is an email, also with a name or `mailto:`. Returns false for placeholders such as `test@test.com`. */
export function looksLikeEmail(cell: string): boolean {
  return cell.length >= 6 && cell.length <= 254 && cell.includes('@') && 'text' in normalizeEmail(cell, emailOptions)
}

// Matches `+49 170 5550100`, `tel:+1 (202) 555-0143 ext. 12`.
const international = /^['\u2018\u2019]?(?:p:|tel:)?\+[\d(][\d\s().\-/\u2010-\u2015\u00a0]{6,20}\d(?:\s*(?:x|ext\.?)\s*\d{1,7})?$/i
// Matches `(202) 555-0143 x12`, `1-202-555-0143`, `0170 5550100`.
const grouped = /^(?:1[-. ])?\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}(?:\s*(?:x|ext\.?)\s*\d{1,7})?$|^0\d{1,4}[\s/-]\d{3,4}[\s-]?\d{2,6}$/i
// Matches `2025550143`, `06.12.34.56.78`.
const loose = /^['\u2018\u2019]?(?:p:|tel:)?\+?[\d\s().\-/\u2010-\u2015\u00a0]{7,24}(?:\s*(?:x|ext\.?)\s*\d{1,7})?$/i
// Matches `2024-05-01`, `31.01.2024`, `20240501`, `20240501103000`. Stricter than `looksLikeDate`: that accepts every text that starts like
// a date, such as `06.12.34.56.78` and `2025550143`.
const date =
  /^(?:\d{4}([-/.])\d{1,2}\1\d{1,2}|\d{1,2}([-/.])\d{1,2}\2(?:\d{4}|\d{2})|(?:19|20)\d{2}(?:0[1-9]|1[0-2])(?:0[1-9]|[12]\d|3[01])(?:\d{6})?)$/

/**
 * Returns true if a trimmed cell has the form of a phone number. `inPhoneColumn`: true if the column has a phone name (`isPhoneName`). Then
 * plain digits count too, except dates.
 */
export function looksLikePhone(cell: string, inPhoneColumn: boolean): boolean {
  if (cell.length < 7 || cell.length > 32) return false
  // Fast exclusion: most cells start with a letter. Phone numbers do not, except with `p:` or `tel:`.
  if (/^[a-oq-su-z]/i.test(cell)) return false
  if (international.test(cell) || grouped.test(cell)) return true
  if (!inPhoneColumn || !loose.test(cell) || date.test(cell)) return false
  const digits = cell.replace(/\D/g, '').length
  return digits >= 7 && digits <= 18
}

const phoneName =
  /\b(?:(?:home|work|office|business|mobile|cell|primary|main|default|contact|customer|billing|shipping)?phone(?:s|no|nr|number|numbers)?|cell|mobil\w*|tel|telefon\w*|telephon\w*|handy\w*|rufnummer|gsm|portable|movil|celular|cellulare|telefoon\w*|matkapuhelin|puhelin|numer telefonu|telefonszam|cep|sms|whats ?app(?:number)?|msisdn)\d{0,2}\b|телефон|電話|携帯|전화|手机|电话/

/**
 * Returns true for names of phone columns, such as `Mobile Phone Number`, `phone1`, `Phone 1 - Value`, `Téléphone`, `Handy`. Returns false
 * for names of dates and other details, such as `sms_consent_date`: Unix times have the form of phone numbers.
 */
export function isPhoneName(column: string): boolean {
  return phoneName.test(nameWords(column)) && !isDetailName(column)
}

/** Returns true for a column that usually names a colleague, such as `OwnerEmail`, `Sales rep`, `created_by`. */
export function isColleagueColumn(column: string): boolean {
  return /\b(?:owner|assigned|assignee|account manager|sales ?rep|created by|modified by|updated by|advisor)\b|^manager\b/.test(
    nameWords(column),
  )
}

/**
 * Returns true for the name of a column about others than the customer: a colleague, a referrer, a company, a store. Also true for fax
 * numbers.
 */
export function belongsToSomeoneElse(column: string): boolean {
  return (
    isColleagueColumn(column) ||
    /\b(?:manager|representative|agent|responsible|staff|employee|betreuer|vermittler|invited by|refer\w*|parent|sender|from e ?mail|reply ?to|partner|emergency|company|store|shop|fax)\b/.test(
      nameWords(column),
    )
  )
}
