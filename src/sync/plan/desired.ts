/**
 * Updates the desired state: writes the changes of the diff to `record` (content of the source) and `remote` (desired content of
 * each key). Later the plan selects all keys that are out of sync. So nothing is lost if a plan is never applied, and a refused key
 * is tried again automatically.
 *
 * A product is one key. A member has several identifiers, and each is a key. Several members may have the same identifier: `held` is
 * the number of them (docs/guarantees.md#reference-counts). It is sent with the other identifiers of one of them, whose record key is
 * its `group_key`. So no identifier is in two user objects. And a delete, which may remove a whole user at the service, shows which
 * identifiers must be sent again.
 *
 * After a first load most identifiers have no row in `remote`; they are implied by their records (docs/decisions/implied-keys.md).
 */
import pg from 'pg'
import { queryable } from '../../db/database.ts'
import { erasedIdentifiers, erasedRecords } from '../../db/erasures.ts'
import { plainTimes } from '../../db/impliedKeys.ts'
import { searchImpliedKeys } from '../../db/impliedKeySearch.ts'
import * as records from '../../db/records.ts'
import {
  addReferences,
  changeProducts,
  changeTimes,
  desireProducts,
  insertReferences,
  removeReferences,
  undesireProducts,
} from '../../db/remote/desired.ts'
import { insertChangedKeys, recordColumns } from '../../db/remote/implied.ts'
import type { Row, Value } from '../../db/row.ts'
import { isSuppressed } from '../../db/suppressed.ts'
import type { ChangedKeys } from '../../db/changedKeys.ts'
import { recordOf } from '../../unknownValue.ts'
import { contentHash, stagedKind } from '../read/stageTable.ts'
import { createTable, fillTable } from './planTables.ts'

export interface DesiredContext {
  readonly client: pg.PoolClient
  readonly destinationId: number
  readonly snapshotId: number
  readonly keys: 'products' | 'identifiers'
  /** True if the destination may have implied keys (`db/impliedKeys.ts`). */
  readonly implied: boolean
  /** Collects every key whose desired content changes. */
  readonly changed: ChangedKeys
  /**
   * SQL of the new content of a changed group, if the plan that follows is applied in any case. Then the plan writes it, and not the
   * start of its application. `group`: SQL of the group.
   */
  readonly renewed: ((group: string) => string) | undefined
}

/** Applies creates and updates, and marks stale records. Removals are separate, because a guard may withhold them. */
export async function applyUpserts(context: DesiredContext): Promise<void> {
  const { client, destinationId } = context
  await client.query('analyze change')
  if (context.keys === 'identifiers') {
    await collectIdentifierDelta(context)
    await countReferences(context)
    if (context.implied) await storeChangedKeys(context)
  }
  // Updates come before inserts: Postgres has no statistics of new rows until they are analyzed, expects one row, and compares
  // all changes with each of them (200,000 products: more than ten minutes).
  await records.markStale(queryable(client), destinationId, `select key from change where what = 'stale'`)
  await upsertRecords(context)
  if (context.keys === 'identifiers') await insertIdentifiers(context)
  else await storeDesiredProducts(context)
}

/**
 * Finds products that are missing for longer. An earlier `missing` policy kept them or took them out of stock. If the current policy is
 * `delete`, or `out-of-stock` for products that were kept, they are added to the changes. Returns their number.
 */
export async function recallMissing({ client, destinationId }: DesiredContext, policy: 'delete' | 'out-of-stock'): Promise<number> {
  const recalled = await client.query(
    `insert into change
     select r.key, 'missing'
     from record r join remote m on m.destination_id = r.destination_id and m.key = r.key and m.held > 0
     where r.destination_id = $1 and r.status = 'missing' ${policy === 'delete' ? '' : `and r.body not like '%"availability":"out of stock"%'`}`,
    [destinationId],
  )
  return recalled.rowCount ?? 0
}

/** Fills `removal` with the records to remove and the cause. `missing`: includes records whose row is missing. */
export async function collectRemovals(client: pg.PoolClient, options: { readonly missing: boolean }): Promise<void> {
  await fillTable(
    client,
    'removal',
    `select key, what from change where what in ('opted_out', 'suppressed'${options.missing ? `, 'missing'` : ''})`,
  )
}

/**
 * Adds every record to the changes that has an identifier of a removed row. For lists whose removals name identifiers, not row keys: the
 * person may be on the list with other identifiers too. Returns their number.
 */
