import { CsvCutter } from './csvCutter.ts'
import { splitOddRecord, splitRecord } from './csvSplit.ts'
import { fileError } from './fileError.ts'
import type { ReadLimits } from './limits.ts'
import type { RecordBatch } from './recordBatch.ts'
import { recordFlags, recordText } from './recordBatch.ts'

export interface CsvSettings {
  readonly delimiter: string | 'auto'
  readonly quote: string
  readonly headerRow: number | 'auto'
  readonly columns?: readonly string[]
}

export interface CsvDialect {
  readonly delimiter: string
  readonly quote: string
  /** Names as they stand in the header, trimmed; an empty name is a column to leave out. */
  readonly header: readonly string[]
  /** First line of the header; 0 where the file has none. */
  readonly headerLine: number
  /** Records that start on this line or before it are not data. */
  readonly skipThroughLine: number
  readonly notes: readonly string[]
}

const delimiters = [',', ';', '\t', '|'] as const

interface SampleRecord {
  readonly line: number
  readonly fields: readonly string[]
}

/**
 * Finds delimiter and header in the first bytes of a file. `whole` says that the sample is the whole file.
 *
 * Title rows (one filled cell) and comment rows (`# …`) narrower than the header are passed over; a comment row as wide
 * as the header is refused with a hint, because it may as well be the header itself (bad-inputs 175, 205).
 *
 * @throws RunError HEADER_MISMATCH, FILE_NO_HEADER, FILE_COMMENT_HEADER, FILE_DUPLICATE_COLUMN, FILE_TOO_MANY_COLUMNS, FILE_EMPTY
 */
export function detectCsvDialect(sample: Buffer, whole: boolean, settings: CsvSettings, source: { readonly name: string; readonly limits: ReadLimits }): CsvDialect {
  const { name, limits } = source
  const notes: string[] = []
  const declared = separatorRow(sample)
  if (declared !== undefined) notes.push(`line 1 sets the delimiter to ${describeDelimiter(declared)}`)
  const skipSeparator = declared === undefined ? 0 : 1
  const configured = settings.delimiter === 'auto' ? declared : settings.delimiter
  const cut = (delimiter: string) => cutSample(sample, whole, delimiter, settings.quote, source).filter((record) => record.line > skipSeparator)
  const best = configured ?? guessDelimiter(cut)
  const records = cut(best)
  if (records.length === 0) {
    if (settings.columns !== undefined) return { delimiter: best, quote: settings.quote, header: settings.columns, headerLine: 0, skipThroughLine: skipSeparator, notes }
    throw fileError('FILE_EMPTY', 'the file holds no row', { name, mend: 'Export the file again.' })
  }
  if (settings.delimiter !== 'auto' && records.every((record) => record.fields.length === 1)) {
    const other = guessDelimiter(cut)
    if (other !== best && cut(other).some((record) => record.fields.length > 1)) {
      throw fileError('HEADER_MISMATCH', `no row holds the configured delimiter ${describeDelimiter(best)}; the file looks separated by ${describeDelimiter(other)}`, {
        name,
        at: `line ${records[0]?.line ?? 1}`,
        mend: 'Set `csv: { delimiter: auto }`, or the delimiter that the file has.',
      })
    }
  }
  const headerIndex = findHeader(records, settings.headerRow, name)
  const found = headerIndex === undefined ? undefined : records[headerIndex]
  if (settings.columns !== undefined) {
    const asked = settings.headerRow === 'auto' ? undefined : found
    return { delimiter: best, quote: settings.quote, header: settings.columns, headerLine: asked?.line ?? 0, skipThroughLine: asked?.line ?? skipSeparator, notes }
  }
  if (found === undefined) {
    throw fileError('HEADER_MISMATCH', `no row starts on line ${settings.headerRow}`, { name, mend: 'Set `csv.header_row` to the line of the header, or leave it out.' })
  }
  if (headerIndex !== undefined && headerIndex > 0 && settings.headerRow === 'auto') notes.push(`passed over ${headerIndex} comment or title rows before the header on line ${found.line}`)
  const header = found.fields.map((field) => field.trim())
  checkHeader(header, found.line, { name, limits, guessed: settings.headerRow === 'auto' })
  if (header.includes('')) notes.push('columns without a name are left out')
  return { delimiter: best, quote: settings.quote, header, headerLine: found.line, skipThroughLine: found.line, notes }
}

export function describeDelimiter(delimiter: string): string {
  return delimiter === '\t' ? 'tab' : JSON.stringify(delimiter)
}

/** Fields of one raw record, or undefined where its quoting cannot be read. */
export function fieldsOf(batch: RecordBatch, index: number, delimiter: string, quote: string): readonly string[] | undefined {
  const text = recordText(batch, index)
  // Index below the batch's count: the arrays are aligned.
  const flags = batch.flags[index] as number
  if ((flags & recordFlags.oddQuote) !== 0) return splitOddRecord(text, delimiter, quote)
  return (flags & recordFlags.quoted) === 0 ? text.split(delimiter) : splitRecord(text, delimiter, quote)
}

