/** Desired state of products (`DesiredStateSteps`). Each product has one key, its id. */
import { eachPortion } from '../../db/cursor.ts'
import * as records from '../../db/records.ts'
import { changeProducts, desireProducts, insertFirstProducts, undesireProducts } from '../../db/remote/referenceCounts.ts'
import type { DbRow } from '../../db/row.ts'
import type { Missing } from '../../destinations/destination.ts'
import { recordOf } from '../../unknownValue.ts'
import { contentHash } from '../read/stageTable.ts'
import { countUpTo, collectMissingNotAtService, storeRecords, type DesiredContext } from './sharedDesiredSteps.ts'
import type { DesiredStateSteps } from './desiredState.ts'
import { insertValidRecords, type FirstLoad } from './firstLoad.ts'
import { analyzeWithSmallSample, recordChangeSql } from './planTables.ts'
import { warnOfDoubtfulChanges } from './warnOfDoubtfulChanges.ts'
import { updatedFields } from './updatedFields.ts'

export function desiredProducts(context: DesiredContext): DesiredStateSteps {
  return {
    context,
    writeFirstLoad: () => writeFirstLoad(context),
    warnOfDoubtfulChanges: (run, diff) => warnOfDoubtfulChanges(context, run, diff),
    updatedFields: (updates) => updatedFields(context, updates),
    applyUpserts: () => applyUpserts(context),
    adjustMissing: (policy) => adjustMissing(context, policy),
    collectMissingNotAtService: () => collectMissingNotAtService(context, { recordKey: 'key', keys: 'select c.key' }),
    applyRemovals: () => applyRemovals(context),
    missingExamples: () => missingExamples(context),
    countConfirmed: (enough) => countUpTo(context, 'select from remote where destination_id = $1 and synced_hash is not null', enough),
  }
}

async function writeFirstLoad(context: DesiredContext): Promise<FirstLoad> {
  const creates = await insertValidRecords(context)
  await insertFirstProducts(context.tx, context.destinationId, 'select key, hash from record where destination_id = $1')
  return { creates, isUntimed: true, hasShared: false, implyingRunId: undefined }
}

async function applyUpserts(context: DesiredContext): Promise<number> {
  const { tx, destinationId, changed } = context
  await analyzeWithSmallSample(tx, 'change')
  await storeRecords(context)
  await desireProducts(
    tx,
    destinationId,
    `select s.key, s.hash from change c join stage s using (key) where c.effect in (${recordChangeSql.create}, ${recordChangeSql.update})`,
  )
  await changed.add(`select key from change where effect in (${recordChangeSql.create}, ${recordChangeSql.update})`)
  return desireReturned(context)
}

/**
 * If the row of a missing product is back, but rejected, makes the product desired again, unless its delete was confirmed. It keeps its
 * last valid content, like any product whose row is rejected (docs/guarantees.md#nothing-lost). Returns the number of these products.
 */
async function desireReturned({ tx, destinationId, changed }: DesiredContext): Promise<number> {
  const returned = `from change c join record r on r.destination_id = $1 and r.key = c.key
       join remote m on m.destination_id = $1 and m.key = c.key
     where c.effect = ${recordChangeSql.stale} and m.ref_count = 0`
  await changed.add(`select c.key ${returned}`)
  return desireProducts(tx, destinationId, `select c.key, r.hash ${returned}`)
}

async function adjustMissing(context: DesiredContext, policy: Missing): Promise<number> {
  await records.deleteUnneededMissing(context.tx, context.destinationId, 'select key from unresolved')
  const skipped = policy === 'out-of-stock' ? await skipOutOfStock(context) : 0
  const added = policy === 'delete' || policy === 'out-of-stock' ? await addEarlierMissing(context, policy) : 0
  return added - skipped
}

/**
 * SQL: true if record `r` is out of stock already, so that `outOfStock` would not change it. The patterns never match inside a text value,
 * because quotes there have a backslash.
 */
const isOutOfStock = `(r.body like '%"availability":"out of stock"%' and r.body !~ '"inventory":(?!0[,}])')`

/**
 * Adds to `change` the products that were missing before and are still desired. An earlier `missing` policy kept them or set them out of
 * stock. With the policy `out-of-stock`, skips products that are out of stock. Returns the number of added products.
 */
async function addEarlierMissing({ tx, destinationId }: DesiredContext, policy: 'delete' | 'out-of-stock'): Promise<number> {
  return tx.execute(
    `insert into change
     select r.key, ${recordChangeSql.missing}
     from record r join remote m on m.destination_id = r.destination_id and m.key = r.key and m.ref_count > 0
     where r.destination_id = $1 and r.status = 'missing' ${policy === 'delete' ? '' : `and not ${isOutOfStock}`}`,
    [destinationId],
  )
}

/**
 * Marks newly missing products as missing if they are out of stock already. Removes them from `change`, so that no guard counts them.
 * Returns their number.
 */
async function skipOutOfStock({ tx, destinationId }: DesiredContext): Promise<number> {
  const skippedKeys = `select c.key from change c join record r on r.destination_id = ${destinationId} and r.key = c.key
     where c.effect = ${recordChangeSql.missing} and ${isOutOfStock}`
  await records.markMissing(tx, destinationId, skippedKeys)
  return tx.execute(`delete from change where key in (${skippedKeys})`)
}

async function applyRemovals({ tx, destinationId, changed }: DesiredContext): Promise<void> {
  await undesireProducts(tx, destinationId, 'select key from removal')
  await changed.add('select key from removal')
  // The content is kept until the delete is confirmed. If the product_key is unknown or a delete was refused, the content is sent once
  // more, to look the product_key up. It is also kept for an unresolved request, which may still be confirmed.
  await records.markMissing(
    tx,
    destinationId,
    `select x.key from removal x join remote m on m.destination_id = $1 and m.key = x.key
     where m.synced_hash is not null or exists (select from unresolved u where u.key = x.key)`,
  )
  await records.deleteRecords(tx, destinationId, 'select key from removal', { keepMissing: true })
}

async function missingExamples({ tx }: DesiredContext): Promise<string[]> {
  const rows = await tx.query<DbRow<'record', 'key'>>(
    `select key from change where effect = ${recordChangeSql.missing} order by key limit 5`,
  )
  return rows.map(({ key }) => key.toString())
}

/** Products that `markOutOfStock` changes together. The bodies of twice as many are in memory. */
const productsPerPortion = 5_000

/** Changes the desired content of the missing products to out of stock. For `missing: out-of-stock`. */
export async function markOutOfStock({ tx, destinationId, snapshotId, changed }: DesiredContext): Promise<void> {
  const portions = eachPortion<DbRow<'record', 'key'> & { readonly body: string }>(
    tx.client,
    'missing_products',
    `select r.key, r.body from change c join record r on r.destination_id = ${destinationId} and r.key = c.key
     where c.effect = ${recordChangeSql.missing} and r.body is not null`,
    productsPerPortion,
  )
  for await (const portion of portions) {
    const products = portion.map(({ key, body: current }) => {
      const body = outOfStock(current)
      return { key, body, hash: contentHash(body) }
    })
    await records.replaceMissing(tx, { destinationId, snapshotId }, products)
    await changeProducts(tx, destinationId, products)
  }
  await changed.add(`select key from change where effect = ${recordChangeSql.missing}`)
}

/** Returns the JSON of a product with `out of stock` as its availability, and 0 as its inventory if it has one. */
export function outOfStock(json: string): string {
  const product = recordOf(JSON.parse(json))
  return JSON.stringify({ ...product, availability: 'out of stock', ...('inventory' in product ? { inventory: 0 } : {}) })
}
