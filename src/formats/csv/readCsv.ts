import type { SourceRow, RowFault, RowWarning } from '../../model/record.ts'
import { CsvSplitter } from './csvSplitter.ts'
import { describeDelimiter, fieldsOf, relaxedFieldsOf, type CsvDialect } from './csvDialect.ts'
import { RowCounts, type RowFaultCode } from '../rowCounts.ts'
import { fileError } from '../fileError.ts'
import type { FormatContext, FormatEnd, FormatReader, RecordGate } from '../formatReader.ts'
import { rowsPerBatch } from '../limits.ts'
import { splitRecords, recordFlags, recordText, type RecordBatch } from '../recordBatch.ts'
import { trailerReader } from '../trailerRow.ts'

/**
 * Reads CSV or TSV in UTF-8 by a known dialect. Ragged rows, misplaced quotes, NUL bytes, comments and repeated headers become rows with a
 * fault. With `relaxedQuotes`, a quote inside an unquoted cell is only a warning. A file of 100 rows or more is rejected at its end if more
 * than 1 % of its rows have a fault.
 *
 * Memory does not grow with the file. Reads 1,000,000 rows of 98 MB in about a second (Node 24.21, bench/read.ts).
 *
 * @throws RunError FILE_FAULTY_ROWS, FILE_FIELD_TOO_LARGE, FILE_TOO_MANY_COLUMNS, FILE_MALFORMED and the errors of `CsvSplitter`
 */
export function readCsv(chunks: AsyncIterable<Buffer>, dialect: CsvDialect, context: FormatContext): FormatReader {
  const reader = new CsvReader(dialect, context)
  return { rows: reader.read(chunks), end: () => reader.end() }
}

class CsvReader {
  readonly #dialect: CsvDialect
  readonly #context: FormatContext
  readonly #splitter: CsvSplitter
  readonly #counts: RowCounts
  readonly #columns: readonly string[]
  /** Indexes of the named columns; undefined if all columns have a name. */
  readonly #namedIndexes: readonly number[] | undefined
  readonly #headerText: string
  readonly #trailerOf: ((text: string) => number | undefined) | undefined
  #trailer: { readonly line: number; readonly rows: number } | undefined
  /** Line of the last record that the gate skipped; 0 before the first. */
  #lastKnownLine = 0
  /** Line of the last parsed record if it had too few fields or invalid quoting, else 0. */
  #lastShortLine = 0

  constructor(dialect: CsvDialect, context: FormatContext) {
    this.#dialect = dialect
    this.#context = context
    const { gate } = context
    this.#splitter = new CsvSplitter({
      name: context.name,
      delimiter: dialect.delimiter,
      quote: dialect.quote,
      limits: context.limits,
      ...(gate === undefined ? {} : { skips: (bytes, start, end, line) => this.#isKnown(gate, bytes, start, end, line) }),
    })
    this.#counts = new RowCounts(context.name, context.limits)
    this.#columns = dialect.header.filter((column) => column !== '')
    this.#namedIndexes = dialect.header.includes('') ? dialect.header.flatMap((column, index) => (column === '' ? [] : [index])) : undefined
    this.#headerText = dialect.headerLine === 0 ? '' : dialect.header.join('\u0000')
    this.#trailerOf = context.trailer === undefined ? undefined : trailerReader(context.trailer)
  }

  async *read(chunks: AsyncIterable<Buffer>): AsyncGenerator<readonly SourceRow[]> {
    const { delimiter, quote, header, headerLine } = this.#dialect
    // The shape has all facts that decide whether a well-formed record is data, and how the record is split.
    this.#context.gate?.beginShape(JSON.stringify([delimiter, quote, header, headerLine > 0, this.#context.trailer]))
    let rows: SourceRow[] = []
    for await (const batch of splitRecords(chunks, this.#splitter)) {
      for (let i = 0; i < batch.count; i++) {
        const row = this.#row(batch, i)
        if (row === undefined) continue
        rows.push(row)
        if (rows.length === rowsPerBatch) {
          yield rows
          rows = []
        }
      }
    }
    if (rows.length > 0) yield rows
    this.#counts.rejectIfTooManyFaults(
      `Check the delimiter (read as ${describeDelimiter(this.#dialect.delimiter)}) and the quoting of the export, or set \`csv.relaxed_quotes\` if quotes inside a cell are text.`,
    )
  }

