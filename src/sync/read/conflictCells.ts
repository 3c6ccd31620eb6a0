/**
 * Fills the cells of contradicting rows (one key, different content), so that `rejects --csv` can show the columns of the source. These
 * rows are found only when all sources are staged. Their original cells are no longer in memory then, so the sources are read again. Cells
 * stay empty in these cases:
 * - The source is standard input, or cannot be read again.
 * - The row is not among the first `maxFilledRows` contradicting rows.
 * - The source has changed meanwhile, and no row has the same line and key.
 */
import { SluiceError } from '../../errors.ts'
import type { Pipeline, SourceDefinition } from '../../model/pipeline.ts'
import type { RecordMapper } from '../../mapping/mapper.ts'
import { createMapper } from '../../destinations/createMapper.ts'
import { storeConflictCells, type ConflictCells } from '../../db/rejects.ts'
import { storableText } from '../../storableText.ts'
import type { DbRow, Value } from '../../db/row.ts'
import type { RecordGate } from '../../formats/formatReader.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import { openSource } from '../../sources/openSource.ts'
import type { EngineDeps } from '../engine.ts'

const maxFilledRows = 10_000

/** Reads the sources again, and stores the masked cells of the run's contradicting rows. `facts`: facts of the first read, by source. */
export async function fillConflictCells(
  deps: EngineDeps,
  pipeline: Pipeline,
  runId: number,
  facts: readonly Pick<SourceFacts, 'columns'>[],
): Promise<void> {
  const unfilled = await deps.db.query<DbRow<'reject', 'source' | 'line'> & { key: NonNullable<Value<'reject', 'record_key'>> }>(
    `select source, line, record_key as key from reject where run_id = $1 and code = 'DUPLICATE_CONFLICT' and cells = '[]'
     order by source, line limit ${maxFilledRows}`,
    [runId],
  )
  const mapper = createMapper(pipeline, new Date(deps.clock.now()))
  for (const [index, definition] of pipeline.sources.entries()) {
    // The line alone does not identify a row, because all records of a feed without line ends are on one line.
    const unfilledCounts = new Map<string, number>()
    const lines = new Set<number>()
    for (const { source, line, key } of unfilled) {
      if (source !== index) continue
      const lineAndKey = `${line} ${key.toString('hex')}`
      unfilledCounts.set(lineAndKey, (unfilledCounts.get(lineAndKey) ?? 0) + 1)
      lines.add(Number(line))
    }
    if (unfilledCounts.size === 0 || definition.uri === '-') continue
    const found: ConflictCells[] = []
    try {
      await findCells(deps, definition, { mapper, lines, unfilledCounts, found, columns: facts[index]?.columns ?? [] })
    } catch (error) {
      if (deps.signal?.aborted === true || !(error instanceof SluiceError)) throw error
      deps.log.warn(
        { runId: `r_${runId}`, code: error.code },
        'some contradicting rows have no cells, because their source could not be read again to its end',
      )
    }
    await storeConflictCells(deps.db, runId, index, found)
  }
}

/** Search for the contradicting rows of one source. */
interface Search {
  readonly mapper: RecordMapper
  readonly lines: ReadonlySet<number>
  /** Number of rows that are still without cells, by line and key. */
  readonly unfilledCounts: Map<string, number>
  /** Result, to which the search adds. */
  readonly found: ConflictCells[]
  /** Columns of the first read. A reader of JSON or XML adds a column at the first row that has it. So the second read begins with all columns. */
  readonly columns: readonly string[]
}

/** Reads a source until the cells of all its contradicting rows are found, or to its end. */
async function findCells(
  deps: EngineDeps,
  definition: SourceDefinition,
  { mapper, lines, unfilledCounts, found, columns }: Search,
): Promise<void> {
  // This gate skips no row. It only gives the columns to the reader.
  const gate: RecordGate = { columns, beginShape: () => undefined, skips: () => false }
  const source = await openSource(definition, { env: deps.env, log: deps.log, gate, ...(deps.signal ? { signal: deps.signal } : {}) })
  try {
    for await (const rows of source.rows) {
      for (const row of rows) {
        const record = lines.has(row.line) ? mapper.map(row).record : undefined
        if (record === undefined) continue
        const key = Buffer.from(record.key).toString('hex')
        const lineAndKey = `${row.line} ${key}`
        const count = unfilledCounts.get(lineAndKey)
        if (count === undefined) continue
        found.push({ line: row.line, key, nth: count, cells: mapper.mask(row).map(storableText) })
        if (count > 1) unfilledCounts.set(lineAndKey, count - 1)
        else unfilledCounts.delete(lineAndKey)
      }
      if (unfilledCounts.size === 0) return
    }
  } finally {
    await source.close()
  }
}
