/** Writes the tables `alert` and `alert_delivery`. A condition has at most one firing alert, with any number of processes. */
import type { Database } from './database.ts'
import { hasRows, type Queryable } from './queryable.ts'
import type { Fence } from './fence.ts'
import type { DbRow } from './row.ts'
import { schemaLock } from './schemaLock.ts'

/** Message to a receiver. `deliveredAt` and `failedAt` are both null while the message waits. */
export interface DeliveryLine {
  readonly createdAt: Date
  /** Environment of the alert. Both parts are empty for an alert of an earlier version. */
  readonly environment: Fence
  readonly pipeline: string
  readonly event: string
  readonly state: 'firing' | 'recovered'
  readonly receiver: string
  readonly attempts: number
  readonly deliveredAt: Date | null
  readonly failedAt: Date | null
  readonly lastError: string | null
}

/** Returns the last `limit` messages, newest first. */
export async function listDeliveries(db: Queryable, limit: number): Promise<readonly DeliveryLine[]> {
  const rows = await db.query<
    DbRow<'alert_delivery', 'created_at' | 'state' | 'receiver' | 'attempts' | 'delivered_at' | 'failed_at' | 'last_error'> &
      DbRow<'alert', 'pipeline' | 'event' | 'service' | 'credentials'>
  >(
    `select d.created_at, a.service, a.credentials, a.pipeline, a.event, d.state, d.receiver, d.attempts, d.delivered_at, d.failed_at, d.last_error
     from alert_delivery d join alert a on a.id = d.alert_id order by d.id desc limit $1`,
    [limit],
  )
  return rows.map((row) => ({
    createdAt: row.created_at,
    environment: { origin: row.service, credentials: row.credentials },
    pipeline: row.pipeline,
    event: row.event,
    state: row.state,
    receiver: row.receiver,
    attempts: row.attempts,
    deliveredAt: row.delivered_at,
    failedAt: row.failed_at,
    lastError: row.last_error,
  }))
}

/** Condition that fires an alert. */
export interface FoundCondition {
  /** Name of a pipeline, or of a file without a valid pipeline. */
  readonly pipeline: string
  readonly event: string
  /** Content of the message; no identifiers. */
  readonly detail: object
  readonly receivers: readonly string[]
  /** True for a condition of a file, which processes with other files do not find. */
  readonly isOfFile?: boolean
}

/**
 * Returns the SQL condition that the alert `a` belongs to one of the environments. An alert without an environment, from an earlier version,
 * belongs to all. The arguments are SQL parameters with arrays.
 */
const isOfEnvironments = (origins: string, credentials: string) =>
  `(a.service = '' or (a.service, a.credentials) in (select * from unnest(${origins}::text[], ${credentials}::text[])))`

const originsOf = (environments: readonly Fence[]) => environments.map(({ origin }) => origin)
const credentialsOf = (environments: readonly Fence[]) => environments.map(({ credentials }) => credentials)

/** Result of one check of conditions in one environment. */
export interface AlertCheck {
  /** Names of the pipelines, and of files, whose alerts can recover. */
  readonly pipelines: readonly string[]
  readonly found: readonly FoundCondition[]
  /** Name of the machine and the folder whose files were checked. */
  readonly finder: string
  /** Result of `destinationOwners` before the check. */
  readonly owners: string
}

/** Returns the credentials of each destination that has some, by its id, as JSON. */
export async function destinationOwners(db: Queryable): Promise<string> {
  const [row] = await db.query<{ owners: string }>(
    `select coalesce(jsonb_object_agg(id, credentials), '{}')::text as owners from destination where credentials is not null`,
  )
  return row?.owners ?? '{}'
}

/** Returns true if a destination has other credentials than in `owners`. First credentials of a destination do not count. */
async function isTakenOver(tx: Queryable, owners: string): Promise<boolean> {
  return hasRows(
    tx,
    'select from jsonb_each_text($1::jsonb) o join destination d on d.id = o.key::int where d.credentials is distinct from o.value',
    [owners],
  )
}

/** Waits until no other transaction changes alerts. The lock ends with the transaction. */
async function lockAlerts(tx: Queryable): Promise<void> {
  await tx.query(`select pg_advisory_xact_lock(${schemaLock(`'alert conditions'`)})`)
}

