/**
 * Deletes everything stored about the content of a destination that no pipeline syncs any more (docs/operations.md#remove-a-destination).
 * Runs, plans and requests stay as history, without operations and bodies.
 */
import { logEvent } from './auditLog.ts'
import { dropBodiesOf } from './batches/bodies.ts'
import { isExpired } from './batches/lease.ts'
import { endAllBatches } from './batches/release.ts'
import { deleteChangedOf } from './changedKeys.ts'
import type { Database, Transaction } from './database.ts'
import { hasRows, type Queryable } from './queryable.ts'
import { resetDestination } from './destinations.ts'
import { deleteDigests } from './digests.ts'
import { deleteEntriesOf } from './entries/drop.ts'
import { dropUnconfirmedDeletes } from './erasures.ts'
import { dropImpliedKeys } from './impliedKeyIndex.ts'
import { supersedeAllPlans } from './plans.ts'
import { deleteAllProductSetRows } from './productSets.ts'
import { deleteRecordsOf } from './records.ts'
import { deleteKeysOf } from './remote/drop.ts'
import type { DbRow } from './row.ts'
import { discardSnapshotsOf } from './snapshots.ts'

/** Numbers of what was removed. */
export interface RemovedCounts {
  readonly records: number
  /** Open requests, which are not sent any more. */
  readonly requests: number
  /** Unconfirmed delete requests of erasures. */
  readonly erasureDeletes: number
}

/** Thrown to roll back if a request was claimed meanwhile. */
class ClaimedMeanwhile extends Error {}

/**
 * Removes the state of a destination in one transaction. Returns undefined, and changes nothing, while the destination is in use. It is in
 * use while a run is queued or in progress, or while a request is in flight or may arrive. `actor`: written to the audit log.
 */
export async function removeDestination(
  db: Database,
  destinationId: number,
  { actor, reason }: { readonly actor: string; readonly reason?: string },
): Promise<RemovedCounts | undefined> {
  try {
    return await db.transaction((tx) => removeInTransaction(tx, destinationId, { actor, reason }))
  } catch (error) {
    if (error instanceof ClaimedMeanwhile) return undefined
    throw error
  }
}

/** Returns the time after the run at which `removeDestination` removed the state of its destination; undefined if it did not. */
export async function removalOfDestination(db: Queryable, runId: number): Promise<Date | undefined> {
  const [removal] = await db.query<DbRow<'audit', 'at'>>(
    `select a.at from run r join audit a on a.what = 'destination.removed' and a.at >= r.created_at
       and (a.detail ->> 'destination')::bigint = r.destination_id
     where r.id = $1 order by a.at desc limit 1`,
    [runId],
  )
  return removal?.at
}

async function removeInTransaction(
  tx: Transaction,
  destinationId: number,
  { actor, reason }: { readonly actor: string; readonly reason: string | undefined },
): Promise<RemovedCounts | undefined> {
  // Plans and answers wait for this lock.
  await tx.query('select from destination where id = $1 for update', [destinationId])
  if (await isInUse(tx, destinationId)) return undefined
  const erasureDeletes = await dropUnconfirmedDeletes(tx, destinationId)
  const requests = await endAllBatches(tx, destinationId)
  // `forget` claims the deletes of an erasure without a lock of the destination.
  if (await isInUse(tx, destinationId)) throw new ClaimedMeanwhile()
  await supersedeAllPlans(tx, destinationId)
  await dropBodiesOf(tx, destinationId)
  await deleteEntriesOf(tx, destinationId)
  const records = await deleteRecordsOf(tx, destinationId)
  await deleteKeysOf(tx, destinationId)
  await dropImpliedKeys(tx, destinationId)
  await deleteChangedOf(tx, destinationId)
  await deleteDigests(tx, destinationId)
  await deleteAllProductSetRows(tx, destinationId)
  await discardSnapshotsOf(tx, destinationId)
  await resetDestination(tx, destinationId)
  const removed = { records, requests, erasureDeletes }
  const detail = { destination: destinationId, ...removed, ...(reason === undefined ? {} : { reason }) }
  await logEvent(tx, { actor, what: 'destination.removed', detail })
  return removed
}

async function isInUse(tx: Queryable, destinationId: number): Promise<boolean> {
  return hasRows(
    tx,
    `select from run where destination_id = $1 and (status = 'queued' or (status = 'running' and not ${isExpired('lease_until')}))
     union all select from batch where destination_id = $1 and status = 'in_flight' and not ${isExpired('lease_until')}
     union all select from remote where destination_id = $1 and late_until > statement_timestamp()`,
    [destinationId],
  )
}