export async function optOutByIdentifier({ client, destinationId }: DesiredContext): Promise<number> {
  const added = await client.query(
    `insert into change
     select distinct r.key, 'opted_out'
     from stage s cross join lateral unnest(s.identifiers) as i (identifier)
       join record r on r.destination_id = ${destinationId} and i.identifier = any (r.identifiers)
     where s.kind = ${stagedKind.optedOut} and not exists (select from change c where c.key = r.key and c.what <> 'missing')`,
  )
  return added.rowCount ?? 0
}

/**
 * Marks records of suppressed people for removal, even if their row is missing or rejected in this read
 * (docs/guarantees.md#suppression-wins). Returns the numbers that the diff had found missing (`missing`) and rejected (`stale`).
 */
export async function suppressListed(
  { client, destinationId }: DesiredContext,
  lists: readonly number[],
): Promise<{ readonly missing: number; readonly stale: number }> {
  if (lists.length === 0) return { missing: 0, stale: 0 }
  const ids = `array[${lists.join(', ')}]`
  const { rows } = await client.query<{ missing: string; stale: string }>(
    `with found as (
       select c.key, c.what from change c join record o on o.destination_id = ${destinationId} and o.key = c.key
       where c.what in ('missing', 'stale') and exists (
         select from unnest(o.identifiers) as i (identifier)
           join remote r on r.destination_id = any(${ids}) and r.key = i.identifier and ${isSuppressed(ids)})),
     changed as (update change c set what = 'suppressed' from found f where c.key = f.key)
     select count(*) filter (where what = 'missing') as missing, count(*) filter (where what = 'stale') as stale from found`,
  )
  return { missing: Number(rows[0]?.missing), stale: Number(rows[0]?.stale) }
}

/**
 * Removes the records of erased people that are still desired, because the process of the erasure ended too early. Returns the
 * number that the diff did not mark as suppressed. Reads the keys of all erased people, and reads records only if one of these keys is
 * desired.
 */
export async function suppressErasedRecords(context: DesiredContext, service: string): Promise<number> {
  const { client, destinationId } = context
  const { rows } = await client.query<{ readonly keys: readonly Value<'remote', 'key'>[] | null }>(
    `select array_agg(m.key) as keys from remote m
     where m.destination_id = $2 and m.held > 0 and m.key in (${erasedIdentifiers('$1')})`,
    [service, destinationId],
  )
  const implied: Buffer[] = []
  if (context.implied)
    for await (const found of searchImpliedKeys(
      client,
      destinationId,
      `select key as identifier from (${erasedIdentifiers(pg.escapeLiteral(service))}) x`,
    ))
      implied.push(...found.map(({ identifier }) => identifier))
  const keys = [...(rows[0]?.keys ?? []), ...implied]
  const erased = await client.query(
    `with erased as (
       select r.key from record r where r.destination_id = $2 and r.key in (${erasedRecords('$1', '$2')})
       ${keys.length === 0 ? 'and $3::bytea[] is not null' : 'union select r.key from record r where r.destination_id = $2 and r.identifiers && $3::bytea[]'}),
     changed as (update change c set what = 'suppressed' from erased g where c.key = g.key and c.what <> 'suppressed' returning c.key)
     insert into change select g.key, 'suppressed' from erased g where not exists (select from change c where c.key = g.key)`,
    [service, destinationId, keys],
  )
  return erased.rowCount ?? 0
}

/**
 * Removes records whose row is missing or rejected, if another row of this read opted out one of their identifiers. Adjusts the
 * changes and returns the numbers by former change.
 */
export async function optOutByOtherRows({
  client,
  destinationId,
}: DesiredContext): Promise<{ readonly missing: number; readonly stale: number }> {
  const { rows } = await client.query<{ missing: string; stale: string }>(
    `with found as (
       select c.key, c.what from change c join record o on o.destination_id = ${destinationId} and o.key = c.key
       where c.what in ('missing', 'stale') and exists (
         select from unnest(o.identifiers) as i (identifier) join opted_out using (identifier))),
     changed as (update change c set what = 'opted_out' from found f where c.key = f.key)
     select count(*) filter (where what = 'missing') as missing, count(*) filter (where what = 'stale') as stale from found`,
  )
  return { missing: Number(rows[0]?.missing), stale: Number(rows[0]?.stale) }
}