/**
 * Updates the alerts of one environment. A new condition fires an alert. If the condition of an alert is no longer found, the alert
 * recovers. Adds one message for each receiver of a fired condition. Adds the messages of a recovery for the receivers of its alert.
 * Returns the number of alerts that fired or recovered.
 *
 * Changes nothing if a destination was taken over since the start of the check. The found conditions would be of one environment, and the
 * alerts of another. The next check updates them.
 *
 * An alert about a file stays while another finder has found it within `foundForS`. Machines and folders may have different files for a time.
 */
export async function updateAlerts(db: Database, environment: Fence, check: AlertCheck): Promise<number> {
  const { pipelines, found, finder, owners } = check
  return db.transaction(async (tx) => {
    // Every `serve` process checks conditions, and the lock lets only one of them write at a time.
    await lockAlerts(tx)
    if (await isTakenOver(tx, owners)) return 0
    const firing = await tx.query<DbRow<'alert', 'id' | 'pipeline' | 'event'> & { found_elsewhere: boolean }>(
      `select a.id, a.pipeline, a.event, exists (
         select from jsonb_each_text(coalesce(a.detail -> 'foundBy', '{}')) f
         where f.key <> $4 and ${isRecent}) as found_elsewhere
       from alert a where a.recovered_at is null and a.pipeline = any($1) and ${isOfEnvironments('$2', '$3')}`,
      [pipelines, originsOf([environment]), credentialsOf([environment]), finder],
    )
    let changedCount = 0
    for (const condition of found) {
      if (firing.some((alert) => isSameCondition(alert, condition))) continue
      if (await fire(tx, environment, condition)) changedCount++
    }
    const ofFiles = found.filter(({ isOfFile }) => isOfFile === true)
    await storeFinder(tx, environment, ofFiles, finder)
    for (const alert of firing) {
      if (found.some((condition) => isSameCondition(alert, condition))) continue
      if (alert.found_elsewhere) {
        await removeFinder(tx, alert.id, finder)
        continue
      }
      await recover(tx, alert.id)
      changedCount++
    }
    return changedCount
  })
}

type Condition = Pick<FoundCondition, 'pipeline' | 'event'>

const isSameCondition = (a: Condition, b: Condition) => a.pipeline === b.pipeline && a.event === b.event

/** Returns false if the alert already fires. */
async function fire(tx: Queryable, { origin, credentials }: Fence, condition: FoundCondition): Promise<boolean> {
  const { pipeline, event, detail, receivers } = condition
  const [row] = await tx.query<DbRow<'alert', 'id'>>(
    `insert into alert (service, credentials, pipeline, event, detail) values ($1, $2, $3, $4, $5)
     on conflict do nothing returning id`,
    [origin, credentials, pipeline, event, JSON.stringify(detail)],
  )
  if (row !== undefined) await addDeliveries(tx, row.id, 'firing', receivers)
  return row !== undefined
}

async function recover(tx: Queryable, alertId: string): Promise<void> {
  await tx.execute('update alert set recovered_at = statement_timestamp() where id = $1', [alertId])
  const notified = await tx.query<DbRow<'alert_delivery', 'receiver'>>(
    `select receiver from alert_delivery where alert_id = $1 and state = 'firing'`,
    [alertId],
  )
  const receivers = notified.map(({ receiver }) => receiver)
  await addDeliveries(tx, alertId, 'recovered', receivers)
}

async function removeFinder(tx: Queryable, alertId: string, finder: string): Promise<void> {
  await tx.execute(`update alert set detail = detail #- array['foundBy', $2::text] where id = $1 and detail -> 'foundBy' ? $2`, [
    alertId,
    finder,
  ])
}

/** Time in seconds for which a finder of an alert about a file counts. Each finder checks its files at least once a minute. */
const foundForS = 180

/** SQL condition that the finder in row `f` of `foundBy` counts. */
const isRecent = `f.value::timestamptz > statement_timestamp() - ${foundForS} * interval '1 second'`

/**
 * Stores in the firing alerts of the conditions that this finder has found them now. Writes at most every 30 seconds, because checks are
 * more frequent and a folder may have thousands of files. Removes finders that no longer count.
 */
async function storeFinder(tx: Queryable, environment: Fence, found: readonly FoundCondition[], finder: string): Promise<void> {
  if (found.length === 0) return
  await tx.execute(
    `update alert set detail = jsonb_set(detail, '{foundBy}',
       coalesce((select jsonb_object_agg(f.key, f.value) from jsonb_each_text(detail -> 'foundBy') f where ${isRecent}), '{}')
         || jsonb_build_object($5::text, statement_timestamp()))
     where (service, credentials) = ($1, $2) and recovered_at is null
       and (pipeline, event) in (select * from unnest($3::text[], $4::text[]))
       and coalesce((detail -> 'foundBy' ->> $5)::timestamptz, '-infinity') < statement_timestamp() - interval '30 seconds'`,
    [environment.origin, environment.credentials, found.map(({ pipeline }) => pipeline), found.map(({ event }) => event), finder],
  )
}

