/** The `schedule` and `tick` tables: what is due, and a line for every tick (I21). */
import type { Queryable } from './database.ts'

export interface ScheduleRow {
  readonly pipeline: string
  readonly cron: string
  readonly timezone: string
  readonly overlap: 'skip' | 'queue'
  readonly lastScheduledFor: Date
}

/** Database time and the enabled schedules; `forUpdate` leaves out those that another scheduler is deciding now. */
export async function loadSchedules(
  db: Queryable,
  options: { readonly forUpdate?: readonly string[] } = {},
): Promise<{ readonly now: Date; readonly schedules: readonly ScheduleRow[] }> {
  const locked = options.forUpdate
  const rows = await db.query<{ pipeline: string; cron: string; timezone: string; overlap: 'skip' | 'queue'; last_scheduled_for: Date }>(
    `select pipeline, cron, timezone, overlap, last_scheduled_for from sluice.schedule where enabled ${locked ? 'and pipeline = any($1) for update skip locked' : ''}`,
    locked ? [locked] : [],
  )
  // After the rows are locked: nothing decided by another scheduler can be newer than this.
  const [clock] = await db.query<{ now: Date }>('select clock_timestamp() as now')
  return {
    now: clock?.now ?? new Date(0),
    schedules: rows.map((row) => ({
      pipeline: row.pipeline,
      cron: row.cron,
      timezone: row.timezone,
      overlap: row.overlap,
      lastScheduledFor: row.last_scheduled_for,
    })),
  }
}

/**
 * Enters the schedules as the pipeline files have them. A new or changed one begins now: what it would have missed before
 * is not made up for. Pipelines that are gone are switched off.
 */
export async function storeSchedules(db: Queryable, schedules: readonly Omit<ScheduleRow, 'lastScheduledFor'>[]): Promise<void> {
  await db.execute(
    `insert into sluice.schedule as s (pipeline, cron, timezone, overlap)
     select * from unnest($1::text[], $2::text[], $3::text[], $4::text[])
     on conflict (pipeline) do update set cron = excluded.cron, timezone = excluded.timezone, overlap = excluded.overlap, enabled = true,
       last_scheduled_for = case when s.enabled and s.cron = excluded.cron and s.timezone = excluded.timezone then s.last_scheduled_for else clock_timestamp() end
     where not s.enabled or (s.cron, s.timezone, s.overlap) is distinct from (excluded.cron, excluded.timezone, excluded.overlap)`,
    [schedules.map((s) => s.pipeline), schedules.map((s) => s.cron), schedules.map((s) => s.timezone), schedules.map((s) => s.overlap)],
  )
  await db.execute('update sluice.schedule set enabled = false where enabled and pipeline <> all($1)', [schedules.map((s) => s.pipeline)])
}

export interface Tick {
  readonly scheduledFor: Date
  readonly outcome: 'ran' | 'queued' | 'skipped' | 'missed'
  readonly reason: string | null
  readonly runId: number | null
}

/** Decided ticks of one pipeline. A tick that has its line already keeps it. */
export async function recordTicks(db: Queryable, pipeline: string, ticks: readonly Tick[]): Promise<void> {
  await db.execute(
    `insert into sluice.tick (pipeline, scheduled_for, outcome, reason, run_id)
     select $1, * from unnest($2::timestamptz[], $3::text[], $4::text[], $5::bigint[]) on conflict do nothing`,
    [
      pipeline,
      ticks.map((tick) => tick.scheduledFor),
      ticks.map((tick) => tick.outcome),
      ticks.map((tick) => tick.reason),
      ticks.map((tick) => tick.runId),
    ],
  )
}

export async function moveSchedule(db: Queryable, pipeline: string, lastScheduledFor: Date): Promise<void> {
  await db.execute('update sluice.schedule set last_scheduled_for = $2 where pipeline = $1 and last_scheduled_for < $2', [
    pipeline,
    lastScheduledFor,
  ])
}

/** Runs of a destination that wait or are under way, the oldest first. */
export async function openRuns(
  db: Queryable,
  destinationId: number,
): Promise<readonly { readonly id: number; readonly status: 'queued' | 'running'; readonly pipeline: string }[]> {
  const rows = await db.query<{ id: string; status: 'queued' | 'running'; pipeline: string }>(
    `select id, status, pipeline from sluice.run where destination_id = $1 and status in ('queued', 'running') order by id`,
    [destinationId],
  )
  return rows.map((row) => ({ ...row, id: Number(row.id) }))
}

/**
 * Queued runs for a worker to take: those of schedules, and others that nobody took within half a minute (whoever starts a
 * run by hand queues it and takes it itself, at once). Never a plan or its apply: nobody but who asked for it may carry it out.
 */
export async function findQueuedRuns(
  db: Queryable,
  options: { readonly destinationId?: number; readonly runId?: number } = {},
): Promise<readonly { readonly id: number; readonly destinationId: number }[]> {
  const rows = await db.query<{ id: string; destination_id: number }>(
    `select q.id, q.destination_id from sluice.run q
     where q.status = 'queued' and q.trigger not in ('plan', 'apply') and ($1::int is null or q.destination_id = $1)
       and (q.trigger = 'schedule' or q.id = $2 or q.created_at < clock_timestamp() - interval '30 seconds')
       and not exists (select from sluice.run r where r.destination_id = q.destination_id and r.status = 'running' and r.lease_until > clock_timestamp() and $1::int is null)
     order by q.id limit 50`,
    [options.destinationId ?? null, options.runId ?? null],
  )
  return rows.map((row) => ({ id: Number(row.id), destinationId: row.destination_id }))
}

/** Plans that are being pushed and have batches that nobody holds: work to share. */
export async function findSharedPlans(db: Queryable): Promise<readonly string[]> {
  const rows = await db.query<{ id: string }>(
    `select p.id from sluice.plan p join sluice.run r on r.id = p.run_id or r.plan_id = p.id
     where p.status = 'applying' and r.status = 'running' and exists (
       select from sluice.batch b where b.plan_id = p.id and b.status in ('pending', 'ambiguous') and (b.next_attempt_at is null or b.next_attempt_at <= clock_timestamp()))
     group by p.id order by p.id`,
  )
  return rows.map((row) => row.id)
}