/** The spreadsheet convention of a first row `sep=;`. */
function separatorRow(sample: Buffer): string | undefined {
  return /^"?sep=([^\r\n"])"?(?:\r|\n|$)/i.exec(sample.subarray(0, 16).toString('latin1'))?.[1]
}

function cutSample(sample: Buffer, whole: boolean, delimiter: string, quote: string, source: { readonly name: string; readonly limits: ReadLimits }): readonly SampleRecord[] {
  const cutter = new CsvCutter({ name: source.name, delimiter, quote, limits: source.limits })
  const records: SampleRecord[] = []
  const take = (batch: RecordBatch) => {
    for (let i = 0; i < batch.count && records.length < 50; i++) {
      records.push({ line: batch.lines[i] as number, fields: fieldsOf(batch, i, delimiter, quote) ?? [recordText(batch, i)] })
    }
  }
  take(cutter.push(sample))
  if (whole && records.length < 50) {
    try {
      take(cutter.end())
    } catch {
      // An unclosed quote under this delimiter: the reader itself reports it, with the delimiter that was chosen.
    }
  }
  return records
}

/** The delimiter under which most records agree on a width above one; comma where nothing separates. */
function guessDelimiter(cut: (delimiter: string) => readonly SampleRecord[]): string {
  let best: string = ','
  let bestScore = 0
  for (const delimiter of delimiters) {
    const records = cut(delimiter)
    const widths = new Map<number, number>()
    for (const record of records) widths.set(record.fields.length, (widths.get(record.fields.length) ?? 0) + 1)
    let width = 1
    let agreeing = 0
    for (const [candidate, count] of widths) if (candidate > 1 && count > agreeing) [width, agreeing] = [candidate, count]
    const score = width === 1 ? 0 : agreeing / records.length + width / 10_000
    if (score > bestScore) [best, bestScore] = [delimiter, score]
  }
  return best
}

function findHeader(records: readonly SampleRecord[], headerRow: number | 'auto', name: string): number | undefined {
  if (headerRow !== 'auto') {
    const index = records.findIndex((record) => record.line === headerRow)
    return index === -1 ? undefined : index
  }
  const widest = Math.max(...records.map((record) => record.fields.length))
  for (const [index, record] of records.entries()) {
    const filled = record.fields.filter((field) => field.trim() !== '')
    const comment = /^#\s*[^\s#]/.test(record.fields[0] ?? '')
    if (comment && widest > 1 && record.fields.length === widest && records.length > index + 1) {
      throw fileError('FILE_COMMENT_HEADER', 'the first row is a comment as wide as the table', {
        name,
        at: `line ${record.line}`,
        mend: `Set \`csv: { header_row: ${records[index + 1]?.line ?? record.line + 1} }\`, or ${record.line} if this row is the header.`,
      })
    }
    const title = filled.length === 1 && widest > 1 && records.length > index + 1
    if (!title && !(comment && record.fields.length < widest)) return index
  }
  return 0
}

function checkHeader(header: readonly string[], line: number, source: { readonly name: string; readonly limits: ReadLimits; readonly guessed: boolean }): void {
  const { name, limits } = source
  const at = `line ${line}`
  if (header.length > limits.columns) {
    throw fileError('FILE_TOO_MANY_COLUMNS', `the header has ${header.length} columns, the limit is ${limits.columns}`, { name, at, mend: 'Check the delimiter, or export fewer columns.' })
  }
  const seen = new Set<string>()
  for (const [index, column] of header.entries()) {
    if (column !== '' && seen.has(column)) {
      throw fileError('FILE_DUPLICATE_COLUMN', `column ${index + 1} has the name of an earlier one`, {
        name,
        at,
        mend: `Name the columns by position: \`csv: { header_row: ${line}, columns: [ … ] }\`.`,
      })
    }
    seen.add(column)
  }
  if (source.guessed && header.some(looksLikeData)) {
    throw fileError('FILE_NO_HEADER', 'the first row looks like data, not like column names', {
      name,
      at,
      mend: 'Add a header row, or name the columns with `csv: { columns: [ … ] }`.',
    })
  }
}

/** Addresses, web addresses, digests, prices and long numbers are no column names. */
function looksLikeData(cell: string): boolean {
  return /^https?:\/\//i.test(cell) || /^[^\s@]+@[^\s@]+\.[^\s@]+$/.test(cell) || /^[0-9a-f]{64}$/i.test(cell) || /^-?\d+[.,]\d+( [A-Z]{3})?$/.test(cell) || /^\+?\d{4,}$/.test(cell)
}
