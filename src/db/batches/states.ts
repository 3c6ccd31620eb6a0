/** Names the states of a batch (docs/states.md), and the reasons of batches that wait for another one. */

/** SQL of the statuses of batches with unresolved entries. */
export const openStatuses = `('pending', 'in_flight', 'ambiguous', 'parked')`

/** Phase of the deletes of erasures. They are not a part of their plan: neither runs nor updates wait for them. */
export const erasurePhase = 0

/** Reason of a right half that waits for its left half. If the left one succeeds, the failing record is in this half. */
export const afterSibling = 'after_sibling'
/** Reason of entries that an answer did not point at. They wait until the record that it pointed at was sent alone. */
export const afterPointed = 'after_pointed'
/** Reason of entries that wait until a failing record is isolated. Then they are sent as one request. */
export const afterIsolation = 'after_isolation'
/** SQL of these reasons. */
export const waitingReasons = `('${afterSibling}', '${afterPointed}', '${afterIsolation}')`
