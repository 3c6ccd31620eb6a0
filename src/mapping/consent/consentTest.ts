/** Binds tests of consent and removal to columns, and applies them to cells (docs/guarantees.md#a-no-is-never-sent). */
import type { ConsentTest } from '../../model/pipeline.ts'
import type { SourceRow } from '../../model/record.ts'
import { allTexts, findColumn } from '../fields.ts'
import { parseInstant } from '../instant.ts'
import { comparableText, foldedText, trimText } from '../text.ts'

/** Test of consent or removal, bound to a column of one header. */
export interface BoundTest {
  /** Index of the column; -1 if the header does not have it. */
  readonly index: number
  readonly test: ConsentTest
  /** Returns true if a trimmed text passes. */
  readonly passes: (text: string) => boolean
}

export function bindTest(test: ConsentTest, columns: readonly string[]): BoundTest {
  return { index: findColumn(columns, test.column), test, passes: cellTest(test) }
}

/**
 * Returns a function that returns true for a trimmed text that passes the test:
 * - `values`, `notValues`: compared by `comparableText`. `notValues` also match texts with invisible or full-width characters. A word of
 *   `notValues` also matches one part of a list such as `vip, unsubscribed`. An empty text of `notValues` also matches `NULL`, `\N` and
 *   `0000-00-00`.
 * - `after`, `before`: only a later or earlier date passes. A date without an offset is read in UTC.
 */
export function cellTest({ values, notValues, before, after }: ConsentTest): (text: string) => boolean {
  if (values !== undefined) {
    const yes = new Set(values.map(comparableText))
    return (text) => yes.has(comparableText(text))
  }
  if (notValues !== undefined) {
    const foldedForm = (text: string) => comparableText(foldedText(text))
    const no = new Set(notValues.map(foldedForm))
    // Only words, because `1,0` is a number with a decimal comma.
    const isNoWord = (part: string) => /\p{L}/u.test(part) && no.has(foldedForm(part))
    const isNo = (form: string) => no.has(form) || (no.has('') && nullOfDatabase.test(form))
    return (text) => !isNo(foldedForm(text)) && !partsOf(text).some(isNoWord)
  }
  const afterMs = after === undefined ? Number.NEGATIVE_INFINITY : millisecondsOf(after)
  const beforeMs = before === undefined ? Number.POSITIVE_INFINITY : millisecondsOf(before)
  return (text) => {
    const ms = millisecondsOf(text)
    return ms > afterMs && ms < beforeMs
  }
}

/** Matches the texts that databases write for an empty value or date. */
const nullOfDatabase = /^(?:null|\(null\)|\\n|0000-00-00(?:[ t]00:00:00(?:\.0+)?z?)?)$/

/**
 * Separator of a list in one cell, such as tags. Also the wide forms of Chinese and Japanese, and the signs around parts, as in
 * `["vip","unsubscribed"]` and `{vip,unsubscribed}`.
 */
const separator = /[,;|\r\n，、；｜"[\]{}]/

/** Returns the parts of a list in one cell; none for a cell without a separator. */
export function partsOf(text: string): readonly string[] {
  return separator.test(text) ? text.split(separator) : []
}

/**
 * Returns true if the row passes the test. A missing cell counts as empty, because JSON and XML omit empty values. If a cell has several
 * texts (repeated elements, lists of JSON), all must pass, because one of them may mean no.
 */
export function passesTest(row: SourceRow, { index, passes }: BoundTest): boolean {
  return allTexts(row.cells[index]).every((text) => passes(trimText(text)))
}

/** Returns the milliseconds since 1970 of a date. For a text that is not a date, returns NaN, which fails every comparison. */
function millisecondsOf(text: string): number {
  return parseInstant(text, 'utc-midnight', 'UTC')?.ms ?? Number.NaN
}
