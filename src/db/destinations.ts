/**
 * Writes the table `destination`: one row for each catalog, audience or list of a service, with the credentials that own the row.
 */
import { lockFiringAlerts, moveAlerts } from './alerts.ts'
import { auditLinesSql, logEvent } from './auditLog.ts'
import type { Database } from './database.ts'
import { countRows, hasRows, type Queryable } from './queryable.ts'
import { clusterOf, databaseIdentity, isSyncedHere } from './databaseIdentity.ts'
import type { DbRow } from './row.ts'
import type { Fence } from './fence.ts'
import { destinationOf } from '../destinations/index.ts'

/** Key of a destination: its service, type and ids at the service. */
export interface DestinationKey {
  /** Address of the advertising host. */
  readonly service: string
  readonly kind: string
  readonly accountId: string
  readonly targetId: string
}

/** Row of a destination. The credentials are null until the first run. */
export type DestinationRow = DbRow<'destination', 'id' | 'credentials'>

/**
 * Returns the row of a destination, and inserts it if it is new.
 *
 * @throws {RangeError} no type of destination has this `kind`
 */
export async function ensureDestination(db: Queryable, key: DestinationKey): Promise<DestinationRow> {
  destinationOf(key.kind)
  const [known] = await findDestinationRow(db, key)
  if (known) return known
  await adoptRowWithoutPath(db, key)
  await db.execute(`insert into destination (service, kind, account_id, target_id) values ($1, $2, $3, $4) on conflict do nothing`, [
    key.service,
    key.kind,
    key.accountId,
    key.targetId,
  ])
  const [row] = await findDestinationRow(db, key)
  if (!row) throw new Error('an inserted destination must be stored')
  return row
}

/** Returns the destinations of a pipeline's runs, in all environments of the schema. The first is that of the newest run. */
export function destinationsOfRuns(db: Queryable, pipeline: string): Promise<DbRow<'destination', 'id' | 'service' | 'credentials'>[]> {
  return db.query(
    `select d.id, d.service, d.credentials from run r join destination d on d.id = r.destination_id
     where r.pipeline = $1 group by d.id order by max(r.id) desc`,
    [pipeline],
  )
}

function findDestinationRow(db: Queryable, key: DestinationKey): Promise<DestinationRow[]> {
  return db.query<DestinationRow>(
    `select id, credentials from destination where service = $1 and kind = $2 and account_id = $3 and target_id = $4`,
    [key.service, key.kind, key.accountId, key.targetId],
  )
}

/** Returns the service that a run writes to, and the credentials that own it. Undefined if the run is not stored or has no destination. */
export async function ownerOfRun(
  db: Queryable,
  runId: number,
): Promise<DbRow<'destination', 'id' | 'service' | 'credentials'> | undefined> {
  const [row] = await db.query<DbRow<'destination', 'id' | 'service' | 'credentials'>>(
    'select d.id, d.service, d.credentials from run r join destination d on d.id = r.destination_id where r.id = $1',
    [runId],
  )
  return row
}

/** Returns the credentials that own a destination; null if it has none yet. */
export async function ownerOf(db: Queryable, destinationId: number): Promise<string | null> {
  const [row] = await db.query<DbRow<'destination', 'credentials'>>('select credentials from destination where id = $1', [destinationId])
  if (row === undefined) throw new Error(`destination ${destinationId} is not stored`)
  return row.credentials
}

/**
 * Stores the whole address in the row of an earlier version, which stored the address without its path. The first address on the same host
 * gets the row. Changes only a row without credentials.
 */
async function adoptRowWithoutPath(db: Queryable, key: DestinationKey): Promise<void> {
  const { origin } = new URL(key.service)
  if (origin === key.service) return
  await db.execute(
    `update destination set service = $1 where service = $2 and kind = $3 and account_id = $4 and target_id = $5 and credentials is null`,
    [key.service, origin, key.kind, key.accountId, key.targetId],
  )
}

