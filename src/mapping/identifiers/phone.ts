import { fastPhone, hasNumberingPlan } from './phoneFast.ts'
import { phoneLibrary } from './phoneLibrary.ts'
import type { IdentifierResult } from './identifierResult.ts'
import { foldedText, trimText, withoutInvisible } from '../text.ts'

const invalid = (message: string): IdentifierResult => ({ code: 'PHONE_INVALID', message })
const hyphens = /[\u2010-\u2015\u2212]/g

/**
 * Normalizes a trimmed phone number to E.164 with `+`, by the numbering plan of its country. Removes an extension, with the note
 * PHONE_EXTENSION. Rejects a number without + that may be national or international, such as `491712345678` in Germany. One of the
 * two belongs to another person. `country`: two-letter code for numbers without +; an unknown code counts as none.
 * Source: docs/spec-notes.md#normalization; docs/inputs.md, cases 120 to 122, 193 to 197, 216.
 */
export function normalizePhone(text: string, country: string | undefined): IdentifierResult {
  const reading = readPhone(text, country)
  return reading.other === undefined ? reading : invalid('may be a national number, or an international one without +')
}

/** As `normalizePhone`, but returns both numbers of one that may be national or international. The second is `otherForm`. */
export function normalizePhoneAsBoth(text: string, country: string | undefined): IdentifierResult {
  const reading = readPhone(text, country)
  return 'code' in reading || reading.other === undefined ? reading : { text: reading.text, otherForm: reading.other }
}

/** `other`: second number that a text without + may mean, in E.164. */
type PhoneReading = IdentifierResult & { readonly other?: string }

function readPhone(text: string, country: string | undefined): PhoneReading {
  const quick = fastPhone(text, country)
  return quick !== undefined ? { text: quick } : readByLibrary(text, country)
}

/** Adds `otherForm`: the form without `+`. A service may hash this form (docs/inputs.md, case 121). */
export function withPlusFreeForm(result: IdentifierResult): IdentifierResult {
  return 'code' in result ? result : { ...result, otherForm: result.text.slice(1) }
}

/** Minimum number of digits of a phone number. */
const minDigits = 4
/** Maximum number of groups of digits in a phone number, such as 3 in `202 555 0143`. */
const maxGroups = 8
/** Maximum number of sequences of groups that `phonesIn` normalizes. The library takes 6 µs for each, and a long text has thousands. */
const maxSequences = 1_000

/** Matches the prefix of a call abroad (`00`, `011`) at the start of a number. */
const prefixAbroad = /^\D*(?:00|011)(?=\D*[1-9])/

/**
 * Returns the phone numbers in a text or list, in E.164 with `+`. Tries sequences of groups of digits, and the whole as an international
 * number without +. So it may return numbers that the text does not mean. Use it only for numbers that are not sent.
 */
export function phonesIn(text: string, country: string | undefined): readonly string[] {
  const found = new Set<string>()
  const add = (number: string): boolean => {
    const reading = readPhone(number, country)
    if ('code' in reading) return false
    found.add(reading.text)
    if (reading.other !== undefined) found.add(reading.other)
    return true
  }
  let sequences = 0
  const folded = foldedText(text.replace(/[\n\r\u2028\u2029]/g, ';')).replace(hyphens, '-')
  // `_` may stand for a space, or after the number: `+1_202_555_0143`, `2025550143_2`.
  const spellings = new Set([folded, folded.replace(/%20|&nbsp;|[_*]/gi, ' ')])
  for (const piece of [...spellings].flatMap((spelling) => spelling.split(/[^\p{Nd}\s().\-/+]+|(?=\+)/u))) {
    if (piece.length < minDigits) continue
    const groups = [...piece.matchAll(/\p{Nd}+/gu)]
    if (groups.reduce((sum, [group]) => sum + group.length, 0) < minDigits) continue
    const ends = groups.map((group) => group.index + group[0].length)
    const textOf = (start: number, end: number) =>
      `${start === 0 && piece.startsWith('+') ? '+' : ''}${piece.slice(groups[start]?.index, ends[end])}`
    const last = groups.length - 1
    const whole = textOf(0, last)
    if (!whole.startsWith('+')) add(`+${whole.replace(prefixAbroad, '')}`)
    if (add(whole)) continue
    for (let start = 0; start <= last && sequences < maxSequences; start++) {
      let digits = 0
      for (let end = start; end < start + maxGroups && end <= last; end++) {
        digits += groups[end]?.[0].length ?? 0
        if (digits > 18) break
        if (digits < minDigits || end - start === last) continue
        sequences += 1
        add(textOf(start, end))
      }
    }
  }
  return [...found]
}

