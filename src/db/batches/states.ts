/** States of a batch (docs/states.md), and the reasons of those that wait for another batch. */

/** SQL of the statuses in which something of a batch is unresolved. */
export const openStatuses = `('pending', 'in_flight', 'ambiguous', 'parked')`

/** Phase of the deletes of erasures, outside of their plan: no run waits until they are due, and no update waits for them. */
export const erasurePhase = 0

/** Reason of a right half that waits for its left sibling: if that one is clean, the failing record is in this half. */
export const afterSibling = 'after_sibling'
/** Reason of the entries that an answer did not point at: they wait until the pointer is confirmed or refuted. */
export const afterPointed = 'after_pointed'
/** Reason of entries that wait while a failing record is isolated elsewhere: they are sent as one request afterwards. */
export const afterIsolation = 'after_isolation'
/** SQL of these reasons. */
export const waitingReasons = `('${afterSibling}', '${afterPointed}', '${afterIsolation}')`