  end(): FormatEnd {
    const finalNewline = this.#splitter.endedWithLine
    return {
      columns: this.#columns,
      rowCount: this.#counts.rowCount,
      finalNewline,
      notes: this.#dialect.notes,
      // If a known record follows the short record, the short record was not the last row.
      ...(this.#lastShortLine > this.#lastKnownLine && !finalNewline ? { doubt: 'the last row is short and has no line end' } : {}),
      ...(this.#trailer === undefined ? {} : { trailerRows: this.#trailer.rows }),
    }
  }

  /** Returns the row of a record; undefined if the record is not data. */
  #row(batch: RecordBatch, index: number): SourceRow | undefined {
    const line = batch.lineOf(index)
    if (line <= this.#dialect.skipThroughLine) return undefined
    if (this.#trailerOf !== undefined && this.#takeTrailer(batch, index, line)) return undefined
    this.#counts.countRow()
    const flags = batch.flagsOf(index)
    const strict = fieldsOf(batch, index, this.#dialect)
    const relaxed = strict === undefined ? relaxedFieldsOf(batch, index, this.#dialect) : undefined
    const fields = relaxed === undefined ? strict : relaxed.isAmbiguous ? undefined : relaxed.fields
    const width = this.#dialect.header.length
    const size = batch.endOf(index) - batch.startOf(index)
    this.#lastShortLine = fields === undefined || fields.length < width ? line : 0
    if (fields === undefined) {
      this.#counts.countFault(line)
      return {
        line,
        columns: this.#columns,
        // The key of the record may be among these cells. With it, the record does not count as missing.
        cells: this.#namedCells(relaxed?.fields ?? []),
        fault: { code: 'ROW_QUOTE', message: 'a quote is inside a cell without quotes, or text follows a closing quote' },
      }
    }
    if (size > this.#context.limits.fieldBytes) this.#checkFields(fields, line)
    if (fields.length === width && (flags & recordFlags.nul) === 0 && !this.#isRepeatedHeader(fields)) {
      const cells = this.#namedCells(fields)
      if (relaxed === undefined || relaxed.quoteFieldIndex < 0) return { line, columns: this.#columns, cells }
      return { line, columns: this.#columns, cells, warnings: [this.#quoteWarning(relaxed.quoteFieldIndex)] }
    }
    const fault = this.#fault(fields, flags)
    this.#counts.countFault(line)
    return { line, columns: this.#columns, cells: this.#namedCells(fields), fault }
  }

  /** Returns the fields of the columns that have a name. */
  #namedCells(fields: readonly string[]): SourceRow['cells'] {
    return this.#namedIndexes === undefined ? fields : this.#namedIndexes.map((at) => fields[at])
  }

  #quoteWarning(index: number): RowWarning {
    return {
      code: 'QUOTE_KEPT',
      field: this.#dialect.header[index] ?? '',
      message: 'a quote inside a cell without quotes was read as text',
    }
  }

  /**
   * Returns true if the gate knows the record, and counts it as a row. The splitter leaves known records out of its batches.
   *
   * @throws RunError FILE_MALFORMED if the record follows the trailer
   */
  #isKnown(gate: RecordGate, bytes: Buffer, start: number, end: number, line: number): boolean {
    if (line <= this.#dialect.skipThroughLine || !gate.skips(bytes, start, end, line)) return false
    this.#counts.countRow()
    this.#lastKnownLine = line
    if (this.#trailer !== undefined) throw this.#rowsAfterTrailerError(line)
    return true
  }

  /**
   * Returns the fault of a row with an unexpected number of fields, a NUL byte, or the text of the header.
   *
   * @throws RunError FILE_TOO_MANY_COLUMNS
   */
  #fault(fields: readonly string[], flags: number): RowFault & { readonly code: RowFaultCode } {
    const width = this.#dialect.header.length
    if ((flags & recordFlags.nul) !== 0) return { code: 'TEXT_BROKEN', message: 'the row contains a NUL byte' }
    if (fields.length === width) return { code: 'HEADER_REPEATED', message: 'the header is repeated here' }
    if (fields.length > this.#context.limits.columns) {
      throw fileError('FILE_TOO_MANY_COLUMNS', `a row has ${fields.length} columns, the limit is ${this.#context.limits.columns}`, {
        name: this.#context.name,
        hint: 'Check the delimiter and the line ends of the file.',
      })
    }
    if (fields[0]?.startsWith('#') === true) return { code: 'ROW_COMMENT', message: 'a comment row is between the data rows' }
    return { code: 'ROW_RAGGED', message: `the row has ${fields.length} cells, the header ${width}` }
  }

  #isRepeatedHeader(fields: readonly string[]): boolean {
    // The first cell is compared first, because it differs in nearly every row.
    const [first = ''] = fields
    const [name = ''] = this.#dialect.header
    return (
      this.#headerText !== '' &&
      first.length >= name.length &&
      first.trim() === name &&
      fields.map((field) => field.trim()).join('\u0000') === this.#headerText
    )
  }

  /** Returns true if the record is the trailer. @throws RunError FILE_MALFORMED if rows follow the trailer */
  #takeTrailer(batch: RecordBatch, index: number, line: number): boolean {
    if (this.#trailer !== undefined) throw this.#rowsAfterTrailerError(line)
    const rows = this.#trailerOf?.(recordText(batch, index))
    if (rows === undefined) return false
    if (this.#lastKnownLine > line) throw this.#rowsAfterTrailerError(this.#lastKnownLine)
    this.#trailer = { line, rows }
    return true
  }

  #rowsAfterTrailerError(line: number): Error {
    return fileError('FILE_MALFORMED', 'rows follow the trailer row', {
      name: this.#context.name,
      at: `line ${line}`,
      hint: 'Check that the file was not joined from two, and the pattern in `complete.trailer`.',
    })
  }

  #checkFields(fields: readonly string[], line: number): void {
    const limit = this.#context.limits.fieldBytes
    if (fields.every((field) => field.length <= limit && Buffer.byteLength(field) <= limit)) return
    throw fileError('FILE_FIELD_TOO_LARGE', `a field is larger than ${limit} bytes`, {
      name: this.#context.name,
      at: `line ${line}`,
      hint: 'Check for a quote that is never closed, or shorten the field.',
    })
  }
}
