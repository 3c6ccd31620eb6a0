import type { SourceFacts } from '../formats/rows.ts'
import type { Queryable } from '../db/database.ts'
import type { Outer, Row } from '../db/row.ts'
import { decodeSources } from '../db/snapshots.ts'
import { runNumber } from './history.ts'

/** Sources of a run: facts about each, and the backfill source if there is one. */
export interface Reading {
  readonly facts: readonly SourceFacts[]
  readonly source: string | undefined
}

export async function loadReading(db: Queryable, runId: string): Promise<Reading> {
  const [row] = await db.query<Outer<Row<'snapshot', 'id' | 'sources'>> & { source: string | null }>(
    `select s.id, s.sources, q.options->>'source' as source
     from run r left join snapshot s on s.id = r.snapshot_id left join run q on q.id = s.run_id where r.id = $1`,
    [runNumber(runId)],
  )
  return { facts: row?.id == null ? [] : decodeSources(row.sources, row.id), source: row?.source ?? undefined }
}

/** Header of a rejects file, and the positions of each source's columns in it. */
export interface RejectsTable {
  readonly columns: readonly string[]
  /** Returns, for a source, the position of each table column in its rows; -1 if it has none. */
  readonly places: (source: number) => readonly number[]
}

/**
 * Returns the columns of all sources, starting with those of the first one. `first`, the columns of the first row, may not be all:
 * later rows of JSON and XML may have more, and other sources may have others.
 */
export function rejectsTable(first: readonly string[], facts: readonly Pick<SourceFacts, 'columns'>[]): RejectsTable {
  const known = facts.length === 0 ? [first] : facts.map(({ columns }) => columns)
  const columns = [...new Set(known.flat())]
  return {
    columns,
    places: (source) => {
      const own = known[source] ?? first
      return columns.map((column) => own.indexOf(column))
    },
  }
}
