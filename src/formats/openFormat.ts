import type { SourceDefinition } from '../model/pipeline.ts'
import { ByteQueue } from './byteQueue.ts'
import { decodeText } from './charset.ts'
import { detectCsvDialect } from './csv/csvDialect.ts'
import { fileError } from './fileError.ts'
import { rejectUnsupportedFile, signatureBytes } from './unsupportedFile.ts'
import type { FormatContext, FormatReader, RecordGate } from './formatReader.ts'
import type { ReadLimits } from './limits.ts'
import { readCsv } from './csv/readCsv.ts'
import type { RecordsPlace } from './json/findRecords.ts'
import { decompress, type Compression } from './compression/decompress.ts'

/** Format of a source. `xml`: XML with a configured item. `sql`: rows of a query. */
export type DetectedFormat = 'csv' | 'tsv' | 'json' | 'jsonl' | 'google-rss' | 'google-atom' | 'xml' | 'xlsx' | 'sql'

/** Returns true for a format with one header for all rows, or if the format is unknown. Each record of JSON or XML names its fields. */
export function isTable(format: DetectedFormat | undefined): boolean {
  return format === undefined || format === 'csv' || format === 'tsv' || format === 'xlsx' || format === 'sql'
}

/** Facts about a source that are detected before its first row; `sluice check` shows them. */
export interface Detected {
  readonly format: DetectedFormat
  readonly encoding: string
  readonly compression: Compression
  /** Delimiter of CSV and TSV; absent for other formats. */
  readonly delimiter?: string
  /** Line of the header, from 1; 0 if the table has none; absent for JSON and XML. */
  readonly headerLine?: number
  readonly notes: readonly string[]
}

/** Format of a source, opened for reading. */
export interface OpenedFormat {
  readonly detected: Detected
  readonly reader: FormatReader
  /** Proof by the end of compressed data, valid once all rows were read; undefined without compression. */
  readonly containerProof: string | undefined
}

/** Values that are needed to open a format, besides the definition of the source. */
export interface OpenOptions {
  /** Name of the source in messages. */
  readonly name: string
  readonly limits: ReadLimits
  /** `charset` of an HTTP response. */
  readonly charset?: string
  readonly gate?: RecordGate
}

const sampleBytes = 65_536

/**
 * Decompresses and decodes a stream of bytes, detects its format, and opens the reader of that format. The content decides the format,
 * within what `definition.format` permits. The file name has no effect.
 *
 * @throws RunError `FILE_…`, WRONG_FORMAT, HEADER_MISMATCH or UNEXPECTED_CONTENT, here or while rows are read
 */
export async function openFormat(input: ByteQueue, definition: SourceDefinition, options: OpenOptions): Promise<OpenedFormat> {
  const { name, limits } = options
  const trailer = definition.complete.kind === 'trailer' ? { trailer: definition.complete.pattern } : {}
  const context: FormatContext = { name, limits, ...trailer, ...(options.gate === undefined ? {} : { gate: options.gate }) }
  if ((await input.peek(1)).length === 0) throw emptyFileError(name)
  if (definition.format === 'xlsx' || (definition.format === 'auto' && (await isOfficeDocument(input))))
    return openSheet(input, definition, context)
  // Documents in a zip archive have several files.
  rejectUnsupportedFile(await input.peek(signatureBytes), name)
  const decompressed = await decompress(input, definition.compression, {
    ...context,
    ...(definition.member === undefined ? {} : { member: definition.member }),
  })
  const head = await decompressed.bytes.peek(signatureBytes)
  if (head.length === 0) throw emptyFileError(name)
  rejectUnsupportedFile(head, name)
  const decoded = await decodeText(decompressed.bytes, {
    name,
    setting: definition.encoding,
    ...(options.charset === undefined ? {} : { httpCharset: options.charset }),
  })
  const text = new ByteQueue(decoded.chunks)
  const sample = await text.peek(sampleBytes)
  const format = formatOf(sample, definition, name)
  const openText = format === 'csv' || format === 'tsv' ? openTable : format === 'json' || format === 'jsonl' ? openJson : openXml
  const { detected, reader } = await openText({ text, sample, format }, definition, context)
  return {
    detected: {
      encoding: decoded.encoding,
      compression: decompressed.compression,
      ...detected,
      notes: [...decompressed.notes, ...detected.notes],
    },
    reader,
    containerProof: decompressed.proof,
  }
}

type TextFormat = Exclude<DetectedFormat, 'xlsx' | 'sql'>

/** Decoded file. `sample`: its first bytes, in UTF-8. `format`: format of the sample. */
interface TextFile {
  readonly text: ByteQueue
  readonly sample: Buffer
  readonly format: TextFormat
}

