/**
 * Gives mutated files to every reader. A reader may read the file or reject it with a code and a hint. It may not crash, take long or grow
 * without bounds. If the format or its container proves the end, it may not call a file complete that lost rows.
 */
import { readFileSync } from 'node:fs'
import { gzipSync, zstdCompressSync } from 'node:zlib'
import fc from 'fast-check'
import { RunError } from '../../src/errors.ts'
import { ByteQueue } from '../../src/formats/byteQueue.ts'
import { readLimits } from '../../src/formats/limits.ts'
import { openFormat } from '../../src/formats/openFormat.ts'
import type { SourceFacts } from '../../src/formats/rows.ts'
import type { SourceDefinition } from '../../src/model/pipeline.ts'
import { classifyCompleteness } from '../../src/sources/completeness.ts'
import { workbook } from '../unit/formats/workbookOf.ts'
import { zipOf } from '../unit/formats/zipOf.ts'
import { formatTokens } from './formatTokens.ts'
import { sourceOf } from './sourceDefinition.ts'
import { csvOf, itemOf, manyProducts, rssOf } from './through.ts'

export interface FuzzReader {
  readonly name: string
  readonly seeds: readonly Buffer[]
  /** Settings of the source. */
  readonly settings?: Partial<SourceDefinition>
  /** Files of parts that have a meaning in the format. */
  readonly structured: fc.Arbitrary<Buffer>
  /** The checksum of the container covers every byte of data, so other rows are never read from it. */
  readonly checked: boolean
}

export interface Finding {
  readonly reader: string
  readonly run: number
  readonly what: string
  /** The input, base64. */
  readonly input: string
}

const rows = manyProducts(4, (i) => ({ title: ['Shoe, "red"', 'Café <b>', 'a & b', 'x\ny'][i], price: `${i}.50 USD` }))
const csv = csvOf(rows)
const xml = rssOf(
  rows.map((row) => itemOf(row, '<g:shipping><g:price>1 EUR</g:price></g:shipping><g:note><![CDATA[a ]]]]><![CDATA[> b]]></g:note>')),
)
const atom = xml
  .replace(/<rss.*?<channel>/s, '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0">')
  .replace('</channel></rss>', '</feed>')
  .replaceAll('item>', 'entry>')
const lines = rows.map((row) => `${JSON.stringify({ ...row, nested: { price: 1.5 }, list: ['a', 'b'] })}\n`).join('')
const array = `[${lines.trim().replaceAll('\n', ',\n')}]`
const real = readFileSync(new URL('../fixtures/feeds/rss.xml', import.meta.url))

const text = fc.string({
  unit: fc.constantFrom('a', 'é', '𝄞', ',', ';', '\t', '"', "'", '\n', '\r', '<', '>', '&', ']', '\\', '{', '}', '\0', ' '),
  maxLength: 12,
})
const joined = (parts: readonly string[], maxLength = 40) =>
  fc.array(fc.oneof(fc.constantFrom(...parts), text), { maxLength }).map((given) => Buffer.from(given.join('')))
const table = joined([
  'id,title\n',
  'id;title\r\n',
  'sep=;\n',
  '"a ""b"""',
  '"open',
  ',',
  ';',
  '\n',
  '\r\n',
  '# note\n',
  '\ufeff',
  '1,a\n',
  '2,"b\nc"\n',
])
const markup = joined([
  '<rss xmlns:g="http://base.google.com/ns/1.0">',
  '<channel>',
  '<item>',
  '</item>',
  '<g:id>',
  '</g:id>',
  '<g:price/>',
  '</channel>',
  '</rss>',
  '<![CDATA[',
  ']]>',
  '<!--',
  '-->',
  '<?xml version="1.0"?>',
  '<!DOCTYPE a>',
  '&amp;',
  '&#0;',
  '&nbsp;',
  '<a:b>',
  '<item x="',
  '">',
  '1',
])
const objects = joined([
  '{"id":"1"}',
  '{"id":1.50,',
  '"a":{"b":[',
  ']',
  '}',
  '[',
  '{',
  ',',
  ':',
  '\n',
  '"',
  '\\u',
  '\\ud800',
  '\u001e',
  'null',
  'NaN',
  '{"id":"1","id":"2"}',
  '{"__proto__":1}',
])