/** Removes the records of `removal` from the desired state. */
export async function applyRemovals(context: DesiredContext): Promise<void> {
  const { destinationId } = context
  const tx = queryable(context.client)
  if (context.keys === 'products') {
    await undesireProducts(tx, destinationId, 'select key from removal')
    await context.changed.add('select key from removal')
    // The content is kept until the delete is confirmed. If the product_key is unknown or not accepted, the content is sent once
    // more to get the key. It is also kept for a request in flight, which may still be confirmed.
    await records.markMissing(
      tx,
      destinationId,
      `select x.key from removal x join remote m on m.destination_id = $1 and m.key = x.key
       where m.synced_hash is not null or exists (select from unsettled u where u.key = x.key)`,
    )
    await records.deleteRecords(tx, destinationId, 'select key from removal', { keepMissing: true })
  } else {
    await removeReferences(
      tx,
      destinationId,
      `select i.identifier, count(*)::int as n, bool_or(removal.cause = 'suppressed') as suppressed
       from removal join record r on r.destination_id = $1 and r.key = removal.key
         cross join lateral unnest(r.identifiers) as i (identifier)
       group by i.identifier`,
    )
    // An implied key has only the record that is removed.
    if (context.implied)
      await insertChangedKeys(
        context.changed,
        `select ${recordColumns}, k.suppressed
         from (select key, bool_or(cause = 'suppressed') as suppressed from removal group by key) k
           join record r on r.destination_id = $1 and r.key = k.key and r.load_id is not null`,
        { held: '0', erase: 'r.suppressed' },
      )
    await context.changed.add(`select unnest(r.identifiers) from removal join record r on r.destination_id = $1 and r.key = removal.key`)
    await records.deleteRecords(tx, destinationId, 'select key from removal', { keepMissing: false })
  }
}

/**
 * Deletes the records of products that were kept for a delete, if it is no longer needed: the service does not have the product,
 * and no request is in flight.
 */
