/** Loads the overview of pipelines (open runs, last outcomes, last success), and pages of their runs. */
import type { Queryable } from '../../db/database.ts'
import { withinFence, type Fence } from '../../db/fence.ts'
import type { DestinationKey } from '../../db/destinations.ts'
import type { DbRow, Value } from '../../db/row.ts'
import {
  decodeCounts,
  decodeError,
  decodeGuards,
  decodeProductSets,
  decodeProgress,
  type StoredCounts,
  type StoredProgress,
} from '../../db/runs/columns.ts'
import { readsOwnSources } from '../../db/runs/request.ts'
import { runNumber, shownTrigger, type ShownColumn } from './history.ts'
import { isRefusedOrUnresolved } from './nextCommands.ts'
import type { GuardResult, ProductSetChange, RunReport, ShownTrigger, StoredRunStatus } from '../../model/report.ts'

/** Run in a list. Lacks the reject codes, because counting the rejects of many runs takes too long. */
export interface RunLine {
  readonly runId: string
  readonly pipeline: string
  readonly trigger: ShownTrigger
  readonly status: StoredRunStatus
  readonly counts: Partial<StoredCounts>
  readonly guards: readonly GuardResult[]
  readonly planId: string | null
  readonly error: RunReport['error'] | null
  /** Product sets whose change is refused or unresolved. */
  readonly refusedOrUnresolvedSets: readonly ProductSetChange[]
  readonly createdAt: Date
  readonly startedAt: Date | null
  readonly finishedAt: Date | null
  readonly progress: StoredProgress | null
  readonly cancelRequested: boolean
}

/** Pipeline in one environment. Runs of pipelines with the same name in other environments do not count. */
export interface PipelineInEnvironment {
  readonly name: string
  /** Undefined if it is not known. Then the runs of all environments count. */
  readonly environment: Fence | undefined
}

/** Returns the columns of SQL rows `p (name, origin, credentials)` for pipelines. Null for an unknown environment. */
export function pipelineColumns(pipelines: readonly PipelineInEnvironment[]): [string[], (string | null)[], (string | null)[]] {
  return [
    pipelines.map(({ name }) => name),
    pipelines.map(({ environment }) => environment?.origin ?? null),
    pipelines.map(({ environment }) => environment?.credentials ?? null),
  ]
}

/**
 * SQL condition that the run `r` is one of the pipeline `p` in its environment. Early versions stored no destination with some runs; these
 * belong to every environment.
 */
export const isRunOf = `r.pipeline = p.name
  and (p.origin is null or r.destination_id is null or ${withinFence('r.destination_id', 'p.origin', 'p.credentials')})`

export interface PipelineOverview {
  readonly pipeline: string
  /** The running run, else the oldest queued run; undefined if there is neither. */
  readonly open: RunLine | undefined
  /** Last ended run that could send. Cancelled and skipped runs do not count. Undefined if there is none. */
  readonly last: RunLine | undefined
  /** The last of these runs with a plan; undefined if there is none. */
  readonly planned: RunLine | undefined
  /** The last of these runs whose plan is from the pipeline's own sources, or has guard results. Undefined if there is none. */
  readonly guarded: RunLine | undefined
  /** The last run that a guard stopped before its plan, if it is later than `guarded`; else undefined. */
  readonly stopped: RunLine | undefined
  /** End of the last successful run that could send; undefined if there is none. */
  readonly succeededAt: Date | undefined
  /** End of the last successful or partial run that could send; undefined if there is none. */
  readonly deliveredAt: Date | undefined
  /** Last runs of any trigger and status, oldest first. */
  readonly recent: readonly RecentRun[]
}

/** Run that the overview shows as a bar. There may be thousands of them, so only these columns are loaded. */
export interface RecentRun {
  readonly status: RunLine['status']
  readonly planId: string | null
  /** Number of planned changes, in products or users. */
  readonly changes: number
}

const lineColumns = `r.id, r.pipeline, ${shownTrigger} as trigger, r.status, r.counts, r.guards, r.plan_id, r.error, r.product_sets,
  r.created_at, r.started_at, r.finished_at, r.progress, r.cancel_requested_at`

type LineRow = DbRow<'run', ShownColumn | 'progress' | 'cancel_requested_at'> & { readonly trigger: ShownTrigger }

/**
 * SQL condition that the run `r` could send. A plan cannot. An apply cannot if its plan was stale, or was applied before. Such an apply has
 * no plan, and says nothing about the pipeline.
 */
