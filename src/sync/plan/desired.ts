/**
 * Writes the changes of the diff to the desired state: `record` (content of the source) and `remote` (desired content of each key). Later
 * the plan selects all keys that are out of sync. Therefore nothing is lost if a plan is never applied, and a refused key is tried again
 * automatically.
 *
 * `desiredState.ts` is the interface of the steps that differ between products and identifiers. This file has the other steps, and
 * functions that both implementations use.
 */
import pg from 'pg'
import type { Transaction } from '../../db/database.ts'
import { erasedIdentifiers, erasedRecords } from '../../db/erasures.ts'
import { rowIdentifiers } from '../../db/identifiers.ts'
import { plainTimes } from '../../db/impliedKeys.ts'
import { searchImpliedKeys } from '../../db/impliedKeySearch.ts'
import * as records from '../../db/records.ts'
import type { Value } from '../../db/row.ts'
import { isSuppressed } from '../../db/suppressed.ts'
import type { ChangedKeys } from '../../db/changedKeys.ts'
import { stagedKind } from '../read/stageTable.ts'
import type { Diff } from './diff.ts'
import { fillTable, recordChange } from './planTables.ts'

/** Transaction and destination whose desired state is updated. */
export interface DesiredContext {
  readonly tx: Transaction
  readonly destinationId: number
  readonly snapshotId: number
  /** True if the destination may have implied keys: desired keys without a row in `remote` (docs/decisions/implied-keys.md). */
  readonly mayImplyKeys: boolean
  /** Collects every key whose desired content changes. */
  readonly changed: ChangedKeys
  /**
   * Returns SQL of the new desired content of a changed group (identifiers that are sent as one user). `group`: SQL of the group's key.
   * Undefined if the plan does not write this content (`PlanWork.writesContent`), and for an erasure.
   */
  readonly newContent: ((group: string) => string) | undefined
}

/** Fills the table `removal` with the records to remove and the cause. `missing`: true to include records whose row is missing. */
export async function collectRemovals(tx: Transaction, options: { readonly missing: boolean }): Promise<void> {
  const causes = [recordChange.opted_out, recordChange.suppressed]
  if (options.missing) causes.push(recordChange.missing)
  await fillTable(tx, 'removal', `select key, what from change where what in (${causes.join(', ')})`)
}

/**
 * Adds to `removal` the missing records of which the service has nothing, and returns their number. No guard withholds their removal,
 * because it sends no delete. If they stayed, this plan would send them. `recordKey`: column of `remote` with the record's key. `keys`: SQL
 * of the keys of the record `c.key`, in the column `key`.
 */
export async function collectUnsent(
  { tx, destinationId, changed }: DesiredContext,
  { recordKey, keys }: { readonly recordKey: 'key' | 'group_key'; readonly keys: string },
): Promise<number> {
  return tx.execute(
    `insert into removal
     select c.key, ${recordChange.missing} from change c
     where c.what = ${recordChange.missing}
       -- One of the record's keys is desired and not confirmed.
       and c.key in (
         select m.${recordKey} from remote m
         where m.destination_id = ${destinationId} and m.ref_count > 0 and m.synced_hash is null and ${await changed.outOfSync()})
       -- None of its keys is confirmed or unresolved. A key without a row is implied. It is confirmed, because the implied keys of open
       -- batches were stored before.
       and not exists (
         select from (${keys}) k left join remote m on m.destination_id = ${destinationId} and m.key = k.key
         where m.key is null or m.synced_hash is not null or exists (select from unresolved u where u.key = k.key))`,
  )
}

/**
 * Adds to the table `change`, as opted out, the records that have an identifier of an opted-out row. Returns the number of added records.
 * Leaves out records that have another change than `missing`. Used for destinations with `removesBy: identifier`: the removed person may be
 * on the list under another row key.
 */
