/**
 * Desired state: writes the changes of the diff to `record` (content of the source) and `remote` (desired content of each key). It
 * sends nothing: the plan then selects the keys that are out of sync. So a plan that is never applied loses nothing, and a refused
 * key is tried again automatically.
 *
 * A product is one key. A member has several identifiers, and several members may have the same identifier: `held` is its
 * reference count (docs/guarantees.md#reference-counts). `group_key` is the member under which it is sent, so that each identifier
 * is in one user object, and all identifiers beside a deleted one are known.
 */
import type pg from 'pg'
import { queryable } from '../../db/database.ts'
import { erasedIdentifiers, erasedRecords } from '../../db/erasures.ts'
import { impliedKeysAmong, insertImpliedKeys, plainTimes, withoutNestedLoops } from '../../db/impliedKeys.ts'
import { isSuppressed } from '../../db/suppressed.ts'
import type { ChangedKeys } from '../../db/changedKeys.ts'
import { contentHash, stagedKind } from '../read/stageTable.ts'
import { fillTable } from './planTables.ts'

export interface DesiredContext {
  readonly client: pg.PoolClient
  readonly destinationId: number
  readonly snapshotId: number
  readonly keys: 'products' | 'identifiers'
  /** True if the destination may have implied keys (`db/impliedKeys.ts`). */
  readonly implied: boolean
  /** Collects every key whose desired content changes. */
  readonly changed: ChangedKeys
}

/** Applies creates and updates, and marks stale records. Removals are separate, because a guard may withhold them. */
export async function applyUpserts(context: DesiredContext): Promise<void> {
  const { client, destinationId } = context
  await client.query('analyze change')
  if (context.keys === 'identifiers') await collectIdentifierDelta(context)
  if (context.implied) await storeChangedKeys(context)
  // Updates come before inserts: Postgres has no statistics of new rows until they are analyzed, expects one row, and compares
  // all changes with each of them (200,000 products: more than ten minutes).
  await client.query(
    `update record r set status = 'stale'
     from change c where c.what = 'stale' and r.destination_id = $1 and r.key = c.key and r.status <> 'stale'`,
    [destinationId],
  )
  await upsertRecords(context)
  if (context.keys === 'identifiers') await applyIdentifierDelta(context)
  else await wantProducts(context)
}

/**
 * Adds products to the changes that are still missing and were kept, or taken out of stock, by an earlier `missing` policy, if the
 * current policy does more. Returns their number.
 */
export async function recallMissing({ client, destinationId }: DesiredContext, policy: 'delete' | 'out-of-stock'): Promise<number> {
  const recalled = await client.query(
    `insert into change
     select r.key, 'absent'
     from record r join remote m on m.destination_id = r.destination_id and m.key = r.key and m.held > 0
     where r.destination_id = $1 and r.status = 'missing' ${policy === 'delete' ? '' : `and r.body not like '%"availability":"out of stock"%'`}`,
    [destinationId],
  )
  return recalled.rowCount ?? 0
}

/** Fills `removal` with the records to remove, and the cause. Missing ones only if the caller may delete them. */
export async function collectRemovals(client: pg.PoolClient, options: { readonly absent: boolean }): Promise<void> {
  await fillTable(
    client,
    'removal',
    `select key, what from change where what in ('leaving', 'suppressed'${options.absent ? `, 'absent'` : ''})`,
  )
}

/**
 * On a list without row keys, a removal is identified by an identifier, and the person may be listed with more of them: every record
 * with an identifier of a removed row is removed too. Adds them to the changes and returns their number.
 */
export async function leaveByIdentifier({ client, destinationId }: DesiredContext): Promise<number> {
  const leaving = await client.query(
    `insert into change
     select distinct r.key, 'leaving'
     from stage s cross join lateral unnest(s.identifiers) as i (identifier)
       join record r on r.destination_id = ${destinationId} and i.identifier = any (r.identifiers)
     where s.kind = ${stagedKind.leaving} and not exists (select from change c where c.key = r.key and c.what <> 'absent')`,
  )
  return leaving.rowCount ?? 0
}

/**
 * Removes suppressed people, even if their row is missing or rejected in this read (docs/guarantees.md#suppression-wins). Adjusts
 * the changes and returns the numbers by former change.
 */