export async function dropUnneededRecords({ client, destinationId }: DesiredContext): Promise<void> {
  await records.forgetMissing(queryable(client), destinationId, 'select key from unsettled')
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

/** Applies `missing: keep`: marks the record as missing, so that it is handled only once. */
export async function markMissing(context: DesiredContext): Promise<void> {
  await records.markMissing(queryable(context.client), context.destinationId, `select key from change where what = 'missing'`)
}

/** Sets the availability in canonical JSON; keys keep their sorted order. */
export function outOfStock(json: string): string {
  const product = recordOf(JSON.parse(json))
  return JSON.stringify({ ...product, availability: 'out of stock', ...('inventory' in product ? { inventory: 0 } : {}) })
}

async function upsertRecords({ client, destinationId, snapshotId }: DesiredContext): Promise<void> {
  const [tx, read] = [queryable(client), { destinationId, snapshotId }]
  await records.updateRecords(tx, read, `select s.* from change c join stage s using (key) where c.what = 'update'`)
  await records.insertRecords(
    tx,
    read,
    `select s.*, null::bigint as load_id from change c join stage s using (key) where c.what = 'create'`,
  )
}

/**
 * Stores the implied keys of updated records, and of records that have an identifier which another row gains: with the row counts of
 * `delta`, and with the content of the groups that this plan sends again.
 */
async function storeChangedKeys({ client, destinationId, changed, renewed }: DesiredContext): Promise<void> {
  await createTable(client, 'sharing')
  for await (const found of searchImpliedKeys(client, destinationId, 'select identifier from delta where d > 0')) {
    if (found.length === 0) continue
    await client.query('insert into sharing select distinct key from unnest($1::bytea[]) as k (key)', [
      found.map(({ recordKey }) => recordKey),
    ])
  }
  await insertChangedKeys(
    changed,
    `select $1::int as destination_id, key, identifiers, load_id, true as updated from former where load_id is not null
     union all
     select ${recordColumns}, false from sharing s join record r on r.destination_id = $1 and r.key = s.key and r.load_id is not null
     where r.key not in (select key from former)`,
    {
      held: 'greatest(1 + coalesce(x.d, 0), 0)',
      joins: 'left join delta x on x.identifier = i.identifier',
      ...(renewed === undefined ? {} : { desired: `case when r.updated then ${renewed('r.key')} else ${plainTimes} end` }),
    },
  )
  await records.endImplying(queryable(client), destinationId, 'select key from sharing')
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
 * Fills `delta` (identifier, d, group_key) with the change of each reference count, before `record` changes. `group_key` is used only
 * for identifiers that rows gain: it becomes the group of those that have none.
 *
 * An identifier that a row keeps is left out. Of the others, most belong to one row and need no sum. Only those that several rows
 * share, or that moved between rows, are summed. Summing all 2,000,000 identifiers of a first load, with the smallest key of each, took
 * twice as long.
 */
async function collectIdentifierDelta({ client, destinationId }: DesiredContext): Promise<void> {
  // Earlier version of the changed records: read once, for their identifiers and times.
  await fillTable(
    client,
    'former',
    `select key, identifiers, effective_at, expires_at, load_id from change where what = 'update' and identifiers is not null
     union all
     select r.key, r.identifiers, r.effective_at, r.expires_at, r.load_id
     from change c join record r on r.destination_id = ${destinationId} and r.key = c.key where c.what = 'update' and c.identifiers is null`,
  )
  await client.query('analyze former (key)')
  await fillTable(
    client,
    'delta',
    `select i.identifier, 1 as d, s.key as group_key
     from change c join stage s using (key) left join former f using (key) cross join lateral unnest(s.identifiers) as i (identifier)
     where c.what in ('create', 'update') and (f.key is null or i.identifier <> all (f.identifiers))
     union all
     select i.identifier, -1, f.key
     from former f join stage s using (key) cross join lateral unnest(f.identifiers) as i (identifier)
     where i.identifier <> all (s.identifiers)`,
  )
  const shared = await fillTable(client, 'shared', 'select identifier from delta group by identifier having count(*) > 1')
  if (shared > 0) {
    await client.query('analyze shared')
    // Changed in place, because few of the 2,000,000 identifiers of a first load are shared. Writing a table without them took 0.6
    // s.
    await client.query(
      `with taken as (delete from delta d using shared x where d.identifier = x.identifier returning d.*)
       insert into delta
       select identifier, sum(d)::int, decode(min(encode(group_key, 'hex') collate "C") filter (where d = 1), 'hex')
       from taken group by identifier having sum(d) <> 0`,
    )
  }
  await client.query('analyze delta')
  await fillTable(
    client,
    'retimed',
    `select s.key, ${desiredTimes('s')} as times from former f join stage s using (key)
     where (s.effective_at, s.expires_at) is distinct from (f.effective_at, f.expires_at)`,
  )
}

/** Adds the delta to the row counts of identifiers that have a row. */
async function countReferences(context: DesiredContext): Promise<void> {
  // Three statements take 1.6 s for 60,000 of 2,000,000 keys. A single one, which looks each identifier up only once, took 3.4 s.
  const tx = queryable(context.client)
  await removeReferences(tx, context.destinationId, 'select identifier, -d as n, false as suppressed from delta where d < 0')
  await addReferences(tx, context.destinationId, await gainedIdentifiers(context))
}

/** Returns SQL of the identifiers that rows gain, with their desired content. */
async function gainedIdentifiers({ client, renewed }: DesiredContext): Promise<string> {
  const timed = await client.query('select from stage where effective_at is not null or expires_at is not null limit 1')
  const times = timed.rowCount === 0 ? plainTimes : desiredTimes('s')
  return `select x.identifier, x.d as n, x.group_key,
      ${renewed === undefined ? times : `case when f.key is null then ${times} else ${renewed('x.group_key')} end`} as times
    from delta x left join former f on f.key = x.group_key
      ${timed.rowCount === 0 ? '' : 'join stage s on s.key = x.group_key'} where x.d > 0`
}

/** Inserts the identifiers that have no row, and changes the times of groups. */
async function insertIdentifiers(context: DesiredContext): Promise<void> {
  const { client, destinationId, changed } = context
  const tx = queryable(client)
  await insertReferences(tx, destinationId, await gainedIdentifiers(context))
  await changed.add('select identifier from delta')
  if ((await client.query('select from retimed limit 1')).rowCount === 0) return
  await changeTimes(tx, destinationId, 'select key as group_key, times from retimed')
  await changed.add('select m.key from retimed x join remote m on m.destination_id = $1 and m.group_key = x.key and m.held > 0')
}

/** Returns SQL of the desired content of a row's identifiers, from its times. `row`: alias of the row. */
export function desiredTimes(row: 's' | 'r'): string {
  return `case when ${row}.effective_at is null and ${row}.expires_at is null then ${plainTimes}
    else decode(md5(concat_ws('/', extract(epoch from ${row}.effective_at), extract(epoch from ${row}.expires_at))), 'hex') end`
}
