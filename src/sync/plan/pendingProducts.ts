/** Pending changes of products in the table `pending_product`. Each product is one key. */
import { outOfSync } from '../../db/changedKeys.ts'
import { catalog } from '../../destinations/catalog.ts'
import { entryOutcome } from '../../db/entries/read.ts'
import { dropRenamed } from '../../db/remote/drop.ts'
import type { Row } from '../../db/row.ts'
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
  await keepRenamed(context)
  await deferRenamed(context)
  const deferred = await tx.execute('delete from pending_product where deferred')
  await tx.query('analyze pending_product')
  return deferred
}

/**
 * Removes the deletes of products that the service has under a desired id. A service that compares ids without case updates a product whose
 * id changed only in case, so the old and the new id have one product_key, and the delete would remove the product. The old id is dropped if
 * the new id was confirmed last. Otherwise the new id is put again, and a later plan drops the old id.
 */
async function keepRenamed({ tx, destinationId }: PendingContext): Promise<void> {
  const deletes = `select o.* from pending_product t join remote o on o.destination_id = ${destinationId} and o.key = t.key
    where t.what <> 'upsert' and not t.deferred and o.remote_key is not null`
  const [found] = await tx.query<{ keys: string[] | null }>(`select array_agg(remote_key) as keys from (${deletes}) d`)
  if (!found?.keys) return
  const renamed = await tx.query<{ from: Buffer; to: Buffer; isNewer: boolean }>(
    `select o.key as "from", n.key as "to", coalesce(n.synced_at > o.synced_at, false) as "isNewer"
     from (select key, remote_key, synced_at from remote
           where destination_id = ${destinationId} and ref_count > 0 and remote_key = any($1) offset 0) n
       join (${deletes}) o on o.remote_key = n.remote_key`,
    [found.keys],
  )
  if (renamed.length === 0) return
  const older = renamed.filter(({ isNewer }) => !isNewer)
  await dropRenamed(
    tx,
    destinationId,
    renamed.flatMap(({ from, isNewer }) => (isNewer ? [from] : [])),
  )
  await tx.query('delete from pending_product where key = any($1)', [renamed.map(({ from }) => from)])
  await tx.query(
    `insert into pending_product select x.key, 'upsert', exists (select from unresolved u where u.key = x.key)
     from (select distinct unnest($1::bytea[]) as key) x where not exists (select from pending_product t where t.key = x.key)`,
    [older.map(({ to }) => to)],
  )
}

/**
 * Defers new products whose id differs only in case from the id of a product that is no longer desired and has an unresolved request. The
 * service may have one product under both ids, and the request may still delete or change it.
 */
async function deferRenamed({ tx, destinationId }: PendingContext): Promise<void> {
  const former = await tx.query<Row<'remote', 'key'>>(
    `select m.key from unresolved u join remote m on m.destination_id = ${destinationId} and m.key = u.key where m.ref_count <= 0`,
  )
  if (former.length === 0) return
  const ids = new Set(former.map(({ key }) => collisionOf(key)))
  const created = await tx.query<Row<'remote', 'key'>>(
    `select m.key from pending_product t join remote m on m.destination_id = ${destinationId} and m.key = t.key
     where t.what = 'upsert' and not t.deferred and m.synced_hash is null`,
  )
  const renamed = created.flatMap(({ key }) => (ids.has(collisionOf(key)) ? [key] : []))
  if (renamed.length > 0) await tx.query('update pending_product set deferred = true where key = any($1)', [renamed])
}

const collisionOf = (key: Buffer) => catalog.collisionOf?.(key)

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
