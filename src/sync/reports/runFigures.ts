/** Loads figures of a pipeline for plots. */
import { durationPercentile } from '../../db/attempts.ts'
import type { Queryable } from '../../db/database.ts'
import type { Present, DbRow } from '../../db/row.ts'
import { decodeCounts, decodeStages } from '../../db/runs/columns.ts'
import { readsOwnSources } from '../../db/runs/request.ts'
import { decodeSources } from '../../db/snapshots.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import type { RunCounts } from '../../model/report.ts'
import { givenPipelines, isRunOf, pipelineColumns, type PipelineInEnvironment } from './overview.ts'

/** Maximum number of requests of a run from which `rateLimited`, `p50` and `p95` are computed. */
export const maxExaminedRequests = 2_000

export interface RunFigures {
  readonly runId: string
  /** End of the run. */
  readonly at: Date
  readonly status: string
  readonly counts: Partial<RunCounts>
  readonly stages: readonly { readonly stage: string; readonly durationMs: number }[]
  readonly requests: number
  /** Number of requests that were answered with 429. */
  readonly rateLimited: number
  /** Median duration in milliseconds of the requests that were sent; null if none of them has ended. */
  readonly p50: number | null
  /** 95th percentile of the durations of which `p50` is the median. */
  readonly p95: number | null
}

/** Returns the figures of the last `limit` ended runs, oldest first. Leaves out plans, audits and skipped runs. */
export async function loadRunFigures(db: Queryable, pipeline: PipelineInEnvironment, limit: number): Promise<readonly RunFigures[]> {
  const rows = await db.query<
    DbRow<'run', 'id' | 'status' | 'counts' | 'stages'> &
      Present<DbRow<'run', 'finished_at'>> & { n: number; limited: number; p50: number | null; p95: number | null }
  >(
    `select r.*, a.* from (
       select x.* from ${givenPipelines} cross join lateral (
         select r.id, r.trigger, r.plan_id, r.started_at, r.finished_at, r.status, r.counts, r.stages from run r
         where ${isRunOf} and r.trigger <> 'plan' and r.status in ('succeeded', 'partial', 'withheld', 'failed', 'cancelled')
         order by r.id desc limit $4) x) r
     cross join lateral (
       select count(*)::int as n, count(*) filter (where http_status = 429)::int as limited,
         ${durationPercentile(0.5)} as p50, ${durationPercentile(0.95)} as p95
       -- the attempts that the run made, as \`madeByRun\`
       from (select http_status, duration_ms, reason from attempt a
         where a.run_id = case when r.trigger = 'apply' then (select p.run_id from plan p where p.id = r.plan_id) else r.id end
           and (r.trigger <> 'apply' or a.started_at >= r.started_at) and a.started_at <= r.finished_at limit ${maxExaminedRequests}) s) a
     order by r.id`,
    [...pipelineColumns([pipeline]), limit],
  )
  return rows.map((row) => {
    const counts = decodeCounts(row.counts, row.id)
    return {
      runId: `r_${row.id}`,
      at: row.finished_at,
      status: row.status,
      counts,
      stages: decodeStages(row.stages, row.id),
      requests: row.n < maxExaminedRequests ? row.n : Math.max(row.n, counts.requests ?? 0),
      rateLimited: row.limited,
      p50: row.p50,
      p95: row.p95,
    }
  })
}

/** Returns the facts about the pipeline's own sources from the last run that has any; empty if none were read. */
export async function loadLastSources(db: Queryable, pipeline: PipelineInEnvironment): Promise<readonly SourceFacts[]> {
  const [row] = await db.query<DbRow<'snapshot', 'id' | 'sources'>>(
    `select x.* from ${givenPipelines} cross join lateral (
       select s.id, s.sources from run r join snapshot s on s.id = r.snapshot_id join run reading on reading.id = s.run_id
       where ${isRunOf} and ${readsOwnSources('reading')} and s.sources <> '[]' order by r.id desc limit 1) x`,
    pipelineColumns([pipeline]),
  )
  return row === undefined ? [] : decodeSources(row.sources, row.id)
}

/**
 * Estimates the number of memberships of a pipeline that end on each of the next `days` days, today first:
 *
 * - All users of a settled request count on the day of the earliest end in the request.
 * - Users who were refused, or were updated or deleted later, count too.
 */
export async function loadEndingsByDay(
  db: Queryable,
  pipeline: PipelineInEnvironment,
  days: number,
): Promise<readonly { readonly day: string; readonly users: number }[]> {
  return db.query<{ day: string; users: number }>(
    `select to_char(d.day, 'YYYY-MM-DD') as day, coalesce(x.users, 0)::float8 as users
     from generate_series(
       date_trunc('day', statement_timestamp()),
       date_trunc('day', statement_timestamp()) + ($4 - 1) * interval '1 day',
       interval '1 day') as d (day)
     left join (
       select date_trunc('day', b.expires_at) as day, sum(b.user_count) as users from batch b
       where b.status = 'settled' and b.operation = 'upsert' and b.expires_at < statement_timestamp() + $4 * interval '1 day'
         and b.destination_id in (select r.destination_id from ${givenPipelines} join run r on ${isRunOf} order by r.id desc limit 1)
       group by 1) x on x.day = d.day
     order by d.day`,
    [...pipelineColumns([pipeline]), days],
  )
}
