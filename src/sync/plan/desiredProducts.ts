/** Desired state of products: a product is one key, its id. */
import { queryable } from '../../db/database.ts'
import * as records from '../../db/records.ts'
import { changeProducts, desireProducts, insertFirstProducts, undesireProducts } from '../../db/remote/desireKeys.ts'
import type { Row } from '../../db/row.ts'
import { recordOf } from '../../unknownValue.ts'
import { contentHash } from '../read/stageTable.ts'
import { countUpTo, storeRecords, type DesiredContext } from './desired.ts'
import type { DesiredState } from './desiredState.ts'
import { insertValidRecords, type FirstLoad } from './firstLoad.ts'
import { reviewUpdates } from './reviewUpdates.ts'

export function desiredProducts(context: DesiredContext): DesiredState {
  return {
    context,
    loadFirst: () => loadFirst(context),
    reviewUpdates: (run, diff) => reviewUpdates(context, run, diff),
    applyUpserts: () => applyUpserts(context),
    reviewMissing: async (policy) => {
      await dropUnneededRecords(context)
      return policy === 'delete' || policy === 'out-of-stock' ? recallMissing(context, policy) : 0
    },
    applyRemovals: () => applyRemovals(context),
    removedExamples: () => removedExamples(context),
    countConfirmed: (enough) => countUpTo(context, 'select from remote where destination_id = $1 and synced_hash is not null', enough),
  }
}

async function loadFirst(context: DesiredContext): Promise<FirstLoad> {
  const creates = await insertValidRecords(context)
  await insertFirstProducts(queryable(context.client), context.destinationId, 'select key, hash from record where destination_id = $1')
  return { creates, plain: true, shared: false, loadId: undefined }
}

async function applyUpserts(context: DesiredContext): Promise<void> {
  await context.client.query('analyze change')
  await storeRecords(context)
  await storeDesiredProducts(context)
}

async function storeDesiredProducts({ client, destinationId, changed }: DesiredContext): Promise<void> {
  await desireProducts(
    queryable(client),
    destinationId,
    `select s.key, s.hash from change c join stage s using (key) where c.what in ('create', 'update')`,
  )
  await changed.add(`select key from change where what in ('create', 'update')`)
}

/**
 * Finds products that are missing for longer. An earlier `missing` policy kept them or took them out of stock. If the current policy is
 * `delete`, or `out-of-stock` for products that were kept, they are added to the changes. Returns their number.
 */
async function recallMissing({ client, destinationId }: DesiredContext, policy: 'delete' | 'out-of-stock'): Promise<number> {
  const recalled = await client.query(
    `insert into change
     select r.key, 'missing'
     from record r join remote m on m.destination_id = r.destination_id and m.key = r.key and m.ref_count > 0
     where r.destination_id = $1 and r.status = 'missing' ${policy === 'delete' ? '' : `and r.body not like '%"availability":"out of stock"%'`}`,
    [destinationId],
  )
  return recalled.rowCount ?? 0
}

/**
 * Deletes the records of products that were kept for a delete, if it is no longer needed: the service does not have the product,
 * and no request is in flight.
 */
async function dropUnneededRecords({ client, destinationId }: DesiredContext): Promise<void> {
  await records.forgetMissing(queryable(client), destinationId, 'select key from unresolved')
}

async function applyRemovals({ client, destinationId, changed }: DesiredContext): Promise<void> {
  const tx = queryable(client)
  await undesireProducts(tx, destinationId, 'select key from removal')
  await changed.add('select key from removal')
  // The content is kept until the delete is confirmed. If the product_key is unknown or not accepted, the content is sent once
  // more to get the key. It is also kept for a request in flight, which may still be confirmed.
  await records.markMissing(
    tx,
    destinationId,
    `select x.key from removal x join remote m on m.destination_id = $1 and m.key = x.key
     where m.synced_hash is not null or exists (select from unresolved u where u.key = x.key)`,
  )
  await records.deleteRecords(tx, destinationId, 'select key from removal', { keepMissing: true })
}

/** Returns the first ids. */
async function removedExamples({ client }: DesiredContext): Promise<string[]> {
  const { rows } = await client.query<Row<'record', 'key'>>(
    `select key from change where what in ('missing', 'opted_out') order by key limit 5`,
  )
  return rows.map(({ key }) => key.toString())
}

/** Applies `missing: out-of-stock`: the product stays with the same content, but out of stock. */
export async function markOutOfStock(context: DesiredContext): Promise<void> {
  const { client, destinationId, snapshotId } = context
  const { rows } = await client.query<Row<'record', 'key' | 'body'>>(
    `select r.key, r.body from change c join record r on r.destination_id = $1 and r.key = c.key where c.what = 'missing'`,
    [destinationId],
  )
  const products = rows.flatMap(({ key, body }) => {
    if (body === null) return []
    const changed = outOfStock(body)
    return [{ key, body: changed, hash: contentHash(changed) }]
  })
  await records.replaceMissing(queryable(client), { destinationId, snapshotId }, products)
  await changeProducts(queryable(client), destinationId, products)
  await context.changed.add('select key from unnest($2::bytea[]) as x (key)', [products.map(({ key }) => key)])
}

/** Sets the availability in canonical JSON; keys keep their sorted order. */
export function outOfStock(json: string): string {
  const product = recordOf(JSON.parse(json))
  return JSON.stringify({ ...product, availability: 'out of stock', ...('inventory' in product ? { inventory: 0 } : {}) })
}
