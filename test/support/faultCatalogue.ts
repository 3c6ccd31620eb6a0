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
    'killed after claim, `in_flight`, first byte, last byte or answer; killed before or after the result is committed',
    'the same end as an uninterrupted run; at most one more attempt of the request in flight',
  ),
  row(
    'W2',
    'stopped for less and for more than its lease, then resumed',
    'the process without the lease writes nothing; late bytes are those of the batch',
  ),
  row('W3', 'database lost between `in_flight` and the first byte', 'without a valid lease no request is sent'),
  row('W4', 'the process is blocked for longer than its lease', 'taken over at the end of the lease; nothing is sent without a lease'),
  row('W5', 'many workers on one request, or on one plan', 'one valid attempt each, none is left out'),
  row('W6', 'the same job twice', 'one reports that the other is active'),
  row('W7', 'connection refused, name unknown, TLS failure', 'not sent, tried again'),
  row('W8', 'reset before the first byte, during the upload, after it', 'tried again; ambiguous; ambiguous'),
  row('W9', 'an idle connection closed as it is used again', 'ambiguous; no lower layer sends it again'),
  row(
    'W10',
    '100, 102, 103 before the answer; redirects in place of one',
    'interim answers are ignored; a redirect is not followed, the same bytes are sent again',
  ),
  row('W11', 'a secret changed while a request waits', 'the next attempt is signed with the new one'),
  row('W12', 'SIGTERM while a request is in flight', 'the state is correct with and without its answer'),
  row('W13', 'out of memory', 'as W1'),
  row('Q1', 'applied, then dropped: no byte, after the head, in the body, before the last chunk', 'ambiguous, the same bytes, confirmed'),
  row('Q2', 'dropped without being applied', 'as Q1'),
  row('Q3', '500, 502, 503, 504, applied or not', 'as Q1'),
  row(
    'Q4',
    '429 with every form of a wait; 429 after it was applied',
    'waits at most the maximum; sends the same bytes before anything newer',
  ),
  row('Q5', '2xx with errors, HTML, nothing; 204', 'never a success'),
  row(
    'Q6',
    'cut, extra bytes, wrong type, byte order mark, gzip, too large, too deep, repeated keys, `__proto__`',
    'limits apply; ambiguous',
  ),
  row(
    'Q7',
    'results missing, extra, in another order, repeated, of another request, without id, of unknown status, success with errors',
    'matched by identity; an id that does not occur exactly once is ambiguous',
  ),
  row('Q8', 'counts of every wrong shape', 'confirmed only if both sums equal the number of users sent'),
  row('Q9', 'the answer of another request', 'does not match: ambiguous'),
  row('Q10', 'an answer that comes or drips past the deadline', 'abandoned, ambiguous'),
  row('Q11', 'warnings only', 'confirmed; the warning is stored'),
  row('Q12', 'success, and nothing stored', 'no answer shows it', 'not promised: only an audit shows it (`sluice audit`)'),
  row('Q13', 'another product_key than before', 'stored, with a line in the audit log'),
  row('C1', 'stale reads, missing variants, shifting pages, cursors that expire or repeat', 'absence from a listing proves nothing'),
  row('C2', 'another writer changes or deletes managed items', 'converges; only managed items are deleted'),
  row('C3', 'the key of a product to be deleted is not known', 'the product is put once more to get its key, then deleted'),
  row(
    'C4',
    'a delete answered by `failed_product_key` or 404',
    'refused; deleted only if an earlier attempt had no answer ([why](decisions/lost-delete-answers.md))',
  ),
  row('C5', 'catalog or audience missing, access revoked', 'the destination is paused, the records keep their state'),
  row('C6', 'killed during the search for a failing record', 'the search continues; no record is lost'),
  row('C7', 'every request fails', 'only single requests, as probes'),
  row('C8', 'a parked batch is sent again', 'the do-not-reach list is checked first; its bytes are sent before anything newer'),
  row('K1', 'three schedulers; one dies on the tick', 'one run per tick'),
  row('K2', 'hours that do not exist or exist twice, 29 and 30 February', 'as [schedules](schedules.md#daylight-saving-time) says'),
  row('K3', 'no scheduler for three days', 'one run covers all missed ticks'),
  row('K4', 'wall clocks that are wrong or jump', 'no lease, order or byte depends on them; a wrong clock of the service is reported'),
  row('K5', 'Postgres: connections cut, read-only, rows locked', 'retries or fails with a report; nothing changes'),
  row('K6', 'a notification that is lost', 'the poll finds the work'),
  row('K7', 'a pooler in transaction mode', 'rejected before anything is created (`DATABASE_POOLER`)'),
  row('K8', 'a migration that dies half-way; several at the same time', 'everything or nothing is applied; one runs, the others wait'),
  row(
    'K9',
    'the database restored from a dump an hour old',
    'nothing is sent until `sluice db adopt`; then `sluice run --full` sends everything again',
  ),
  row('K10', 'the service down for hours', 'unresolved requests first, then the last desired state, never one in between'),
]