/** Reader of a text file, with the facts that were detected besides encoding and compression. */
interface OpenedText {
  readonly detected: Omit<Detected, 'encoding' | 'compression'>
  readonly reader: FormatReader
}

async function openTable({ text, sample, format }: TextFile, definition: SourceDefinition, context: FormatContext): Promise<OpenedText> {
  const { name, limits } = context
  const delimiter = format === 'tsv' && definition.csv.delimiter === 'auto' ? '\t' : definition.csv.delimiter
  // A header of many columns may be longer than the sample.
  const headBytes = /[\r\n]/.test(sample.toString('latin1')) ? sampleBytes : limits.recordBytes + 1
  const head = headBytes === sampleBytes ? sample : await text.peek(headBytes)
  const dialect = detectCsvDialect(head, head.length < headBytes, { ...definition.csv, delimiter }, { name, limits })
  return {
    detected: {
      format: dialect.delimiter === '\t' ? 'tsv' : 'csv',
      delimiter: dialect.delimiter,
      headerLine: dialect.headerLine,
      notes: dialect.notes,
    },
    reader: await readWithRowGroups(definition, dialect.header, context, (tableContext) => readCsv(text, dialect, tableContext)),
  }
}

// The readers of JSON, XML and workbooks are loaded on demand, because most runs need only one reader.

async function openJson({ text, sample, format }: TextFile, definition: SourceDefinition, context: FormatContext): Promise<OpenedText> {
  const { readJsonArray, readJsonLines } = await import('./json/readJson.ts')
  const place = await findRecordsPlace(sample, definition, format, context.name)
  if (place !== undefined)
    return {
      detected: { format: 'json', notes: place.isDetected ? [`the records are the array at "${place.path.join('.')}"`] : [] },
      reader: readJsonArray(text, context, place),
    }
  return {
    detected: { format, notes: otherFormatNotes(format, definition) },
    reader: format === 'jsonl' ? readJsonLines(text, context) : readJsonArray(text, context),
  }
}

async function openXml({ text, sample, format }: TextFile, definition: SourceDefinition, context: FormatContext): Promise<OpenedText> {
  const [{ readXml }, { likelyItem }] = await Promise.all([import('./xml/readXml.ts'), import('./xml/likelyItem.ts')])
  const guess = format === 'xml' ? undefined : likelyItem(sample.toString('utf8'))
  return {
    detected: { format, notes: otherFormatNotes(format, definition) },
    reader: readXml(text, context, {
      ...definition.xml,
      mapped: definition.mapped === true,
      mayQuote: definition.products !== undefined,
      ...(guess === undefined ? {} : { likelyItem: guess }),
    }),
  }
}

function otherFormatNotes(format: TextFormat, { format: configured }: SourceDefinition): readonly string[] {
  return configured === 'auto' || configured === format ? [] : [`read as ${format}, not ${configured} as configured`]
}

/** Opens a sheet of a workbook. @throws RunError WRONG_FORMAT if the file is not a workbook; the errors of `openWorkbook` */
async function openSheet(input: ByteQueue, definition: SourceDefinition, context: FormatContext): Promise<OpenedFormat> {
  const { headerRow, columns } = definition.csv
  const { sheet } = definition
  if ((await input.peek(4)).equals(oldOfficeMark)) {
    throw fileError('WRONG_FORMAT', 'the file is an old or encrypted Office document', {
      name: context.name,
      hint: 'Save it as .xlsx without a password, or as CSV.',
    })
  }
  if (!(await input.peek(4)).equals(zipMark)) throw wrongFormatError(context.name, 'not a workbook', 'xlsx')
  const { openWorkbook } = await import('./workbook/readWorkbook.ts')
  const { reader, header } = await openWorkbook(
    input,
    { headerRow, ...(columns === undefined ? {} : { columns }), ...(sheet === undefined ? {} : { sheet }) },
    context,
  )
  return {
    detected: { format: 'xlsx', encoding: 'utf-8', compression: 'none', headerLine: header.headerLine, notes: header.notes },
    reader: await readWithRowGroups(definition, header.header, context, () => reader),
    containerProof: undefined,
  }
}

/**
 * Returns the reader of a table that `read` opens. If the export has row groups (one product over several rows), they are joined. Then
 * `read` gets no gate, because a joined row depends on other rows: all rows must be parsed.
 */
async function readWithRowGroups(
  definition: SourceDefinition,
  header: readonly string[],
  context: FormatContext,
  read: (context: FormatContext) => FormatReader,
): Promise<FormatReader> {
  if (definition.products === undefined) return read(context)
  const { joinRowGroups, createRowJoiner } = await import('../mapping/rowGroups/joinRowGroups.ts')
  const columns = header.filter((column) => column !== '')
  const joiner = createRowJoiner(columns, definition.products.preset)
  if (joiner === undefined) return read(context)
  const { gate: _, ...ungated } = context
  const reader = read(ungated)
  const end = () => {
    const endOfTable = reader.end()
    return { ...endOfTable, notes: [...endOfTable.notes, ...joiner.notes()] }
  }
  return { rows: joinRowGroups(reader.rows, joiner), end }
}

