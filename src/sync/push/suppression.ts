/** Checks, before a request is sent, that no update has a suppressed identifier (docs/guarantees.md#suppression-wins). */
import type { Destination } from '../../destinations/destination.ts'
import { pack } from '../../destinations/pack.ts'
import { renderUserOperation } from '../../destinations/userOperation.ts'
import { noteBatch } from '../../db/audit.ts'
import type { ClaimedBatch } from '../../db/batches/claim.ts'
import { insertFollowing, lockEndOfPlan } from '../../db/batches/insert.ts'
import { releaseBatch } from '../../db/batches/release.ts'
import { doubtKeys, markLate } from '../../db/remote/confirmKeys.ts'
import type { Outer, Row } from '../../db/row.ts'
import { remainingOrds, splitBatch } from '../../db/batches/split.ts'
import { erasurePhase } from '../../db/batches/states.ts'
import type { Queryable } from '../../db/database.ts'
import { expandEntries } from '../../db/entries/expand.ts'
import { insertDelete, supersedeEntries } from '../../db/entries/outcomes.ts'
import { entriesOf } from '../../db/entries/read.ts'
import { awaitErasures, erasedIdentifiers, erasedRecords } from '../../db/erasures.ts'
import { isSuppressed } from '../../db/suppressed.ts'
import { kindsWhere } from '../../destinations/index.ts'

/** Worker and run of a batch, and the time in which its late request may still arrive. */
export interface BatchHandler {
  readonly workerId: string
  readonly runId: number
  readonly horizonMs: number
}

/**
 * Supersedes the batch if it has entries with a suppressed identifier, and returns true. The other entries move to a new batch. If the batch
 * may have been applied, deletes of the suppressed entries' identifiers are inserted. Must run in the transaction that commits the attempt:
 * it locks the lists and the erasures until the commit, so an erasure is either found here or made after the attempt was committed.
 *
 * Runs only three short statements if the lists are unchanged and no person was erased after the plan was made.
 */
export async function splitOffSuppressed(tx: Queryable, destination: Destination, batch: ClaimedBatch, by: BatchHandler): Promise<boolean> {
  if (!destination.reachesPeople || batch.operation !== 'upsert') return false
  const lists = await tx.query<Row<'destination', 'id' | 'desired_version'> & Outer<Row<'snapshot', 'suppression_version'>>>(
    `select l.id, l.desired_version, s.suppression_version
     from destination t
     join destination l on l.kind = any($3) and l.service = t.service and l.account_id = t.account_id
     join plan p on p.id = $2 and p.review ->> 'suppress' is distinct from 'none'
     left join snapshot s on s.id = p.snapshot_id
     where t.id = $1 order by l.id for share of l`,
    [batch.destinationId, batch.planId, kindsWhere(({ suppresses }) => suppresses)],
  )
  await awaitErasures(tx)
  const [erased] = await tx.query<Row<'destination', 'service'>>(
    `select t.service from destination t join plan p on p.id = $2
     where t.id = $1 and exists (select from erasure x where x.service = t.service and x.id > coalesce((p.review ->> 'erasures')::bigint, 0))`,
    [batch.destinationId, batch.planId],
  )
  // The snapshot has the sum of the versions of all lists.
  const version = lists.reduce((sum, list) => sum + Number(list.desired_version), 0)
  const changed = lists.some((list) => list.suppression_version === null || Number(list.suppression_version) !== version)
  if (erased === undefined && !changed) return false
  // An entry is suppressed by its keys, or by another identifier of its record. For example, the list has one form of a phone
  // number, which is sent under another record, and this entry has the other form (docs/decisions/both-forms.md). If the record of the
  // entry does not have a key, all records of the audience are searched for that key. Few entries have such keys, except operations of
  // several users, which have only the first user's record. Therefore the search uses joins and not arrays.
  const suppressed = await tx.query<Row<'entry', 'ord' | 'keys'>>(
    `with carried as materialized (
       select e.ord, e.keys, e.record_key, coalesce(o.identifiers, '{}') as identifiers
       from ${entriesOf('$1::bigint')} e left join record o on o.destination_id = $3 and o.key = e.record_key),
     moved as materialized (
       select e.ord, k.key from carried e cross join lateral unnest(e.keys) as k (key) where not k.key = any(e.identifiers)),
     beside as materialized (
       select m.ord, h.key, h.identifiers
       from record h cross join lateral unnest(h.identifiers) as i (key) join moved m on m.key = i.key
       where exists (select from moved) and h.destination_id = $3),
     named as materialized (
       select e.ord, k.key from carried e cross join lateral unnest(e.keys || e.identifiers) as k (key)
       union select b.ord, k.key from beside b cross join lateral unnest(b.identifiers) as k (key))
     select e.ord, e.keys from carried e
     where e.ord in (
         select n.ord from named n join remote r on r.destination_id = any($2::int[]) and r.key = n.key and ${isSuppressed('$2::int[]')}
         union all select n.ord from named n where n.key in (${erasedIdentifiers('$4')})
         union all select b.ord from beside b where b.key in (${erasedRecords('$4', '$3')}))
       or e.record_key in (${erasedRecords('$4', '$3')})
     order by e.ord`,
    [batch.id, lists.map((list) => list.id), batch.destinationId, erased?.service ?? null],
  )
  if (suppressed.length === 0) return false
  await removeEntries(
    tx,
    destination,
    batch,
    suppressed.map((entry) => entry.ord),
    by,
  )
  if (batch.maybeApplied)
    await insertDeleteBatches(
      tx,
      destination,
      batch,
      suppressed.flatMap((entry) => entry.keys),
      { phase: 1, waitsMs: [by.horizonMs, 2 * by.horizonMs] },
    )
  return true
}