export async function optOutByIdentifier({ tx, destinationId }: DesiredContext): Promise<number> {
  return tx.execute(
    // Records are searched by a hash join: `= any (r.identifiers)` would compare each identifier with all records (1,000 identifiers,
    // 100,000 records: 68 s instead of 0.1).
    `with removed as materialized ( -- the opted-out identifiers that the list still has
       select m.key as identifier from remote m
       where m.destination_id = ${destinationId} and m.ref_count > 0
         and m.key in (select unnest(${rowIdentifiers('s')}) from stage s where s.kind = ${stagedKind.optedOut}))
     -- the records with one of them, unless the diff found another change than missing
     insert into change
     select distinct r.key, ${recordChange.opted_out}
     from record r cross join lateral unnest(${rowIdentifiers('r')}) as i (identifier)
     where r.destination_id = ${destinationId} and i.identifier in (select identifier from removed)
       and not exists (select from change c where c.key = r.key and c.what <> ${recordChange.missing})`,
  )
}

/**
 * Marks for removal the records of people on do-not-reach lists, if the row is missing or rejected in this read
 * (docs/guarantees.md#suppression-wins). `lists`: ids of the lists. `resolveStage` marks the other rows. Returns how many of these records
 * the diff had found missing (`missing`) and rejected (`stale`).
 */
export async function suppressByLists(context: DesiredContext, lists: readonly number[]): Promise<Pick<Diff, 'missing' | 'stale'>> {
  if (lists.length === 0) return { missing: 0, stale: 0 }
  const ids = `array[${lists.join(', ')}]`
  return markWithoutRow(
    context,
    'suppressed',
    `join remote listed on listed.destination_id = any(${ids}) and listed.key = i.identifier and ${isSuppressed('listed', ids)}`,
  )
}

/**
 * Marks for removal the records of erased people that the erasure has not removed yet. Returns the number of records that it marks: in
 * total (`suppressed`), and by the change that the diff had found. Records that were marked as suppressed before do not count. Searches
 * records by identifier only if a key of an erased person is desired.
 */
export async function suppressErasedRecords(context: DesiredContext, service: string): Promise<Omit<Diff, 'creates'>> {
  const { tx, destinationId } = context
  const keys = await desiredErasedKeys(context, service)
  // Postgres requires a use of each parameter. So without keys, $3 is used in a condition that is always true.
  const orHasKey =
    keys.length === 0
      ? 'and $3::bytea[] is not null'
      : `union select r.key from record r where r.destination_id = $2 and ${rowIdentifiers('r')} && $3::bytea[]`
  const [counts] = await tx.query<Record<'updates' | 'stale' | 'missing' | 'opted_out' | 'suppressed', string>>(
    `with erased as (select r.key from record r where r.destination_id = $2 and r.key in (${erasedRecords('$1', '$2')}) ${orHasKey}),
     found as ( -- the erased records that are not marked as suppressed, with their change; null if the diff found none
       select e.key, c.what from erased e left join change c on c.key = e.key where c.what is distinct from ${recordChange.suppressed}),
     changed as (update change c set what = ${recordChange.suppressed} from found f where c.key = f.key),
     added as (insert into change select key, ${recordChange.suppressed} from found where what is null)
     select count(*) filter (where what = ${recordChange.update}) as updates,
       count(*) filter (where what = ${recordChange.stale}) as stale,
       count(*) filter (where what = ${recordChange.missing}) as missing,
       count(*) filter (where what = ${recordChange.opted_out}) as opted_out,
       count(*) as suppressed
     from found`,
    [service, destinationId, keys],
  )
  return {
    updates: Number(counts?.updates),
    stale: Number(counts?.stale),
    missing: Number(counts?.missing),
    optedOut: Number(counts?.opted_out),
    suppressed: Number(counts?.suppressed),
  }
}

