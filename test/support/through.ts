/** Reads a file as a run does: bytes on disk, openSource, mapper, checks of the whole source. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { RunError } from '../../src/errors.ts'
import { silentLogger } from '../../src/log.ts'
import { resolvePipeline } from '../../src/pipeline/resolve.ts'
import { isTable } from '../../src/formats/openFormat.ts'
import { createMapper } from '../../src/destinations/createMapper.ts'
import { identifierTypes, type Reject } from '../../src/model/record.ts'
import { openSource } from '../../src/sources/openSource.ts'
import { createCheckingMapper } from '../../src/sync/read/sourceQuality.ts'
import { identifierNotes } from '../../src/sync/read/unmappedNotes.ts'
import type { WarningSummary } from '../../src/model/report.ts'

export interface Outcome {
  /** Code of the error that rejects the whole file. */
  readonly refused: string | undefined
  readonly hint: string | undefined
  readonly products: readonly Readonly<Record<string, unknown>>[]
  readonly members: readonly Member[]
  readonly rejects: readonly Reject[]
  /** Codes of warnings of rows and header. */
  readonly codes: readonly string[]
  readonly notes: readonly WarningSummary[]
  /** Notes of the reader on the whole source. */
  readonly sourceNotes: readonly string[]
  readonly read: number
  /** True if keys that are not in this file count as missing. */
  readonly complete: boolean
}

export interface Member {
  readonly desired: boolean
  /** `email 64 hex digits`, or `partner_user_id value`. */
  readonly identifiers: readonly string[]
}

export interface Settings {
  readonly name?: string
  readonly source?: Readonly<Record<string, unknown>>
  readonly map?: Readonly<Record<string, unknown>>
  readonly consent?: unknown
  readonly options?: Readonly<Record<string, unknown>>
  readonly preset?: string
  readonly destination?: Readonly<Record<string, unknown>>
}

export const catalog = { kind: 'catalog', catalog_id: '4001' } as const
export const audience = { kind: 'audience', account_id: '18ce54d4x5t', audience_id: '1nmth' } as const

export async function through(content: string | Uint8Array, settings: Settings = {}): Promise<Outcome> {
  const { name = 'feed.csv', source = {}, destination = catalog, ...rest } = settings
  const folder = mkdtempSync(join(tmpdir(), 'sluice-input-'))
  const file = join(folder, name)
  writeFileSync(file, content)
  const products: Record<string, unknown>[] = []
  const members: Member[] = []
  const rejects: Reject[] = []
  const codes: string[] = []
  let notes: readonly WarningSummary[] = []
  let sourceNotes: readonly string[] = []
  let read = 0
  let complete = false
  const outcome = (error?: RunError): Outcome => ({
    refused: error?.code,
    hint: error?.hint,
    products,
    members,
    rejects,
    codes,
    notes,
    sourceNotes,
    read,
    complete,
  })
  try {
    const { pipeline, problems } = resolvePipeline({ ...rest, source: { url: file, ...source }, destination }, 'shop', 'shop.yaml')
    const [definition] = pipeline?.sources ?? []
    if (pipeline === undefined || definition === undefined) throw new Error(`the test's pipeline is wrong: ${JSON.stringify(problems)}`)
    const mapper = createCheckingMapper(createMapper(pipeline, new Date()))
    const opened = await openSource(definition, { env: {}, log: silentLogger })
    let started = false
    try {
      for await (const rows of opened.rows) {
        for (const row of rows) {
          if (!started)
            for (const warning of mapper.bindHeader(row.columns, undefined, isTable(opened.detected?.format ?? 'csv')))
              codes.push(warning.code)
          started = true
          read += 1
          const { record, reject, warnings } = mapper.map(row)
          for (const warning of warnings) codes.push(warning.code)
          if (reject !== undefined) rejects.push(reject)
          else if (record?.kind === 'product') products.push(JSON.parse(record.json) as Record<string, unknown>)
          else if (record?.kind === 'member') members.push({ desired: record.desired, identifiers: record.identifiers.map(shown) })
        }
      }
      const facts = opened.facts()
      if (!started && facts.columns.length > 0) mapper.bindHeader(facts.columns)
      notes = [...mapper.finish(facts).warnings, ...identifierNotes(mapper.reportUnmapped())]
      sourceNotes = facts.notes ?? []
      complete = facts.completeness.complete
    } finally {
      await opened.close()
    }
    return outcome()
  } catch (error) {
    if (!(error instanceof RunError)) throw error
    if (error.where === undefined || error.hint === '') throw new Error(`${error.code} says neither where nor what to do`, { cause: error })
    return outcome(error)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

function shown(packed: Buffer): string {
  const type = packed[0] ?? 0
  return `${identifierTypes[type - 1]} ${type === 6 ? packed.subarray(1).toString() : packed.subarray(1).toString('hex')}`
}

export type Fields = Readonly<Record<string, string | undefined>>

/** Returns a CSV file of rows with their own columns; undefined leaves the cell empty. */
export function csvOf(rows: readonly Fields[], delimiter = ','): string {
  const columns = [...new Set(rows.flatMap((row) => Object.keys(row)))]
  const cell = (text: string) =>
    /["\n\r]/.test(text) || text.includes(delimiter) || text !== text.trim() ? `"${text.replaceAll('"', '""')}"` : text
  return [columns, ...rows.map((row) => columns.map((column) => row[column] ?? ''))]
    .map((cells) => `${cells.map(cell).join(delimiter)}\n`)
    .join('')
}

export const goodProduct: Fields = {
  id: 'SKU-1',
  title: 'Red shoe',
  description: 'A red shoe.',
  availability: 'in stock',
  condition: 'new',
  price: '12.99 USD',
  link: 'https://shop.example.com/p/1',
  image_link: 'https://shop.example.com/i/1.jpg',
  brand: 'Acme',
}

/** Returns good products with other ids, so that a share of bad rows is small enough or large enough. */
export function manyProducts(count: number, change: (index: number) => Fields = () => ({})): Fields[] {
  return Array.from({ length: count }, (_, index) => ({
    ...goodProduct,
    id: `P-${index}`,
    title: `Shoe ${index}`,
    brand: `Brand ${index % 7}`,
    ...change(index),
  }))
}

export function rssOf(items: readonly string[]): string {
  return `<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>Shop</title>\n${items.map((item) => `<item>${item}</item>`).join('\n')}\n</channel></rss>\n`
}

export function itemOf(fields: Fields, more = ''): string {
  const escape = (text: string) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  return (
    Object.entries(fields)
      .map(([name, value]) => (value === undefined ? '' : `<g:${name}>${escape(value)}</g:${name}>`))
      .join('') + more
  )
}
