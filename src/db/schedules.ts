/**
 * Writes the tables `pipeline_schedule` and `tick`: declared schedules, and a row for every tick (docs/guarantees.md#one-run-per-tick).
 */
import type { Database, Queryable } from './database.ts'
import { withinFence, type Fence } from './fence.ts'
import type { DbRow } from './row.ts'

/** Schedule from a pipeline file, for one destination. */
export interface DeclaredSchedule {
  readonly destinationId: number
  readonly pipeline: string
  readonly cron: string
  readonly timezone: string
  readonly overlap: 'skip' | 'queue'
}

export interface ScheduleRow extends DeclaredSchedule {
  readonly id: number
  /** Time of the last decided tick. */
  readonly lastScheduledFor: Date
}

/** Schedules that one scheduler found in its folder. */
export interface Declaration {
  readonly credentials: string
  /** Real path of the folder. */
  readonly folder: string
  readonly schedules: readonly DeclaredSchedule[]
  /**
   * Names of files that are invalid at present, and of conflicting pipelines. Their schedules are kept, also those of their markets
   * (docs/pipelines.md#markets).
   */
  readonly brokenNames: readonly string[]
}

/** Seconds after which a schedule counts as abandoned if no scheduler has declared it again. Schedulers read their files more often. */
export const declarationValidS = 60

/** Maximum difference in seconds at which the clock of the scheduler confirms the clock of the database. */
const maxClockDifferenceS = 300

/** Returns SQL of the declared schedules as rows `d`. `parameter`: SQL parameter with their JSON. */
const declared = (parameter: string) =>
  `json_to_recordset(${parameter}::json) as d ("destinationId" int, pipeline text, cron text, timezone text, overlap text)`

/** Returns the SQL condition that the declared schedule `d` is the stored schedule with the alias `stored`. */
const isSame = (stored: 's' | 'o') =>
  `(${stored}.destination_id, ${stored}.pipeline, ${stored}.cron, ${stored}.timezone) = (d."destinationId", d.pipeline, d.cron, d.timezone)`

/**
 * Returns the SQL condition that the stored schedule `s` is of a broken file. This includes a market of such a file (`FILE-MARKET`), if no
 * valid file declares that pipeline. The arguments are SQL parameters: `brokenNames`, and the JSON of the declared schedules.
 */
const isBroken = (brokenNames: string, schedules: string) =>
  `(s.pipeline = any(${brokenNames}::text[])
    or exists (select from unnest(${brokenNames}::text[]) b where starts_with(s.pipeline, b || '-'))
      and not exists (select from ${declared(schedules)} where d.pipeline = s.pipeline))`

/**
 * Stores the schedules of a folder. A schedule that is new, was undeclared, or has another cron or timezone begins now, without missed
 * ticks. A schedule that the folder no longer has is marked as undeclared once no scheduler has declared it for `declarationValidS`.
 * Schedules of broken files stay.
 *
 * If the last tick of a schedule is in the future, the schedule would not run until that time. The clock of the database was ahead when the
 * tick was decided. If `processTime` confirms the present time of the database, such schedules begin now. Returns the names of their
 * pipelines.
 */
