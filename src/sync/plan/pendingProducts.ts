/** Pending changes of products in the table `pending_product`. Each product is one key. */
import { outOfSync } from '../../db/changedKeys.ts'
import { entryOutcome } from '../../db/entries/read.ts'
import { dropRenamedProducts } from '../../db/remote/drop.ts'
import { begunPlans, countRows, onlyFailed, type GuardedDeletes, type PendingChanges, type PendingContext } from './pendingChanges.ts'
import { firstProducts, productOperations } from './operations.ts'
import { fillTable } from './planTables.ts'

/** Returns the pending changes of a catalog. */
export function pendingProducts(context: PendingContext): PendingChanges {
  const { tx } = context
  return {
    collect: () => collect(context),
    markAndCountDeletes: () => markAndCountDeletes(context),
    replacedIdentifiers: () => Promise.resolve([]),
    withholdDeletes: async (sendCleared) => {
      const cleared = sendCleared ? 'and not exists (select from cleared c where c.key = t.key)' : ''
      await tx.query(`delete from pending_product t where t.what in ('delete', 'lookup') ${cleared}`)
    },
    unifyGroups: () => Promise.resolve(),
    countCreates: () => Promise.resolve(0),
    countKeyLookups: () => countRows(tx, `select from pending_product where what = 'lookup'`),
    operations: (first) => (first === undefined ? productOperations(context) : firstProducts(context)),
  }
}

/** Fills `pending_product`. Returns the number of deferred products, which it leaves out. */
async function collect(context: PendingContext): Promise<number> {
  const { tx, destinationId, full, hasResync } = context
  const again = full ? 'or m.ref_count > 0' : hasResync ? 'or (m.ref_count > 0 and m.key in (select key from resync))' : ''
  const unlike = full ? outOfSync : context.changed.outOfSync
  await fillTable(
    tx,
    'pending_product',
    // lookup: the product must be deleted, but its product_key is unknown or was refused. The product is put once more, because the
    // answer has the current product_key (docs/decisions/lost-delete-answers.md).
    `select m.key, case when m.ref_count > 0 then 'upsert' when m.remote_key is null or m.refused_code is not null then 'lookup' else 'delete' end as what, exists (select from unresolved u where u.key = m.key) as deferred
     from remote m where m.destination_id = ${destinationId} and (${unlike} ${again}) ${onlyFailed(context)}`,
  )
  const deferred = await tx.execute('delete from pending_product where deferred')
  await tx.query('analyze pending_product')
  await dropRenamed(context)
  return deferred
}

/**
 * Leaves out the deletes of products that the service has under another id of this catalog. An earlier plan put the new id, but its delete
 * of the old id was withheld or deferred. Now the delete would remove the product of the new id (docs/inputs.md, case 59).
 */
async function dropRenamed({ tx, destinationId }: PendingContext): Promise<void> {
  const deletes = `pending_product where what in ('delete', 'lookup')`
  if ((await countRows(tx, `select from ${deletes} limit 1`)) === 0) return
  if ((await dropRenamedProducts(tx, destinationId, `select key from ${deletes}`)) === 0) return
  await tx.query(
    `delete from pending_product where what in ('delete', 'lookup') and not exists (select from remote m where m.destination_id = ${destinationId} and m.key = pending_product.key)`,
  )
}

async function markAndCountDeletes(context: PendingContext): Promise<GuardedDeletes> {
  await markCleared(context)
  const deletes = `select from pending_product where what in ('delete', 'lookup')`
  return {
    all: await countRows(context.tx, deletes),
    cleared: await countRows(context.tx, `${deletes} and key in (select key from cleared)`),
    replaced: 0,
  }
}

/** Fills `cleared` with the deletes that an earlier plan was allowed to send, and whose product has been missing since then. */
async function markCleared({ tx, destinationId }: PendingContext): Promise<void> {
  await fillTable(
    tx,
    'cleared',
    `select t.key from pending_product t join record r on r.destination_id = ${destinationId} and r.key = t.key and r.status = 'missing'
     where t.what in ('delete', 'lookup') and exists (
       select from entry e join batch b on b.id = e.batch_id
       where e.destination_id = ${destinationId} and e.record_key = t.key and e.change = 'delete' and ${entryOutcome} <> 'confirmed'
         and exists (select from ${begunPlans(destinationId)} and p.id = b.plan_id and p.snapshot_id >= r.snapshot_id))`,
  )
}
