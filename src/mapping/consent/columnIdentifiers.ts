/**
 * Recognizes emails and phone numbers by the form of a cell. Recognizes columns of phone numbers, and of people other than the
 * customer, by their name. Pure.
 */
import { normalizeEmail } from '../identifiers/email.ts'
import { nameWords } from './columnName.ts'

const rules = { wrapped: true, idnToAscii: false, bothForms: false }

/** Returns true if a trimmed cell is an email, also with a name or `mailto:`. Returns false for placeholders such as `test@test.com`. */
export function looksLikeEmail(cell: string): boolean {
  return cell.length >= 6 && cell.length <= 254 && cell.includes('@') && 'text' in normalizeEmail(cell, rules)
}

const international = /^['\u2018\u2019]?(?:p:|tel:)?\+[\d(][\d\s().\-/\u2010-\u2015\u00a0]{6,20}\d(?:\s*(?:x|ext\.?)\s*\d{1,7})?$/i
const grouped = /^(?:1[-. ])?\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}(?:\s*(?:x|ext\.?)\s*\d{1,7})?$|^0\d{1,4}[\s/-]\d{3,4}[\s-]?\d{2,6}$/i
const loose = /^['\u2018\u2019]?(?:p:|tel:)?\+?[\d\s().\-/\u2010-\u2015\u00a0]{7,24}(?:\s*(?:x|ext\.?)\s*\d{1,7})?$/i

/**
 * Returns true if a trimmed cell has the form of a phone number. `inPhoneColumn`: true for a column of `isPhoneName`, where plain digits
 * count too.
 */
export function looksLikePhone(cell: string, inPhoneColumn: boolean): boolean {
  if (cell.length < 7 || cell.length > 32) return false
  // Most cells start with a letter. Phone numbers do not, except those with `p:` or `tel:`, in upper or lower case.
  if (/^[a-oq-su-z]/i.test(cell)) return false
  if (international.test(cell) || grouped.test(cell)) return true
  if (!inPhoneColumn || !loose.test(cell)) return false
  const digits = cell.replace(/\D/g, '').length
  return digits >= 7 && digits <= 18
}

/** Returns true for names of phone columns, such as `Mobile Phone Number`, `Billing Phone`, `Phone 1 - Value`, `Téléphone`, `Handy`. */
export function isPhoneName(column: string): boolean {
  return /\b(?:phones?|mobile?|mobil\w*|cell|cellphone|telephone|tel|telefon\w*|telephon\w*|handy\w*|rufnummer|gsm|portable|movil|celular|cellulare|telefoon\w*|matkapuhelin|puhelin|numer telefonu|telefonszam|cep|sms|whatsapp|msisdn)\b|телефон|電話|携帯|전화|手机|电话/.test(
    nameWords(column),
  )
}

/**
 * Returns true for the name of a column with emails or numbers of others than the customer: staff, a referrer, an emergency contact, a
 * company or store. Also for fax numbers.
 */
export function belongsToSomeoneElse(column: string): boolean {
  return /\b(?:owner|assigned|assignee|account manager|manager|sales ?rep|representative|created by|modified by|updated by|invited by|advisor|agent|responsible|refer\w*|parent|sender|from e ?mail|reply ?to|staff|employee|betreuer|vermittler|partner|emergency|company|store|shop|fax)\b/.test(
    nameWords(column),
  )
}