/** Returns the identifiers of erased people that are still desired, also the implied ones. */
async function desiredErasedKeys({ tx, destinationId, mayImplyKeys }: DesiredContext, service: string): Promise<readonly Buffer[]> {
  const rows = await tx.query<{ readonly keys: readonly Value<'remote', 'key'>[] | null }>(
    `select array_agg(m.key) as keys from remote m
     where m.destination_id = $2 and m.ref_count > 0 and m.key in (${erasedIdentifiers('$1')})`,
    [service, destinationId],
  )
  const keys = [...(rows[0]?.keys ?? [])]
  if (!mayImplyKeys) return keys
  const erased = `select key as identifier from (${erasedIdentifiers(pg.escapeLiteral(service))}) x`
  for await (const found of searchImpliedKeys(tx, destinationId, erased)) keys.push(...found.map(({ identifier }) => identifier))
  return keys
}

/**
 * Marks as opted out the records without a valid row, if another row of this read opted out one of their identifiers. Returns how many of
 * these records the diff had found missing (`missing`) and rejected (`stale`).
 */
export async function optOutByOtherRows(context: DesiredContext): Promise<Pick<Diff, 'missing' | 'stale'>> {
  return markWithoutRow(context, 'opted_out', 'join opted_out using (identifier)')
}

/**
 * Marks with `what` the records whose row is missing or rejected, if `join` selects one of their identifiers. `join`: SQL of a join with
 * the identifiers `i`. Returns how many of these records the diff had found missing and rejected.
 */
async function markWithoutRow(
  { tx, destinationId }: DesiredContext,
  what: 'suppressed' | 'opted_out',
  join: string,
): Promise<Pick<Diff, 'missing' | 'stale'>> {
  const rows = await tx.query<{ missing: string; stale: string }>(
    `with found as ( -- records without a valid row that have an identifier selected by the join
       select c.key, c.what from change c join record r on r.destination_id = ${destinationId} and r.key = c.key
       where c.what in (${recordChange.missing}, ${recordChange.stale})
         and exists (select from unnest(${rowIdentifiers('r')}) as i (identifier) ${join})),
     changed as (update change c set what = ${recordChange[what]} from found f where c.key = f.key)
     select count(*) filter (where what = ${recordChange.missing}) as missing,
       count(*) filter (where what = ${recordChange.stale}) as stale
     from found`,
  )
  return { missing: Number(rows[0]?.missing), stale: Number(rows[0]?.stale) }
}

/** Applies `missing: keep`: marks the missing records, so that the next diff does not report them again. */
export async function markMissing(context: DesiredContext): Promise<void> {
  await records.markMissing(context.tx, context.destinationId, `select key from change where what = ${recordChange.missing}`)
}

/** Writes the new and the changed rows to `record`. Marks as stale the records whose row was rejected. */
export async function storeRecords({ tx, destinationId, snapshotId }: DesiredContext): Promise<void> {
  const read = { destinationId, snapshotId }
  // Updates come before inserts, because Postgres has no statistics of new rows until they are analyzed. After the inserts an update would
  // expect one row, and compare all changes with each row (200,000 products: more than ten minutes).
  await records.markStale(tx, destinationId, `select key from change where what = ${recordChange.stale}`)
  await records.updateRecords(tx, read, `select s.*, c.place from change c join stage s using (key) where c.what = ${recordChange.update}`)
  await records.insertRecords(
    tx,
    read,
    `select s.*, null::bigint as load_id from change c join stage s using (key) where c.what = ${recordChange.create}`,
  )
}

/** Counts the rows of `query`, SQL with the destination as `$1`. Stops at `enough` rows; undefined: counts all rows. */
export async function countUpTo({ tx, destinationId }: DesiredContext, query: string, enough: number | undefined): Promise<number> {
  const rows = await tx.query<{ n: string }>(`select count(*) as n from (${query} limit $2) c`, [destinationId, enough ?? null])
  return Number(rows[0]?.n)
}

/**
 * Returns SQL of the desired content (`remote.desired_hash`) of a row's identifiers: a digest of the row's own times. If the row has none,
 * the content is the constant `plainTimes`. `row`: alias of the row.
 */
export function desiredTimes(row: 's' | 'r'): string {
  return `case when ${row}.effective_at is null and ${row}.expires_at is null then ${plainTimes}
    else decode(md5(concat_ws('/', extract(epoch from ${row}.effective_at), extract(epoch from ${row}.expires_at))), 'hex') end`
}
