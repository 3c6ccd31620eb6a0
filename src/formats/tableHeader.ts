import { isRepeat, renameRepeats } from '../mapping/repeatedColumns.ts'
import { isBroken } from '../mapping/text.ts'
import { fileError } from './fileError.ts'
import type { ReadLimits } from './limits.ts'

/** Settings of a pipeline file about the header of a table. */
export interface HeaderSettings {
  /** Line of the header, from 1. */
  readonly headerRow: number | 'auto'
  /** Names by position, for files without a usable header. */
  readonly columns?: readonly string[]
}

export interface TableHeader {
  /** Names of the columns. A column with an empty name is skipped. */
  readonly header: readonly string[]
  /** First line of the header; 0 if the table has none. */
  readonly headerLine: number
  /** Records that start on this line or before it are not data. */
  readonly skipThroughLine: number
  readonly notes: readonly string[]
}

/** Record among the first records of a table. */
export interface SampleRecord {
  readonly line: number
  readonly fields: readonly string[]
}

/**
 * Finds the header among the first records of a table. `records` has at least one. If `settings.columns` is set, these are the columns.
 * `skipped`: last line that is known not to be data; 0 if there is none.
 *
 * If the line of the header is not set, skips title rows (at most one filled cell). A comment row (`# …`) above the header is then an error
 * with a hint. It is not skipped, because it could be the header itself (docs/inputs.md, cases 175 and 205).
 *
 * A repeated name gets its position as a suffix, as in `Email (column 5)` (mapping/repeatedColumns.ts). A repeated column is an error only
 * if a field reads it.
 *
 * @throws RunError HEADER_MISMATCH, FILE_NO_HEADER, FILE_COMMENT_HEADER, FILE_TOO_MANY_COLUMNS, FILE_MALFORMED
 */
export function chooseHeader(
  records: readonly SampleRecord[],
  settings: HeaderSettings,
  source: { readonly name: string; readonly limits: ReadLimits; readonly skipped: number },
): TableHeader {
  const { name, limits, skipped } = source
  if (settings.columns !== undefined) {
    const line = settings.headerRow === 'auto' ? 0 : settings.headerRow
    return { header: settings.columns, headerLine: line, skipThroughLine: Math.max(line, skipped), notes: [] }
  }
  const index = findHeader(records, settings.headerRow, name)
  const record = index === undefined ? undefined : records[index]
  if (index === undefined || record === undefined) {
    throw fileError('HEADER_MISMATCH', `no row starts on line ${settings.headerRow}`, {
      name,
      hint: 'Set `csv.header_row` to the line of the header, or leave it out.',
    })
  }
  const header = renameRepeats(record.fields.map((field) => field.trim()))
  checkHeader(header, record.line, { name, limits, guessed: settings.headerRow === 'auto' })
  return {
    header,
    headerLine: record.line,
    skipThroughLine: record.line,
    notes: [
      ...(index > 0 && settings.headerRow === 'auto'
        ? [`skipped ${index} title ${index === 1 ? 'row' : 'rows'} before the header on line ${record.line}`]
        : []),
      ...(header.some((column) => isRepeat(column)) ? ['repeated column names get their position as a suffix'] : []),
      ...(header.includes('') ? ['columns without a name are left out'] : []),
    ],
  }
}

/** Returns the index of the header's record; undefined if no record starts on the configured line. */
function findHeader(records: readonly SampleRecord[], headerRow: number | 'auto', name: string): number | undefined {
  if (headerRow !== 'auto') {
    const index = records.findIndex((record) => record.line === headerRow)
    return index === -1 ? undefined : index
  }
  const widest = Math.max(...records.map((record) => record.fields.length))
  for (const [index, record] of records.entries()) {
    const mayBeAboveHeader = widest > 1 && records.length > index + 1
    if (mayBeAboveHeader && isComment(record)) throw commentError(record, records.slice(index + 1), name)
    const nonEmptyFields = record.fields.filter((field) => field.trim() !== '')
    if (!mayBeAboveHeader || nonEmptyFields.length > 1) return index
  }
  return 0
}

function isComment({ fields }: SampleRecord): boolean {
  return /^#\s*[^\s#]/.test(fields[0] ?? '')
}

/** Returns the error for a comment row above the header. The hint names the line of the first record of `next` that is not a comment. */
function commentError(comment: SampleRecord, next: readonly SampleRecord[], name: string): Error {
  const line = (next.find((record) => !isComment(record)) ?? next[0])?.line ?? comment.line + 1
  return fileError('FILE_COMMENT_HEADER', 'a comment row is above the header', {
    name,
    at: `line ${comment.line}`,
    hint: `Set \`csv: { header_row: ${line} }\`, or ${comment.line} if this row is the header.`,
    remedy: { csv: { header_row: line } },
  })
}

/**
 * Checks the names of a header.
 *
 * @throws RunError FILE_TOO_MANY_COLUMNS; FILE_MALFORMED for a broken name; FILE_NO_HEADER if a guessed header looks like data
 */
function checkHeader(
  header: readonly string[],
  line: number,
  source: { readonly name: string; readonly limits: ReadLimits; readonly guessed: boolean },
): void {
  const { name, limits } = source
  const at = `line ${line}`
  if (header.length > limits.columns) {
    throw fileError('FILE_TOO_MANY_COLUMNS', `the header has ${header.length} columns, the limit is ${limits.columns}`, {
      name,
      at,
      hint: 'Check the delimiter, or export fewer columns.',
    })
  }
  // Postgres cannot store such a name.
  if (header.some(isBroken)) {
    throw fileError('FILE_MALFORMED', 'a column name contains a NUL character or half of a surrogate pair', {
      name,
      at,
      hint: 'Export the file again as UTF-8.',
    })
  }
  if (source.guessed && header.some(looksLikeData)) {
    throw fileError('FILE_NO_HEADER', 'the first row looks like data, not like column names', {
      name,
      at,
      hint: 'Add a header row, or name the columns with `csv: { columns: [ … ] }`.',
    })
  }
}

/** Returns true for a cell that is not a column name: an email, URL, SHA-256 digest, price, phone number or long number. */
function looksLikeData(cell: string): boolean {
  return (
    /^https?:\/\//i.test(cell) ||
    /^[^\s@]+@[^\s@][^\s@.]*\.[^\s@]+$/.test(cell) ||
    /^[0-9a-f]{64}$/i.test(cell) ||
    /^-?\d+[.,]\d+( [A-Z]{3})?$/.test(cell) ||
    /^\+?\d{4,}$/.test(cell) ||
    // A date has at most eight digits.
    (/^\+?\(?\d[\d\s()./\u2010-\u2015-]+$/.test(cell) && cell.replace(/\D/g, '').length > 8)
  )
}
