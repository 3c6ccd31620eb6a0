/** Names the states of a batch (docs/states.md), and the reasons of batches that wait for other batches. */

/** SQL of the statuses of batches that have not ended. */
export const openStatuses = `('pending', 'in_flight', 'ambiguous', 'parked')`

/** SQL condition: entry `e` of batch `b` is unresolved. It has no final outcome, and its batch is in flight or may have been sent. */
export const isUnresolved = `e.outcome in ('pending', 'ambiguous')
  and (b.status in ('in_flight', 'ambiguous', 'parked') or (b.status = 'pending' and b.attempts > 0))`

/** Phase of the deletes of erasures. The push of their plan leaves them out, and updates do not wait for them. */
export const erasurePhase = 0

/**
 * Reason of the right half of a split batch, which waits for the left half. If the left half succeeds, the right half has the failing
 * record.
 */
export const afterSibling = 'after_sibling'
/** Reason of a batch with the entries that an answer did not name as failing. The batch waits until the named entries were sent alone. */
export const afterPointed = 'after_pointed'
/** Reason of a batch that waits until a failing record is isolated. */
export const afterIsolation = 'after_isolation'
/** SQL of these three reasons. */
export const waitingReasons = `('${afterSibling}', '${afterPointed}', '${afterIsolation}')`

/** Reason of a right half that was split without being sent, because its left half was confirmed. */
export const otherHalfConfirmed = 'other_half_confirmed'
