/**
 * Settles a batch of a first load as a whole, without its keys: the answer confirms all users, and all keys are implied
 * (docs/decisions/implied-keys.md).
 */
import type { Destination, RequestOutcome } from '../../destinations/destination.ts'
import type { AttemptResult } from '../../db/attempts.ts'
import type { ClaimedBatch } from '../../db/batches/claim.ts'
import { settleLoad } from '../../db/batches/settleLoad.ts'
import { isRetryable, type Database } from '../../db/database.ts'
import type { BatchHandler } from './supersede.ts'

/** Attempt that ended. */
export interface SentAttempt {
  readonly id: number
  /** Exchange as stored with the attempt. */
  readonly sent: Omit<AttemptResult, 'outcome' | 'reason'>
}

export type EntriesOutcome = Extract<RequestOutcome, { kind: 'entries' }>

/**
 * Returns true if the counts of the answer confirm all users of the request, without a warning to store. Always false for a destination
 * whose answers have a result for each entry.
 */
export function confirmsAll(destination: Destination, outcome: RequestOutcome): outcome is EntriesOutcome {
  return (
    outcome.kind === 'entries' &&
    destination.evidence === 'counts' &&
    outcome.entries.every((entry) => entry.outcome === 'confirmed' && entry.warnings === undefined)
  )
}

/**
 * Settles the batch. Returns false if nothing was written: some keys are stored, the batch was recovered or claimed by another process, or
 * the statement met a deadlock or a serialization failure. Then the caller locks the batch, and records the answer key by key if the batch
 * is still its own. `confirmed`: number of entries.
 */
export async function trySettleLoad(
  db: Database,
  batch: ClaimedBatch,
  { id, sent }: SentAttempt,
  confirmed: number,
  { horizonMs, workerId, runId }: BatchHandler,
): Promise<boolean> {
  const counts = { confirmed, refused: 0 }
  const result = { ...sent, outcome: 'confirmed', reason: null, answer: { ...sent.answer, ...counts, ambiguous: 0 } } as const
  const line = { actor: workerId, runId, detail: { outcome: 'entries', ...counts, epoch: batch.epoch } }
  return settleLoad(db, batch, { id, result, horizonMs }, line).catch((error: unknown) => {
    if (isRetryable(error)) return false
    throw error
  })
}
