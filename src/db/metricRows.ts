/** Loads the data for metrics: runs, ended requests, and the current state. */
import type { RunCounts, RunTrigger, StoredRunStatus } from '../model/report.ts'
import type { Queryable } from './database.ts'
import type { DbRow, Value } from './row.ts'
import { wasSent } from './attempts.ts'
import { listBudgets } from './rateBudget.ts'
import { queueState } from './runs/queued.ts'
import { decodeMetricCounts, type Unconfirmed } from './runs/columns.ts'
import { countEndingMembers, isInEnvironment, listUnresolved, type EndingMembers } from './alertCounts.ts'
import { environmentKey, type Fence } from './fence.ts'

/** Run with the columns that metrics use. */
export interface MetricRun {
  readonly id: number
  readonly pipeline: string
  /** Null for some runs of early versions. */
  readonly destinationId: number | null
  readonly status: StoredRunStatus
  readonly trigger: RunTrigger
  readonly counts: RunCounts
  /** Null for a run that has sent no plan yet. Also null for a run of an earlier version, which did not store the numbers. */
  readonly unconfirmed: Unconfirmed | null
  /** Duration; null for a run that never started or has not ended. */
  readonly seconds: number | null
}

/** Returns at most `limit` runs after the run `id`, in the order of their ids. Includes runs that are queued or running. */
export async function runsAfter(db: Queryable, id: number, limit: number): Promise<readonly MetricRun[]> {
  return (await db.query<MetricRow>(`select ${columns} from run where id > $1 order by id limit $2`, [id, limit])).map(toMetricRun)
}

/** Returns those of the runs `ids` that still exist, as they are now. */
export async function runsOf(db: Queryable, ids: readonly number[]): Promise<readonly MetricRun[]> {
  if (ids.length === 0) return []
  return (await db.query<MetricRow>(`select ${columns} from run where id = any($1::bigint[])`, [ids])).map(toMetricRun)
}

/**
 * A run that was never claimed has the epoch 0. If such a run was skipped or cancelled, its times show how long it waited, not how long it
 * ran.
 */
const columns = `id, pipeline, destination_id, status, trigger, counts,
  case when epoch > 0 then extract(epoch from finished_at - started_at)::float8 end as seconds`

type MetricRow = DbRow<'run', 'id' | 'pipeline' | 'destination_id' | 'status' | 'trigger' | 'counts'> & { readonly seconds: number | null }

function toMetricRun({ id, destination_id: destinationId, counts: stored, ...row }: MetricRow): MetricRun {
  const { unconfirmed, ...counts } = decodeMetricCounts(stored, id)
  return { ...row, id: Number(id), destinationId, counts, unconfirmed }
}

/** Destination of a pipeline, in one of the several environments that have a pipeline of this name. */
export interface SharedName extends Fence {
  readonly pipeline: string
  readonly destinationId: number
}

/**
 * Returns the destinations of the pipelines whose name several environments have. Empty in almost all schemas. A destination without
 * credentials, before its first run, belongs to no environment yet.
 */
export async function sharedNames(db: Queryable): Promise<readonly SharedName[]> {
  return db.query<SharedName>(
    // Jumps in the index from one pipeline of a destination to the next, because a few may have a hundred thousand runs.
    `with recursive pairs (destination_id, pipeline) as (
       (select destination_id, pipeline from run where destination_id is not null order by destination_id, pipeline limit 1)
       union all
       select n.destination_id, n.pipeline from pairs p cross join lateral (
         select r.destination_id, r.pipeline from run r
         where (r.destination_id, r.pipeline) > (p.destination_id, p.pipeline) and r.destination_id is not null
         order by r.destination_id, r.pipeline limit 1) n),
     owned as (
       select p.pipeline, d.id, d.service, d.credentials from pairs p join destination d on d.id = p.destination_id
       where d.credentials is not null)
     select o.pipeline, o.id as "destinationId", o.service as origin, o.credentials from owned o
     where exists (select from owned x where x.pipeline = o.pipeline and (x.service, x.credentials) <> (o.service, o.credentials))
     order by o.pipeline, o.id`,
  )
}

/** Ended attempt of a batch. An attempt without an end counts as ended five minutes after its start, because its process died. */
export interface EndedRequest {
  readonly id: number
  /** Type of destination and operation: `catalog upsert`. */
  readonly endpoint: string
  /** HTTP status; `none` without an answer. */
  readonly status: string
  /** Time to the end; null if the request did not end, because its process died. */
  readonly seconds: number | null
}

/** Returns the highest id of an attempt; 0 if there is none. */
export async function lastRequestId(db: Queryable): Promise<number> {
  const [row] = await db.query<{ id: Value<'attempt', 'id'> | null }>('select max(id) as id from attempt')
  return Number(row?.id ?? 0)
}

/**
 * Returns at most `limit` attempts after the attempt `id`, in the order of their ids. Stops before the first attempt that may still get its
 * answer. Such an attempt began less than five minutes ago and has not ended. Leaves out attempts that sent no byte (`wasSent`).
 */
export async function endedRequestsAfter(db: Queryable, id: number, limit: number): Promise<readonly EndedRequest[]> {
  const rows = await db.query<DbRow<'attempt', 'id'> & { endpoint: string; status: string; seconds: number | null }>(
    `select a.id, d.kind || ' ' || b.operation as endpoint, coalesce(a.http_status::text, 'none') as status, a.duration_ms / 1000.0::float8 as seconds
     from attempt a join batch b on b.id = a.batch_id join destination d on d.id = b.destination_id
     where a.id > $1 and a.${wasSent} and a.id < coalesce(
       (select min(o.id) from attempt o where o.id > $1 and o.finished_at is null and o.started_at > statement_timestamp() - interval '5 minutes'), 9223372036854775807)
     order by a.id limit $2`,
    [id, limit],
  )
  return rows.map((row) => ({ ...row, id: Number(row.id) }))
}