export async function declareSchedules(db: Database, declaration: Declaration, processTime = new Date()): Promise<readonly string[]> {
  const { credentials, folder, schedules, brokenNames } = declaration
  const json = JSON.stringify(schedules)
  return db.transaction(async (tx) => {
    // Schedules of an earlier version, which did not store credentials, get the credentials of this environment.
    await tx.execute(
      `update pipeline_schedule s set credentials = $1
       from ${declared('$2')} where s.credentials = '' and ${isSame('s')}
         and not exists (select from pipeline_schedule o where o.credentials = $1
           and ${isSame('o')})`,
      [credentials, json],
    )
    await tx.execute(
      `insert into pipeline_schedule as s (credentials, folder, destination_id, pipeline, cron, timezone, overlap)
       select $1, $2, * from ${declared('$3')} order by 3, 4, 5, 6
       on conflict on constraint pipeline_schedule_identity do update set overlap = excluded.overlap, folder = excluded.folder,
         declared_at = statement_timestamp(), undeclared_at = null,
         last_scheduled_for = case when s.undeclared_at is null then s.last_scheduled_for else statement_timestamp() end`,
      [credentials, folder, json],
    )
    await tx.execute(
      `update pipeline_schedule s set undeclared_at = statement_timestamp()
       where s.credentials = $1 and s.folder = $2 and s.undeclared_at is null and not ${isBroken('$4', '$3')}
         and s.declared_at < statement_timestamp() - ${declarationValidS} * interval '1 second'
         and not exists (select from ${declared('$3')} where ${isSame('s')})`,
      [credentials, folder, json, brokenNames],
    )
    const ahead = await tx.query<DbRow<'pipeline_schedule', 'pipeline'>>(
      `update pipeline_schedule set last_scheduled_for = statement_timestamp()
       where credentials = $1 and last_scheduled_for > statement_timestamp() + interval '1 minute'
         and abs(extract(epoch from statement_timestamp() - $2::timestamptz)) < ${maxClockDifferenceS}
       returning pipeline`,
      [credentials, processTime],
    )
    return ahead.map(({ pipeline }) => pipeline)
  })
}

/** Pipeline whose file was deleted or renamed, and the environment of its schedules. */
interface UndeclaredPipeline extends Fence {
  readonly name: string
}

/**
 * Returns the pipelines whose file was deleted or renamed. All schedules of such a pipeline are undeclared, and at least one is of this
 * folder. The pipeline has had no run since. Compares only schedules and runs of the same environment.
 */
export async function undeclaredPipelines(db: Queryable, folder: string): Promise<readonly UndeclaredPipeline[]> {
  return db.query<UndeclaredPipeline>(
    // The schedules of each named set of credentials are stored under the folder, `#` and its name.
    `select s.pipeline as name, d.service as origin, s.credentials from pipeline_schedule s join destination d on d.id = s.destination_id
     group by s.pipeline, d.service, s.credentials
     having bool_and(undeclared_at is not null) and bool_or(folder = $1 or starts_with(folder, $1 || '#'))
       and not exists (select from run r where r.pipeline = s.pipeline and r.created_at > max(s.undeclared_at)
         and ${withinFence('r.destination_id', 'd.service', 's.credentials')})`,
    [folder],
  )
}

const columns = 's.id, s.destination_id, s.pipeline, s.cron, s.timezone, s.overlap, s.last_scheduled_for'

/**
 * Returns the time of the database and two lists. `schedules` are the declared schedules. `brokenSchedules` are the stored schedules of
 * broken files that no scheduler has declared for `declarationValidS`.
 */
export async function loadSchedules(
  db: Queryable,
  declaration: Declaration,
): Promise<{ readonly now: Date; readonly schedules: readonly ScheduleRow[]; readonly brokenSchedules: readonly ScheduleRow[] }> {
  const { credentials, folder, schedules, brokenNames } = declaration
  const rows = await db.query<ScheduleColumns & { broken: boolean }>(
    `select ${columns}, false as broken from pipeline_schedule s
     join ${declared('$2')} on ${isSame('s')}
     where s.credentials = $1
     union all
     select ${columns}, true from pipeline_schedule s
     where s.credentials = $1 and s.folder = $3 and ${isBroken('$4', '$2')} and s.undeclared_at is null
       and s.declared_at < statement_timestamp() - ${declarationValidS} * interval '1 second'`,
    [credentials, JSON.stringify(schedules), folder, brokenNames],
  )
  const now = await databaseTime(db)
  return {
    now,
    schedules: rows.filter((row) => !row.broken).map(toSchedule),
    brokenSchedules: rows.filter((row) => row.broken).map(toSchedule),
  }
}

