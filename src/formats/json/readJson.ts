import type { SourceRow } from '../../model/record.ts'
import { ColumnRegistry, unnamed, type ParsedRow } from '../columnRegistry.ts'
import { RowCounts } from '../rowCounts.ts'
import { fileError } from '../fileError.ts'
import type { FormatContext, FormatEnd, FormatReader } from '../formatReader.ts'
import type { RecordsPlace } from './findRecords.ts'
import { JsonArraySplitter } from './jsonArraySplitter.ts'
import { JsonSurroundings } from './jsonSurroundings.ts'
import { readJsonCells } from './jsonCells.ts'
import { JsonLinesSplitter } from './jsonLinesSplitter.ts'
import { rowsPerBatch } from '../limits.ts'
import { recordText, type RecordBatch } from '../recordBatch.ts'
import { trailerReader } from '../trailerRow.ts'

/**
 * Reads JSON lines in UTF-8. An invalid line becomes a row with a fault, except in these cases:
 * - The last line has no line end, and ends inside an object, array or string. The file was cut off (FILE_TRUNCATED).
 * - The first line ends inside an object, array or string, and no line is valid. Or it ends right after an opening bracket or the colon of
 *   a key. The file probably has one object over several lines (FILE_NOT_JSON_LINES).
 *
 * @throws RunError FILE_TRUNCATED, FILE_NOT_JSON_LINES, FILE_FAULTY_ROWS, FILE_RECORD_TOO_LARGE, FILE_MALFORMED
 */
export function readJsonLines(chunks: AsyncIterable<Buffer>, context: FormatContext): FormatReader {
  const splitter = new JsonLinesSplitter(context.name, context.limits)
  const reader = new JsonReader(context)
  async function* rows(): AsyncGenerator<readonly SourceRow[]> {
    reader.begin()
    for await (const chunk of chunks) yield* reader.batches(splitter.push(chunk))
    const rest = splitter.end()
    const faultsBefore = reader.faultCount
    yield* reader.batches(rest)
    const isTruncated = rest.count > 0 && reader.faultCount > faultsBefore && endsInside(recordText(rest, rest.count - 1))
    // If the only faulty line ends inside an object, it was probably cut off, and not spread over several lines.
    if (isTruncated && (reader.faultCount === 1 || !reader.isSpread)) {
      throw fileError('FILE_TRUNCATED', 'the last line is cut', {
        name: context.name,
        at: `line ${rest.lines[0]}`,
        hint: 'Export the file again.',
      })
    }
    reader.rejectIfTooManyFaults()
  }
  return { rows: rows(), end: () => ({ ...reader.end(), finalNewline: splitter.endedWithLine }) }
}

/**
 * Reads a JSON array of objects in UTF-8, one element at a time. An invalid element becomes a row with a fault. `place`: place of the array
 * inside an object; undefined if the file is the array.
 *
 * @throws RunError FILE_TRUNCATED, FILE_MALFORMED, FILE_FAULTY_ROWS, FILE_RECORD_TOO_LARGE, WRONG_FORMAT
 */
export function readJsonArray(chunks: AsyncIterable<Buffer>, context: FormatContext, place?: RecordsPlace): FormatReader {
  const around = place === undefined ? undefined : new JsonSurroundings(context.name, context.limits, place)
  const splitter = new JsonArraySplitter(context.name, context.limits, around)
  const reader = new JsonReader(context)
  async function* rows(): AsyncGenerator<readonly SourceRow[]> {
    reader.begin(place?.path)
    for await (const chunk of chunks) yield* reader.batches(splitter.push(chunk))
    splitter.end()
    reader.rejectIfTooManyFaults()
  }
  const proof = place === undefined ? 'array closed' : 'object closed'
  return { rows: rows(), end: () => ({ ...reader.end(), finalNewline: null, proof }) }
}

class JsonReader {
  readonly #context: FormatContext
  readonly #columns = new ColumnRegistry()
  readonly #counts: RowCounts
  readonly #trailerOf: ((text: string) => number | undefined) | undefined
  #trailer: number | undefined
  /** Line of the first record, if it ends inside an object, array or string; else 0. */
  #spreadLine = 0

