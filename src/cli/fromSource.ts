import { rmSync } from 'node:fs'
import { RunError } from '../errors.ts'
import type { SourceFacts } from '../formats/rows.ts'
import type { Row } from '../records/record.ts'
import { openSource } from '../sources/openSource.ts'
import type { Store } from '../store/open.ts'
import { loadRejects, runNumber, type StoredReject } from '../sync/history.ts'
import { withOneOffSource } from '../sync/oneOffSource.ts'
import type { Context } from './context.ts'
import { openCsv } from './csvFile.ts'
import { pipelineNamed } from './pipelines.ts'
import { reasonCells, reasonColumns } from './reasonColumns.ts'

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
  target: { readonly runId: string; readonly pipeline: string; readonly file: string },
): Promise<number> {
  const pipeline = await pipelineNamed(context, target.pipeline)
  const { facts, source: oneOff } = await loadReading(store, target.runId)
  const { sources: definitions } = oneOff === undefined ? pipeline : await withOneOffSource(pipeline, oneOff)
  const rejects = new Map<string, StoredReject[]>()
  for await (const reject of loadRejects(store.db, target.runId)) {
    const key = `${reject.source} ${reject.line}`
    rejects.set(key, [...(rejects.get(key) ?? []), reject])
  }
  const csv = openCsv(target.file, context.stdout, 0o600)
  let written = 0
  let keep = false
  try {
    let columns: readonly string[] | undefined
    for (const [index, definition] of definitions.entries()) {
      const source = await openSource(definition, { env: context.config().env, log: context.log(), signal: context.signal })
      try {
        for await (const batch of source.rows) {
          for (const row of batch) {
            if (!columns) csv.write([...(columns = row.columns), ...reasonColumns(columns)])
            for (const reject of rejects.get(`${index} ${row.line}`) ?? []) {
              csv.write([...cellsOf(row, columns), ...reasonCells(reject)])
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

/** The row's cells in the order of the file's first header; rows of JSON may have other columns, found by name. */
function cellsOf(row: Row, columns: readonly string[]): readonly string[] {
  return columns.map((column, i) => {
    const cell = row.cells[row.columns === columns ? i : row.columns.indexOf(column)]
    return cell === undefined ? '' : typeof cell === 'string' ? cell : cell.join(',')
  })
}

async function loadReading(
  store: Store,
  runId: string,
): Promise<{ readonly facts: readonly SourceFacts[]; readonly source: string | undefined }> {
  const [row] = await store.db.query<{ sources: SourceFacts[] | null; source: string | null }>(
    `select s.sources, q.options->>'source' as source
     from sluice.run r left join sluice.snapshot s on s.id = r.snapshot_id left join sluice.run q on q.id = s.run_id where r.id = $1`,
    [runNumber(runId)],
  )
  return { facts: row?.sources ?? [], source: row?.source ?? undefined }
}

function changed(uri: string, runId: string): RunError {
  return new RunError('SOURCE_CHANGED', 'the source is not the one that this run read, so its lines would be others. Nothing was kept.', {
    where: uri,
    mend: `sluice rejects ${runId} --csv rejects.csv   (the masked rows)`,
  })
}
