/** Names the states of a batch (docs/states.md), and the reasons of batches that wait for other batches. */

/** SQL of the statuses of batches that have not ended. */
export const openStatuses = `('pending', 'in_flight', 'ambiguous', 'parked')`

/** SQL condition: entry `e` of batch `b` is unresolved, which means ambiguous, or attempted without a final answer. */
export const isUnresolved = `e.outcome in ('pending', 'ambiguous')
  and (b.status in ('in_flight', 'ambiguous', 'parked') or (b.status = 'pending' and b.attempts > 0))`

/** Phase of the deletes of erasures. Neither the run of their plan nor updates wait for these deletes. */
export const erasurePhase = 0

/** Reason of a right half that waits for its left half. If the left half succeeds, the failing record is in the right half. */
export const afterSibling = 'after_sibling'
/** Reason of a batch with the entries that an answer did not point at. The batch waits until the pointed entries were sent alone. */
export const afterPointed = 'after_pointed'
/** Reason of a batch that waits until a failing record is isolated. */
export const afterIsolation = 'after_isolation'
/** SQL of these three reasons. */
export const waitingReasons = `('${afterSibling}', '${afterPointed}', '${afterIsolation}')`

/** Reason of a right half that was split without being sent, because its left half was confirmed. */
export const otherHalfConfirmed = 'other_half_confirmed'
