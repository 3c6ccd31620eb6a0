/**
 * Fills the cells of contradicting rows, so that `rejects --csv` can show the columns of the source. SQL finds these rows after
 * their text was dropped, so their lines are read again. The cells stay empty if the source is standard input or its rows changed
 * meanwhile.
 */
import type { Pipeline } from '../../model/pipeline.ts'
import { createMapper } from '../../destinations/createMapper.ts'
import { fillCells, type FoundCells } from '../../db/rejects.ts'
import type { Row, Value } from '../../db/row.ts'
import { openSource } from '../../sources/openSource.ts'
import type { EngineDeps } from '../engine.ts'

/** Maximum number of filled rows. If there are more, the operator needs the summary and not each row. */
const rowsFilled = 10_000

/**
 * Reads the sources again and stores the masked cells of the run's contradicting rows.
 * @throws {RunError} if a source cannot be opened or read again
 */
export async function fillConflictCells(deps: EngineDeps, pipeline: Pipeline, runId: number): Promise<void> {
  const unfilled = await deps.db.query<Row<'reject', 'source' | 'line'> & { key: NonNullable<Value<'reject', 'record_key'>> }>(
    `select source, line, record_key as key from reject where run_id = $1 and code = 'DUPLICATE_CONFLICT' and cells = '[]'
     order by source, line limit ${rowsFilled}`,
    [runId],
  )
  const mapper = createMapper(pipeline, new Date(deps.clock.now()))
  for (const [index, definition] of pipeline.sources.entries()) {
    // Number of unfilled rows by line and key, because all records of a feed without line ends are on one line.
    const left = new Map<string, number>()
    const lines = new Set<number>()
    for (const { source, line, key } of unfilled) {
      if (source !== index) continue
      const place = `${line} ${key.toString('hex')}`
      left.set(place, (left.get(place) ?? 0) + 1)
      lines.add(Number(line))
    }
    if (left.size === 0 || definition.uri === '-') continue
    const source = await openSource(definition, { env: deps.env, log: deps.log, ...(deps.signal ? { signal: deps.signal } : {}) })
    const found: FoundCells[] = []
    try {
      for await (const rows of source.rows) {
        for (const row of rows) {
          const record = lines.has(row.line) ? mapper.map(row).record : undefined
          if (record === undefined) continue
          const key = Buffer.from(record.key).toString('hex')
          const place = `${row.line} ${key}`
          const nth = left.get(place)
          if (nth === undefined) continue
          found.push({ line: row.line, key, nth, cells: mapper.mask(row) })
          if (nth > 1) left.set(place, nth - 1)
          else left.delete(place)
        }
        if (left.size === 0) break
      }
    } finally {
      await source.close()
    }
    await fillCells(deps.db, runId, index, found)
  }
}