const sheetHeader = '<row r="1"><c r="A1" t="s"><v>0</v></c><c r="B1" t="s"><v>1</v></c></row>'
const sheetRows = ['2', '3', '4'].map((at) => `<row r="${at}"><c r="A${at}"><v>${at}.5</v></c><c r="B${at}" t="s"><v>2</v></c></row>`)
const sheet = joined([
  sheetHeader,
  ...sheetRows,
  '<row r="5">',
  '<row>',
  '</row>',
  '<c r="A5"><v>1</v></c>',
  '<c r="XFD5" t="inlineStr"><is><t>far</t></is></c>',
  '<c r="B5" t="s"><v>99</v></c>',
  '<c r="C5" s="9"><v>46082.5</v></c>',
  '<c t="e"><v>#N/A</v></c>',
  '<v>1e400</v>',
  '</sheetData>',
  '<c r="',
])

export const fuzzReaders: readonly FuzzReader[] = [
  {
    name: 'csv',
    seeds: [Buffer.from(csv), Buffer.from(csvOf(rows, ';').replaceAll('\n', '\r\n')), Buffer.from(`\ufeff${csv}`, 'utf16le')],
    structured: table,
    checked: false,
  },
  {
    name: 'tsv',
    seeds: [Buffer.from(csvOf(rows, '\t'))],
    structured: table.map((bytes) => Buffer.from(bytes.toString().replaceAll(',', '\t'))),
    checked: false,
  },
  { name: 'json lines', seeds: [Buffer.from(lines)], structured: objects, checked: false },
  {
    name: 'json array',
    seeds: [Buffer.from(array)],
    structured: objects.map((bytes) => Buffer.concat([Buffer.from('['), bytes])),
    checked: false,
  },
  {
    name: 'json in an object',
    seeds: [Buffer.from(`{"total":4,"data":{"items":${array},"next":null},"page":[1]}`), Buffer.from(`{"items":\n${array}\n}\n`)],
    structured: objects.map((bytes) => Buffer.concat([Buffer.from('{"data":{"items":['), bytes])),
    checked: false,
  },
  {
    name: 'xml of any kind',
    seeds: [
      Buffer.from(xml.replaceAll('rss', 'shop').replaceAll('item>', 'product id="1">').replaceAll('</product id="1">', '</product>')),
    ],
    settings: { xml: { item: 'product' } },
    structured: markup.map((bytes) => Buffer.from(bytes.toString().replaceAll('item', 'product'))),
    checked: false,
  },
  { name: 'rss', seeds: [Buffer.from(xml), real], structured: markup, checked: false },
  {
    name: 'atom',
    seeds: [Buffer.from(atom)],
    structured: markup.map((bytes) => Buffer.from(bytes.toString().replaceAll('item', 'entry').replaceAll('rss', 'feed'))),
    checked: false,
  },
  {
    name: 'gzip',
    seeds: [gzipSync(csv), Buffer.concat([gzipSync(csv.slice(0, 60)), gzipSync(csv.slice(60))]), gzipSync(xml)],
    structured: table.map((bytes) => gzipSync(bytes)),
    checked: true,
  },
  {
    name: 'zip',
    seeds: [zipOf([{ name: 'a.csv', content: csv }]), zipOf([{ name: 'a.csv', content: csv, described: true }])],
    structured: table.map((bytes) => zipOf([{ name: 'a.csv', content: bytes.toString('latin1') }])),
    checked: true,
  },
  {
    name: 'xlsx',
    seeds: [workbook([sheetHeader, ...sheetRows].join(''))],
    structured: fc.tuple(sheet, fc.boolean()).map(([bytes, strings]) =>
      // latin1 keeps every byte unchanged.
      workbook(bytes.toString('latin1'), strings ? { strings: `<sst>${bytes.toString('latin1')}</sst>` } : {}),
    ),
    checked: true,
  },
  { name: 'zstd', seeds: [zstdCompressSync(csv)], structured: table.map((bytes) => zstdCompressSync(bytes)), checked: false },
]

export interface FuzzOptions {
  readonly reader: FuzzReader
  readonly runs: number
  readonly seed: number
  readonly onRun?: (run: number) => void
  /** Milliseconds. A longer read is a finding. Absent if no time is checked. */
  readonly slowMs?: number
}

/**
 * Gives `runs` inputs to the reader. The same seed and number of a run give the same input. One input in five is a seed that is cut off. Of
 * the others, one in four is made of `structured` parts, half of them mutated. The rest are mutations of seeds.
 */
