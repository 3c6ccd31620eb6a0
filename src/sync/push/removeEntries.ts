/** Removes entries from an update that this process has claimed, and inserts deletes of people whom such an update may have added. */
import type { Destination } from '../../destinations/destination.ts'
import { pack } from '../../destinations/pack.ts'
import { noteBatch } from '../../db/audit.ts'
import type { ClaimedBatch } from '../../db/batches/claim.ts'
import { insertFollowing, lockEndOfPlan } from '../../db/batches/insert.ts'
import { releaseBatch } from '../../db/batches/release.ts'
import { remainingOrds, splitBatch } from '../../db/batches/split.ts'
import type { Queryable } from '../../db/database.ts'
import { expandEntries } from '../../db/entries/expand.ts'
import { insertDelete, supersedeEntries } from '../../db/entries/outcomes.ts'

/** Worker and run of a batch, and the time in which its late request may still arrive. */
export interface BatchHandler {
  readonly workerId: string
  readonly runId: number
  readonly horizonMs: number
}

/** Supersedes a claimed batch and moves its entries, except `removed`, to a new batch. Without other entries there is none. */
export async function removeEntries(
  tx: Queryable,
  destination: Destination,
  batch: ClaimedBatch,
  removed: readonly { readonly ord: number; readonly users: number }[],
  by: BatchHandler,
): Promise<void> {
  const ords = new Set(removed.map(({ ord }) => ord))
  const kept = (await remainingOrds(tx, batch.id)).filter((ord) => !ords.has(ord))
  if (kept.length > 0) {
    const status = batch.maybeApplied ? 'ambiguous' : 'pending'
    await splitBatch(tx, destination, batch, [{ ords: kept, status, attempts: batch.attempts, miscounts: 0, reason: null, waitMs: 0 }])
  }
  await expandEntries(tx, [batch.id])
  await supersedeEntries(tx, batch.id, 'suppressed')
  await releaseBatch(tx, batch, { to: 'superseded', reason: 'suppressed' }, by.horizonMs)
  await noteBatch(tx, {
    actor: by.workerId,
    what: 'batch.superseded',
    runId: by.runId,
    planId: batch.planId,
    batchId: batch.id,
    detail: { reason: 'suppressed', users: removed.reduce((sum, { users }) => sum + users, 0) },
  })
}

/**
 * Inserts a batch that deletes users whom the service may have, after `how.waitMs`. Returns its id. `beside`: the batch that contained the
 * users; the delete belongs to its plan, but the counts of the plan exclude it. The batch has one entry, so it is never split.
 */
export async function insertDeleteBatch(
  tx: Queryable,
  destination: Destination,
  beside: Pick<ClaimedBatch, 'id' | 'planId' | 'destinationId'>,
  entry: { readonly bytes: Buffer; readonly keys: readonly Buffer[]; readonly users: number },
  how: { readonly phase: number; readonly waitMs: number },
): Promise<number> {
  const { body, sha256, offsets, lengths } = pack([entry], destination.frame('delete'))
  const { planId, destinationId } = beside
  await lockEndOfPlan(tx, planId)
  const id = await insertFollowing(tx, {
    ...how,
    planId,
    destinationId,
    parentId: beside.id,
    operation: 'delete',
    status: 'ambiguous',
    body,
    sha256,
    entryCount: 1,
    userCount: entry.users,
    expiresAt: null,
    attempts: 1,
    miscounts: 0,
    reason: 'suppressed',
  })
  await insertDelete(tx, { id, destinationId }, { ...entry, offset: offsets[0] ?? 0, length: lengths[0] ?? 0 })
  return id
}