/**
 * Moves a destination to other credentials, with its open batches and its alerts. Returns false, and changes nothing, while a run of the
 * destination is in progress. `actor`: written to the audit log.
 */
export async function takeOverDestination(db: Database, destinationId: number, credentials: string, actor: string): Promise<boolean> {
  return db.transaction(async (tx) => {
    const [before] = await tx.query<DbRow<'destination', 'credentials'>>('select credentials from destination where id = $1 for update', [
      destinationId,
    ])
    const alerts = await lockFiringAlerts(tx, destinationId)
    const moved = await tx.execute(
      `update destination d set credentials = $2
       where id = $1 and not exists (select from run r where r.destination_id = d.id and r.status = 'running' and r.lease_until > statement_timestamp())`,
      [destinationId, credentials],
    )
    if (moved === 0) return false
    await moveAlerts(tx, alerts, credentials)
    const detail = { destinationId, from: before?.credentials ?? null, to: credentials }
    await logEvent(tx, { actor, what: 'destination.taken_over', detail })
    return true
  })
}

/** Assigns a destination to the credentials of this environment, if it has none yet. */
export async function adoptDestination(tx: Queryable, destinationId: number, fence: Fence): Promise<void> {
  await tx.execute('update destination set credentials = $3 where id = $1 and service = $2 and credentials is null', [
    destinationId,
    fence.origin,
    fence.credentials,
  ])
}

/**
 * Returns true if this database is the one in which the destination was synced last. Stores the identity of this database for a destination
 * without one, and after a `pg_upgrade`.
 */
export async function bindToThisDatabase(db: Queryable, destinationId: number): Promise<boolean> {
  const values = [destinationId, await clusterOf(db)]
  await db.execute(
    `update destination d set database_identity = ${databaseIdentity('$2')}
     where id = $1 and ${isSyncedHere('d', '$2')} and database_identity is distinct from ${databaseIdentity('$2')}`,
    values,
  )
  return hasRows(db, `select from destination d where id = $1 and ${isSyncedHere('d', '$2')}`, values)
}

/**
 * Returns the number of destinations that were last synced from another database. With a fence, counts only destinations of this
 * environment.
 */
export async function countSyncedElsewhere(db: Queryable, fence?: Fence): Promise<number> {
  return countRows(
    db,
    `select from destination d where not ${isSyncedHere('d', '$3')} and ($1::text is null or (d.service = $1 and d.credentials = $2))`,
    [fence?.origin ?? null, fence?.credentials ?? null, await clusterOf(db)],
  )
}

/**
 * Stores the identity of this database in all destinations that have another one. Returns their number. `actor`: written to the audit log.
 */
export async function adoptDatabase(db: Database, actor: string): Promise<number> {
  const cluster = await clusterOf(db)
  return db.transaction(async (tx) => {
    const adopted = await tx.execute(
      `update destination d set database_identity = ${databaseIdentity('$1')} where not ${isSyncedHere('d', '$1')}`,
      [cluster],
    )
    if (adopted > 0) await logEvent(tx, { actor, what: 'database.adopted', detail: { destinations: adopted } })
    return adopted
  })
}

/**
 * Resets the row of a destination whose state was deleted, as if it had never been synced. Plans become stale, and do-not-reach lists are
 * read again. Keeps the credentials, because the history belongs to them.
 */
export async function resetDestination(tx: Queryable, destinationId: number): Promise<void> {
  await tx.execute(
    `update destination set state_version = state_version + 1, desired_version = desired_version + 1, all_changed = true, instance = null,
       database_identity = null, paused_at = null, paused_reason = null where id = $1`,
    [destinationId],
  )
}

/**
 * Raises the version of the synced state, so that earlier plans become stale. Locks the destination's row. All transactions that write
 * synced state wait for this lock.
 */