export async function fuzzReader({ reader, runs, seed, onRun, slowMs = Number.POSITIVE_INFINITY }: FuzzOptions): Promise<Finding[]> {
  const findings: Finding[] = []
  const whole = await Promise.all(reader.seeds.map((bytes) => outcome(bytes, reader.settings, undefined)))
  const structured = fc.sample(reader.structured, { numRuns: Math.min(2_000, Math.ceil(runs / 4)), seed })
  const random = randomOf(seed)
  for (let run = 0; run < runs; run++) {
    onRun?.(run)
    const index = Math.floor(random() * reader.seeds.length)
    const original = reader.seeds[index] ?? Buffer.of()
    const parts = structured[Math.floor(random() * structured.length)]
    const isCut = random() < 0.2
    const input = isCut
      ? original.subarray(0, Math.floor(random() * original.length))
      : run % 4 === 0 && parts !== undefined
        ? run % 8 === 0
          ? parts
          : mutate(parts, random)
        : mutate(original, random)
    const say = (what: string) => findings.push({ reader: reader.name, run, what, input: input.toString('base64') })
    const started = performance.now()
    let result: Outcome | undefined
    try {
      result = await outcome(input, reader.settings, whole[index]?.facts)
    } catch (error) {
      say(`crash: ${error instanceof Error ? (error.stack ?? error.message) : String(error)}`)
    }
    const took = performance.now() - started
    if (took > slowMs) say(`took ${Math.round(took)} ms`)
    const expected = whole[index]
    if (result?.complete !== true || expected === undefined) continue
    if (isCut && result.proven && result.rows.length < expected.rows.length) say('a cut file is called complete')
    if (reader.checked && !(run % 4 === 0) && !isCut && result.proven && expected.rows.some((row) => !result.rows.includes(row)))
      say('a damaged file that lost rows is called complete')
  }
  return findings
}

interface Outcome {
  readonly rows: readonly string[]
  readonly complete: boolean
  /** True if an end marker of the format or its container proves it, and not only the length of the file. */
  readonly proven: boolean
  readonly facts?: SourceFacts
}

/** Returns the result of reading a file; a rejected one is not complete. */
async function outcome(
  bytes: Buffer,
  settings: Partial<SourceDefinition> | undefined,
  previous: SourceFacts | undefined,
): Promise<Outcome> {
  const definition = sourceOf('fuzz', settings)
  try {
    const opened = await openFormat(new ByteQueue(once(bytes)), definition, { name: 'fuzz', limits: readLimits })
    const found: string[] = []
    for await (const batch of opened.reader.rows)
      for (const row of batch) if (row.fault === undefined) found.push(JSON.stringify(row.cells))
    const end = opened.reader.end()
    const completeness = classifyCompleteness({
      required: definition.complete,
      format: end,
      transport: { proof: 'file unchanged while read', mustEndAsBefore: true },
      containerProof: opened.containerProof,
      bytes: bytes.length,
      sha256: '',
      isGuessedLines: opened.detected.format === 'jsonl',
      ...(previous === undefined ? {} : { previous }),
    })
    const facts = {
      uri: 'fuzz',
      bytes: bytes.length,
      sha256: '',
      format: opened.detected.format,
      encoding: opened.detected.encoding,
      compression: opened.detected.compression,
      columns: end.columns,
      finalNewline: end.finalNewline,
      completeness,
    }
    return { rows: found, complete: completeness.complete, proven: end.proof !== undefined || opened.containerProof !== undefined, facts }
  } catch (error) {
    if (error instanceof RunError && error.where !== undefined && error.hint !== '') return { rows: [], complete: false, proven: false }
    throw error
  }
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}

function mutate(original: Buffer, random: () => number): Buffer {
  let bytes = original
  for (let edits = 1 + Math.floor(random() * 4); edits > 0; edits--) {
    const at = Math.floor(random() * (bytes.length + 1))
    const kind = random()
    if (kind < 0.3) {
      const flipped = Buffer.from(bytes)
      if (at < flipped.length) flipped[at] = (flipped[at] ?? 0) ^ (1 << Math.floor(random() * 8))
      bytes = flipped
    } else if (kind < 0.6) {
      bytes = Buffer.concat([
        bytes.subarray(0, at),
        formatTokens[Math.floor(random() * formatTokens.length)] ?? Buffer.of(),
        bytes.subarray(at),
      ])
    } else if (kind < 0.8) {
      bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(at + 1 + Math.floor(random() * 16))])
    } else {
      const from = Math.floor(random() * (bytes.length + 1))
      bytes = Buffer.concat([bytes.subarray(0, at), bytes.subarray(from, from + Math.floor(random() * 64)), bytes.subarray(at)])
    }
  }
  return bytes
}

/** Returns random numbers by mulberry32: small, seeded, equal on every machine. */
function randomOf(seed: number): () => number {
  let state = seed >>> 0
  return () => {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296
  }
}
