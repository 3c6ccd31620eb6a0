import type { SourceFacts } from '../formats/rows.ts'
import type { Queryable } from '../db/database.ts'
import { runNumber } from './history.ts'

/** Sources that a run read: facts about each, and the source that replaced the pipeline's own. */
export interface Reading {
  readonly facts: readonly SourceFacts[]
  readonly source: string | undefined
}

export async function loadReading(db: Queryable, runId: string): Promise<Reading> {
  const [row] = await db.query<{ sources: SourceFacts[] | null; source: string | null }>(
    `select s.sources, q.options->>'source' as source
     from run r left join snapshot s on s.id = r.snapshot_id left join run q on q.id = s.run_id where r.id = $1`,
    [runNumber(runId)],
  )
  return { facts: row?.sources ?? [], source: row?.source ?? undefined }
}

/** The header of a rejects file, and how the rows of each source fit under it. */
export interface RejectsTable {
  readonly columns: readonly string[]
  /** For the source of that index: at which of its columns each column of the table stands; -1 where it has none. */
  readonly places: (source: number) => readonly number[]
}

/**
 * The columns of all sources, the first one's first. Rows of JSON and XML may bring columns that no row before had, and
 * one source may have others than the next: `first`, the columns of the very first row, are too few then.
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
