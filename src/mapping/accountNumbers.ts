/** Recognizes card and bank account numbers, and the columns that contain them (docs/inputs.md, cases 134 and 199). */
import type { Cell, SourceRow } from '../model/record.ts'

/** Number of rows that are checked. A column of card or bank account numbers has one in its first rows. */
const maxRows = 500

/** Content of a column, as text for a message. */
export type AccountNumberKind = 'card numbers' | 'bank account numbers'

/** Search for card and bank account numbers in the rows of one source. */
export interface AccountNumberSearch {
  /** Returns the columns of a row, mapped or not, whose whole cell is such a number. Returns none after the first `maxRows` rows. */
  readonly find: (row: SourceRow) => readonly (readonly [column: string, content: AccountNumberKind])[]
}

export function createAccountNumberSearch(): AccountNumberSearch {
  let rowsLeft = maxRows
  return {
    find: (row) => {
      if (rowsLeft <= 0) return noColumns
      rowsLeft -= 1
      return row.cells.flatMap((cell, index): [string, AccountNumberKind][] => {
        const content = contentOf(cell)
        return content === undefined ? [] : [[row.columns[index] ?? '', content]]
      })
    },
  }
}

const noColumns: ReturnType<AccountNumberSearch['find']> = []

function contentOf(cell: Cell | undefined): AccountNumberKind | undefined {
  if (typeof cell !== 'string' || cell.length < 13 || cell.length > 42) return undefined
  if (isCardNumber(cell)) return 'card numbers'
  return isIban(cell) ? 'bank account numbers' : undefined
}

/**
 * Returns true for a card number with a correct check digit (ISO/IEC 7812), with or without spaces and hyphens. Recognizes Visa with 16
 * digits, Mastercard, American Express, and Discover that begins with 6011 or 65.
 */
export function isCardNumber(text: string): boolean {
  const digits = text.replace(/[ -]/g, '')
  if (!/^(?:4\d{15}|5[1-5]\d{14}|2[2-7]\d{14}|3[47]\d{13}|6(?:011|5\d\d)\d{12})$/.test(digits)) return false
  let sum = 0
  let isDoubled = false
  for (let i = digits.length - 1; i >= 0; i--) {
    const digit = Number(digits.charAt(i))
    const doubled = digit > 4 ? digit * 2 - 9 : digit * 2
    sum += isDoubled ? doubled : digit
    isDoubled = !isDoubled
  }
  return sum % 10 === 0
}

/** Returns true for an IBAN with correct check digits (ISO 13616), with or without spaces and hyphens. */
export function isIban(text: string): boolean {
  const plain = text.replace(/[ -]/g, '').toUpperCase()
  if (!/^[A-Z]{2}\d{2}[A-Z0-9]{11,30}$/.test(plain)) return false
  let remainder = 0
  for (const char of plain.slice(4) + plain.slice(0, 4)) {
    // A letter counts as two digits: A is 10, Z is 35.
    const value = Number.parseInt(char, 36)
    remainder = (value > 9 ? remainder * 100 + value : remainder * 10 + value) % 97
  }
  return remainder === 1
}
