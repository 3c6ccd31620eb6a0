/**
 * Supersedes claimed batches (they are not sent any more), and moves the entries that stay to new ones. Inserts deletes of people whom a
 * batch may have added.
 */
import type { Destination } from '../../destinations/destination.ts'
import { pack } from '../../destinations/requestBodies.ts'
import { logBatch } from '../../db/auditLog.ts'
import type { ClaimedBatch } from '../../db/batches/claim.ts'
import { insertFollowing, lockEndOfPlan } from '../../db/batches/insert.ts'
import { releaseBatch } from '../../db/batches/release.ts'
import { remainingOrds, splitBatch, type Part } from '../../db/batches/split.ts'
import type { Queryable } from '../../db/database.ts'
import { expandEntries } from '../../db/entries/expand.ts'
import { insertDelete, supersedeEntries } from '../../db/entries/outcomes.ts'
import { raiseVersionOfShrunkList } from '../../db/suppressed.ts'

/** Worker and run that send a batch, and the horizon of its requests. */
export interface BatchSender {
  readonly workerId: string
  /** Run with which the attempts are stored. */
  readonly runId: number
  /** Time in which a late request may still arrive. */
  readonly horizonMs: number
}

/** Claimed batch, and the transaction that changes its state. */
export interface BatchChange {
  readonly tx: Queryable
  readonly destination: Destination
  readonly batch: ClaimedBatch
  readonly sender: BatchSender
}

/** Supersedes a claimed batch. Moves the entries that are not in `removed`, if there are any, to a new batch with their bytes. */
export async function removeEntries(
  change: BatchChange,
  removed: readonly { readonly ord: number; readonly users: number }[],
): Promise<void> {
  const { tx, batch } = change
  const removedOrds = new Set(removed.map(({ ord }) => ord))
  const ords = (await remainingOrds(tx, batch.id)).filter((ord) => !removedOrds.has(ord))
  const users = removed.reduce((sum, entry) => sum + entry.users, 0)
  const kept = { ords, attempts: batch.attempts, miscounts: 0, reason: null }
  // The stored reason is `suppressed` for people who opted out, too.
  await supersedeBatch(change, kept, { reason: 'suppressed', users })
}

/**
 * Supersedes a batch in which the frozen end of a membership has passed; the next plan has new times (docs/guarantees.md#freshness). If the
 * batch may have been applied, its unexpired entries must still be resolved. They move to a new batch with their bytes. If a
 * do-not-reach list no longer desires people of the batch, they may not be suppressed any more. Then the next runs of the account's
 * audiences read their sources again.
 */
export async function supersedeExpired(change: BatchChange): Promise<void> {
  const { tx, destination, batch } = change
  const ords = batch.maybeApplied ? await remainingOrds(tx, batch.id, 'e.expires_at is null or e.expires_at > statement_timestamp()') : []
  const { attempts, miscounts, reason } = batch
  await supersedeBatch(change, { ords, attempts, miscounts, reason }, { reason: 'expired' })
  if (destination.suppresses) await raiseVersionOfShrunkList(tx, batch)
}

/**
 * Supersedes a claimed batch. Moves its entries `kept` to a new batch, unless there are none. `cause`: details for the audit log; its
 * reason is also stored with the batch and its entries.
 */
async function supersedeBatch(
  { tx, destination, batch, sender }: BatchChange,
  kept: Omit<Part, 'maybeApplied' | 'parked' | 'waitMs'>,
  cause: { readonly reason: 'expired' | 'suppressed'; readonly users?: number },
): Promise<void> {
  await expandEntries(tx, [batch.id])
  if (kept.ords.length > 0)
    await splitBatch(tx, destination, batch, [{ ...kept, maybeApplied: batch.maybeApplied, parked: false, waitMs: 0 }])
  await supersedeEntries(tx, batch.id, cause.reason)
  await releaseBatch(tx, batch, { to: 'superseded', reason: cause.reason, horizonMs: sender.horizonMs })
  await logBatch(tx, batch, sender, 'batch.superseded', cause)
}

/**
 * Inserts a batch of one entry that deletes users whom the service may have, and returns its id. The batch is not sent before `waitMs` have
 * passed. `parent`: batch to whose plan the delete is added; normally the update with the users. The counts of the plan leave the delete
 * out.
 */
export async function insertDeleteBatch(
  tx: Queryable,
  destination: Destination,
  parent: Pick<ClaimedBatch, 'id' | 'planId' | 'destinationId'>,
  entry: { readonly bytes: Buffer; readonly keys: readonly Buffer[]; readonly users: number },
  { phase, waitMs }: { readonly phase: number; readonly waitMs: number },
): Promise<number> {
  const { body, sha256, offsets, lengths } = pack([entry], destination.frame('delete'))
  const { planId, destinationId } = parent
  await lockEndOfPlan(tx, planId)
  const id = await insertFollowing(tx, {
    phase,
    waitMs,
    planId,
    destinationId,
    parentId: parent.id,
    operation: 'delete',
    // Not sent yet, but ambiguous with one attempt, so that the next run sends it before it plans (`inScope` in `db/batches/claim.ts`).
    maybeApplied: true,
    parked: false,
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
