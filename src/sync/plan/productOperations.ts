import { countsAsCreate, isNotListed } from '../../db/invalidated.ts'
import { renderProduct, renderProductKey } from '../../destinations/catalog.ts'
import type { Change } from '../../model/report.ts'
import { queryPortions, type OperationContext, type PlannedOperation } from './plannedOperation.ts'
import { productChangeSql } from './planTables.ts'

/** Yields the deletes, then the puts, each in the order of the product ids. */
export async function* productOperations(context: OperationContext): AsyncGenerator<PlannedOperation[]> {
  const { tx, destinationId } = context
  const deletes = queryPortions<{ key: Buffer; remote_key: string }>(
    tx,
    `select m.key, m.remote_key from remote m join pending_product t using (key)
     where m.destination_id = ${destinationId} and t.operation = ${productChangeSql.delete} order by m.key`,
  )
  for await (const portion of deletes) {
    yield portion.map(({ key, remote_key }) => ({
      ...ofProduct(key),
      bytes: renderProductKey(remote_key),
      op: 'delete',
      change: 'delete',
      hash: null,
    }))
  }
  // If an audit did not find a product, its product_key may not exist any more, and is not sent.
  const upserts = queryPortions<{
    key: Buffer
    created: boolean
    key_lookup: boolean
    product_key: string | null
    body: string
    hash: Buffer
  }>(
    tx,
    `select m.key, ${countsAsCreate('m.synced_hash')} as created, t.operation = ${productChangeSql.lookup} as key_lookup,
       case when ${isNotListed('m.synced_hash')} then null else m.remote_key end as product_key, r.body, r.hash
     from remote m join pending_product t using (key) join record r on r.destination_id = m.destination_id and r.key = m.key
     where m.destination_id = ${destinationId} and t.operation in (${productChangeSql.upsert}, ${productChangeSql.lookup}) order by m.key`,
  )
  for await (const portion of upserts)
    yield portion.map(({ key, created, key_lookup, product_key, body, hash }) => ({
      ...putProduct(key, renderProduct(body, product_key), hash, created ? 'create' : 'update'),
      keyLookup: key_lookup,
    }))
}

function putProduct(key: Buffer, bytes: Buffer, hash: Buffer, change: Change): PlannedOperation {
  return { ...ofProduct(key), bytes, op: 'upsert', change, hash }
}

/** Returns what all operations on a product have. */
function ofProduct(key: Buffer) {
  return { phase: 1, recordKey: key, keys: [key.toString('hex')], expiresAtMs: null, users: 1 } as const
}

/** Yields all records of a first load as creates, in the order of the product ids. */
export async function* firstProductOperations(context: OperationContext): AsyncGenerator<PlannedOperation[]> {
  const products = queryPortions<{ key: Buffer; body: string; hash: Buffer }>(
    context.tx,
    `select key, body, hash from record where destination_id = ${context.destinationId} order by key`,
  )
  for await (const portion of products)
    yield portion.map(({ key, body, hash }) => putProduct(key, renderProduct(body, null), hash, 'create'))
}
