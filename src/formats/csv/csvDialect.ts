import { CsvSplitter } from './csvSplitter.ts'
import { splitOddFields, splitFields, splitRelaxedFields } from './csvFields.ts'
import { fileError } from '../fileError.ts'
import type { ReadLimits } from '../limits.ts'
import { recordFlags, recordText, type RecordBatch } from '../recordBatch.ts'
import { chooseHeader, type HeaderSettings, type SampleRecord, type TableHeader } from '../tableHeader.ts'

/** Syntax of the cells of a record. */
export interface CsvSyntax {
  /** One character. */
  readonly delimiter: string
  /** One ASCII character. If it is empty, quotes are text. */
  readonly quote: string
  /** True if a quote inside an unquoted cell is text (docs/inputs.md, case 19). */
  readonly relaxedQuotes?: boolean
}

/** Settings of a pipeline file about CSV and TSV. The delimiter may be `auto`. */
export interface CsvSettings extends HeaderSettings, CsvSyntax {}

/** Syntax and header of a CSV or TSV file. */
export interface CsvDialect extends TableHeader, CsvSyntax {}

const delimiters = [',', ';', '\t', '|'] as const
/** Maximum number of records by which delimiter and header are detected. */
const maxSampleRecords = 50

/**
 * Detects delimiter and header from the first bytes of a file. `isWhole`: true if the sample is the whole file.
 *
 * @throws RunError WRONG_FORMAT, HEADER_MISMATCH, FILE_EMPTY and the errors of `chooseHeader` and `CsvSplitter`
 */
export function detectCsvDialect(
  sample: Buffer,
  isWhole: boolean,
  settings: CsvSettings,
  source: { readonly name: string; readonly limits: ReadLimits },
): CsvDialect {
  const { name, limits } = source
  if (!/^[\u0020-\u007e]?$/.test(settings.quote)) {
    throw fileError('WRONG_FORMAT', 'the configured quote is not an ASCII character', {
      name,
      hint: 'Set `csv.quote` to " or \'; curly quotes are text.',
    })
  }
  const quoting = { quote: settings.quote, relaxedQuotes: settings.relaxedQuotes === true }
  const notes: string[] = []
  const declared = separatorRow(sample)
  const separatorLine = declared === undefined ? 0 : 1
  const configured = settings.delimiter === 'auto' ? declared : settings.delimiter
  if (declared !== undefined)
    notes.push(
      declared === configured
        ? `line 1 sets the delimiter to ${describeDelimiter(declared)}`
        : `line 1 names the delimiter ${describeDelimiter(declared)}, which is not the configured one, and is left out`,
    )
  const split = (delimiter: string) =>
    splitSample(sample, isWhole, { delimiter, ...quoting }, source).filter(({ line }) => line > separatorLine)
  const chosenDelimiter = configured ?? guessDelimiter(sample, split)
  const records = split(chosenDelimiter)
  if (records.length === 0) {
    if (settings.columns !== undefined)
      return { delimiter: chosenDelimiter, ...quoting, header: settings.columns, headerLine: 0, skipThroughLine: separatorLine, notes }
    throw fileError('FILE_EMPTY', 'the file has no rows', { name, hint: 'Export the file again.' })
  }
  if (settings.delimiter !== 'auto' && records.every((record) => record.fields.length === 1)) {
    const other = guessDelimiter(sample, split)
    if (other !== chosenDelimiter && split(other).some((record) => record.fields.length > 1)) {
      throw fileError(
        'HEADER_MISMATCH',
        `no row has the configured delimiter ${describeDelimiter(chosenDelimiter)}; the file looks separated by ${describeDelimiter(other)}`,
        {
          name,
          at: `line ${records[0]?.line ?? 1}`,
          hint: 'Set `csv: { delimiter: auto }`, or the delimiter of the file.',
        },
      )
    }
  }
  const header = chooseHeader(records, settings, { name, limits, skipped: separatorLine })
  return { delimiter: chosenDelimiter, ...quoting, ...header, notes: [...notes, ...header.notes] }
}

