/** Selects the pending changes of products, in the table `pending_product`. */
import { isOutOfSync } from '../../db/changedKeys.ts'
import { catalog } from '../../destinations/catalog.ts'
import { entryOutcome } from '../../db/entries/read.ts'
import { deleteFormerIds } from '../../db/remote/drop.ts'
import type { DbRow } from '../../db/row.ts'
import { startedPlans } from '../../db/plans.ts'
import { countRows } from '../../db/queryable.ts'
import {
  andOnlyFailed,
  recordsWithoutValidRow,
  removeDeferred,
  type Deferred,
  type GuardedDeletes,
  type PendingChanges,
  type PendingContext,
} from './pendingChanges.ts'
import { firstProductOperations, productOperations } from './productOperations.ts'
import { analyzeWithSmallSample, fillTable, productChangeSql } from './planTables.ts'

export function pendingProducts(context: PendingContext): PendingChanges {
  const { tx } = context
  return {
    collect: () => collect(context),
    markAndCountDeletes: () => markAndCountDeletes(context),
    describeRowsLosingIdentifiers: () => Promise.resolve([]),
    withholdDeletes: async ({ sendAllowedBefore }) => {
      const allowedBefore = sendAllowedBefore ? 'and not exists (select from allowed_delete c where c.key = t.key)' : ''
      await tx.query(
        `delete from pending_product t where t.operation in (${productChangeSql.delete}, ${productChangeSql.lookup}) ${allowedBefore}`,
      )
    },
    unifyGroups: () => Promise.resolve(),
    countNewPeople: () => Promise.resolve(0),
    countKeyLookups: () => countRows(tx, `select from pending_product where operation = ${productChangeSql.lookup}`),
    countWithoutValidRow: () =>
      countRows(
        tx,
        `select from pending_product where operation = ${productChangeSql.upsert} and key in (${recordsWithoutValidRow(context.destinationId)})`,
      ),
    operations: (firstLoad) => (firstLoad === undefined ? productOperations(context) : firstProductOperations(context)),
  }
}

/**
 * Fills `pending_product`. Marks the products as deferred that wait for unresolved requests, or whose id collides with another one. Returns
 * how many it deferred.
 */
async function collect(context: PendingContext): Promise<Deferred> {
  const { tx, destinationId } = context
  // After a refused delete, the product_key may be wrong. If the refused operation is no longer stored, it counts as a delete.
  const isDeleteRefused = `m.refused_code is not null and coalesce((${lastRefusedChange}), 'delete') = 'delete'`
  await fillTable(
    tx,
    'pending_product',
    // A lookup puts the product once more, because the answer has the current product_key, which the delete needs
    // (docs/decisions/lost-delete-answers.md). If the put is refused, a later plan sends the lookup or the delete again.
    `select m.key,
       case when m.ref_count > 0 then ${productChangeSql.upsert}
         when m.remote_key is null or (${isDeleteRefused}) then ${productChangeSql.lookup}
         else ${productChangeSql.delete} end as operation,
       exists (select from unresolved u where u.key = m.key) as deferred
     from remote m where m.destination_id = ${destinationId} and (${await isPending(context)}) ${andOnlyFailed(context)}`,
  )
  await dropRepeatedDeletes(context)
  await protectRenamed(context)
  await deferCollidingPuts(context)
  const deferred = await removeDeferred(
    tx,
    destinationId,
    `delete from pending_product t where deferred returning t.key, t.operation = ${productChangeSql.upsert} as desired`,
  )
  await analyzeWithSmallSample(tx, 'pending_product')
  return deferred
}

/** Returns the SQL condition that the product `m` has a pending change. */
async function isPending({ isFullRefresh, hasResync, changed }: PendingContext): Promise<string> {
  if (isFullRefresh) return `${isOutOfSync} or m.ref_count > 0`
  // The search for the keys of `resync` reads all products. With `changed.outOfSync()`, Postgres would also compare each of them with all
  // changed keys.
  return hasResync ? `${isOutOfSync} or (m.ref_count > 0 and m.key in (select key from resync))` : changed.outOfSync()
}

/** SQL of the change (create, update or delete) of the last refused operation on product `m`. */
const lastRefusedChange = `select e.change from entry e
   where e.destination_id = m.destination_id and e.record_key = m.key and e.outcome = 'refused'
   order by e.batch_id desc limit 1`

/** Returns SQL of all products that are marked as missing, also of desired ones (`missing: keep` or `out-of-stock`). */
const missingProducts = (destinationId: number) =>
  `select r.key from record r where r.destination_id = ${destinationId} and r.status = 'missing'`

/**
 * Removes all deletes but one of ids that have one product_key, because the service has one product under these ids. It would refuse a
 * second delete, and a lookup would put the product again. Deferred deletes stay. If none is deferred, the delete of the id stays that was
 * confirmed last.
 */
async function dropRepeatedDeletes({ tx, destinationId }: PendingContext): Promise<void> {
  const repeated = await tx.query<DbRow<'remote', 'key'>>(
    `select key from (
       select t.key, t.deferred, row_number() over (partition by m.remote_key order by t.deferred desc, m.synced_at desc nulls last, t.key) as place
       from pending_product t join remote m on m.destination_id = ${destinationId} and m.key = t.key
       where m.remote_key is not null and t.operation <> ${productChangeSql.upsert}) d
     where place > 1 and not deferred`,
  )
  if (repeated.length === 0) return
  const keys = repeated.map(({ key }) => key)
  await deleteFormerIds(tx, destinationId, keys)
  await tx.query('delete from pending_product where key = any($1)', [keys])
}

