/**
 * First load: all rows are new, so nothing is compared, looked up or updated. The result in `record` and `remote`, and the operations,
 * equal those of the general path (`desired.ts`, `pendingChanges.ts`, `operations.ts`), which is the oracle in
 * test/integration/sync/firstLoad.test.ts.
 */
import type pg from 'pg'
import { stagedKind } from '../read/stageTable.ts'
import { desiredTimes, type DesiredContext } from './desired.ts'
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

/** Writes the desired state of an untouched destination from the stage, without the keys of a plain load of members (`firstKeys.ts`). */
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
    await insertKeys(client, destinationId, { shared, columns: 'desired_hash', content: desiredTimes('r'), records })
  }
  return { creates, plain, shared }
}

/** Inserts the identifiers of `records` (SQL, the destination as `$1`), each under one record, in sending order (desired.ts). */
export async function insertKeys(
  client: pg.PoolClient,
  destinationId: number,
  query: { readonly shared: boolean; readonly columns: string; readonly content: string; readonly records: string },
  values: readonly unknown[] = [],
): Promise<void> {
  const { shared, columns, content, records } = query
  await client.query(
    `insert into remote (destination_id, key, held, group_key, ${columns})
     select $1, i.identifier, ${shared ? 'coalesce(x.n, 1)' : '1'}, r.key, ${content}
     from (${records}) r cross join lateral unnest(r.identifiers) as i (identifier)
     ${shared ? 'left join holder x on x.identifier = i.identifier where x.identifier is null or x.group_key = r.key' : ''}`,
    [destinationId, ...values],
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
