/** Loads what the page of a run shows beside the run report. */
import { durationPercentile, madeByRun } from '../../db/attempts.ts'
import type { Database, Queryable } from '../../db/database.ts'
import { isPaused } from '../../db/pauses.ts'
import type { DbRow, Value } from '../../db/row.ts'
import { decodeProgress, readOptions, type StoredProgress } from '../../db/runs/columns.ts'
import { readingRunNumber, runNumber } from './history.ts'

export interface RunDetails {
  /** Last stored progress. Null if none was stored yet, and after the end of the run. */
  readonly progress: StoredProgress | null
  readonly cancelRequested: boolean
  /** True for a full refresh. */
  readonly full: boolean
  /** Maximum number of deletes that the user approved; null without approval. */
  readonly approvedDeletes: number | null
  /** Id of the latest rerun of the unconfirmed operations that is open or has succeeded; null without one. */
  readonly sentAgainBy: string | null
  /**
   * Reason why a queued run does not start: a pause, or the run that has locked the destination. Null if it waits only for a worker, and for
   * a run that is not queued.
   */
  readonly waitsFor: 'resume' | { readonly runId: string } | null
  readonly requests: RequestSummary
}

export interface RequestSummary {
  /** Number of attempts, also of those that ended before anything was sent. */
  readonly all: number
  /** Number of requests that were answered with 429. */
  readonly rateLimited: number
  /** Median duration in milliseconds of the requests that were sent; null if none of them has ended. */
  readonly p50: number | null
  /** 95th percentile of the durations of which `p50` is the median. */
  readonly p95: number | null
  /** The last ten, the latest first. */
  readonly latest: readonly RequestLine[]
}

export interface RequestLine {
  readonly batch: number
  /** Start of the attempt. */
  readonly at: Date
  /** Null while the request is in flight. */
  readonly outcome: string | null
  /** Null without an answer. */
  readonly httpStatus: number | null
  readonly reason: string | null
  /** Null while the request is in flight. */
  readonly durationMs: number | null
  readonly operation: string
  /** Number of products or users. */
  readonly users: number
}

/**
 * Loads the details of a run; empty details if no such run is stored.
 * @throws {UsageError} `UNKNOWN_RUN` if `runId` is not of the form `r_81` or `81`
 */
export async function loadRunDetails(db: Queryable, runId: string): Promise<RunDetails> {
  const id = runNumber(runId)
  const [row] = await db.query<
    DbRow<'run', 'progress' | 'cancel_requested_at' | 'options'> & { paused: boolean; ahead: Value<'run', 'id'> | null }
  >(
    `select progress, cancel_requested_at, options, status = 'queued' and ${isPaused('r')} as paused,
       case when status = 'queued' then (
         select o.id from run o where o.destination_id = r.destination_id and o.status = 'running' order by o.id limit 1) end as ahead
     from run r where id = $1`,
    [id],
  )
  const options = readOptions(row?.options)
  const [[rerun], [summary], latest] = await Promise.all([
    db.query<DbRow<'run', 'id'>>(
      `select id from run where rerun_of = $1 and options ? 'failedOnly' and id > $1 and status in ('queued', 'running', 'succeeded')
         and pipeline = (select pipeline from run where id = $1) order by id desc limit 1`,
      [id],
    ),
    db.query<{ n: number; limited: number; p50: number | null; p95: number | null }>(
      `select count(*)::int as n, count(*) filter (where a.http_status = 429)::int as limited,
         ${durationPercentile(0.5)} as p50, ${durationPercentile(0.95)} as p95
       from run r join attempt a on ${madeByRun} where r.id = $1`,
      [id],
    ),
    db.query<
      DbRow<'attempt', 'batch_id' | 'started_at' | 'outcome' | 'http_status' | 'reason' | 'duration_ms'> &
        DbRow<'batch', 'operation' | 'user_count'>
    >(
      `select a.batch_id, a.started_at, a.outcome, a.http_status, a.reason, a.duration_ms, b.operation, b.user_count
       from run r join attempt a on ${madeByRun} join batch b on b.id = a.batch_id where r.id = $1 order by a.id desc limit 10`,
      [id],
    ),
  ])
  return {
    progress: row === undefined ? null : decodeProgress(row.progress, id),
    cancelRequested: row?.cancel_requested_at != null,
    full: options.full ?? false,
    approvedDeletes: options.approveDeletes ?? null,
    sentAgainBy: rerun === undefined ? null : `r_${rerun.id}`,
    waitsFor: row?.paused ? 'resume' : row?.ahead == null ? null : { runId: `r_${row.ahead}` },
    requests: {
      all: summary?.n ?? 0,
      rateLimited: summary?.limited ?? 0,
      p50: summary?.p50 ?? null,
      p95: summary?.p95 ?? null,
      latest: latest.map((line) => ({
        batch: Number(line.batch_id),
        at: line.started_at,
        outcome: line.outcome,
        httpStatus: line.http_status,
        reason: line.reason,
        durationMs: line.duration_ms,
        operation: line.operation,
        users: line.user_count,
      })),
    },
  }
}

interface RejectSample {
  /** Number of the source, from 0. */
  readonly source: number
  readonly line: number
  readonly message: string
  /** In the order of the source's columns. */
  readonly cells: readonly string[]
}

/** Rejected rows with a fault of this code and field. A row with several faults is in several groups. */
export interface RejectGroup {
  readonly code: string
  readonly field: string
  /** First hint of the group in alphabetical order. */
  readonly hint: string
  readonly count: number
  readonly samples: readonly RejectSample[]
}

/**
 * Returns at most 100 groups of the rejects of a run (as `loadRejects`), the largest first, each with its first `samplesPerGroup` rows.
 *
 * @throws {UsageError} `UNKNOWN_RUN`
 */
export async function loadRejectGroups(db: Database, runId: string, samplesPerGroup: number): Promise<readonly RejectGroup[]> {
  // With a join instead of this parameter, Postgres reads all rejects of the run for each group.
  const run = await readingRunNumber(db, runId)
  return db.query<RejectGroup>(
    `with faults as (
       select code, field, hint from reject where run_id = $1
       union all
       select m.* from reject j cross join lateral (
         select distinct on (1, 2) x ->> 'code' as code, x ->> 'field' as field, x ->> 'hint' from jsonb_array_elements(j.more) x
         where (x ->> 'code', x ->> 'field') is distinct from (j.code, j.field)) m
       where j.run_id = $1 and j.more <> '[]'),
     groups as (
       select code, field, min(hint) as hint, count(*)::int as count,
         jsonb_build_array(jsonb_build_object('code', code, 'field', field)) as pattern
       from faults group by code, field)
     select g.code, g.field, g.hint, g.count, (
       select coalesce(jsonb_agg(to_jsonb(x) order by x.source, x.line), '[]') from (
         select j.source, j.line, j.cells,
           case when j.code = g.code and j.field = g.field then j.message
             else (jsonb_path_query_first(j.more, '$[*] ? (@.code == $code && @.field == $field)', g.pattern -> 0)) ->> 'message' end as message
         from reject j where j.run_id = $1 and (j.code = g.code and j.field = g.field or j.more <> '[]' and j.more @> g.pattern)
         order by j.source, j.line limit $2) x) as samples
     from groups g order by g.count desc, g.code, g.field limit 100`,
    [run, samplesPerGroup],
  )
}