/**
 * Protects products that were renamed to an id that collides with the former id, such as `sku-1` to `SKU-1` (`Destination.collisionOf`). If
 * the service updated its product instead of creating one, both ids have one product_key. A delete of the former id would delete the
 * product. So this function removes the former id from the plan:
 *
 * - The new id was confirmed last: the former id is dropped from the database.
 * - Otherwise: the new id is put again, and a later plan drops the former id.
 */
async function protectRenamed({ tx, destinationId }: PendingContext): Promise<void> {
  const missing = `select m.key, m.remote_key, m.synced_at
    from pending_product t join remote m on m.destination_id = ${destinationId} and m.key = t.key
    where not t.deferred and m.remote_key is not null
      and (t.operation <> ${productChangeSql.upsert} or t.key in (${missingProducts(destinationId)}))`
  const [found] = await tx.query<{ product_keys: string[] | null }>(`select array_agg(remote_key) as product_keys from (${missing}) former`)
  if (!found?.product_keys) return
  const renamed = await tx.query<{ from: Buffer; to: Buffer; isConfirmedLast: boolean }>(
    // Takes 0.15 s per million products (Postgres 18), only in plans with missing products.
    `select former.key as "from", desired.key as "to", coalesce(desired.synced_at > former.synced_at, false) as "isConfirmedLast"
     from (select key, remote_key, synced_at from remote
           where destination_id = ${destinationId} and ref_count > 0 and remote_key = any($1) offset 0) desired
       join (${missing}) former on former.remote_key = desired.remote_key and former.key <> desired.key
     where not exists (select from (${missing}) x where x.key = desired.key)`,
    [found.product_keys],
  )
  if (renamed.length === 0) return
  const dropped = renamed.filter(({ isConfirmedLast }) => isConfirmedLast).map(({ from }) => from)
  const resent = renamed.filter(({ isConfirmedLast }) => !isConfirmedLast).map(({ to }) => to)
  await deleteFormerIds(tx, destinationId, dropped)
  await tx.query('delete from pending_product where key = any($1)', [renamed.map(({ from }) => from)])
  await tx.query(
    `insert into pending_product select x.key, ${productChangeSql.upsert}, exists (select from unresolved u where u.key = x.key)
     from (select distinct unnest($1::bytea[]) as key) x where not exists (select from pending_product t where t.key = x.key)`,
    [resent],
  )
}

/**
 * Defers puts of products whose id collides with another id (`Destination.collisionOf`), because the service may have one product under
 * both ids:
 *
 * - products that the service does not have, if the other id is not desired and has an unresolved request. This request may still delete or
 *   change the product.
 * - missing products, if the other id is new in the source. A later plan drops them if both are one product (`protectRenamed`).
 */
async function deferCollidingPuts({ tx, destinationId }: PendingContext): Promise<void> {
  const loadKeys = async (query: string) => (await tx.query<DbRow<'remote', 'key'>>(query)).map(({ key }) => key)
  const remoteKeysSql = `select m.key from remote m where m.destination_id = ${destinationId}`
  const putKeysSql = `select key from pending_product where operation = ${productChangeSql.upsert} and not deferred`
  const undesiredUnresolved = await loadKeys(`${remoteKeysSql} and m.ref_count <= 0 and m.key in (select key from unresolved)`)
  const missingPuts = await loadKeys(`${putKeysSql} and key in (${missingProducts(destinationId)})`)
  if (undesiredUnresolved.length === 0 && missingPuts.length === 0) return
  const notAtService = await loadKeys(`${remoteKeysSql} and m.synced_hash is null and m.key in (${putKeysSql})`)
  // A missing product that the service does not have is in `notAtService` too, but its id is not new in the source.
  const missingIds = new Set(missingPuts.map((key) => key.toString('hex')))
  const newInSource = notAtService.filter((key) => !missingIds.has(key.toString('hex')))
  const deferred = [...collidingWith(undesiredUnresolved, notAtService), ...collidingWith(newInSource, missingPuts)]
  if (deferred.length > 0) await tx.query('update pending_product set deferred = true where key = any($1)', [deferred])
}

function collidingWith(keys: readonly Buffer[], others: readonly Buffer[]): Buffer[] {
  if (keys.length === 0 || others.length === 0) return []
  const ids = new Set(keys.map((key) => catalog.collisionOf?.(key)))
  return others.filter((key) => ids.has(catalog.collisionOf?.(key)))
}

async function markAndCountDeletes(context: PendingContext): Promise<GuardedDeletes> {
  await markAllowedBefore(context)
  const deletes = `select from pending_product where operation in (${productChangeSql.delete}, ${productChangeSql.lookup})`
  return {
    guardedDeletes: await countRows(context.tx, deletes),
    allowedBefore: await countRows(context.tx, `${deletes} and key in (select key from allowed_delete)`),
    identifierOnlyDeletes: 0,
  }
}

/** Fills `allowed_delete` with the deletes for which an earlier plan has an unconfirmed delete, or a lookup. */
async function markAllowedBefore({ tx, destinationId }: PendingContext): Promise<void> {
  await fillTable(
    tx,
    'allowed_delete',
    // `p.snapshot_id >= r.snapshot_id`: no valid row of the product was read after that plan.
    `select t.key from pending_product t join record r on r.destination_id = ${destinationId} and r.key = t.key and r.status = 'missing'
     where t.operation in (${productChangeSql.delete}, ${productChangeSql.lookup}) and exists (
       select from entry e join batch b on b.id = e.batch_id
       where e.destination_id = ${destinationId} and e.record_key = t.key
         and (e.key_lookup or (e.change = 'delete' and ${entryOutcome} <> 'confirmed'))
         and exists (select from ${startedPlans} where p.id = b.plan_id and p.snapshot_id >= r.snapshot_id))`,
  )
}
