/**
 * First load: all rows are new, so nothing is compared, looked up or updated. The result in `record` and `remote`, and the operations,
 * equal those of the general path (`desired.ts`, `pendingChanges.ts`, `operations.ts`), which is the oracle in
 * test/integration/sync/firstLoad.test.ts.
 */
import type pg from 'pg'
import { stagedKind } from '../read/stageTable.ts'
import { desiredTimes, plainTimes, type DesiredContext } from './desired.ts'
import { fillTable } from './planTables.ts'
import { refreshStatistics } from './statistics.ts'

export interface FirstLoad {
  readonly creates: number
  /** True if no row has times: operations can be written directly from the records. */
  readonly plain: boolean
  /** True if several rows share identifiers: the table `lost` lists the rows that are sent without them. */
  readonly shared: boolean
}

/** Returns true if the destination has no record, no key and no open batch. */
export async function isUntouched(client: pg.PoolClient, destinationId: number): Promise<boolean> {
  const known = await client.query(
    `select from record where destination_id = $1 union all select from remote where destination_id = $1
     union all select from batch where destination_id = $1 and status in ('pending', 'in_flight', 'ambiguous', 'parked') limit 1`,
    [destinationId],
  )
  return known.rowCount === 0
}

/** Writes the desired state of an untouched destination from the stage, without the keys of a plain load of members (`loadKeys`). */
export async function loadFirst(context: DesiredContext): Promise<FirstLoad> {
  const { client, destinationId, snapshotId } = context
  await context.changed.addAll()
  const inserted = await client.query(
    `insert into record (destination_id, key, hash, body, identifiers, effective_at, expires_at, line, snapshot_id)
     select $1, key, hash, body, identifiers, effective_at, expires_at, line, $2 from stage where kind = ${stagedKind.valid} order by key`,
    [destinationId, snapshotId],
  )
  const creates = inserted.rowCount ?? 0
  await refreshStatistics(client, destinationId, creates, ['record'])
  if (context.keys === 'products') {
    await client.query(
      `insert into remote (destination_id, key, held, desired_hash)
       select $1, key, 1, hash from record where destination_id = $1 order by key`,
      [destinationId],
    )
    return { creates, plain: true, shared: false }
  }
  const timed = await client.query('select from stage where effective_at is not null or expires_at is not null limit 1')
  const plain = timed.rowCount === 0
  const shared = await collectShared(client)
  // Those of a plain load are written with their batches.
  if (!plain) {
    const records = 'select * from record where destination_id = $1 order by key'
    await insertKeys(client, destinationId, { shared, columns: 'desired_hash', values: desiredTimes('r'), records })
  }
  return { creates, plain, shared }
}

/**
 * Writes the keys of a plain first load, behind the batches of its plan. Keys of provisional batches are stored as confirmed
 * (`db/provisional.ts`). A batch has the records from its first one to the first one of the next batch.
 */
export async function loadKeys(client: pg.PoolClient, destinationId: number, planId: string, first: FirstLoad): Promise<void> {
  await insertKeys(client, destinationId, {
    shared: first.shared,
    columns: 'desired_hash, synced_hash, expires_at, batch_id',
    values: `${plainTimes}, case when r.provisional then ${plainTimes} end, case when r.provisional then r.ends_at end, case when r.provisional then r.batch_id end`,
    records: `
      select f.provisional, f.batch_id, f.ends_at, i.key, i.identifiers
      from (
        select *, lead(first_key) over (order by first_key) as next_key from (
          select b.id as batch_id, b.provisional, e.expires_at as ends_at, e.first_key
          from batch b join batch_entries e on e.batch_id = b.id where b.plan_id = $2
          union all
          select b.id, false, null, e.record_key from batch b join entry e on e.batch_id = b.id and e.ord = 0 where b.plan_id = $2) g
        order by first_key) f
      cross join lateral (
        select key, identifiers from record
        where destination_id = $1 and key >= f.first_key and (f.next_key is null or key < f.next_key) order by key) i`,
    planId,
  })
  await refreshStatistics(client, destinationId, first.creates, ['remote'])
}

/** Inserts the identifiers of `records` (SQL, the destination as `$1`), each under one record, in sending order (desired.ts). */
async function insertKeys(
  client: pg.PoolClient,
  destinationId: number,
  {
    shared,
    columns,
    values,
    records,
    planId,
  }: { readonly shared: boolean; readonly columns: string; readonly values: string; readonly records: string; readonly planId?: string },
): Promise<void> {
  await client.query(
    `insert into remote (destination_id, key, held, group_key, ${columns})
     select $1, i.identifier, ${shared ? 'coalesce(x.n, 1)' : '1'}, r.key, ${values}
     from (${records}) r cross join lateral unnest(r.identifiers) as i (identifier)
     ${shared ? 'left join holder x on x.identifier = i.identifier where x.identifier is null or x.group_key = r.key' : ''}`,
    planId === undefined ? [destinationId] : [destinationId, planId],
  )
}

/**
 * Fills `shared` with the identifiers that several rows have, `holder` with the row under which each is sent, and `lost` with the
 * identifiers that other rows are sent without. Returns false, and makes no table, if there are none.
 */
async function collectShared(client: pg.PoolClient): Promise<boolean> {
  const identifiers = `stage s cross join lateral unnest(s.identifiers) as i (identifier)`
  // Two steps: with the smallest key of each, adding up all identifiers takes twice as long.
  const shared = await fillTable(
    client,
    'shared',
    `select i.identifier from ${identifiers} where s.kind = ${stagedKind.valid} group by i.identifier having count(*) > 1`,
  )
  if (shared === 0) return false
  await client.query('analyze shared')
  await fillTable(
    client,
    'holder',
    `select i.identifier, count(*)::int, decode(min(encode(s.key, 'hex') collate "C"), 'hex')
     from ${identifiers} join shared x on x.identifier = i.identifier where s.kind = ${stagedKind.valid} group by i.identifier`,
  )
  await client.query('analyze holder')
  await fillTable(
    client,
    'lost',
    `select s.key, array_agg(i.identifier)
     from ${identifiers} join holder x on x.identifier = i.identifier and x.group_key <> s.key where s.kind = ${stagedKind.valid} group by s.key`,
  )
  await client.query('analyze lost')
  return true
}