  constructor(context: FormatContext) {
    this.#context = context
    this.#counts = new RowCounts(context.name, context.limits)
    this.#trailerOf = context.trailer === undefined ? undefined : trailerReader(context.trailer)
  }

  /** Registers the columns of the last read, and sets the gate's shape. Called before the first batch. `path`: path of the records. */
  begin(path: readonly string[] = []): void {
    this.#columns.add(this.#context.gate?.columns ?? [])
    this.#context.gate?.beginShape(path.length === 0 ? 'json' : JSON.stringify(['json', ...path]))
  }

  /** Yields the rows of a batch of records, at most `rowsPerBatch` at a time. */
  *batches(batch: RecordBatch): Generator<readonly SourceRow[]> {
    for (let from = 0; from < batch.count; from += rowsPerBatch) {
      const rows: ParsedRow[] = []
      for (let i = from; i < Math.min(batch.count, from + rowsPerBatch); i++) {
        const line = batch.lineOf(i)
        if (this.#trailerOf !== undefined && this.#takeTrailer(recordText(batch, i), line)) continue
        this.#counts.countRow()
        if (this.#context.gate?.skips(batch.bytes, batch.startOf(i), batch.endOf(i), line) === true) continue
        const text = recordText(batch, i)
        const { cells, fault } = readJsonCells(text, this.#columns, this.#context.limits)
        if (fault !== undefined) this.#countFault(line, text)
        rows.push(fault === undefined ? { line, columns: unnamed, cells } : { line, columns: unnamed, cells, fault })
      }
      if (rows.length > 0) yield this.#columns.nameColumns(rows)
    }
  }

  get faultCount(): number {
    return this.#counts.faultCount
  }

  /** True if one object seems to be spread over several lines. The first line ends inside an object, and no line is valid. */
  get isSpread(): boolean {
    return this.#spreadLine > 0 && this.faultCount === this.#counts.rowCount
  }

  rejectIfTooManyFaults(): void {
    if (this.isSpread) throw this.#notLinesError(this.#spreadLine)
    this.#counts.rejectIfTooManyFaults('Write one valid JSON object for each record.')
  }

  end(): Omit<FormatEnd, 'finalNewline'> {
    return {
      columns: this.#columns.names(),
      rowCount: this.#counts.rowCount,
      notes: [],
      ...(this.#trailer === undefined ? {} : { trailerRows: this.#trailer }),
    }
  }

  #countFault(line: number, text: string): void {
    // A first record that ends after a bracket or key begins an object over several lines (docs/inputs.md, case 48).
    if (this.#counts.rowCount === 1 && /^\s*\{\s*("[^"]*"\s*:\s*(?:[[{]\s*)?)?$/.test(text)) throw this.#notLinesError(line)
    if (this.#counts.rowCount === 1 && endsInside(text)) this.#spreadLine = line
    this.#counts.countFault(line)
  }

  #notLinesError(line: number): Error {
    return fileError('FILE_NOT_JSON_LINES', 'an object is spread over several lines', {
      name: this.#context.name,
      at: `line ${line}`,
      hint: 'Write one object per line, or a JSON array of objects; or name the array of the records: `json: { records: data.products }`.',
    })
  }

  #takeTrailer(text: string, line: number): boolean {
    if (this.#trailer !== undefined) {
      throw fileError('FILE_MALFORMED', 'records follow the trailer', {
        name: this.#context.name,
        at: `line ${line}`,
        hint: 'Check that the file was not joined from two, and the pattern in `complete.trailer`.',
      })
    }
    this.#trailer = this.#trailerOf?.(text)
    return this.#trailer !== undefined
  }
}

/** Returns true if a bracket or a string is open at the end of the text. */
function endsInside(text: string): boolean {
  const withoutStrings = text.replace(/"(?:[^"\\]|\\.)*("?)/g, (_, end: string) => (end === '' ? '"' : ''))
  return withoutStrings.includes('"') || withoutStrings.replace(/[^[{]/g, '').length > withoutStrings.replace(/[^\]}]/g, '').length
}
