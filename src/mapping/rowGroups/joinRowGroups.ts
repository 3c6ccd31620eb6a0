/**
 * Joins row groups. Fills each row with the values and images that only other rows of its product have. Rows that only provide such values
 * and images are left out.
 */
import { presetByName, recognizePreset } from '../presets/index.ts'
import type { SourceRow } from '../../model/record.ts'
import { JoinerByHandle } from './joinerByHandle.ts'
import { JoinerByParent } from './joinerByParent.ts'
import type { RowJoiner } from './rowJoiner.ts'

/**
 * Creates the joiner for a table of products. Undefined if no preset fits, if the preset has no row groups, or if the table lacks a column
 * that they need. `preset`: name of the configured preset; if undefined, the columns decide.
 */
export function createRowJoiner(columns: readonly string[], preset: string | undefined): RowJoiner | undefined {
  const rowGroups = (preset === undefined ? recognizePreset(columns, 'products') : presetByName(preset))?.rowGroups
  if (rowGroups === undefined) return undefined
  return rowGroups.kind === 'handle' ? JoinerByHandle.of(rowGroups, columns) : JoinerByParent.of(rowGroups, columns)
}

/** Passes the rows of a table through its joiner. */
export async function* joinRowGroups(rows: AsyncIterable<readonly SourceRow[]>, joiner: RowJoiner): AsyncGenerator<readonly SourceRow[]> {
  for await (const chunk of rows) {
    const complete = chunk.flatMap((row) => joiner.push(row))
    if (complete.length > 0) yield complete
  }
  const last = joiner.end()
  if (last.length > 0) yield last
}