const couldSend = `r.trigger <> 'plan' and (r.trigger <> 'apply' or r.plan_id is not null)`

const hasEnded = `r.status in ('succeeded', 'partial', 'withheld', 'failed')`

/**
 * SQL condition that the plan of run `r` shows which deletes a guard withholds. The plans of a backfill and of a rerun of failed operations
 * do so only if they have guard results.
 */
const showsGuards = `(r.guards <> '[]' or (${readsOwnSources('r')} and r.options ->> 'failedOnly' is distinct from 'true'))`

/** Returns SQL of the end (`at`) of the last run of the pipeline `p` that could send and meets the condition. */
const lastEnd = (condition: string): string =>
  `lateral (
     select r.finished_at as at from run r where ${isRunOf} and ${couldSend} and ${condition} order by r.id desc limit 1)`

/** SQL rows of `pipelineColumns`. */
export const givenPipelines = 'unnest($1::text[], $2::text[], $3::text[]) as p (name, origin, credentials)'

/** Loads the overviews of the pipelines, in the given order, with at most `recentLimit` recent runs of each. */
export async function loadOverviews(
  db: Queryable,
  pipelines: readonly PipelineInEnvironment[],
  recentLimit: number,
): Promise<readonly PipelineOverview[]> {
  const parameters = pipelineColumns(pipelines)
  const [rows, histories] = await Promise.all([
    db.query<LineRow & { part: 'open' | 'last' | 'planned' | 'guarded' | 'stopped' }>(
      `select 'open' as part, open.* from ${givenPipelines} cross join lateral (
         select ${lineColumns} from run r where ${isRunOf} and r.status in ('queued', 'running')
         -- the running run before queued ones
         order by r.status desc, r.id limit 1) open
       union all
       select 'last', ended.* from ${givenPipelines} cross join lateral (
         select ${lineColumns} from run r where ${isRunOf} and ${couldSend} and ${hasEnded} order by r.id desc limit 1) ended
       union all
       select 'planned', planned.* from ${givenPipelines} cross join lateral (
         select ${lineColumns} from run r where ${isRunOf} and ${couldSend} and ${hasEnded} and r.plan_id is not null
         order by r.id desc limit 1) planned
       union all
       select 'guarded', guarded.* from ${givenPipelines} cross join lateral (
         select ${lineColumns} from run r where ${isRunOf} and ${couldSend} and ${hasEnded} and r.plan_id is not null and ${showsGuards}
         order by r.id desc limit 1) guarded
       union all
       select 'stopped', stopped.* from ${givenPipelines} cross join lateral (
         select ${lineColumns} from run r where ${isRunOf} and ${couldSend} and ${hasEnded} and r.plan_id is null and r.guards <> '[]'
         order by r.id desc limit 1) stopped`,
      parameters,
    ),
    db.query<HistoryRow>(
      `select p.name, success.at as succeeded, delivery.at as delivered,
         (select jsonb_agg(jsonb_build_array(x.status, x.plan_id, x.changes) order by x.id) from (
            select r.id, r.status, r.plan_id,
              coalesce((r.counts ->> 'confirmed')::float8, 0) + coalesce((r.counts ->> 'refused')::float8, 0)
                + coalesce((r.counts ->> 'ambiguous')::float8, 0) + coalesce((r.counts ->> 'pending')::float8, 0) as changes
            from run r where ${isRunOf} order by r.id desc limit $4) x) as recent
       from ${givenPipelines}
         left join ${lastEnd(`r.status = 'succeeded'`)} success on true
         left join ${lastEnd(`r.status in ('succeeded', 'partial')`)} delivery on true`,
      [...parameters, recentLimit],
    ),
  ])
  const historyByName = new Map(histories.map((history) => [history.name, history]))
  const byPipeline = Map.groupBy(rows, (row) => row.pipeline)
  return pipelines.map(({ name: pipeline }) => {
    const history = historyByName.get(pipeline)
    const lineOf = (part: string) => (byPipeline.get(pipeline) ?? []).filter((row) => row.part === part).map(toLine)[0]
    const guarded = lineOf('guarded')
    const stopped = lineOf('stopped')
    return {
      pipeline,
      open: lineOf('open'),
      last: lineOf('last'),
      planned: lineOf('planned'),
      guarded,
      stopped:
        stopped !== undefined && (guarded === undefined || runNumber(stopped.runId) > runNumber(guarded.runId)) ? stopped : undefined,
      succeededAt: history?.succeeded ?? undefined,
      deliveredAt: history?.delivered ?? undefined,
      recent: (history?.recent ?? []).map(([status, planId, changes]) => ({ status, planId, changes })),
    }
  })
}