export async function leaveListed(
  { client, destinationId }: DesiredContext,
  lists: readonly number[],
): Promise<{ readonly absent: number; readonly stale: number }> {
  if (lists.length === 0) return { absent: 0, stale: 0 }
  const ids = `array[${lists.join(', ')}]`
  const { rows } = await client.query<{ absent: string; stale: string }>(
    `with left_out as (
       select c.key, c.what from change c join record o on o.destination_id = ${destinationId} and o.key = c.key
       where c.what in ('absent', 'stale') and exists (
         select from unnest(o.identifiers) as i (identifier)
           join remote r on r.destination_id = any(${ids}) and r.key = i.identifier and ${isSuppressed(ids)})),
     changed as (update change c set what = 'suppressed' from left_out l where c.key = l.key)
     select count(*) filter (where what = 'absent') as absent, count(*) filter (where what = 'stale') as stale from left_out`,
  )
  return { absent: Number(rows[0]?.absent), stale: Number(rows[0]?.stale) }
}

/**
 * Removes the records of erased people that are still desired, because the process of the erasure ended too early. Returns the
 * number that the diff did not mark as suppressed. Looks up few keys, and records only if one of them is desired.
 */
export async function leaveErased(context: DesiredContext, service: string): Promise<number> {
  const { client, destinationId } = context
  const { rows } = await client.query<{ keys: Buffer[] | null }>(
    `select array_agg(m.key) as keys from remote m
     where m.destination_id = $2 and m.held > 0 and m.key in (${erasedIdentifiers('$1')})`,
    [service, destinationId],
  )
  const implied = context.implied
    ? await client.query<{ identifier: Buffer }>(
        `select identifier from (${impliedKeysAmong('$2::int', `select key as identifier from (${erasedIdentifiers('$1')}) x`)}) i`,
        [service, destinationId],
      )
    : undefined
  const keys = [...(rows[0]?.keys ?? []), ...(implied?.rows ?? []).map(({ identifier }) => identifier)]
  const erased = await client.query(
    `with gone as (
       select r.key from record r where r.destination_id = $2 and r.key in (${erasedRecords('$1', '$2')})
       ${keys.length === 0 ? 'and $3::bytea[] is not null' : 'union select r.key from record r where r.destination_id = $2 and r.identifiers && $3::bytea[]'}),
     changed as (update change c set what = 'suppressed' from gone g where c.key = g.key and c.what <> 'suppressed' returning c.key)
     insert into change select g.key, 'suppressed' from gone g where not exists (select from change c where c.key = g.key)`,
    [service, destinationId, keys],
  )
  return erased.rowCount ?? 0
}

/**
 * Removes records whose row is missing or rejected, if another row of this read opted out one of their identifiers. Adjusts the
 * changes and returns the numbers by former change.
 */
export async function leaveOptedOut({
  client,
  destinationId,
}: DesiredContext): Promise<{ readonly absent: number; readonly stale: number }> {
  const { rows } = await client.query<{ absent: string; stale: string }>(
    `with left_out as (
       select c.key, c.what from change c join record o on o.destination_id = ${destinationId} and o.key = c.key
       where c.what in ('absent', 'stale') and exists (
         select from unnest(o.identifiers) as i (identifier) join opted_out using (identifier))),
     changed as (update change c set what = 'leaving' from left_out l where c.key = l.key)
     select count(*) filter (where what = 'absent') as absent, count(*) filter (where what = 'stale') as stale from left_out`,
  )
  return { absent: Number(rows[0]?.absent), stale: Number(rows[0]?.stale) }
}

/** Removes the records of `removal` from the desired state. */
export async function applyRemovals(context: DesiredContext): Promise<void> {
  const { client, destinationId } = context
  if (context.keys === 'products') {
    // An earlier refusal was about its content; from here on only a refused delete counts (pendingChanges.ts, `lookup`).
    await client.query(
      `update remote m set held = 0, desired_hash = null, refused_code = null, refused_message = null
       from removal x where m.destination_id = $1 and m.key = x.key`,
      [destinationId],
    )
    await context.changed.add('select key from removal')
    // Its content is kept until its delete is confirmed: if its product_key is unknown or not accepted, the content is sent once
    // more to get the key. A request in flight may still be confirmed.
    await client.query(
      `update record r set status = 'missing' from removal x, remote m
       where r.destination_id = $1 and r.key = x.key and m.destination_id = $1 and m.key = x.key
         and (m.synced_hash is not null or exists (select from unsettled u where u.key = x.key))`,
      [destinationId],
    )
    await client.query(`delete from record r using removal x where r.destination_id = $1 and r.key = x.key and r.status <> 'missing'`, [
      destinationId,
    ])
  } else {
    if (context.implied) await insertImpliedKeys(queryable(client), destinationId, 'select key from removal')
    await client.query(
      `update remote m set held = greatest(m.held - x.n, 0), erase = m.erase or (x.listed and m.held <= x.n)
       from (
         select i.identifier, count(*)::int as n, bool_or(removal.cause = 'suppressed') as listed
         from removal join record r on r.destination_id = $1 and r.key = removal.key
           cross join lateral unnest(r.identifiers) as i (identifier)
         group by i.identifier) x
       where m.destination_id = $1 and m.key = x.identifier`,
      [destinationId],
    )
    await context.changed.add(`select unnest(r.identifiers) from removal join record r on r.destination_id = $1 and r.key = removal.key`)
    await client.query(`delete from record r using removal x where r.destination_id = $1 and r.key = x.key`, [destinationId])
  }
}