export async function raiseStateVersion(tx: Queryable, destinationId: number): Promise<void> {
  const raised = await tx.execute('update destination set state_version = state_version + 1 where id = $1', [destinationId])
  if (raised !== 1) throw new Error(`destination ${destinationId} is not stored`)
}

/** Adds `by` to the version of the desired content, and returns the new version. Locks the destination's row, also if `by` is 0. */
export async function raiseDesiredVersion(tx: Queryable, destinationId: number, by: 0 | 1): Promise<number> {
  const [row] = await tx.query<DbRow<'destination', 'desired_version'>>(
    'update destination set desired_version = desired_version + $2 where id = $1 returning desired_version',
    [destinationId, by],
  )
  if (row === undefined) throw new Error(`destination ${destinationId} is not stored`)
  return Number(row.desired_version)
}

/** Stores the flag `all_changed`: true if any key may be out of sync, false if only keys in `changed_key` may be. */
export async function storeAllChanged(tx: Queryable, destinationId: number, allChanged: boolean): Promise<void> {
  await tx.execute('update destination set all_changed = $2 where id = $1', [destinationId, allChanged])
}

/** Stores the instance of the sandbox that the synced state belongs to. Returns true if it replaces another instance. */
export async function storeInstance(tx: Queryable, destinationId: number, instance: string): Promise<boolean> {
  const [row] = await tx.query<DbRow<'destination', 'instance'>>('select instance from destination where id = $1 for update', [
    destinationId,
  ])
  await tx.execute('update destination set instance = $2 where id = $1', [destinationId, instance])
  return row !== undefined && row.instance !== null && row.instance !== instance
}

/** Reason of the pause of a destination, stored as `CODE: text`. */
export interface PauseReason {
  /** Code of Sluice or of the service. */
  readonly code: string
  readonly text: string
}

/** Decodes `destination.paused_reason`. */
export function readPauseReason(stored: string): PauseReason {
  const [code = '', ...text] = stored.split(': ')
  return { code, text: text.join(': ') }
}

/**
 * Pauses a destination, because a cause outside of its records stops all requests. The next run ends this pause, unlike the pause of an
 * operator (`pauses.ts`). If the destination is already paused, keeps the earlier time and replaces the reason. `actor`: written to the
 * audit log.
 */
export async function pauseDestination(tx: Queryable, destinationId: number, { code, text }: PauseReason, actor = 'push'): Promise<void> {
  await tx.execute(
    `with paused as (
       update destination set paused_at = coalesce(paused_at, statement_timestamp()), paused_reason = $2
       where id = $1 and paused_reason is distinct from $2 returning id)
     ${auditLinesSql(`select $3, 'destination.paused', null, null, jsonb_build_object('destination', id, 'reason', $2::text) from paused`)}`,
    [destinationId, `${code}: ${text}`, actor],
  )
}

/** Returns the SQL condition that the cancellation of a run paused the destination `d`. */
export const isPausedByCancellation = (d: string) => `coalesce(starts_with(${d}.paused_reason, 'RUN_CANCELLED: '), false)`

/** Ends the pause of a destination, if it is paused. The next answer pauses it again if the cause still exists. */
export async function resumeDestination(db: Queryable, destinationId: number): Promise<void> {
  await resume(db, destinationId, 'true', 'run')
}

/**
 * Ends the pause of an audience before the deletes of an erasure, unless the cancellation of a run caused it. That run may still be running,
 * and must send nothing more.
 */
export async function resumeForErasure(db: Queryable, audienceId: number): Promise<void> {
  await resume(db, audienceId, `not ${isPausedByCancellation('destination')}`, 'forget')
}

async function resume(db: Queryable, destinationId: number, condition: string, actor: string): Promise<void> {
  await db.execute(
    `with resumed as (
       update destination set paused_at = null, paused_reason = null where id = $1 and paused_at is not null and ${condition} returning id)
     ${auditLinesSql(`select $2, 'destination.resumed', null, null, jsonb_build_object('destination', id) from resumed`)}`,
    [destinationId, actor],
  )
}
