/** Deletes entries, or their personal data (docs/retention.md, docs/erasure.md). */
import { hasExpiredBody } from '../batches/bodies.ts'
import { openStatuses } from '../batches/states.ts'
import type { Database, Queryable } from '../database.ts'
import { isOfLoad } from '../impliedKeys.ts'
import { dropOutdatedKeys, eraseImpliedKeys } from '../impliedKeyIndex.ts'
import type { DbRow, Value } from '../row.ts'
import { lastDeletingPlans, outstandingRefreshes } from '../plans.ts'
import { entryOutcome, keysOfRow, usersOf } from './read.ts'
import { destinationTypes } from '../../destinations/index.ts'

/** Deletes all entries of these batches. */
export async function deleteEntries(tx: Queryable, batches: readonly string[]): Promise<void> {
  await tx.execute('delete from entry where batch_id = any($1::bigint[])', [batches])
  await tx.execute('delete from batch_entries where batch_id = any($1::bigint[])', [batches])
}

export async function deleteEntriesOf(tx: Queryable, destinationId: number): Promise<void> {
  await tx.execute('delete from entry where destination_id = $1', [destinationId])
  await tx.execute('delete from batch_entries where destination_id = $1', [destinationId])
}

/** Removes the templates of batches that ended more than a week ago. Returns their number. */
export async function dropOldTemplates(db: Queryable): Promise<number> {
  return db.execute(
    `update batch_entries e set template = null from batch b where b.id = e.batch_id and e.template is not null and ${hasExpiredBody}`,
  )
}

/**
 * Deletes the operations of ended plans some time after all batches of the plan have ended (`keepsEntries`). For people that is 30 days,
 * because the operations contain digests. For products it is 12 months.
 *
 * Three sorts of plans keep all their operations:
 * - a plan that is being applied or has an open batch, because its counts come from its batches;
 * - a full refresh that is not fully confirmed, until a later plan takes over its open keys (docs/decisions/plans-from-state.md);
 * - the last plan with deletes, until these are confirmed or a later plan has deletes.
 *
 * Returns the number of deleted operations.
 */
export async function dropOldEntries(db: Database): Promise<number> {
  const keepFor = `case d.kind ${destinationTypes()
    .map(({ kind, keepsEntries }) => `when '${kind}' then interval '${keepsEntries}'`)
    .join(' ')} end`
  const unfinished = `select distinct b.plan_id from batch b cross join ${usersOf('b')} e
     where ${entryOutcome} <> 'confirmed' and case b.operation when 'upsert' then b.plan_id in (${outstandingRefreshes})
       else b.plan_id in (select l.id from (${lastDeletingPlans}) l) end`
  const expiredBatches = `select b.id from batch b join destination d on d.id = b.destination_id
     where b.status in ('settled', 'split', 'superseded')
       and b.settled_at < statement_timestamp() - ${keepFor}
       and not exists (select from batch o where o.plan_id = b.plan_id
         and (o.status in ${openStatuses} or o.settled_at >= statement_timestamp() - ${keepFor}))
       and not exists (select from plan p where p.id = b.plan_id and p.status = 'applying')
       and not exists (select from (${unfinished}) f where f.plan_id = b.plan_id)`
  // Deleted keys are returned only for destinations with an index of implied keys. Others, such as catalogs, may have more of them than one
  // value of the driver can hold (7 million).
  const hasIndex = (row: string) => `exists (select from implied_key ik where ik.destination_id = ${row}.destination_id)`
  return db.transaction(async (tx) => {
    // Prevents planning meanwhile: one query of a plan finds the batches of a record, and a later query reads their entries.
    await tx.query(
      `select from destination where id in (select o.destination_id from batch o where o.id in (${expiredBatches})) order by id for update`,
    )
    const compactRows = await tx.query<
      DbRow<'batch_entries', 'destination_id'> & { n: number; of_load: boolean; deleted: Value<'batch_entries', 'keys'> | null }
    >(
      `delete from batch_entries ea using batch b where b.id = ea.batch_id and ea.batch_id in (${expiredBatches})
       returning ea.destination_id, cardinality(ea.record_keys) as n, ${isOfLoad('b')} as of_load,
         case when b.operation = 'delete' and ${hasIndex('ea')} then (select array_agg(k.key) from (${keysOfRow('ea')}) k) end as deleted`,
    )
    const rows = await tx.query<DbRow<'entry', 'destination_id'> & { n: number; deleted: Value<'entry', 'keys'> | null }>(
      `with dropped as (delete from entry where batch_id in (${expiredBatches}) returning destination_id, change, keys)
       select g.destination_id, count(*)::int as n, case when ${hasIndex('g')} then (
         select array_agg(k.key) from dropped d cross join lateral unnest(d.keys) as k (key)
         where d.destination_id = g.destination_id and d.change = 'delete') end as deleted
       from dropped g group by g.destination_id`,
    )
    // The index of implied keys (docs/decisions/implied-keys.md) contains digests of people too. Therefore this transaction removes the
    // deleted identifiers from the index. If an operation of a first load was deleted, it also removes all outdated entries of the
    // destination.
    for (const { destination_id, deleted } of [...compactRows, ...rows]) await eraseImpliedKeys(tx, destination_id, deleted ?? [])
    const loads = new Set(compactRows.flatMap((row) => (row.of_load ? [row.destination_id] : [])))
    for (const destinationId of loads) await dropOutdatedKeys(tx, destinationId)
    return [...compactRows, ...rows].reduce((sum, { n }) => sum + n, 0)
  })
}

/**
 * Removes keys, record key and hash from these entries of `batches`: the erased person's entries, and all entries of the erasure's deletes.
 * The batches must be expanded. `identifiers`, `records`: packed identifiers and record keys of the person.
 */
export async function eraseEntries(
  tx: Queryable,
  erasureId: number,
  {
    batches,
    identifiers,
    records,
  }: { readonly batches: readonly string[]; readonly identifiers: readonly Buffer[]; readonly records: readonly Buffer[] },
): Promise<void> {
  await tx.execute(
    `update entry e set keys = '{}', record_key = '\\x', hash = null where e.batch_id = any($1::bigint[])
       and (e.keys && $2::bytea[] or e.record_key = any($3::bytea[])
         or e.batch_id in (select d.batch_id from erasure_delete d where d.erasure_id = $4))`,
    [batches, identifiers, records, erasureId],
  )
}
