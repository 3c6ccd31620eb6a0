/**
 * Rows that contradict each other are found in SQL, when their text is gone. Their lines are read once more, so that
 * `rejects --csv` can show the merchant's own columns for them too. Only for sources that can be opened again; a source
 * that changed meanwhile leaves the cells empty rather than wrong.
 */
import type { Pipeline } from '../../pipeline/definition.ts'
import { createMapper } from '../../records/createMapper.ts'
import { openSource } from '../../sources/openSource.ts'
import type { EngineDeps } from '../engine.ts'

/** Beyond this many, a person needs the summary, not each row. */
const rowsFilled = 10_000

export async function fillConflictCells(deps: EngineDeps, pipeline: Pipeline, runId: number): Promise<void> {
  const wanted = await deps.db.query<{ source: number; line: string }>(
    `select source, line from sluice.reject where run_id = $1 and code = 'DUPLICATE_CONFLICT' and cells = '[]' order by source, line limit ${rowsFilled}`,
    [runId],
  )
  const mapper = createMapper(pipeline)
  for (const [index, definition] of pipeline.sources.entries()) {
    const lines = new Set(wanted.filter(({ source }) => source === index).map(({ line }) => Number(line)))
    if (lines.size === 0 || definition.uri === '-') continue
    const source = await openSource(definition, { env: deps.env, log: deps.log, ...(deps.signal ? { signal: deps.signal } : {}) })
    const found: { line: number; cells: readonly string[] }[] = []
    try {
      for await (const rows of source.rows) {
        for (const row of rows) if (lines.delete(row.line)) found.push({ line: row.line, cells: mapper.mask(row) })
        if (lines.size === 0) break
      }
    } finally {
      await source.close()
    }
    await deps.db.execute(
      `update sluice.reject r set cells = x.cells from jsonb_to_recordset($3::jsonb) as x (line int8, cells jsonb)
       where r.run_id = $1 and r.source = $2 and r.line = x.line and r.code = 'DUPLICATE_CONFLICT'`,
      [runId, index, JSON.stringify(found)],
    )
  }
}
