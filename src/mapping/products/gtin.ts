/** Parses trade item numbers (UPC, EAN, JAN, ISBN; GS1 General Specifications 7.9; docs/inputs.md, case 88). */

/** Digits as they are sent, or the reason why they are not valid. `isNormalized`: true if they differ from the text. */
export type GtinResult = { readonly gtin: string; readonly isNormalized: boolean } | { readonly invalid: string }

/** Matches the marks by which a spreadsheet treats digits as text: `'0400…`, `="0400…"`. */
const textMark = /^(?:=?"|['\u2018\u2019])|["'\u2019]$/g

/** Parses a trimmed gtin. An ISBN-10 becomes an ISBN-13. Adds no lost leading zero: the result could be the number of another item. */
export function parseGtin(text: string): GtinResult {
  const plain = text.replace(textMark, '').replace(/[\s\u2010-\u2015-]/g, '')
  if (/^\d(?:\.\d+)?[eE]\+?\d+$/.test(plain)) return { invalid: 'was damaged by a spreadsheet' }
  if (/^\d{9}[\dXx]$/.test(plain)) {
    const isbn = isbn13(plain)
    return isbn === undefined ? { invalid: 'is not an ISBN: the check digit differs' } : { gtin: isbn, isNormalized: true }
  }
  if (!/^(?:\d{8}|\d{12,14})$/.test(plain)) return { invalid: 'does not have 8, 12, 13 or 14 digits' }
  if (/^0+$/.test(plain)) return { invalid: 'is all zeros' }
  if (checkDigit(plain.slice(0, -1)) !== plain.charCodeAt(plain.length - 1) - 48) return { invalid: 'has a wrong check digit' }
  // Padded to 14 digits, each GTIN has an indicator digit, then 13 digits. Leading zeros do not change the number.
  const padded = plain.padStart(14, '0')
  const isGtin8 = padded.startsWith('000000')
  const isInStoreRange = isGtin8 ? padded[6] === '2' : /^.(?:2|02)/.test(padded)
  if (isInStoreRange) return { invalid: 'is in the range for use inside a store' }
  if (/^.9[89]/.test(padded)) return { invalid: 'is in the range for coupons' }
  return { gtin: plain, isNormalized: plain !== text }
}

/** Returns the GS1 check digit for the digits before it. */
function checkDigit(digits: string): number {
  let sum = 0
  for (let i = digits.length - 1, weight = 3; i >= 0; i--, weight = 4 - weight) sum += (digits.charCodeAt(i) - 48) * weight
  return (10 - (sum % 10)) % 10
}

/** Returns the ISBN-13; undefined for a wrong check digit. */
function isbn13(isbn10: string): string | undefined {
  let sum = 0
  for (let i = 0; i < 10; i++) sum += (10 - i) * (isbn10[i] === 'X' || isbn10[i] === 'x' ? 10 : Number(isbn10[i]))
  if (sum % 11 !== 0) return undefined
  const body = `978${isbn10.slice(0, 9)}`
  return `${body}${checkDigit(body)}`
}
