import { rmSync } from 'node:fs'
import { RunError } from '../errors.ts'
import type { Row } from '../records/record.ts'
import { cellText } from '../records/rejectsCopy.ts'
import { openSource } from '../sources/openSource.ts'
import type { Store } from '../store/open.ts'
import { loadRejects, type StoredReject } from '../sync/history.ts'
import { withOneOffSource } from '../sync/read/oneOffSource.ts'
import type { Context } from './context.ts'
import { openCsv } from './csvFile.ts'
import { pipelineNamed } from './pipelines.ts'
import { reasonCells, reasonColumns } from './reasonColumns.ts'
import { loadReading, rejectsTable } from './rejectsTable.ts'

/**
 * Reads the run's sources again and writes the rejected rows as they stand there, because raw values are nowhere kept.
 * Only for a source that is byte for byte the one that was read: otherwise the lines would be others. The file, of mode
 * 0600, is removed again when that turns out at the end.
 *
 * @throws {RunError} `SOURCE_CHANGED`
 */
export async function writeFullRows(
  context: Context,
  store: Store,
  target: { readonly runId: string; readonly pipeline: string; readonly columns: readonly string[]; readonly file: string },
): Promise<number> {
  const pipeline = await pipelineNamed(context, target.pipeline)
  const { facts, source: oneOff } = await loadReading(store, target.runId)
  const { sources: definitions } = oneOff === undefined ? pipeline : await withOneOffSource(pipeline, oneOff)
  const rejects = new Map<string, StoredReject[]>()
  for await (const reject of loadRejects(store.db, target.runId)) {
    const key = `${reject.source} ${reject.line}`
    rejects.set(key, [...(rejects.get(key) ?? []), reject])
  }
  const table = rejectsTable(target.columns, facts)
  const csv = openCsv(target.file, context.stdout, 0o600)
  let written = 0
  let keep = false
  try {
    csv.write([...table.columns, ...reasonColumns(table.columns)])
    for (const [index, definition] of definitions.entries()) {
      const source = await openSource(definition, { env: context.config().env, log: context.log(), signal: context.signal })
      try {
        for await (const batch of source.rows) {
          for (const row of batch) {
            for (const reject of rejects.get(`${index} ${row.line}`) ?? []) {
              csv.write([...cellsOf(row, table.columns), ...reasonCells(reject)])
              written++
            }
          }
        }
        if (source.facts().sha256 !== facts[index]?.sha256) throw changed(definition.uri, target.runId)
      } finally {
        await source.close()
      }
    }
    keep = true
  } finally {
    csv.close()
    if (!keep) rmSync(target.file, { force: true })
  }
  return written
}

/** The row's cells in the order of the table; rejects are few, so that they may be looked for by name. */
function cellsOf(row: Row, columns: readonly string[]): readonly string[] {
  return columns.map((column) => cellText(row.cells[row.columns.indexOf(column)]))
}

function changed(uri: string, runId: string): RunError {
  return new RunError('SOURCE_CHANGED', 'the source is not the one that this run read, so its lines would be others. Nothing was kept.', {
    where: uri,
    mend: `sluice rejects ${runId} --csv rejects.csv   (the masked rows)`,
  })
}
