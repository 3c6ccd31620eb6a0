import { fastPhone, hasNumberingPlan } from './phoneFast.ts'
import { phoneLibrary } from './phoneLibrary.ts'
import type { Normalized } from './result.ts'

const invalid = (message: string): Normalized => ({ code: 'PHONE_INVALID', message })

/**
 * Normalizes a trimmed phone number to E.164 with `+`, by the numbering plan of its country. `phoneFast.ts` reads common spellings, and
 * libphonenumber reads the others. An extension is removed, with the note PHONE_EXTENSION. `country`: two-letter code for numbers without
 * +. An unknown code counts as none. Source: docs/spec-notes.md#normalization; docs/inputs.md, cases 120 to 122, 193 to 197, 216.
 */
export function normalizePhone(text: string, country: string | undefined): Normalized {
  const quick = fastPhone(text, country)
  return quick !== undefined ? { text: quick } : normalizeByLibrary(text, country)
}

/** Adds `also`: the form without `+`. A service may hash this form (docs/inputs.md, case 121). */
export function withPlainForm(result: Normalized): Normalized {
  return 'code' in result ? result : { ...result, also: result.text.slice(1) }
}

/** Normalizes a number with the library, or returns why it is not valid. */
function normalizeByLibrary(given: string, country: string | undefined): Normalized {
  // The patterns below take quadratic time for a long run of digits or spaces.
  if (given.length > 200) return invalid('has too many characters')
  const text = given
    .normalize('NFKC')
    .replace(/^(?:p:|tel:)/i, '')
    .replace(/^['\u2018\u2019]/, '') // of a spreadsheet
    .trim()
    .replace(/[\u2010-\u2015\u2212]/g, '-')
    .replace(/\p{Nd}/gu, decimalDigit)
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
  return extension === null ? { text: parsed.number } : { text: parsed.number, note: 'PHONE_EXTENSION' }
}

/**
 * Converts a digit of any script to ASCII. Counts down to the zero of its block, because blocks of ten digits do not start at multiples of
 * ten.
 */
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
