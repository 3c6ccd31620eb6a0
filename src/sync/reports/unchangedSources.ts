/** Finds pipelines whose sources did not change over many runs, because their export may have stopped. */
import type { Queryable } from '../../db/database.ts'
import { isRunOf, pipelineColumns, type PipelineInEnvironment } from './overview.ts'

export interface UnchangedSource {
  readonly pipeline: string
  /** Limit that the caller gave. At least this number of runs in a row found the same bytes as the run before them. */
  readonly runs: number
  /** End of the oldest compared run. */
  readonly unchangedAtLeastSince: Date
}

/**
 * Returns the pipelines whose sources had the same bytes in each of the last `runs + 1` compared runs. Compares manual and scheduled runs
 * with the status succeeded, partial or withheld. Leaves out pipelines with fewer compared runs.
 */
export async function findUnchangedSources(
  db: Queryable,
  limits: readonly (PipelineInEnvironment & { readonly runs: number })[],
): Promise<readonly UnchangedSource[]> {
  if (limits.length === 0) return []
  return db.query<UnchangedSource>(
    `select p.name as pipeline, p.runs, compared.since as "unchangedAtLeastSince"
     from unnest($1::text[], $2::text[], $3::text[], $4::int[]) as p (name, origin, credentials, runs) cross join lateral (
       select count(*) as found, count(distinct x.digest) as digests, min(x.at) as since from (
         -- the compared runs, with the digests of their sources
         select r.finished_at as at,
           (select string_agg(f.fact ->> 'sha256', ' ' order by f.place)
            from jsonb_array_elements(s.sources) with ordinality as f (fact, place)) as digest
         from run r join snapshot s on s.id = r.snapshot_id
         where ${isRunOf} and r.trigger in ('manual', 'schedule') and r.status in ('succeeded', 'partial', 'withheld')
         order by r.id desc limit p.runs + 1) x) compared
     where compared.found = p.runs + 1 and compared.digests = 1`,
    [...pipelineColumns(limits), limits.map(({ runs }) => runs)],
  )
}
