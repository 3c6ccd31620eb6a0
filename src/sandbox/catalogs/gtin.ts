/** Checks article numbers: UPC, EAN, JAN and ISBN (spec 2.2). Pure. */

/** Returns true for a GTIN of 8, 12, 13 or 14 digits or an ISBN of 10 characters, with the right check digit. */
export function isGtin(text: string): boolean {
  const digits = text.replaceAll(/[\s-]/g, '')
  if (/^\d{9}[\dX]$/i.test(digits)) return isIsbn10(digits.toUpperCase())
  return /^(?:\d{8}|\d{12,14})$/.test(digits) && hasCheckDigit(digits)
}

/** Checks the weighted sum: weights 1 and 3 from the right, beginning with the check digit (GS1 General Specifications 7.9). */
function hasCheckDigit(digits: string): boolean {
  let sum = 0
  for (let index = 0; index < digits.length; index++) {
    const weight = (digits.length - index) % 2 === 0 ? 3 : 1
    sum += Number(digits[index]) * weight
  }
  return sum % 10 === 0
}

function isIsbn10(text: string): boolean {
  let sum = 0
  for (let index = 0; index < 10; index++) sum += (text[index] === 'X' ? 10 : Number(text[index])) * (10 - index)
  return sum % 11 === 0
}
