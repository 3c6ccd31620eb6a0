import { RunError } from '../../../errors.ts'
import { createMapper } from '../../../destinations/createMapper.ts'
import type { Mapped, Row } from '../../../model/record.ts'
import { cellText } from '../../../mapping/rejectsCopy.ts'
import { openSource } from '../../../sources/openSource.ts'
import type { Store } from '../../../db/open.ts'
import { loadRejects, type StoredReject } from '../../../sync/history.ts'
import { withBackfillSource } from '../../../sync/read/backfillSource.ts'
import type { Context } from '../../context.ts'
import { openCsv } from './csvFile.ts'
import { pipelineNamed } from '../../pipelines.ts'
import { loadReading, reasonCells, reasonColumns, rejectsTable } from '../../../sync/rejectsCsv.ts'

/**
 * Reads the sources of the run again, and writes the rejected rows with their raw values, which Sluice does not store. The source
 * must have the same bytes, because line numbers would differ otherwise. That is known only at the end; if the source has changed,
 * the file (mode 0600) is removed.
 *
 * @throws {RunError} `SOURCE_CHANGED`
 */
export async function writeFullRows(
  context: Context,
  store: Store,
  target: { readonly runId: string; readonly pipeline: string; readonly columns: readonly string[]; readonly file: string },
): Promise<number> {
  const pipeline = await pipelineNamed(context, target.pipeline)
  const { facts, source: backfillSource } = await loadReading(store.db, target.runId)
  const { sources: definitions } = backfillSource === undefined ? pipeline : await withBackfillSource(pipeline, backfillSource)
  const rejects = new Map<string, StoredReject[]>()
  for await (const reject of loadRejects(store.db, target.runId)) {
    const place = `${reject.source} ${reject.line}`
    const there = rejects.get(place)
    if (there === undefined) rejects.set(place, [reject])
    else there.push(reject)
  }
  const mapper = createMapper(pipeline, new Date(context.clock.now()))
  const table = rejectsTable(target.columns, facts)
  const csv = openCsv(target.file, context.stdout, { private: true })
  let written = 0
  const write = (row: Row, those: readonly StoredReject[]) => {
    for (const reject of those) csv.write([...cellsOf(row, table.columns), ...reasonCells(reject)])
    written += those.length
  }
  try {
    csv.write([...table.columns, ...reasonColumns(table.columns)])
    for (const [index, definition] of definitions.entries()) {
      const source = await openSource(definition, { env: context.config().env, log: context.log(), signal: context.signal })
      try {
        // Rows of one line follow each other. Nearly always there is only one; then the line identifies it, and it is not mapped.
        let previous: Row | undefined
        let several = false
        const release = () => {
          if (previous === undefined) return
          const there = rejects.get(`${index} ${previous.line}`) ?? []
          write(previous, several ? takeRejects(mapper.map(previous), there) : there)
        }
        for await (const batch of source.rows) {
          for (const row of batch) {
            if (!rejects.has(`${index} ${row.line}`)) continue
            const together = previous?.line === row.line
            several ||= together
            release()
            several = together
            previous = row
          }
        }
        release()
        if (source.facts().sha256 !== facts[index]?.sha256) throw changed(definition.uri, target.runId)
      } finally {
        await source.close()
      }
    }
    csv.finish()
  } catch (error) {
    csv.discard()
    throw error
  }
  return written
}

/**
 * Removes the rejects of this row from `there`, and returns them. Needed if several rows share a line (a feed without line ends),
 * because only rejected rows may be written in clear text.
 */
function takeRejects({ record, reject }: Mapped, there: StoredReject[]): readonly StoredReject[] {
  const key = record?.key ?? reject?.key
  const hex = key === undefined ? null : Buffer.from(key).toString('hex')
  const at = there.findIndex((stored) => stored.key === hex && (reject === undefined || stored.code === reject.code))
  return at < 0 ? [] : there.splice(at, 1)
}

/** Returns the cells of the row in the order of the table. Looks them up by name, because rejects are few. */
function cellsOf(row: Row, columns: readonly string[]): readonly string[] {
  return columns.map((column) => cellText(row.cells[row.columns.indexOf(column)]))
}

function changed(uri: string, runId: string): RunError {
  return new RunError('SOURCE_CHANGED', 'the source has changed since this run, so its line numbers would be wrong. Nothing was kept.', {
    where: uri,
    hint: `sluice rejects ${runId} --csv rejects.csv   (the masked rows)`,
  })
}
