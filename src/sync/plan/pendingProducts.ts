/** Pending changes of products, a key each, in the table `pending_product`. */
import { queryable } from '../../db/database.ts'
import { outOfSync } from '../../db/changedKeys.ts'
import { entryOutcome } from '../../db/entries/read.ts'
import { begunPlans, count, onlyFailed, type GuardedDeletes, type PendingChanges, type PendingContext } from './pendingChanges.ts'
import { firstProducts, productOperations } from './operations.ts'
import { fillTable } from './planTables.ts'

export function pendingProducts(context: PendingContext): PendingChanges {
  const { client } = context
  return {
    collect: () => collect(context),
    countGuardedDeletes: () => countGuardedDeletes(context),
    replacedIdentifiers: () => Promise.resolve([]),
    withholdDeletes: async (sendCleared) => {
      const cleared = sendCleared ? 'and not exists (select from cleared c where c.key = t.key)' : ''
      await client.query(`delete from pending_product t where t.what in ('delete', 'lookup') ${cleared}`)
    },
    unifyGroups: () => Promise.resolve(),
    countKeyLookups: () => count(client, `select from pending_product where what = 'lookup'`),
    operations: (first) => (first === undefined ? productOperations(context) : firstProducts(context)),
  }
}

async function collect(context: PendingContext): Promise<number> {
  const { client, destinationId, full, hasResync } = context
  const again = full ? 'or m.ref_count > 0' : hasResync ? 'or (m.ref_count > 0 and m.key in (select key from resync))' : ''
  const unlike = full ? outOfSync : context.changed.outOfSync
  await fillTable(
    client,
    'pending_product',
    // lookup: the product must be deleted, but its product_key is unknown or was refused. It is put once more, because the answer
    // has the current key (docs/decisions/lost-deletes.md).
    `select m.key, case when m.ref_count > 0 then 'upsert' when m.remote_key is null or m.refused_code is not null then 'lookup' else 'delete' end as what, exists (select from unresolved u where u.key = m.key) as deferred
     from remote m where m.destination_id = ${destinationId} and (${unlike} ${again}) ${onlyFailed(context)}`,
  )
  const deferred = await queryable(client).execute('delete from pending_product where deferred')
  await client.query('analyze pending_product')
  return deferred
}

async function countGuardedDeletes(context: PendingContext): Promise<GuardedDeletes> {
  await markCleared(context)
  const deletes = `select from pending_product where what in ('delete', 'lookup')`
  return {
    all: await count(context.client, deletes),
    cleared: await count(context.client, `${deletes} and key in (select key from cleared)`),
    replaced: 0,
  }
}

/** Fills `cleared`, the deletes that an earlier plan was allowed to send. If the record came back meanwhile, its delete is a new one. */
async function markCleared({ client, destinationId }: PendingContext): Promise<void> {
  await fillTable(
    client,
    'cleared',
    `select t.key from pending_product t join record r on r.destination_id = ${destinationId} and r.key = t.key and r.status = 'missing'
     where t.what in ('delete', 'lookup') and exists (
       select from entry e join batch b on b.id = e.batch_id
       where e.destination_id = ${destinationId} and e.record_key = t.key and e.change = 'delete' and ${entryOutcome} <> 'confirmed'
         and exists (select from ${begunPlans(destinationId)} and p.id = b.plan_id and p.snapshot_id >= r.snapshot_id))`,
  )
}
