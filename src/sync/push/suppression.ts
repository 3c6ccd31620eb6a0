/** The last look before bytes leave: nobody on the do-not-reach list is sent as an Update (I16). */
import type { Destination } from '../../destinations/destination.ts'
import { pack } from '../../destinations/pack.ts'
import { renderUserOperation } from '../../destinations/userOperation.ts'
import { noteBatch } from '../../store/audit.ts'
import { markLate, releaseBatch, type ClaimedBatch } from '../../store/batches.ts'
import type { Queryable } from '../../store/database.ts'
import { isListed } from '../../store/listed.ts'
import { cutBatch, remainingOrds } from '../../store/recut.ts'

/** Who handles a batch, and in which run; for how long late bytes of it may land. */
export interface BatchHandler {
  readonly workerId: string
  readonly runId: number
  readonly horizonMs: number
}

/**
 * Entries that carry an identifier of somebody suppressed leave the batch; the rest moves to a new one. True: the batch was
 * cut and is no longer ours. Must run in the transaction that commits the attempt: the list's row stays locked until then, so
 * an erasure is either seen here or comes after our attempt was committed.
 *
 * Costs one row look-up unless the list changed since the snapshot that the plan was made from.
 */
export async function cutSuppressed(tx: Queryable, destination: Destination, batch: ClaimedBatch, by: BatchHandler): Promise<boolean> {
  if (destination.kind !== 'audience' || batch.operation !== 'upsert') return false
  const lists = await tx.query<{ id: number; changed: boolean }>(
    `select l.id, l.desired_version is distinct from s.suppression_version as changed
     from sluice.destination t
     join sluice.destination l on l.kind = 'do-not-reach' and l.service = t.service and l.account_id = t.account_id
     join sluice.plan p on p.id = $2 and coalesce(p.review ->> 'suppress', 'do-not-reach') <> 'none'
     left join sluice.snapshot s on s.id = p.snapshot_id
     where t.id = $1 order by l.id for share of l`,
    [batch.destinationId, batch.planId],
  )
  if (!lists.some((list) => list.changed)) return false
  // By its own keys, or by the record they stand under: a list may name the one form of a phone number, which stands under
  // another record, while this entry has the other form (docs/decisions/both-forms.md). Where its record does not hold a key
  // any more, whoever does is looked for: few keys, and one pass over the records of the audience.
  const listed = (keys: string) =>
    `select from unnest(${keys}) as k (key) join sluice.remote r on r.destination_id = any($2::int[]) and r.key = k.key and ${isListed('$2::int[]')}`
  const suppressed = await tx.query<{ ord: number; keys: Buffer[] }>(
    `with entry as materialized (
       select e.ord, e.keys, coalesce(o.identifiers, '{}') as identifiers
       from sluice.entry e left join sluice.record o on o.destination_id = $3 and o.key = e.record_key where e.batch_id = $1),
     moved as materialized (
       select e.ord, k.key from entry e cross join lateral unnest(e.keys) as k (key) where not k.key = any(e.identifiers)),
     holder as materialized (
       select h.identifiers from sluice.record h
       where exists (select from moved) and h.destination_id = $3 and h.identifiers && (select array_agg(key) from moved))
     select e.ord, e.keys from entry e
     where exists (${listed('e.keys')}) or exists (${listed('e.identifiers')})
       or exists (select from moved m join holder h on m.key = any(h.identifiers) where m.ord = e.ord and exists (${listed('h.identifiers')}))
     order by e.ord`,
    [batch.id, lists.map((list) => list.id), batch.destinationId],
  )
  if (suppressed.length === 0) return false

  const out = new Set(suppressed.map((entry) => entry.ord))
  const rest = (await remainingOrds(tx, batch.id)).filter((ord) => !out.has(ord))
  if (rest.length > 0) {
    const status = batch.maybeApplied ? 'ambiguous' : 'pending'
    await cutBatch(tx, destination, batch, [{ ords: rest, status, attempts: batch.attempts, wrongAlike: 0, reason: null, waitMs: 0 }])
  }
  await tx.execute(`update sluice.entry set outcome = 'superseded', code = 'suppressed' where batch_id = $1`, [batch.id])
  if (batch.maybeApplied)
    await planErasure(
      tx,
      destination,
      batch,
      suppressed.flatMap((entry) => entry.keys),
      by.horizonMs,
    )
  await releaseBatch(tx, batch, { to: 'superseded', reason: 'suppressed' }, by.horizonMs)
  await noteBatch(tx, {
    actor: by.workerId,
    what: 'batch.superseded',
    runId: by.runId,
    planId: batch.planId,
    batchId: batch.id,
    detail: { reason: 'suppressed', users: suppressed.length },
  })
  return true
}

/**
 * An earlier sending may have been applied: the identifiers are deleted as soon as nothing of it can land any more, and once
 * more after a second horizon, because a stopped process may have sent it later than it should (I16).
 */
async function planErasure(
  tx: Queryable,
  destination: Destination,
  batch: ClaimedBatch,
  keys: readonly Buffer[],
  horizonMs: number,
): Promise<void> {
  const body = pack([{ bytes: renderUserOperation({ op: 'delete', users: [keys] }) }], destination.frame('delete'))
  await tx.query('select from sluice.plan where id = $1 for update', [batch.planId])
  for (const horizons of [1, 2]) {
    const [row] = await tx.query<{ id: string }>(
      `insert into sluice.batch (plan_id, destination_id, seq, phase, operation, status, body, body_sha256, entry_count, user_count, parent_id, attempts, next_attempt_at, reason)
     select $1, $2, (select max(seq) + 1 from sluice.batch where plan_id = $1), 1, 'delete', 'ambiguous', $3, $4, 1, 1, $5, 1,
       clock_timestamp() + $6 * interval '1 millisecond', 'suppressed' returning id`,
      [batch.planId, batch.destinationId, body.body, body.sha256, batch.id, horizons * horizonMs],
    )
    await tx.execute(
      `insert into sluice.entry (batch_id, ord, destination_id, record_key, keys, change, users, byte_offset, byte_length) values ($1, 0, $2, $3, $4, 'delete', 1, $5, $6)`,
      [row?.id, batch.destinationId, keys[0], keys, body.offsets[0], body.lengths[0]],
    )
    await markLate(tx, [Number(row?.id)], horizons * horizonMs)
  }
}