/** Reads a number with the library, or returns why it is not valid. */
function readByLibrary(given: string, country: string | undefined): PhoneReading {
  // The patterns below take quadratic time for a long run of digits or spaces.
  if (given.length > 200) return invalid('has too many characters')
  const spelled = trimText(withoutInvisible(given.normalize('NFKC')))
    .replace(/^(?:p:|tel:)/i, '')
    .replace(/^['\u2018\u2019]/, '') // put there by a spreadsheet
    .trim()
    .replace(hyphens, '-')
    .replace(/^\( ?(\+ ?\d{1,3}) ?\)/, '$1 ') // `(+44) 20 …`
  const text = withAsciiDigits(spelled)
  if (text.includes('@')) return invalid('is an email')
  const extension = /^(.*\d)[\s,;]*(?:extension|ext|int|x)[\s.:]*\d{1,7}$/i.exec(text)
  const number = extension?.[1] ?? text
  if (/\d[.,]?[eE]\+?\d/.test(number)) return invalid('was damaged by a spreadsheet')
  if (!/^\+?[\d\s().\-/]+$/.test(number)) return invalid('contains letters or an extension')
  // In `+44 (0)20 …` the zero in brackets is not dialled from abroad.
  const plain = number.startsWith('+') ? number.replace(/\(0\)/, '') : number
  const digits = plain.replace(/\D/g, '')
  if (digits.length < 6 && !plain.startsWith('+') && country === undefined) return invalid('has too few digits')
  if (digits.length > 18) return invalid('has too many digits')
  if (/^(\d)\1+$/.test(digits)) return invalid('is one digit repeated')
  const knownCountry = country !== undefined && hasNumberingPlan(country) ? country : undefined
  if (!plain.startsWith('+') && knownCountry === undefined) return { code: 'PHONE_COUNTRY_MISSING', message: 'has no country code' }
  const options = knownCountry === undefined ? undefined : { defaultCountry: knownCountry, extract: false }
  const parsed = phoneLibrary().parsePhoneNumberFromString(plain, options)
  if (parsed === undefined || !parsed.isValid()) return invalid('is not valid in its country')
  const result = extension === null ? { text: parsed.number } : { text: parsed.number, note: 'PHONE_EXTENSION' as const }
  if (plain.startsWith('+') || `+${digits}` === parsed.number || !digits.startsWith(parsed.countryCallingCode)) return result
  const international = phoneLibrary().parsePhoneNumberFromString(`+${digits}`)
  // The two numbers are equal for `44 (0)20 …`, because the library removes the zero from both.
  const isBoth = international?.isValid() === true && international.number !== parsed.number
  return isBoth ? { ...result, other: international.number } : result
}

/** Converts the digits of all scripts to ASCII. */
export function withAsciiDigits(text: string): string {
  return text.replace(/\p{Nd}/gu, decimalDigit)
}

/** Converts a digit to ASCII. Counts down to the zero of its block, because the blocks do not start at multiples of ten. */
function decimalDigit(char: string): string {
  if (char >= '0' && char <= '9') return char
  let code = char.codePointAt(0) ?? 48 // never undefined: a match is not empty
  let value = 0
  while (value < 9 && /\p{Nd}/u.test(String.fromCodePoint(code - 1))) {
    code -= 1
    value += 1
  }
  return String(value)
}