/** Deletes products that were kept for a delete that is no longer needed: the service has none, and no request is in flight. */
export async function forgetGone({ client, destinationId }: DesiredContext): Promise<void> {
  await client.query(
    `delete from record r where r.destination_id = $1 and r.status = 'missing'
       and not exists (select from unsettled u where u.key = r.key)
       and not exists (select from remote m where m.destination_id = $1 and m.key = r.key and (m.held > 0 or m.synced_hash is not null))`,
    [destinationId],
  )
}

/** Applies `missing: out-of-stock`: the product stays with the same content, but out of stock. */
export async function markOutOfStock(context: DesiredContext): Promise<void> {
  const { client, destinationId, snapshotId } = context
  const { rows } = await client.query<{ key: Buffer; body: string }>(
    `select r.key, r.body from change c join record r on r.destination_id = $1 and r.key = c.key where c.what = 'absent'`,
    [destinationId],
  )
  const bodies = rows.map(({ key, body }) => ({ key, body: outOfStock(body) }))
  const values = [destinationId, bodies.map(({ key }) => key), bodies.map(({ body }) => body), bodies.map(({ body }) => contentHash(body))]
  await client.query(
    `update record r set body = x.body, hash = x.hash, status = 'missing', snapshot_id = $5
     from unnest($2::bytea[], $3::text[], $4::bytea[]) as x (key, body, hash)
     where r.destination_id = $1 and r.key = x.key`,
    [...values, snapshotId],
  )
  await client.query(
    `update remote m set desired_hash = x.hash
     from unnest($2::bytea[], $3::bytea[]) as x (key, hash)
     where m.destination_id = $1 and m.key = x.key`,
    [destinationId, values[1], values[3]],
  )
  await context.changed.add('select key from unnest($2::bytea[]) as x (key)', [values[1]])
}

/** Applies `missing: keep`: marks the record as missing, so that it is handled only once. */
export async function markMissing(context: DesiredContext): Promise<void> {
  await context.client.query(
    `update record r set status = 'missing' from change c where c.what = 'absent' and r.destination_id = $1 and r.key = c.key`,
    [context.destinationId],
  )
}

/** Sets the availability in canonical JSON; keys keep their sorted order. */
export function outOfStock(json: string): string {
  const product = JSON.parse(json) as Record<string, unknown>
  product['availability'] = 'out of stock'
  if ('inventory' in product) product['inventory'] = 0
  return JSON.stringify(product)
}

async function upsertRecords({ client, destinationId, snapshotId }: DesiredContext): Promise<void> {
  await client.query(
    `update record r set hash = s.hash, body = s.body, identifiers = s.identifiers, effective_at = s.effective_at,
       expires_at = s.expires_at, line = s.line, status = 'live', snapshot_id = $2, load_id = null
     from change c join stage s using (key) where c.what = 'update' and r.destination_id = $1 and r.key = c.key`,
    [destinationId, snapshotId],
  )
  await client.query(
    `insert into record (destination_id, key, hash, body, identifiers, effective_at, expires_at, line, snapshot_id)
     select $1, s.key, s.hash, s.body, s.identifiers, s.effective_at, s.expires_at, s.line, $2
     from change c join stage s using (key) where c.what = 'create' order by s.key`,
    [destinationId, snapshotId],
  )
}

/** Stores the implied keys of updated records, and of records that have an identifier which another row gains. */
async function storeChangedKeys({ client, destinationId }: DesiredContext): Promise<void> {
  await withoutNestedLoops(client, true, () =>
    fillTable(
      client,
      'sharing',
      `select distinct record_key from (${impliedKeysAmong(String(destinationId), 'select identifier from delta where d > 0')}) i`,
    ),
  )
  await insertImpliedKeys(queryable(client), destinationId, `select key from change where what = 'update' union select key from sharing`)
  await client.query(
    'update record r set load_id = null from sharing s where r.destination_id = $1 and r.key = s.key and r.load_id is not null',
    [destinationId],
  )
}

