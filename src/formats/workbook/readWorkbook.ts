import type { SourceRow } from '../../model/record.ts'
import type { ByteQueue } from '../byteQueue.ts'
import { RowCounts } from '../rowCounts.ts'
import { fileError, recordTooLargeError } from '../fileError.ts'
import type { FormatContext, FormatReader } from '../formatReader.ts'
import { rowsPerBatch, type ReadLimits } from '../limits.ts'
import { chooseHeader, type HeaderSettings, type SampleRecord, type TableHeader } from '../tableHeader.ts'
import { decodeEscapes, parsePart, readWorkbookParts, type WorkbookParts, type XmlPartHandler } from './workbookParts.ts'
import { ZipDirectory } from './zipDirectory.ts'

/** Sheet of a workbook, opened for reading. */
export interface OpenedWorkbook {
  readonly reader: FormatReader
  readonly header: TableHeader
}

/** Maximum size of a workbook. The compressed file is kept in memory, because its parts refer to each other in any order. */
const maxWorkbookBytes = 256 * 1_048_576
/** Number of rows that are read before the header is chosen. A smaller sheet is read whole. */
const minHeaderSample = 50

/**
 * Reads one sheet of an Excel workbook (.xlsx) row by row: the named one, or the first that is not hidden. Numbers become their shortest
 * text, with decimals at most 15 digits. Dates become ISO 8601, and booleans `true` and `false`. Error values (`#N/A`) are texts. Formulas
 * become their stored result.
 *
 * No existing library fits. Each reads a whole sheet into memory or is not maintained, and none limits sizes during decompression. 200,000
 * rows of ten cells take 10.4 s of processor time and 143 MB (docs/benchmarks.md#readers).
 *
 * @throws RunError FILE_EMPTY, WRONG_FORMAT, and the errors of `chooseHeader`
 *
 * @throws RunError FILE_TOO_LARGE, FILE_TRUNCATED, FILE_CORRUPT, FILE_BOMB, FILE_MALFORMED, FILE_TOO_MANY_COLUMNS, FILE_RECORD_TOO_LARGE,
 * FILE_FAULTY_ROWS, here or while rows are read
 */
export async function openWorkbook(
  input: ByteQueue,
  settings: HeaderSettings & { readonly sheet?: string },
  context: FormatContext,
): Promise<OpenedWorkbook> {
  const { name, limits } = context
  const archive = await ZipDirectory.open(await readWhole(input, name), name, limits)
  const workbook = await readWorkbookParts(archive, settings.sheet, context)
  const records = readSheet(archive, workbook, context)
  const sample: SampleRecord[] = []
  while (sample.length < minHeaderSample) {
    const next = await records.next()
    if (next.done === true) break
    sample.push(...next.value)
  }
  if (sample.length === 0)
    throw fileError('FILE_EMPTY', 'the sheet has no rows', { name, hint: 'Check which sheet is read, with `sheet:`.' })
  const chosen = chooseHeader(sample, settings, { name, limits, skipped: 0 })
  const header = { ...chosen, notes: [...workbook.notes, ...chosen.notes] }
  const columns = header.header.filter((column) => column !== '')
  const namedIndexes = header.header.flatMap((column, index) => (column === '' ? [] : [index]))
  const counts = new RowCounts(name, limits)
  const width = header.header.length
  const toRow = (record: SampleRecord): SourceRow => {
    counts.countRow()
    const row = { line: record.line, columns, cells: namedIndexes.map((at) => record.fields[at] ?? '') }
    if (record.fields.length <= width) return row
    counts.countFault(record.line)
    return { ...row, fault: { code: 'ROW_RAGGED', message: `the row has ${record.fields.length} cells, the header ${width}` } }
  }
  async function* rows(): AsyncGenerator<readonly SourceRow[]> {
    let batch = sample.filter((record) => record.line > header.skipThroughLine).map(toRow)
    for await (const more of records) {
      if (batch.length >= rowsPerBatch) {
        yield batch
        batch = []
      }
      for (const record of more) batch.push(toRow(record))
    }
    if (batch.length > 0) yield batch
    counts.rejectIfTooManyFaults('Remove cells beside the table.')
  }
  return {
    header,
    reader: {
      rows: rows(),
      end: () => ({ columns, rowCount: counts.rowCount, finalNewline: null, proof: 'sheet closed, checksum met', notes: header.notes }),
    },
  }
}

/** Reads the compressed file into memory. @throws RunError FILE_TOO_LARGE */
async function readWhole(input: ByteQueue, name: string): Promise<Buffer> {
  const parts: Buffer[] = []
  let bytes = 0
  for await (const chunk of input) {
    bytes += chunk.length
    if (bytes > maxWorkbookBytes)
      throw fileError('FILE_TOO_LARGE', `the workbook is larger than ${maxWorkbookBytes} bytes`, { name, hint: 'Save the sheet as CSV.' })
    parts.push(chunk)
  }
  return Buffer.concat(parts)
}

/** Yields the rows of the sheet in batches, without empty rows. */
async function* readSheet(archive: ZipDirectory, workbook: WorkbookParts, context: FormatContext): AsyncGenerator<readonly SampleRecord[]> {
  const sheet = new SheetRows(workbook, context)
  for await (const _ of parsePart(archive, workbook.sheet, sheet, context.name)) {
    if (sheet.rows.length > 0) yield sheet.takeRows()
  }
  if (sheet.rows.length > 0) yield sheet.takeRows()
}