/** Pipeline that a value is about. `environment`: only if several environments have a pipeline of this name. */
interface OfPipeline {
  readonly pipeline: string
  readonly environment?: Fence
}

/** Current state, as gauges show it. */
export interface GaugeValues {
  /**
   * `succeededAt`: end of the last successful run. `withheld`: deletes that the last ended run withheld. Runs with the trigger `plan` do
   * not count.
   */
  readonly pipelines: readonly (OfPipeline & { readonly succeededAt: Date | null; readonly withheld: number })[]
  /** Operations without a clear answer. `oldestS`: seconds since the oldest of their batches was created. */
  readonly unresolved: readonly (OfPipeline & { readonly operations: number; readonly oldestS: number })[]
  /** `limit`: maximum number of requests in a window. `used`: requests in the last window. */
  readonly budgets: readonly { readonly class: string; readonly limit: number; readonly used: number }[]
  /** Seconds since the oldest queued run was requested; 0 if none is queued. Runs of paused pipelines do not count. */
  readonly queueOldestS: number
  readonly ending: readonly (OfPipeline & EndingMembers)[]
  /** Workers and servers with a heartbeat within the last minute, by role. */
  readonly workers: readonly { readonly role: string; readonly count: number }[]
}

/**
 * Loads the current state. `lapseDays`: numbers of days for which ending memberships are counted. `shared`: result of `sharedNames`; their
 * pipelines have one value for each environment.
 */
export async function loadGauges(db: Queryable, lapseDays: readonly number[], shared: readonly SharedName[]): Promise<GaugeValues> {
  const environments = environmentsOf(shared)
  const sharedPipelines = new Set(shared.map(({ pipeline }) => pipeline))
  /** Loads values by pipeline: those of shared names once for each environment, and the others for all environments. */
  const byEnvironment = async <Value extends { readonly pipeline: string }>(
    load: (environment?: Fence) => Promise<readonly Value[]>,
  ): Promise<(Value & OfPipeline)[]> => {
    const others = (await load()).filter(({ pipeline }) => !sharedPipelines.has(pipeline))
    const found: (Value & OfPipeline)[] = [...others]
    for (const { names, ...environment } of environments)
      found.push(...(await load(environment)).filter(({ pipeline }) => names.has(pipeline)).map((value) => ({ ...value, environment })))
    return found
  }
  const [pipelines, unresolved, budgets, queue, ending, workers, [clock]] = await Promise.all([
    byEnvironment((environment) => lastEnds(db, environment)),
    byEnvironment((environment) => listUnresolved(db, 0, environment)),
    listBudgets(db),
    queueState(db),
    byEnvironment((environment) => countEndingMembers(db, lapseDays, environment)),
    db.query<DbRow<'worker', 'role'> & { count: number }>(
      // A role without a worker that is up has the count 0, as long as one of its workers is stored.
      // A process with several sets of credentials has a row for each of them.
      `select role, count(distinct (host, host_scope, pid)) filter (where seen_at > statement_timestamp() - interval '1 minute')::int as count from worker
       where role <> 'command' group by role`,
    ),
    db.query<{ now: Date }>('select statement_timestamp() as now'),
  ])
  const now = clock?.now.getTime() ?? 0
  return {
    pipelines,
    unresolved: unresolved.map(({ since, ...row }) => ({ ...row, oldestS: (now - since.getTime()) / 1000 })),
    budgets,
    queueOldestS: queue.oldestS,
    ending,
    workers,
  }
}

/** Returns the environments of the shared names, each with its names. */
function environmentsOf(shared: readonly SharedName[]): readonly (Fence & { readonly names: ReadonlySet<string> })[] {
  return [...Map.groupBy(shared, environmentKey).values()].flatMap((rows) => {
    const [first] = rows
    if (first === undefined) return []
    return [{ origin: first.origin, credentials: first.credentials, names: new Set(rows.map(({ pipeline }) => pipeline)) }]
  })
}

/**
 * Returns the end of the last success of each pipeline, and the deletes that its last ended run withheld. `environment`: undefined for the
 * runs of all environments.
 */
async function lastEnds(
  db: Queryable,
  environment?: Fence,
): Promise<readonly { readonly pipeline: string; readonly succeededAt: Date | null; readonly withheld: number }[]> {
  const isOfPipeline = `r.pipeline = n.pipeline and r.trigger <> 'plan' and ${isInEnvironment('r.destination_id', '$1', '$2')}`
  return db.query<{ pipeline: string; succeededAt: Date | null; withheld: number }>(
    // Jumps in the index from one pipeline name to the next, because a few pipelines may have a hundred thousand runs.
    `with recursive names (pipeline) as (
       (select pipeline from run order by pipeline limit 1)
       union all
       select (select r.pipeline from run r where r.pipeline > n.pipeline order by r.pipeline limit 1) from names n where n.pipeline is not null)
     select n.pipeline,
       (select r.finished_at from run r where ${isOfPipeline} and r.status = 'succeeded' order by r.id desc limit 1) as "succeededAt",
       coalesce((select (r.counts ->> 'withheld')::float8 from run r where ${isOfPipeline}
         and r.status in ('succeeded', 'partial', 'withheld', 'failed') order by r.id desc limit 1), 0) as withheld
     from names n where n.pipeline is not null`,
    [environment?.origin ?? null, environment?.credentials ?? null],
  )
}
