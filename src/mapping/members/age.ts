/**
 * Finds and reads columns of ages or dates of birth. Children under 13 are never sent to an audience, even with consent
 * (docs/inputs.md, case 132).
 */
import { allTexts, normalizeHeader } from '../fields.ts'
import type { Row } from '../../model/record.ts'
import { trimText } from '../text.ts'

/** Column of ages or dates of birth. */
export interface BoundAge {
  readonly index: number
  /** `age`: its cells are ages in years; `birth`: its cells are dates or years of birth. */
  readonly kind: 'age' | 'birth'
  /** Date of birth of a person who turns 13 today (UTC), YYYY-MM-DD. */
  readonly latest: string
}

const leastAge = 13
const ageColumns: ReadonlySet<string> = new Set(['age', 'customer_age', 'alter', 'edad'])
const birthColumns: ReadonlySet<string> = new Set([
  'birth_date',
  'birthdate',
  'birthday',
  'date_of_birth',
  'dob',
  'birth_year',
  'year_of_birth',
  'yob',
  'doby',
  'geburtsdatum',
])

/** Returns the columns of a header that have a usual name of an age or a date of birth. `today` decides who is under 13. */
export function ageColumnsOf(columns: readonly string[], today: Date): BoundAge[] {
  const latest = `${today.getUTCFullYear() - leastAge}${today.toISOString().slice(4, 10)}`
  return columns.flatMap((column, index): BoundAge[] => {
    const name = normalizeHeader(column)
    return ageColumns.has(name) ? [{ index, kind: 'age', latest }] : birthColumns.has(name) ? [{ index, kind: 'birth', latest }] : []
  })
}

/**
 * Returns true if, by one text of the cell, the person is or may be under 13. Reads an age of one or two digits, also with decimals, or a
 * date of birth: a year, a month (`2013-06`), an ISO date, or any text with a year of four digits (`16.06.2013`, `6/16/2013 0:00`,
 * `2013.0`). The year may also be the start or end of six or eight digits (`16062013`). Returns false for any other text.
 */
export function isChild(row: Row, { index, kind, latest }: BoundAge): boolean {
  return allTexts(row.cells[index]).some((text) => (kind === 'age' ? isChildsAge(trimText(text)) : isChildsBirth(trimText(text), latest)))
}

/** Returns true for an age under 13. Accepts `12.0`: programs write a column of integers with decimals as soon as one cell is empty. */
function isChildsAge(text: string): boolean {
  return /^\d{1,2}(?:[.,]\d+)?$/.test(text) && Number.parseInt(text, 10) < leastAge
}

/** Returns true if a person with this date of birth is or may be under 13. `latest`: as in `BoundAge`. */
function isChildsBirth(text: string, latest: string): boolean {
  const iso = /^((?:19|20)\d{2})-?(0[1-9]|1[0-2])(?:-?(0[1-9]|[12]\d|3[01]))?(?:[T ]|$)/.exec(text)
  // Without a day, the last day of the month is taken, so that a person who may be twelve counts as a child.
  if (iso !== null) return `${iso[1]}-${iso[2]}-${iso[3] ?? '31'}` > latest
  // Day and month may be in any order, or missing. So only the year is read, and its last day is taken. In `20102013` both ends may be
  // the year.
  return (text.match(/\d+/g) ?? [])
    .filter(({ length }) => length === 4 || length === 6 || length === 8)
    .flatMap((digits) => [digits.slice(0, 4), digits.slice(-4)])
    .some((year) => /^(?:19|20)/.test(year) && `${year}-12-31` > latest)
}
