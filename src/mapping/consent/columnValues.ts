/** Counts the values of one column, and classifies single values, to find out whether the column is about consent. */
import { parseInstant } from '../instant.ts'
import { trimText } from '../text.ts'
import { meaningOf } from './words.ts'

/** Trimmed value of a column, and the number of cells that have it. */
export interface CountedValue {
  readonly value: string
  readonly count: number
}

const maxValueLength = 40
/** Maximum number of distinct values. A column with more values contains names, dates or numbers, not states such as `subscribed`. */
const maxValues = 40
/** Number of rows that are counted. In most exports, these rows have every value of a column of consent. */
const maxRows = 20_000

/** Counts the distinct values of one column, and its cells that look like dates. */
export class ColumnValues {
  #counts: Map<string, number> | undefined = new Map()
  #rowCount = 0
  dateCount = 0
  /** Number of dates that the tests `after:` and `before:` cannot read, such as `1/31/24`. Does not count `0000-00-00`. */
  unreadableDateCount = 0
  /** Number of dates in the future. A consent that was given has an earlier date. */
  futureDateCount = 0
  nonEmptyCount = 0
  readonly #latestMs: number

  /** `today`: a date up to a day later does not count as future, because its zone is not known. */
  constructor(today: Date) {
    this.#latestMs = today.getTime() + 86_400_000
  }

  /** Counts a cell. A missing cell counts as empty. */
  add(cell: string | undefined): void {
    if (this.#rowCount++ >= maxRows) return
    const value = cell === undefined ? '' : trimText(cell)
    if (value !== '') {
      this.nonEmptyCount++
      if (looksLikeDate(value)) {
        this.dateCount++
        const date = parseInstant(value, 'utc-midnight', 'UTC')
        if (date === undefined && meaningOf(value) !== 'empty') this.unreadableDateCount++
        if (date !== undefined && date.ms > this.#latestMs) this.futureDateCount++
      }
    }
    const counts = this.#counts
    if (counts === undefined) return
    const countBefore = counts.get(value)
    if (countBefore === undefined && (counts.size === maxValues || value.length > maxValueLength)) this.#counts = undefined
    else counts.set(value, (countBefore ?? 0) + 1)
  }

  /** Distinct values, also the empty one, most frequent first. Undefined if the column has too many or too long ones. */
  get distinctValues(): readonly CountedValue[] | undefined {
    return this.#counts === undefined
      ? undefined
      : [...this.#counts].map(([value, count]) => ({ value, count })).toSorted((a, b) => b.count - a.count)
  }

  /** True if the column has more than `maxRows` cells, so that the last ones were not counted. */
  get isPartial(): boolean {
    return this.#rowCount > maxRows
  }

  /** True if more than half of the counted cells that are not empty look like dates. */
  get isMostlyDates(): boolean {
    return this.nonEmptyCount > 0 && this.dateCount * 2 > this.nonEmptyCount
  }
}

/** Returns true for text that starts like `2024-01-31`, `1/31/24`, `Jan 31, 2024` or `20240131`, and for recent Unix times. */
export function looksLikeDate(value: string): boolean {
  return (
    value.length >= 6 &&
    value.length <= 40 &&
    /^(?:\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.](?:\d{4}|\d{2})|(?:19|20)\d{6}|\d{1,2}\.? \p{L}{3,10}\.? \d{4}|\p{L}{3,9}\.? \d{1,2},? \d{4}|1[4-9]\d{8}(?:\d{3})?$)/u.test(
      value,
    )
  )
}

/** Returns true for a date that programs write in place of an empty one: `0000-00-00`, `1900-01-01`, `1970-01-01`, `9999-12-31`. */
export function isPlaceholderDate(value: string): boolean {
  const year = /(?<!\d)\d{4}(?!\d)|^\d{4}(?=\d{4}(?!\d))/.exec(value)?.[0]
  // No record with an email is from 1970 or earlier. 6 June 2079 is the last date of `smalldatetime` in SQL Server.
  if (year !== undefined) return Number(year) <= 1970 || Number(year) >= 2079
  return /^[0./ -]+$/.test(value)
}

/**
 * Returns true for a value that may be shown: at most 40 letters, digits, spaces, symbols and usual punctuation marks, without `@`. It may
 * have up to five digits, but not four in a row: emails, phone numbers and most dates are not shown. Does not recognize names of people.
 */
export function isShowable(value: string): boolean {
  return /^[\p{L}\p{M}\p{N}\p{S} _./,'()[\]&:-]{0,40}$/u.test(value) && !/\p{N}{4}|(?:\p{N}\P{N}*){6}/u.test(value)
}
