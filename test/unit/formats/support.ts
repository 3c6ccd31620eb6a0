import { RunError } from '../../../src/errors.ts'
import { ByteQueue } from '../../../src/formats/byteQueue.ts'
import type { ReadLimits } from '../../../src/formats/limits.ts'
import { readLimits } from '../../../src/formats/limits.ts'
import type { Detected } from '../../../src/formats/openFormat.ts'
import { openFormat } from '../../../src/formats/openFormat.ts'
import type { FormatEnd, RecordGate } from '../../../src/formats/formatReader.ts'
import type { SourceDefinition } from '../../../src/model/pipeline.ts'
import type { Cell, SourceRow } from '../../../src/model/record.ts'
import { sourceOf } from '../../support/sourceDefinition.ts'

export type Overrides = Partial<Omit<SourceDefinition, 'csv'>> & {
  readonly csv?: Partial<SourceDefinition['csv']>
  readonly limits?: Partial<ReadLimits>
  readonly chunkBytes?: number
  readonly name?: string
  readonly charset?: string
  readonly gate?: RecordGate
}

export interface ReadResult {
  readonly rows: readonly SourceRow[]
  readonly detected: Detected
  readonly end: FormatEnd
  readonly containerProof: string | undefined
}

export function definitionOf(uri: string, overrides: Overrides = {}): SourceDefinition {
  const { csv, limits: _limits, chunkBytes: _chunk, name: _name, charset: _charset, gate: _gate, ...rest } = overrides
  return sourceOf(uri, { ...rest, csv: { delimiter: 'auto', quote: '"', headerRow: 'auto', ...csv } })
}

/** Reads bytes from memory through all steps of the format, in chunks of any size. */
export async function read(content: Buffer | string, overrides: Overrides = {}): Promise<ReadResult> {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  const name = overrides.name ?? 'feed'
  const opened = await openFormat(new ByteQueue(chunksOf(bytes, overrides.chunkBytes ?? 65_536)), definitionOf(name, overrides), {
    name,
    limits: { ...readLimits, ...overrides.limits },
    ...(overrides.charset === undefined ? {} : { charset: overrides.charset }),
    ...(overrides.gate === undefined ? {} : { gate: overrides.gate }),
  })
  const rows: SourceRow[] = []
  for await (const batch of opened.reader.rows) rows.push(...batch)
  return { rows, detected: opened.detected, end: opened.reader.end(), containerProof: opened.containerProof }
}

/** Returns the code of the rejection, or `none` if the bytes were read to their end. */
export async function refusal(content: Buffer | string, overrides: Overrides = {}): Promise<string> {
  try {
    await read(content, overrides)
    return 'none'
  } catch (error) {
    if (error instanceof RunError) {
      if (error.where === undefined || error.hint === '') return `${error.code} without a place or a hint`
      return error.code
    }
    throw error
  }
}

export function cellsOf(row: SourceRow | undefined): Readonly<Record<string, Cell>> {
  const cells: Record<string, Cell> = {}
  row?.columns.forEach((column, at) => {
    const cell = row.cells[at]
    if (cell !== undefined) Object.defineProperty(cells, column, { value: cell, enumerable: true })
  })
  return cells
}

/** Returns the cells of a row as one text, for any order of its columns. */
export function textOf(row: SourceRow): string {
  return JSON.stringify(Object.entries(cellsOf(row)).toSorted(([a], [b]) => (a < b ? -1 : 1)))
}

export function faultsOf(result: ReadResult): readonly (string | undefined)[] {
  return result.rows.map((row) => row.fault?.code)
}

export async function* chunksOf(bytes: Buffer, size: number): AsyncGenerator<Buffer> {
  for (let at = 0; at < bytes.length; at += size) yield bytes.subarray(at, at + size)
}

export const feedHead =
  '<?xml version="1.0" encoding="UTF-8"?>\n<rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>Shop</title>\n'
export const feedTail = '\n</channel></rss>\n'

export function feed(...items: readonly string[]): string {
  return feedHead + items.map((item) => `<item>${item}</item>`).join('\n') + feedTail
}
