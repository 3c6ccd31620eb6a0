/** Writes the table `product_set`: product sets that pipelines have created, and may change and delete. */
import { isDeepStrictEqual } from 'node:util'
import { z } from 'zod'
import type { SetContent } from '../destinations/productSets.ts'
import { logEvent } from './auditLog.ts'
import type { Database } from './database.ts'
import { countRows, type Queryable } from './queryable.ts'
import { isInvalidated } from './invalidated.ts'
import { jsonColumn } from './jsonColumn.ts'
import { setFilters } from './plans.ts'
import type { Present, DbRow } from './row.ts'

/** Content of a set. `productIds`: merchant ids of its products, in the order of `productKeys`. */
export interface StoredContent extends SetContent {
  readonly productIds: readonly string[]
}

const texts = z.array(z.string())
const content: z.ZodType<StoredContent> = z.object({
  name: z.string(),
  description: z.string().nullable(),
  type: z.enum(['MANUAL', 'FILTERED']),
  filters: setFilters,
  productKeys: texts,
  productIds: texts,
})
export const decodeContent = jsonColumn('product_set', 'content', content)

/** Product set that a pipeline has created. */
export interface StoredSet {
  readonly id: number
  readonly name: string
  readonly state: 'creating' | 'kept' | 'removing'
  /** Id at the service; null until the create is confirmed. */
  readonly setId: string | null
  /** Confirmed content; before that, the content of the create. */
  readonly content: StoredContent
  /** Ids of the sets that the catalog had before the create was sent. Null if the service lists no sets, or once the set is confirmed. */
  readonly knownIds: readonly string[] | null
  /** True if the bytes of an unresolved create may still arrive. */
  readonly createMayArrive: boolean
  /** Milliseconds since the service confirmed the content; 0 if it has not. Shortly after that, a listing may show an earlier state. */
  readonly confirmedForMs: number
}

/** Returns the sets of a destination, oldest first. */
export async function loadProductSets(db: Queryable, destinationId: number): Promise<readonly StoredSet[]> {
  const rows = await db.query<
    DbRow<'product_set', 'id' | 'name' | 'state' | 'set_id' | 'content' | 'known_ids'> & {
      create_may_arrive: boolean
      confirmed_for: string | null
    }
  >(
    `select id, name, state, set_id, content, known_ids, coalesce(late_until > statement_timestamp(), false) as create_may_arrive,
       extract(epoch from statement_timestamp() - confirmed_at) * 1000 as confirmed_for
     from product_set where destination_id = $1 order by id`,
    [destinationId],
  )
  return rows.map(({ id, set_id, known_ids, create_may_arrive, confirmed_for, ...row }) => ({
    ...row,
    id: Number(id),
    setId: set_id,
    content: decodeContent(row.content, id),
    knownIds: known_ids,
    createMayArrive: create_may_arrive,
    confirmedForMs: Number(confirmed_for ?? 0),
  }))
}

/**
 * Returns the newest set with this name that is not being removed; undefined if there is none. While a set is being replaced, this is the
 * replacement. `stored`: sets in the order of their ids.
 */
export function newestOf(stored: readonly StoredSet[], name: string): StoredSet | undefined {
  return stored.findLast((set) => set.name === name && set.state !== 'removing')
}

/**
 * Inserts a set before its create is sent. So if this process dies, the next run finds the set. Returns the id of the row. `lateMs`: time
 * from now in which the bytes of the create may arrive.
 */
export async function startProductSet(
  db: Queryable,
  set: {
    readonly destinationId: number
    readonly content: StoredContent
    readonly knownIds: readonly string[] | null
    readonly lateMs: number
  },
): Promise<number> {
  const [row] = await db.query<DbRow<'product_set', 'id'>>(
    `insert into product_set (destination_id, name, state, content, known_ids, late_until)
     values ($1, $2, 'creating', $3, $4, statement_timestamp() + $5 * interval '1 millisecond') returning id`,
    [set.destinationId, set.content.name, JSON.stringify(set.content), set.knownIds, set.lateMs],
  )
  return Number(row?.id)
}

/** Stores the time, `lateMs` from now, until which the bytes of a create without an answer may arrive. */
export async function storeLateUntil(db: Queryable, id: number, lateMs: number): Promise<void> {
  await db.execute(`update product_set set late_until = statement_timestamp() + $2 * interval '1 millisecond' where id = $1`, [id, lateMs])
}

/**
 * Shortens waits above `longestMs` to this length. Sluice never stores a longer wait, so the clock of the database was ahead.
 */
export async function shortenFalseSetWaits(db: Queryable, destinationId: number, longestMs: number): Promise<void> {
  const longest = `statement_timestamp() + $2 * interval '1 millisecond'`
  await db.execute(`update product_set set late_until = ${longest} where destination_id = $1 and late_until > ${longest}`, [
    destinationId,
    longestMs,
  ])
}

/** Deletes the rows of all sets of a destination, because the service is another instance and does not have these sets. */
export async function deleteAllProductSetRows(db: Queryable, destinationId: number): Promise<void> {
  await db.execute('delete from product_set where destination_id = $1', [destinationId])
}

