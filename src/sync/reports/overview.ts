/** Loads the overview of pipelines (open runs, last outcomes, last success), and pages of their runs. */
import type { Queryable } from '../../db/database.ts'
import type { Row, Value } from '../../db/row.ts'
import {
  decodeCounts,
  decodeError,
  decodeGuards,
  decodeProductSets,
  decodeProgress,
  type StoredCounts,
  type StoredProgress,
} from '../../db/runs/columns.ts'
import { shownTrigger } from './history.ts'
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

export interface PipelineOverview {
  readonly pipeline: string
  /** The running run, else the oldest queued run; undefined if there is neither. */
  readonly open: RunLine | undefined
  /** Last ended run that could send. Cancelled and skipped runs do not count. Undefined if there is none. */
  readonly last: RunLine | undefined
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

const columns = `r.id, r.pipeline, ${shownTrigger} as trigger, r.status, r.counts, r.guards, r.plan_id, r.error, r.product_sets,
  r.created_at, r.started_at, r.finished_at, r.progress, r.cancel_requested_at`

type LineRow = Row<
  'run',
  | 'id'
  | 'pipeline'
  | 'status'
  | 'counts'
  | 'guards'
  | 'plan_id'
  | 'error'
  | 'product_sets'
  | 'created_at'
  | 'started_at'
  | 'finished_at'
  | 'progress'
  | 'cancel_requested_at'
> & { readonly trigger: ShownTrigger }

/** Returns SQL of the end (`at`) of the last run of the pipeline `p` that could send and meets the condition. */
const lastEnd = (condition: string): string =>
  `lateral (
     select r.finished_at as at from run r where r.pipeline = p.name and r.trigger <> 'plan' and ${condition} order by r.id desc limit 1)`

/** Loads the overviews of the pipelines, in the given order, with at most `recentLimit` recent runs of each. */
export async function loadOverviews(
  db: Queryable,
  pipelines: readonly string[],
  recentLimit: number,
): Promise<readonly PipelineOverview[]> {
  const [rows, histories] = await Promise.all([
    db.query<LineRow & { part: 'open' | 'last' }>(
      `select 'open' as part, open.* from unnest($1::text[]) as p (name) cross join lateral (
         select ${columns} from run r where r.pipeline = p.name and r.status in ('queued', 'running')
         -- the running run before queued ones
         order by r.status desc, r.id limit 1) open
       union all
       select 'last', ended.* from unnest($1::text[]) as p (name) cross join lateral (
         select ${columns} from run r
         where r.pipeline = p.name and r.trigger <> 'plan' and r.status in ('succeeded', 'partial', 'withheld', 'failed')
         order by r.id desc limit 1) ended`,
      [pipelines],
    ),
    db.query<HistoryRow>(
      `select p.name, success.at as succeeded, delivery.at as delivered,
         (select jsonb_agg(jsonb_build_array(x.status, x.plan_id, x.changes) order by x.id) from (
            select r.id, r.status, r.plan_id,
              coalesce((r.counts ->> 'confirmed')::float8, 0) + coalesce((r.counts ->> 'refused')::float8, 0)
                + coalesce((r.counts ->> 'ambiguous')::float8, 0) + coalesce((r.counts ->> 'pending')::float8, 0) as changes
            from run r where r.pipeline = p.name order by r.id desc limit $2) x) as recent
       from unnest($1::text[]) as p (name)
         left join ${lastEnd(`r.status = 'succeeded'`)} success on true
         left join ${lastEnd(`r.status in ('succeeded', 'partial')`)} delivery on true`,
      [pipelines, recentLimit],
    ),
  ])
  const historyByName = new Map(histories.map((history) => [history.name, history]))
  const byPipeline = Map.groupBy(rows, (row) => row.pipeline)
  return pipelines.map((pipeline) => {
    const history = historyByName.get(pipeline)
    const lineOf = (part: string) => (byPipeline.get(pipeline) ?? []).filter((row) => row.part === part).map(toLine)[0]
    return {
      pipeline,
      open: lineOf('open'),
      last: lineOf('last'),
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

/** Loads at most `limit` runs of a pipeline, newest first. With `before`, only runs with a smaller number. */
export async function listRunLines(
  db: Queryable,
  options: { readonly pipeline: string; readonly limit: number; readonly before?: number },
): Promise<readonly RunLine[]> {
  const rows = await db.query<LineRow>(`select ${columns} from run r where r.pipeline = $1 and r.id < $2 order by r.id desc limit $3`, [
    options.pipeline,
    options.before ?? Number.MAX_SAFE_INTEGER,
    options.limit,
  ])
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
