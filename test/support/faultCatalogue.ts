/**
 * The fault catalogue from the first sent byte on: groups W (sending), Q (answers), C (reconciling) and K (scheduler, database, clock).
 * A test names its rows at the beginning of its title (`Q4: …`, `C2 and C3: …`); docs/faults.md shows them.
 */
export interface CataloguedFault {
  readonly id: string
  readonly fault: string
  readonly expected: string
  /** Reason why no test names it, or that it is not promised. */
  readonly open?: string
}

const row = (id: string, fault: string, expected: string, open?: string): CataloguedFault => ({
  id,
  fault,
  expected,
  ...(open === undefined ? {} : { open }),
})

export const faultCatalogue: readonly CataloguedFault[] = [
  row(
    'W1',
    'killed after claim, `in_flight`, first byte, last byte, answer, before and after the result is committed',
    'the end of an undisturbed run; at most one more sending of what was under way',
  ),
  row('W2', 'stopped, for less and for more than its lease, and woken again', 'the loser writes nothing; late bytes are the same'),
  row('W3', 'database lost between `in_flight` and the first byte', 'no live lease, no sending'),
  row(
    'W4',
    'the loop that sends is blocked past its lease',
    'taken over at the end of the lease; nothing is sent under a lease that is over',
  ),
  row('W5', 'many workers on one request, or on one plan', 'one valid sending each, none goes without'),
  row('W6', 'the same job twice', 'one reports that the other is active'),
  row('W7', 'connection refused, name unknown, TLS failure', 'not sent, tried again'),
  row('W8', 'reset before the first byte, during the upload, after it', 'tried again; ambiguous; ambiguous'),
  row('W9', 'an idle connection closed as it is used again', 'ambiguous; nothing below us sends it again'),
  row(
    'W10',
    '100, 102, 103 before the answer; redirects instead of one',
    'interim answers are passed over; a redirect is not followed, the same bytes go again',
  ),
  row('W11', 'a secret changed while a request waits', 'the next attempt is signed with the new one'),
  row('W12', 'SIGTERM while a request is under way', 'the state is right either way'),
  row('W13', 'out of memory', 'as a kill'),
  row('Q1', 'applied, then dropped: no byte, after the head, in the body, before the last chunk', 'ambiguous, the same bytes, confirmed'),
  row('Q2', 'dropped without being applied', 'the same end'),
  row('Q3', '500, 502, 503, 504, applied or not', 'the same end'),
  row(
    'Q4',
    '429 with every kind of hint; 429 after it was applied',
    'waits no longer than the cap; the same bytes, nothing newer before them',
  ),
  row('Q5', '2xx with errors, HTML, nothing; 204', 'never a success'),
  row(
    'Q6',
    'cut, extra bytes, wrong type, byte order mark, gzip, too large, too deep, doubled keys, `__proto__`',
    'limits hold; ambiguous',
  ),
  row(
    'Q7',
    'results missing, too many, shuffled, doubled, of others, without id, of unknown status, success with errors',
    'matched by identity; what is not named once is ambiguous',
  ),
  row('Q8', 'counts of every wrong shape', 'confirmed only where both sums are the users sent'),
  row('Q9', 'the answer of another request', 'does not match: ambiguous'),
  row('Q10', 'an answer that comes or drips past the deadline', 'given up, ambiguous'),
  row('Q11', 'warnings only', 'confirmed, and the warning kept'),
  row('Q12', 'success, and nothing stored', 'not seen by any answer', 'not promised: only reading back shows it (`sluice audit`)'),
  row('Q13', 'another product_key than before', 'kept, with a line of it'),
  row('C1', 'stale reads, missing variants, shifting pages, cursors that expire or repeat', 'nothing follows from absence'),
  row('C2', 'another writer changes or deletes managed items', 'converges; only managed items are deleted'),
  row('C3', 'the key of a product to be deleted is not known', 'put once more to get it, then deleted'),
  row('C4', 'a delete answered by `failed_product_key`, "gone already" or 404', 'deleted only where the answer names the key'),
  row('C5', 'catalog or audience gone, access revoked', 'the destination pauses, the records keep their state'),
  row('C6', 'killed during the search for a failing record', 'continues; no record lost'),
  row('C7', 'every request fails', 'probes, not a storm'),
  row('C8', 'what was parked is tried again', 'the do-not-reach list first; its bytes before anything newer, never after'),
  row('K1', 'three schedulers; one dies on the tick', 'one run per tick'),
  row('K2', 'hours that do not exist or exist twice, 29 and 30 February', 'the stated policy'),
  row('K3', 'no scheduler for three days', 'one run makes up for it'),
  row('K4', 'wall clocks that are wrong or jump', 'no lease, order or byte depends on them; a wrong clock of the service is reported'),
  row('K5', 'Postgres: connections cut, read-only, rows locked', 'backs off or says so; nothing changes'),
  row('K6', 'a wake-up that never comes', 'the look around finds the work'),
  row(
    'K7',
    'a pooler in transaction mode',
    'leases are rows, which it cannot break',
    'not tried: migrations need a direct connection, and nothing checks for one',
  ),
  row('K8', 'a migration dies half-way; several migrate together', 'all or nothing; one works, the others wait'),
  row(
    'K9',
    'the database restored from a backup an hour old',
    'nothing is sent until `sluice db adopt`; then `sluice run --full` sends everything again',
  ),
  row('K10', 'the service down for hours', 'what was unresolved first, then the last state; what was wanted in between never'),
]
