/** What may be shown of a personal value: enough to find it in one's own file, too little to use (guarantees I17). */
import type { IdentifierType } from './record.ts'

/** `jane.doe@example.com` → `j***@e***.com`. Anything with an @ is shown like that, valid or not. */
export function maskEmail(given: string): string {
  const text = given.toLowerCase()
  const at = text.lastIndexOf('@')
  if (at < 0) return maskText(given)
  const domain = text.slice(at + 1)
  const dot = domain.lastIndexOf('.')
  const ending = dot > 0 && /^\.[a-z]{2,10}$/i.test(domain.slice(dot)) ? domain.slice(dot) : ''
  return `${first(text.slice(0, at))}***@${first(domain)}***${ending}`
}

/** `+1 202 555 0143` → `***43`. */
export function maskPhone(text: string): string {
  const digits = text.replace(/\D/g, '')
  return digits.length < 6 ? '***' : `***${digits.slice(-2)}`
}

/** First character only. */
export function maskText(text: string): string {
  return text === '' ? '' : `${first(text)}***`
}

/** For values of unknown kind: masked where they look like an email or hold many digits, otherwise by `maskText`. */
export function maskUnknown(text: string): string {
  if (text.includes('@')) return maskEmail(text)
  return text.replace(/\D/g, '').length >= 6 ? maskPhone(text) : maskText(text)
}

/** A personal value as messages may show it. */
export function maskFor(kind: IdentifierType, text: string): string {
  if (text.includes('@') && kind !== 'handle') return maskEmail(text)
  if (kind === 'phone_number') return maskPhone(text)
  return kind === 'email' ? maskText(text) : maskUnknown(text)
}

// A local part and a domain, also percent-encoded; and runs that read as phone numbers.
const emailLike = /[^\s@"'<>()[\]{},;:=/?&]+(?:@|%40)[^\s@"'<>()[\]{},;/?&]+/gi
const internationalLike = /\+\d[\d\s().\u2011-]{6,18}\d/g
const credentials = /\/\/[^/\s@]*@/g

/** Values of products are not personal and are shown, but for credentials, emails and phones that strayed into them. */
export function showValue(text: string, length = 60): string {
  const cut = text.length > length ? `${text.slice(0, length)}…` : text
  return hideStray(cut)
}

/** The text with credentials, emails and international phone numbers masked. */
export function hideStray(text: string): string {
  let shown = text
  if (shown.includes('//')) shown = shown.replace(credentials, '//***@')
  if (shown.includes('@') || shown.includes('%40'))
    shown = shown.replace(emailLike, (found) => (found.startsWith('***@') ? found : maskEmail(found.replace('%40', '@'))))
  if (shown.includes('+'))
    shown = shown.replace(internationalLike, (found) => (found.replace(/\D/g, '').length >= 8 ? maskPhone(found) : found))
  return shown
}

function first(text: string): string {
  const point = text.codePointAt(0)
  return point === undefined ? '' : String.fromCodePoint(point)
}