/**
 * Locks a schedule to decide its ticks, and returns it with the time of the database. Returns undefined if another scheduler locked it. Also
 * returns undefined while a plan has locked the destination. The run of a tick would wait for that plan, and so would all other schedules.
 */
export async function lockSchedule(tx: Queryable, id: number): Promise<{ readonly now: Date; readonly schedule: ScheduleRow } | undefined> {
  const [row] = await tx.query<ScheduleColumns>(
    `select ${columns} from pipeline_schedule s join destination d on d.id = s.destination_id where s.id = $1
     for update of s skip locked for key share of d skip locked`,
    [id],
  )
  // The time is read after the lock. So a tick that another scheduler has decided is never later than this time.
  return row === undefined ? undefined : { now: await databaseTime(tx), schedule: toSchedule(row) }
}

/** Returns the time of the database. */
export async function databaseTime(db: Queryable): Promise<Date> {
  const [clock] = await db.query<{ now: Date }>('select statement_timestamp() as now')
  return clock?.now ?? new Date(0)
}

type ScheduleColumns = DbRow<
  'pipeline_schedule',
  'id' | 'destination_id' | 'pipeline' | 'cron' | 'timezone' | 'overlap' | 'last_scheduled_for'
>

function toSchedule(row: ScheduleColumns): ScheduleRow {
  return {
    id: row.id,
    destinationId: row.destination_id,
    pipeline: row.pipeline,
    cron: row.cron,
    timezone: row.timezone,
    overlap: row.overlap,
    lastScheduledFor: row.last_scheduled_for,
  }
}

export interface Tick {
  readonly scheduledFor: Date
  readonly outcome: 'ran' | 'queued' | 'skipped' | 'missed'
  readonly reason: string | null
  readonly runId: number | null
}

/** Stores decided ticks of one schedule. Keeps the stored row of a tick, unless only the new tick has a run. */
export async function recordTicks(
  db: Queryable,
  schedule: Pick<ScheduleRow, 'destinationId' | 'pipeline'>,
  ticks: readonly Tick[],
): Promise<void> {
  await db.execute(
    `insert into tick as t (destination_id, pipeline, scheduled_for, outcome, reason, run_id)
     select $1, $2, * from unnest($3::timestamptz[], $4::text[], $5::text[], $6::bigint[])
     on conflict (destination_id, pipeline, scheduled_for) do update set outcome = excluded.outcome, reason = excluded.reason, run_id = excluded.run_id
     where t.run_id is null and excluded.run_id is not null`,
    [
      schedule.destinationId,
      schedule.pipeline,
      ticks.map((tick) => tick.scheduledFor),
      ticks.map((tick) => tick.outcome),
      ticks.map((tick) => tick.reason),
      ticks.map((tick) => tick.runId),
    ],
  )
}

/** Stores the time of the last decided tick of a schedule. Never moves the time back; only `declareSchedules` does. */
export async function storeLastTick(db: Queryable, id: number, lastScheduledFor: Date): Promise<void> {
  await db.execute('update pipeline_schedule set last_scheduled_for = $2 where id = $1 and last_scheduled_for < $2', [id, lastScheduledFor])
}

/** Returns true only for the first call of a day (UTC, by the database's clock). Stores the first call as a tick with an empty pipeline. */
export async function claimDailyRetention(db: Database, runId: number): Promise<boolean> {
  const inserted = await db.execute(
    `insert into tick (pipeline, scheduled_for, outcome, reason, run_id)
     values ('', date_trunc('day', statement_timestamp(), 'UTC'), 'ran', 'retention', $1) on conflict do nothing`,
    [runId],
  )
  return inserted === 1
}

/** Deletes ticks after 35 days. Returns their number. */
export async function dropOldTicks(db: Queryable): Promise<number> {
  return db.execute(`delete from tick where scheduled_for < statement_timestamp() - interval '35 days'`)
}