/** Returns a delimiter as messages show it: `tab`, or the character in double quotes. */
export function describeDelimiter(delimiter: string): string {
  return delimiter === '\t' ? 'tab' : JSON.stringify(delimiter)
}

/** Returns the fields of record `index` of the batch; undefined if its quoting is invalid. */
export function fieldsOf(batch: RecordBatch, index: number, { delimiter, quote }: CsvSyntax): readonly string[] | undefined {
  const text = recordText(batch, index)
  const flags = batch.flagsOf(index)
  if ((flags & recordFlags.oddQuote) !== 0) return splitOddFields(text, delimiter, quote)
  return (flags & recordFlags.quoted) === 0 ? text.split(delimiter) : splitFields(text, delimiter, quote)
}

/** Returns the fields of a record with invalid quoting. Without the setting for relaxed quotes, they count as ambiguous. */
export function relaxedFieldsOf(
  batch: RecordBatch,
  index: number,
  { delimiter, quote, relaxedQuotes }: CsvSyntax,
): ReturnType<typeof splitRelaxedFields> {
  const relaxed = splitRelaxedFields(recordText(batch, index), delimiter, quote)
  return relaxedQuotes === true ? relaxed : { ...relaxed, isAmbiguous: true }
}

/** Returns the delimiter of a first row `sep=;`, a convention of spreadsheets; undefined without such a row. */
function separatorRow(sample: Buffer): string | undefined {
  return /^"?sep=([^\r\n"])"?(?:\r|\n|$)/i.exec(sample.subarray(0, 16).toString('latin1'))?.[1]
}

/**
 * Returns the first records of a sample, at most `maxSampleRecords`. Includes a last record without a line end only if `isWhole` is true.
 */
function splitSample(
  sample: Buffer,
  isWhole: boolean,
  syntax: CsvSyntax,
  { name, limits }: { readonly name: string; readonly limits: ReadLimits },
): readonly SampleRecord[] {
  const splitter = new CsvSplitter({ name, delimiter: syntax.delimiter, quote: syntax.quote, limits })
  const records: SampleRecord[] = []
  const addRecords = (batch: RecordBatch) => {
    for (let i = 0; i < batch.count && records.length < maxSampleRecords; i++) {
      records.push({ line: batch.lineOf(i), fields: fieldsOf(batch, i, syntax) ?? sampleFields(batch, i, syntax) })
    }
  }
  addRecords(splitter.push(sample))
  if (isWhole && records.length < maxSampleRecords) {
    try {
      addRecords(splitter.end())
    } catch {
      // A quote is open at the end with this delimiter. If the delimiter is chosen, the reader reports the quote.
    }
  }
  return records
}

/** Returns the fields of a record with invalid quoting. It is one field if the end of a field is ambiguous. */
function sampleFields(batch: RecordBatch, index: number, syntax: CsvSyntax): readonly string[] {
  const { fields, isAmbiguous } = relaxedFieldsOf(batch, index, syntax)
  return isAmbiguous ? [recordText(batch, index)] : fields
}

/**
 * Returns the delimiter with which the largest share of records has the same number of fields, at least two. If the shares are similar, the
 * larger number of fields decides. Returns the comma if every record has one field.
 */
function guessDelimiter(sample: Buffer, split: (delimiter: string) => readonly SampleRecord[]): string {
  let best: string = ','
  let bestScore = 0
  // With a delimiter that does not occur, each quote inside a record would be in an unusual place. This would load csv-parse.
  for (const delimiter of delimiters.filter((each) => sample.includes(each))) {
    const records = split(delimiter)
    const widths = new Map<number, number>()
    for (const record of records) widths.set(record.fields.length, (widths.get(record.fields.length) ?? 0) + 1)
    let commonWidth = 1
    let commonCount = 0
    for (const [width, count] of widths) if (width > 1 && count > commonCount) [commonWidth, commonCount] = [width, count]
    const score = commonWidth === 1 ? 0 : commonCount / records.length + commonWidth / 10_000
    if (score > bestScore) [best, bestScore] = [delimiter, score]
  }
  return best
}