interface HistoryRow {
  readonly name: string
  readonly succeeded: Value<'run', 'finished_at'>
  readonly delivered: Value<'run', 'finished_at'>
  readonly recent: readonly (readonly [status: RunLine['status'], planId: string | null, changes: number])[] | null
}

export interface DestinationOverview {
  /** Credentials that own the destination; null before its first run. */
  readonly credentials: string | null
  /**
   * End of the last successful or partial run of the pipeline to this destination, with any credentials. Without one, the creation of the
   * last run. Undefined if there is no run.
   */
  readonly deliveredAt: Date | undefined
  /** Time of the last resume by an operator; undefined if it was never paused. */
  readonly resumedAt: Date | undefined
}

/** Loads the destination of a pipeline; undefined if it is not stored yet. */
export async function loadDestination(db: Queryable, key: DestinationKey, pipeline: string): Promise<DestinationOverview | undefined> {
  const [row] = await db.query<DbRow<'destination', 'credentials'> & { at: Date | null; resumed: Date | null }>(
    `select d.credentials, r.at, (
         select max(a.at) from audit a
         where a.run_id is null and a.what = 'pipeline.resumed' and a.detail ->> 'destinationId' = d.id::text) as resumed
     from destination d cross join lateral (
       select coalesce(max(finished_at) filter (where status in ('succeeded', 'partial')), max(created_at)) as at
       from run where destination_id = d.id and pipeline = $5 and trigger <> 'plan') r
     where (d.service, d.kind, d.account_id, d.target_id) = ($1, $2, $3, $4)`,
    [key.service, key.kind, key.accountId, key.targetId, pipeline],
  )
  return row && { credentials: row.credentials, deliveredAt: row.at ?? undefined, resumedAt: row.resumed ?? undefined }
}

/** Loads at most `limit` runs of a pipeline, newest first. With `before`, only runs with a smaller number. */
export async function listRunLines(
  db: Queryable,
  options: { readonly pipeline: PipelineInEnvironment; readonly limit: number; readonly before?: number },
): Promise<readonly RunLine[]> {
  const rows = await db.query<LineRow>(
    // With `limit` in a lateral query, the index of a pipeline's runs is read from the newest run on. A join would sort all its runs.
    `select x.* from ${givenPipelines} cross join lateral (
       select ${lineColumns} from run r where ${isRunOf} and r.id < $4 order by r.id desc limit $5) x`,
    [...pipelineColumns([options.pipeline]), options.before ?? Number.MAX_SAFE_INTEGER, options.limit],
  )
  return rows.map(toLine)
}

/** Returns a digest of what the pages of the dashboard show, for their ETags: runs, audit log, alerts, webhook events and pauses. */
export async function loadPagesDigest(db: Queryable): Promise<string> {
  const [row] = await db.query<{ version: string }>(
    `select md5(jsonb_build_array(
       (select max(id) from run), (select max(id) from audit),
       (select max(id) from alert), (select count(*) from alert where recovered_at is null),
       (select max(id) from alert_delivery), (select count(*) from alert_delivery where delivered_at is null and failed_at is null),
       (select max(received_at) from webhook_event),
       (select jsonb_agg(jsonb_build_array(id, status, progress, cancel_requested_at, jsonb_array_length(stages)) order by id)
        from run where status in ('queued', 'running')),
       (select jsonb_agg(pipeline order by pipeline) from pipeline_pause))::text) as version`,
  )
  return row?.version ?? ''
}

function toLine(row: LineRow): RunLine {
  return {
    runId: `r_${row.id}`,
    pipeline: row.pipeline,
    trigger: row.trigger,
    status: row.status,
    counts: decodeCounts(row.counts, row.id),
    guards: decodeGuards(row.guards, row.id),
    planId: row.plan_id,
    error: decodeError(row.error, row.id),
    refusedOrUnresolvedSets: (decodeProductSets(row.product_sets, row.id) ?? []).filter(isRefusedOrUnresolved),
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    progress: decodeProgress(row.progress, row.id),
    cancelRequested: row.cancel_requested_at !== null,
  }
}