async function wantProducts({ client, destinationId, changed }: DesiredContext): Promise<void> {
  await client.query(
    `insert into remote (destination_id, key, held, desired_hash)
     select $1, s.key, 1, s.hash from change c join stage s using (key) where c.what in ('create', 'update') order by s.key
     on conflict (destination_id, key) do update set held = 1, desired_hash = excluded.desired_hash`,
    [destinationId],
  )
  await changed.add(`select key from change where what in ('create', 'update')`)
}

/**
 * Fills `delta` (identifier, d, group_key) with the net change of each reference count, before `record` changes. The group matters
 * only for identifiers that rows gain.
 *
 * Most identifiers belong to one row and need no sum. The few that several rows share, or that moved between rows, are summed
 * separately. (Summing all, with the smallest key of each, took twice as long at 2,000,000 identifiers; before version 18
 * Postgres has no `min` for bytea either.)
 */
async function collectIdentifierDelta({ client, destinationId }: DesiredContext): Promise<void> {
  // The earlier version of the changed records, looked up once, for their identifiers and times.
  await fillTable(
    client,
    'former',
    `select r.key, r.identifiers, r.effective_at, r.expires_at
     from change c join record r on r.destination_id = ${destinationId} and r.key = c.key where c.what = 'update'`,
  )
  await client.query('analyze former (key)')
  await fillTable(
    client,
    'delta',
    `select i.identifier, 1 as d, s.key as group_key
     from change c join stage s using (key) cross join lateral unnest(s.identifiers) as i (identifier)
     where c.what in ('create', 'update')
     union all
     select i.identifier, -1, f.key from former f cross join lateral unnest(f.identifiers) as i (identifier)`,
  )
  const shared = await fillTable(client, 'shared', 'select identifier from delta group by identifier having count(*) > 1')
  if (shared > 0) {
    await client.query('analyze shared')
    // In place: few of 2,000,000 identifiers of a first load are shared, and writing a table without them took 0.6 s.
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

async function applyIdentifierDelta({ client, destinationId, changed }: DesiredContext): Promise<void> {
  // Three statements: one that looks each identifier up once took 3.4 s instead of 1.6 s at 60,000 of 2,000,000 keys.
  await client.query(
    `update remote m set held = greatest(m.held + x.d, 0) from delta x where x.d < 0 and m.destination_id = $1 and m.key = x.identifier`,
    [destinationId],
  )
  const timed = await client.query('select from stage where effective_at is not null or expires_at is not null limit 1')
  const wanted = timed.rowCount === 0 ? plainTimes : desiredTimes('s')
  const held = `delta x ${timed.rowCount === 0 ? '' : 'join stage s on s.key = x.group_key'}`
  // An identifier keeps its group while it is desired or confirmed: user objects never mix (see above).
  await client.query(
    `update remote m set held = m.held + x.d, erase = false,
       group_key = case when m.held <= 0 and m.synced_hash is null then x.group_key else m.group_key end,
       desired_hash = case when m.held <= 0 and m.synced_hash is null then ${wanted} else m.desired_hash end
     from ${held} where x.d > 0 and m.destination_id = $1 and m.key = x.identifier`,
    [destinationId],
  )
  // Not "on conflict", which took 1.6 times as long; only plans insert, one at a time. In sending order, so that the rows of one
  // answer are on few pages: in the order of their keys its 2,500 rows would be on as many pages.
  await client.query(
    `insert into remote (destination_id, key, held, group_key, desired_hash)
     select $1, x.identifier, x.d, x.group_key, ${wanted}
     from ${held}
     where x.d > 0 and not exists (select from remote m where m.destination_id = $1 and m.key = x.identifier) order by x.group_key`,
    [destinationId],
  )
  await changed.add('select identifier from delta')
  if ((await client.query('select from retimed limit 1')).rowCount === 0) return
  // The times of a row changed, but not its identifiers: the whole user is sent again.
  await client.query(
    `update remote m set desired_hash = x.times
     from retimed x where m.destination_id = $1 and m.group_key = x.key and m.held > 0 and m.desired_hash is distinct from x.times`,
    [destinationId],
  )
  await changed.add('select m.key from retimed x join remote m on m.destination_id = $1 and m.group_key = x.key and m.held > 0')
}

/** Returns SQL of the desired content of a row's identifiers, from its times. `row`: alias of the row. */
export function desiredTimes(row: 's' | 'r'): string {
  return `case when ${row}.effective_at is null and ${row}.expires_at is null then ${plainTimes}
    else decode(md5(concat_ws('/', extract(epoch from ${row}.effective_at), extract(epoch from ${row}.expires_at))), 'hex') end`
}