/**
 * Gives a firing alert about the project file of another folder to this environment, if no server has found it within `foundForS`. With each
 * release, the files may move to a new folder, so no server of the old folder would end the alert. `credentialsStart`: start of the
 * credentials of such alerts.
 */
export async function adoptAbandonedAlert(db: Database, environment: Fence, pipeline: string, credentialsStart: string): Promise<void> {
  await db.transaction(async (tx) => {
    await lockAlerts(tx)
    await tx.execute(
      `update alert set credentials = $2 where id = (
         select min(a.id) from alert a where a.recovered_at is null and a.service = $1 and starts_with(a.credentials, $4) and a.pipeline = $3
           and not exists (select from jsonb_each_text(coalesce(a.detail -> 'foundBy', '{}')) f where ${isRecent})
           and not exists (select from alert o where (o.service, o.credentials, o.pipeline, o.event) = ($1, $2, $3, a.event)
             and o.recovered_at is null))`,
      [environment.origin, environment.credentials, pipeline, credentialsStart],
    )
  })
}

/**
 * Locks all alerts until the end of the transaction. Returns the ids of the firing alerts of the pipelines that sent to this destination
 * last, in the environment that owns it.
 */
export async function lockFiringAlerts(tx: Queryable, destinationId: number): Promise<readonly string[]> {
  await lockAlerts(tx)
  const rows = await tx.query<DbRow<'alert', 'id'>>(
    `select a.id from alert a join destination d on d.id = $1 and (a.service, a.credentials) = (d.service, d.credentials)
     where a.recovered_at is null and $1 = (
       select r.destination_id from run r join destination o on o.id = r.destination_id
       where r.pipeline = a.pipeline and (o.service, o.credentials) = (d.service, d.credentials) order by r.id desc limit 1)`,
    [destinationId],
  )
  return rows.map(({ id }) => id)
}

/** Moves alerts to other credentials. An alert that already fires there stays where it was. */
export async function moveAlerts(tx: Queryable, ids: readonly string[], credentials: string): Promise<void> {
  await tx.execute(
    `update alert a set credentials = $2 where id = any($1::bigint[]) and not exists (select from alert o
       where (o.service, o.credentials, o.pipeline, o.event) = (a.service, $2, a.pipeline, a.event) and o.recovered_at is null)`,
    [ids, credentials],
  )
}

async function addDeliveries(tx: Queryable, alertId: string, state: DeliveryLine['state'], receivers: readonly string[]): Promise<void> {
  // A pipeline may name a receiver twice.
  const names = [...new Set(receivers)]
  await tx.execute('insert into alert_delivery (alert_id, state, receiver) select $1, $2, unnest($3::text[])', [alertId, state, names])
}

/** Message to send now. */
export interface DueDelivery {
  readonly id: number
  readonly alertId: string
  readonly receiver: string
  readonly state: 'firing' | 'recovered'
  /** Environment of the alert. Both parts are empty for an alert of an earlier version. */
  readonly service: string
  readonly credentials: string
  /** True if the destinations of the schema belong to several environments. */
  readonly hasSeveralEnvironments: boolean
  readonly pipeline: string
  readonly event: string
  readonly detail: unknown
  readonly firedAt: Date
  readonly recoveredAt: Date | null
  /** Number of attempts, with the current one. */
  readonly attempts: number
}

/** Time in seconds after which another process may claim a message, because its sender may have died. */
const deliveryLeaseS = 60

/** Facts that decide if and when conditions are checked. */
export interface AlertActivity {
  /** Text that changes whenever runs or actions of operators may have changed a condition. */
  readonly fingerprint: string
  /** True if a run is queued or running. */
  readonly hasOpenRuns: boolean
  /** Milliseconds until the next message is due; 0 or less if one is due. Infinity if no message waits. */
  readonly dueMs: number
}