const zipMark = Buffer.from('PK\u0003\u0004')
const oldOfficeMark = Buffer.from([0xd0, 0xcf, 0x11, 0xe0])

/** Returns true for an old Office document, and for an archive whose first member has a name that only Office documents use. */
async function isOfficeDocument(input: ByteQueue): Promise<boolean> {
  // The local header of the first member has 30 bytes, and its name follows. 32 bytes of the name are enough.
  const [headerBytes, nameBytes] = [30, 32]
  const head = await input.peek(headerBytes + nameBytes)
  if (head.subarray(0, 4).equals(oldOfficeMark)) return true
  if (head.length <= headerBytes || !head.subarray(0, 4).equals(zipMark)) return false
  const firstName = head.toString('latin1', headerBytes, headerBytes + Math.min(nameBytes, head.readUInt16LE(26)))
  return firstName === '[Content_Types].xml' || /^[\\/]?(xl|_rels|docProps)[\\/]/i.test(firstName)
}

/** Returns the format of the content, within what the setting permits. @throws RunError UNEXPECTED_CONTENT, WRONG_FORMAT */
function formatOf(sample: Buffer, definition: SourceDefinition, name: string): TextFormat {
  const start = sample.subarray(0, 2048).toString('utf8').trimStart()
  if (/^<(!doctype\s+html|html)[\s>]/i.test(start)) {
    throw fileError('UNEXPECTED_CONTENT', 'the source is a web page, not data', {
      name,
      hint: 'Check the address and the credentials: a login page looks like this.',
    })
  }
  const configured = definition.format
  const isXml = start.startsWith('<')
  if (isXml && (configured === 'auto' || configured === 'google-rss' || configured === 'google-atom'))
    return definition.xml?.item === undefined ? feedLayoutOf(start) : 'xml'
  if (configured === 'csv' || configured === 'tsv') {
    if (/^<\?xml|^<(rss|feed)[\s>]/.test(start)) throw wrongFormatError(name, 'an XML feed', configured)
    return configured
  }
  const jsonFormat = start.startsWith('[') ? 'json' : start.startsWith('{') || start.startsWith('\u001e') ? 'jsonl' : undefined
  if (configured === 'json' || configured === 'jsonl') {
    if (isXml) throw wrongFormatError(name, 'an XML feed', configured)
    if (jsonFormat === undefined && configured === 'json') throw wrongFormatError(name, 'not a JSON array', configured)
    return jsonFormat ?? 'jsonl'
  }
  if (configured !== 'auto') throw wrongFormatError(name, jsonFormat === undefined ? 'a text table' : 'JSON', configured)
  return jsonFormat ?? 'csv'
}

/**
 * Returns the place of the records inside one object, configured or detected; undefined for a plain array or JSON lines. `format` is
 * `jsonl` for every file that starts with `{`.
 *
 * @throws RunError WRONG_FORMAT if a place is configured and the file is an array
 */
async function findRecordsPlace(
  sample: Buffer,
  definition: SourceDefinition,
  format: TextFormat,
  name: string,
): Promise<RecordsPlace | undefined> {
  const { json, format: configured } = definition
  if (json !== undefined) {
    if (format === 'jsonl') return { path: json.records.split('.'), isDetected: false }
    throw fileError('WRONG_FORMAT', `the file itself is an array, but the setting looks for records at "${json.records}"`, {
      name,
      hint: 'Remove `json.records` of the source.',
    })
  }
  if (format !== 'jsonl' || configured === 'jsonl') return undefined
  return (await import('./json/findRecords.ts')).findRecords(sample)
}

/** Returns the layout of a feed by its root element, to be shown to the user. The XML splitter checks the root. */
function feedLayoutOf(start: string): 'google-rss' | 'google-atom' {
  return /<(?:[\w.-]+:)?feed[\s>]/.test(start) && !/<rss[\s>]/.test(start) ? 'google-atom' : 'google-rss'
}

function wrongFormatError(name: string, found: string, configured: string) {
  return fileError('WRONG_FORMAT', `the file is ${found}, but the setting is ${configured}`, {
    name,
    hint: 'Set `format: auto`, or the format of the file.',
  })
}

function emptyFileError(name: string) {
  return fileError('FILE_EMPTY', 'the file is empty', { name, hint: 'Export the file again. An empty file never means an empty shop.' })
}
