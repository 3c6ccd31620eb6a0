/**
 * Exports that spread one product over several rows: what a row leaves out stands in another one of its product. Rows come
 * out of here as if each said all of it, so that whatever maps a row need look at no other.
 */
import { presetByName, recognizePreset } from '../presets/index.ts'
import type { Row } from '../record.ts'
import { HandleRows } from './handleRows.ts'
import { ParentRows } from './parentRows.ts'

/** Holds back a bounded number of rows; what comes out keeps the order of the file. For one table, read once. */
export interface RowJoiner {
  /** What can be handed on once this row is known: none, itself, or those that waited for it. */
  readonly push: (row: Row) => readonly Row[]
  /** What still waits when the table has ended. */
  readonly end: () => readonly Row[]
  /** What became of rows that are none of their own, for people; once the table has ended. */
  readonly notes: () => readonly string[]
}

/**
 * For a table of products with these columns; undefined where each row stands for itself. `preset`: as the pipeline names
 * it, else the one that the header is known by.
 */
export function rowJoiner(columns: readonly string[], preset: string | undefined): RowJoiner | undefined {
  const spread = (preset === undefined ? recognizePreset(columns, 'catalog') : presetByName(preset))?.spread
  if (spread === undefined) return undefined
  return spread.kind === 'handle' ? HandleRows.of(spread, columns) : ParentRows.of(spread, columns)
}

/** The rows of a table through its joiner, in groups as they come free. */
export async function* joinRows(rows: AsyncIterable<readonly Row[]>, joiner: RowJoiner): AsyncGenerator<readonly Row[]> {
  for await (const group of rows) {
    const free = group.flatMap((row) => joiner.push(row))
    if (free.length > 0) yield free
  }
  const last = joiner.end()
  if (last.length > 0) yield last
}