/** Loads the facts that decide if and when conditions are checked. Only messages of these environments count. */
export async function alertActivity(db: Queryable, environments: readonly Fence[]): Promise<AlertActivity> {
  const [row] = await db.query<{ fingerprint: string; has_open_runs: boolean; due_ms: number | null }>(
    `select concat_ws(' ', (select max(id) from run), (select max(id) from audit), o.open) as fingerprint, o.open > 0 as has_open_runs,
       (select extract(epoch from min(d.next_attempt_at) - statement_timestamp()) * 1000 from alert_delivery d join alert a on a.id = d.alert_id
         where d.delivered_at is null and d.failed_at is null and ${isOfEnvironments('$1', '$2')})::float8 as due_ms
     from (select count(*) as open from run where status in ('queued', 'running')) o`,
    [originsOf(environments), credentialsOf(environments)],
  )
  return { fingerprint: row?.fingerprint ?? '', hasOpenRuns: row?.has_open_runs ?? true, dueMs: row?.due_ms ?? Number.POSITIVE_INFINITY }
}

/**
 * Claims at most `limit` due messages of these environments for these receivers. A receiver of another environment may have the same name
 * and another address. A recovery waits until the earlier message to the same receiver was delivered or given up. Gives up messages for
 * other receivers that are more than a day old.
 */
export async function claimDeliveries(
  db: Queryable,
  environments: readonly Fence[],
  receivers: readonly string[],
  limit: number,
): Promise<readonly DueDelivery[]> {
  const [origins, credentials] = [originsOf(environments), credentialsOf(environments)]
  await db.execute(
    `update alert_delivery d set failed_at = statement_timestamp(), last_error = 'no such receiver'
     from alert a where a.id = d.alert_id and ${isOfEnvironments('$2', '$3')}
       and d.delivered_at is null and d.failed_at is null and d.receiver <> all($1) and d.created_at < statement_timestamp() - interval '1 day'`,
    [receivers, origins, credentials],
  )
  const rows = await db.query<
    DbRow<'alert_delivery', 'id' | 'alert_id' | 'receiver' | 'state' | 'attempts'> &
      DbRow<'alert', 'service' | 'credentials' | 'pipeline' | 'event' | 'detail' | 'fired_at' | 'recovered_at'> & {
        hasSeveralEnvironments: boolean
      }
  >(
    `with due as (
       select d.id from alert_delivery d join alert a on a.id = d.alert_id and ${isOfEnvironments('$3', '$4')}
       where d.delivered_at is null and d.failed_at is null and d.next_attempt_at <= statement_timestamp() and d.receiver = any($1)
         and not exists (select from alert_delivery e where e.alert_id = d.alert_id and e.receiver = d.receiver and e.id < d.id
           and e.delivered_at is null and e.failed_at is null)
       order by d.id limit $2 for update of d skip locked)
     update alert_delivery d set attempts = d.attempts + 1, next_attempt_at = statement_timestamp() + ${deliveryLeaseS} * interval '1 second'
     from due, alert a where d.id = due.id and a.id = d.alert_id
     returning d.id, d.alert_id, d.receiver, d.state, a.service, a.credentials, a.pipeline, a.event, a.detail, a.fired_at, a.recovered_at, d.attempts,
       (select count(distinct (o.service, o.credentials)) > 1 from destination o where o.credentials is not null) as "hasSeveralEnvironments"`,
    [receivers, limit, origins, credentials],
  )
  return rows.map(({ alert_id, fired_at, recovered_at, ...row }) => ({
    ...row,
    id: Number(row.id),
    alertId: alert_id,
    firedAt: fired_at,
    recoveredAt: recovered_at,
  }))
}

/**
 * Stores the result of sending a message: delivered, or to be sent again after `retryMs`. If an attempt fails more than a day after the
 * message was created, the message is given up.
 */
export async function finishDelivery(
  db: Queryable,
  id: number,
  end: { readonly delivered: true } | { readonly delivered: false; readonly error: string; readonly retryMs: number },
): Promise<void> {
  if (end.delivered) {
    await db.execute('update alert_delivery set delivered_at = statement_timestamp(), last_error = null where id = $1', [id])
    return
  }
  await db.execute(
    `update alert_delivery set last_error = $2, next_attempt_at = statement_timestamp() + $3 * interval '1 millisecond',
       failed_at = case when created_at < statement_timestamp() - interval '1 day' then statement_timestamp() end where id = $1`,
    [id, end.error, end.retryMs],
  )
}

/** Deletes alerts 90 days after they recovered, with their messages. Returns the number of alerts. */
export async function dropOldAlerts(db: Queryable): Promise<number> {
  return db.execute(`delete from alert where recovered_at < statement_timestamp() - interval '90 days'`)
}