/** Stores the confirmed content and id of a set, and adds a line to the audit log. A set that is being removed stays in that state. */
export async function confirmProductSet(
  db: Database,
  run: { readonly id: number; readonly actor: string },
  set: { readonly id: number; readonly setId: string; readonly content: StoredContent; readonly what: 'created' | 'updated' },
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute(
      `update product_set set state = case when state = 'creating' then 'kept' else state end, set_id = $2, content = $3, known_ids = null, late_until = null, confirmed_at = statement_timestamp() where id = $1`,
      [set.id, set.setId, JSON.stringify(set.content)],
    )
    await logSet(tx, run, `product_set.${set.what}`, { name: set.content.name, setId: set.setId })
  })
}

/**
 * Stored in place of the key of a product that a `MANUAL` set may lack at the service. It differs from every key that a run sends, so the
 * next run updates the set.
 */
export const lostKey = ''

/**
 * Replaces the keys of products in `MANUAL` sets by `lostKey`, if the service has deleted these products, or may have. A service removes a
 * deleted product from its sets, and may give it the same key again. Must run before the products are put again.
 */
export async function markLostProducts(db: Queryable, destinationId: number): Promise<void> {
  const sets = (await loadProductSets(db, destinationId)).filter(({ content: { productIds } }) => productIds.length > 0)
  if (sets.length === 0) return
  const rows = await db.query<DbRow<'remote', 'key'>>(
    `select key from remote where destination_id = $1 and key = any($2) and synced_hash is not null and not ${isInvalidated('synced_hash')}`,
    [destinationId, [...new Set(sets.flatMap(({ content: { productIds } }) => productIds))].map((id) => Buffer.from(id))],
  )
  const confirmedIds = new Set(rows.map(({ key }) => key.toString()))
  for (const { id, content: stored } of sets) {
    const productKeys = stored.productKeys.map((key, index) => (confirmedIds.has(stored.productIds[index] ?? '') ? key : lostKey))
    if (isDeepStrictEqual(productKeys, stored.productKeys)) continue
    await db.execute('update product_set set content = $2 where id = $1', [id, JSON.stringify({ ...stored, productKeys })])
  }
}

/** Marks a set for deletion, before its delete is sent. The set must have an id at the service. */
export async function startRemoval(db: Queryable, id: number): Promise<void> {
  await db.execute(`update product_set set state = 'removing' where id = $1`, [id])
}

/**
 * Deletes the row of a set that the service does not have, and adds a line to the audit log. `what` is the cause:
 * - `deleted`: a request of the run deleted the set.
 * - `gone`: another program deleted the set.
 * - `not_created`: its create was not confirmed.
 */
export async function deleteProductSetRow(
  db: Database,
  run: { readonly id: number; readonly actor: string },
  { id, name, setId }: Pick<StoredSet, 'id' | 'name' | 'setId'>,
  what: 'deleted' | 'gone' | 'not_created',
): Promise<void> {
  await db.transaction(async (tx) => {
    await tx.execute('delete from product_set where id = $1', [id])
    await logSet(tx, run, `product_set.${what}`, { name, ...(setId === null ? {} : { setId }) })
  })
}

async function logSet(tx: Queryable, run: { readonly id: number; readonly actor: string }, what: string, detail: object): Promise<void> {
  await logEvent(tx, { actor: run.actor, what, runId: run.id, detail })
}

/** Returns the ids of at most `limit` desired products of a brand, sorted. Includes stale products, and missing ones that are kept. */
export async function productsOfBrand(db: Queryable, destinationId: number, brand: string, limit: number): Promise<readonly string[]> {
  const rows = await db.query<DbRow<'record', 'key'>>(
    `select r.key from record r join remote m on m.destination_id = r.destination_id and m.key = r.key
     where r.destination_id = $1 and m.ref_count > 0 and ${hasBrand} order by r.key limit $3`,
    [destinationId, brandText(brand), limit],
  )
  return rows.map(({ key }) => key.toString())
}

/** Returns at most `limit` products of a brand that the service confirmed, with their product keys, sorted by id. */
export async function confirmedOfBrand(
  db: Queryable,
  destinationId: number,
  brand: string,
  limit: number,
): Promise<readonly { readonly id: string; readonly productKey: string }[]> {
  const rows = await db.query<DbRow<'record', 'key'> & Present<DbRow<'remote', 'remote_key'>>>(
    `select r.key, m.remote_key from record r join remote m on m.destination_id = r.destination_id and m.key = r.key
     where r.destination_id = $1 and m.remote_key is not null and m.synced_hash is not null and ${hasBrand} order by r.key limit $3`,
    [destinationId, brandText(brand), limit],
  )
  return rows.map(({ key, remote_key }) => ({ id: key.toString(), productKey: remote_key }))
}

/** Returns the number of products of a brand that the service confirmed without a product key. */
export async function countWithoutKey(db: Queryable, destinationId: number, brand: string): Promise<number> {
  return countRows(
    db,
    `select from record r join remote m on m.destination_id = r.destination_id and m.key = r.key
     where r.destination_id = $1 and m.remote_key is null and m.synced_hash is not null and ${hasBrand}`,
    [destinationId, brandText(brand)],
  )
}

/**
 * SQL condition: the body contains the text `"brand":"…"` (`$2`), ignoring case. A body is JSON without spaces between its parts, and
 * quotes within texts are escaped. So this text can only be the field `brand`.
 */
const hasBrand = 'position(lower($2) in lower(body)) > 0'

function brandText(brand: string): string {
  return `"brand":${JSON.stringify(brand.trim())}`
}