/**
 * Removes the entries at `ords` from the batch, because their people opted out after the plan was made; the other entries move to a new
 * batch. If the batch may have been applied, the identifiers count as synced with unknown content, so that a plan deletes them, within the
 * limits of the guards.
 */
export async function splitOffOptedOut(
  tx: Queryable,
  destination: Destination,
  batch: ClaimedBatch,
  ords: readonly number[],
  by: BatchHandler,
): Promise<void> {
  const entries = await tx.query<Row<'entry', 'keys'>>(`select e.keys from ${entriesOf('$1::bigint')} e where e.ord = any($2::int[])`, [
    batch.id,
    ords,
  ])
  await removeEntries(tx, destination, batch, ords, by)
  if (!batch.maybeApplied) return
  await doubtKeys(
    tx,
    batch.destinationId,
    entries.flatMap(({ keys }) => keys),
    by.runId,
  )
}

/** Supersedes a claimed batch and moves its entries, except the entries at `ords`, to a new batch. Without other entries there is none. */
export async function removeEntries(
  tx: Queryable,
  destination: Destination,
  batch: ClaimedBatch,
  ords: readonly number[],
  by: BatchHandler,
): Promise<void> {
  const removed = new Set(ords)
  const kept = (await remainingOrds(tx, batch.id)).filter((ord) => !removed.has(ord))
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
    detail: { reason: 'suppressed', users: removed.size },
  })
}

/**
 * Inserts deletes of identifiers that the service may have: one for each of `how.waitsMs`, in most cases after one and two horizons,
 * because a stopped process may have sent the update late. Returns the ids of their batches. `beside`: the batch that contained the
 * identifiers; the deletes belong to its plan, but the counts of the plan exclude them.
 */
export async function insertDeleteBatches(
  tx: Queryable,
  destination: Destination,
  beside: Pick<ClaimedBatch, 'id' | 'planId' | 'destinationId'>,
  keys: readonly Buffer[],
  how: { readonly phase: number; readonly waitsMs: readonly number[] },
): Promise<readonly number[]> {
  const body = pack([{ bytes: renderUserOperation({ op: 'delete', users: [keys] }) }], destination.frame('delete'))
  await lockEndOfPlan(tx, beside.planId)
  const ids: number[] = []
  for (const waitMs of how.waitsMs) {
    const id = await insertFollowing(tx, {
      planId: beside.planId,
      destinationId: beside.destinationId,
      parentId: beside.id,
      phase: how.phase,
      operation: 'delete',
      status: 'ambiguous',
      body: body.body,
      sha256: body.sha256,
      entryCount: 1,
      userCount: 1,
      expiresAt: null,
      attempts: 1,
      miscounts: 0,
      reason: 'suppressed',
      waitMs,
    })
    const slice = { offset: body.offsets[0] ?? 0, length: body.lengths[0] ?? 0 }
    await insertDelete(tx, { id, destinationId: beside.destinationId }, keys, slice)
    if (how.phase !== erasurePhase) await markLate(tx, [id], waitMs)
    ids.push(id)
  }
  return ids
}