/** Builds the rows of a sheet that are not empty. An empty cell is an empty text; empty cells at the end of a row are left out. */
class SheetRows implements XmlPartHandler {
  readonly #workbook: WorkbookParts
  readonly #name: string
  readonly #limits: ReadLimits
  /** Complete rows that were not taken yet. */
  rows: SampleRecord[] = []
  #fields: string[] = []
  #line = 0
  #column = 0
  #type = 'n'
  #style = 0
  #value = ''
  #inValue = false
  /** True inside `rPh`: the pronunciation of East Asian characters. It is not a part of the text. */
  #inPhonetic = false
  #rowLength = 0

  constructor(workbook: WorkbookParts, { name, limits }: FormatContext) {
    this.#workbook = workbook
    this.#name = name
    this.#limits = limits
  }

  takeRows(): readonly SampleRecord[] {
    const { rows } = this
    this.rows = []
    return rows
  }

  open(tag: string, attributes: Readonly<Record<string, string>>): void {
    if (tag === 'row') this.#beginRow(attributes)
    else if (tag === 'c') this.#beginCell(attributes)
    else if (tag === 'rPh') this.#inPhonetic = true
    else if (tag === 'v' || tag === 't') this.#inValue = !this.#inPhonetic
  }

  text(text: string): void {
    if (!this.#inValue) return
    this.#value += text
    if (this.#rowLength + this.#value.length > this.#limits.recordBytes) throw this.#tooLargeError()
  }

  close(tag: string): void {
    if (tag === 'v' || tag === 't') this.#inValue = false
    else if (tag === 'rPh') this.#inPhonetic = false
    else if (tag === 'c' && this.#value !== '') this.#endCell()
    else if (tag === 'row' && this.#fields.length > 0) this.rows.push({ line: this.#line, fields: this.#fields })
  }

  #beginRow({ r: reference }: Readonly<Record<string, string>>): void {
    this.#line = reference === undefined ? this.#line + 1 : Number(reference)
    if (!Number.isSafeInteger(this.#line)) throw this.#wrongReferenceError('row', reference)
    this.#fields = []
    this.#column = -1
    this.#rowLength = 0
  }

  #beginCell({ r: reference, t: type = 'n', s: style = '0' }: Readonly<Record<string, string>>): void {
    this.#column = reference === undefined ? this.#column + 1 : columnOf(reference)
    if (this.#column < 0) throw this.#wrongReferenceError('cell', reference)
    this.#type = type
    this.#style = Number(style)
    this.#value = ''
  }

  #endCell(): void {
    if (this.#column >= this.#limits.columns)
      throw fileError('FILE_TOO_MANY_COLUMNS', `the sheet has more than ${this.#limits.columns} columns`, {
        name: this.#name,
        at: `line ${this.#line}`,
        hint: 'Remove the columns that are not needed.',
      })
    const text = cellText(this.#value, this.#type, this.#workbook.dateStyles[this.#style] === true, this.#workbook)
    if (text === undefined)
      throw fileError('FILE_MALFORMED', 'a cell refers to a shared text that the workbook does not contain', {
        name: this.#name,
        at: `line ${this.#line}`,
        hint: 'Save the workbook again, or save the sheet as CSV.',
      })
    this.#rowLength += text.length
    if (this.#rowLength > this.#limits.recordBytes) throw this.#tooLargeError()
    while (this.#fields.length < this.#column) this.#fields.push('')
    this.#fields[this.#column] = text
  }

  #tooLargeError(): Error {
    const { recordBytes: limitBytes } = this.#limits
    return recordTooLargeError({ name: this.#name, part: 'a row', limitBytes, line: this.#line, hint: 'Shorten the cells of that row.' })
  }

  #wrongReferenceError(element: 'row' | 'cell', reference = ''): Error {
    return fileError('FILE_MALFORMED', `a ${element} of the sheet has the reference ${JSON.stringify(reference.slice(0, 20))}`, {
      name: this.#name,
      hint: 'Save the workbook again, or save the sheet as CSV.',
    })
  }
}

/** Returns the column of a cell reference (`BC12`), from 0; -1 if it does not begin with a capital letter. */
function columnOf(reference: string): number {
  let column = 0
  for (let at = 0; at < reference.length; at++) {
    const letter = reference.charCodeAt(at) - 64
    if (letter < 1 || letter > 26) break
    column = column * 26 + letter
  }
  return column - 1
}

/** Returns the text of a cell; undefined for a shared text that does not exist. */
function cellText(value: string, type: string, isDate: boolean, workbook: WorkbookParts): string | undefined {
  if (type === 's') return workbook.strings[Number(value)]
  if (type === 'b') return value === '1' ? 'true' : 'false'
  if (type === 'inlineStr' || type === 'str') return decodeEscapes(value)
  if (type !== 'n') return value
  const number = Number(value)
  if (!Number.isFinite(number)) return value
  if (isDate) return dateText(number, workbook.countsFrom1904)
  // From here on, the text of the double may have other digits than the stored number, such as those of another id.
  if (Math.abs(number) > Number.MAX_SAFE_INTEGER) return value
  // A number is stored with up to 17 digits. The shortest text of the same double is the number that the user entered. A computed number may
  // be a little off, such as 1169.1000000000001. Excel shows at most 15 digits.
  const text = String(Number.isInteger(number) ? number : Number(number.toPrecision(15)))
  return text.includes('e') ? value : text
}

/**
 * Converts serial days to ISO 8601 without a zone. Excel counts 29 February 1900 as day 60. That day does not exist, so earlier days have
 * another epoch.
 */
function dateText(serial: number, countsFrom1904: boolean): string {
  const epoch = countsFrom1904 ? Date.UTC(1904, 0, 1) : Date.UTC(1899, 11, serial < 60 ? 31 : 30)
  const at = new Date(epoch + Math.round(serial * 86_400) * 1000)
  if (Number.isNaN(at.getTime())) return String(serial)
  const text = at.toISOString()
  return serial % 1 === 0 ? text.slice(0, 10) : text.slice(0, 19)
}
