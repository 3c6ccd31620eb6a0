/**
 * Updates the desired state: the tables `record` (content of the source) and `remote`. `remote` has a row for each key (product id or
 * identifier of a person), with its desired and its confirmed content. Exception: an implied key has no row
 * (docs/decisions/implied-keys.md). A plan selects the keys for which the two contents differ. So nothing is lost if a plan is never
 * applied, and a refused key is tried again.
 *
 * The steps that differ between products and people are in `desiredProducts.ts` and `desiredIdentifiers.ts` (`DesiredStateSteps`). This
 * file has the steps that they share, and steps that only the plan of people needs.
 */
import pg from 'pg'
import type { Transaction } from '../../db/database.ts'
import { erasedIdentifiers, erasedRecords } from '../../db/erasures.ts'
import { rowIdentifiers } from '../../db/identifiers.ts'
import { plainTimes } from '../../db/impliedKeys.ts'
import { searchImpliedKeys } from '../../db/impliedKeySearch.ts'
import { countRows } from '../../db/queryable.ts'
import * as records from '../../db/records.ts'
import type { Value } from '../../db/row.ts'
import { isSuppressed } from '../../db/suppressed.ts'
import type { ChangedKeys } from '../../db/changedKeys.ts'
import { stagedKind } from '../read/stageTable.ts'
import type { ChangeCounts } from './diff.ts'
import { fillTable, recordChangeSql } from './planTables.ts'

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
   * Undefined if this plan does not write new content (`PlanWork.writesContent`).
   */
  readonly newContent: ((group: string) => string) | undefined
}

/**
 * Fills the table `removal` with the opted-out and suppressed records of the table `change`; with `includesMissing`, also with the missing
 * ones.
 */
export async function collectRemovals(tx: Transaction, options: { readonly includesMissing: boolean }): Promise<void> {
  const causes = [recordChangeSql.opted_out, recordChangeSql.suppressed]
  if (options.includesMissing) causes.push(recordChangeSql.missing)
  await fillTable(tx, 'removal', `select key, effect from change where effect in (${causes.join(', ')})`)
}

/**
 * Finds the missing records of which the service has nothing, and adds them to `removal`. Returns their number. If they stayed desired,
 * this plan would send them. No guard withholds their removal, because it sends no delete. `recordKey`: column of `remote` with the key of
 * the record. `keys`: SQL of all keys of the record `c.key`, in a column `key`.
 */
export async function collectMissingNotAtService(
  { tx, destinationId, changed }: DesiredContext,
  { recordKey, keys }: { readonly recordKey: 'key' | 'group_key'; readonly keys: string },
): Promise<number> {
  return tx.execute(
    `insert into removal
     select c.key, ${recordChangeSql.missing} from change c
     where c.effect = ${recordChangeSql.missing}
       -- A key of the record is desired and not confirmed.
       and c.key in (
         select m.${recordKey} from remote m
         where m.destination_id = ${destinationId} and m.ref_count > 0 and m.synced_hash is null and ${await changed.outOfSync()})
       -- None of its keys is confirmed or unresolved. A key without a row is implied and confirmed. Implied keys of unanswered requests
       -- have rows, which preparePlanWork has stored.
       and not exists (
         select from (${keys}) k left join remote m on m.destination_id = ${destinationId} and m.key = k.key
         where m.key is null or m.synced_hash is not null or exists (select from unresolved u where u.key = k.key))`,
  )
}

/**
 * Adds each record that has an identifier of an opted-out row to the table `change`, as opted out. Returns the number of these records.
 * Leaves out records with another change than `missing`. A missing record that is added then has two rows in `change`. For destinations
 * with `removesBy: identifier`: the row that removes a person may have another key than the record of the person.
 */
export async function optOutByIdentifier({ tx, destinationId }: DesiredContext): Promise<number> {
  return tx.execute(
    // A hash join searches the records. `= any (r.identifiers)` took 68 s instead of 0.1 (1,000 identifiers, 100,000 records).
    `with removed as materialized ( -- the opted-out identifiers that the list still has
       select m.key as identifier from remote m
       where m.destination_id = ${destinationId} and m.ref_count > 0
         and m.key in (select unnest(${rowIdentifiers('s')}) from stage s where s.kind = ${stagedKind.optedOut}))
     insert into change
     select distinct r.key, ${recordChangeSql.opted_out}
     from record r cross join lateral unnest(${rowIdentifiers('r')}) as i (identifier)
     where r.destination_id = ${destinationId} and i.identifier in (select identifier from removed)
       and not exists (select from change c where c.key = r.key and c.effect <> ${recordChangeSql.missing})`,
  )
}

/**
 * If people are on a do-not-reach list, marks their missing and stale records as suppressed (docs/guarantees.md#suppression-wins).
 * `resolveStage` has marked their valid rows. `lists`: ids of the lists. Returns the numbers of marked records by the change that the diff
 * had found.
 */
export async function suppressByLists(context: DesiredContext, lists: readonly number[]): Promise<Pick<ChangeCounts, 'missing' | 'stale'>> {
  if (lists.length === 0) return { missing: 0, stale: 0 }
  const ids = `array[${lists.join(', ')}]`
  return setCauseOfMissingAndStale(
    context,
    'suppressed',
    `join remote listed on listed.destination_id = any(${ids}) and listed.key = i.identifier and ${isSuppressed('listed', ids)}`,
  )
}

/**
 * Marks as suppressed the records of erased people that are still stored. Returns the number of newly marked records: in total
 * (`suppressed`), and by the change that the diff had found.
 */
export async function suppressErasedRecords(context: DesiredContext, service: string): Promise<Omit<ChangeCounts, 'creates'>> {
  const { tx, destinationId } = context
  const keys = await desiredErasedKeys(context, service)
  // Without keys, the condition on $3 is always true. It is only there because Postgres does not accept a parameter that no SQL uses.
  const orHasKey =
    keys.length === 0
      ? 'and $3::bytea[] is not null'
      : `union select r.key from record r where r.destination_id = $2 and ${rowIdentifiers('r')} && $3::bytea[]`
  const [counts] = await tx.query<Record<'updates' | 'stale' | 'missing' | 'opted_out' | 'suppressed', string>>(
    `with erased as (select r.key from record r where r.destination_id = $2 and r.key in (${erasedRecords('$1', '$2')}) ${orHasKey}),
     found as ( -- the erased records that are not marked as suppressed yet; effect: the change that the diff found, or null
       select e.key, c.effect from erased e left join change c on c.key = e.key where c.effect is distinct from ${recordChangeSql.suppressed}),
     changed as (update change c set effect = ${recordChangeSql.suppressed} from found f where c.key = f.key),
     added as (insert into change select key, ${recordChangeSql.suppressed} from found where effect is null)
     select count(*) filter (where effect = ${recordChangeSql.update}) as updates,
       count(*) filter (where effect = ${recordChangeSql.stale}) as stale,
       count(*) filter (where effect = ${recordChangeSql.missing}) as missing,
       count(*) filter (where effect = ${recordChangeSql.opted_out}) as opted_out,
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
 * If a row of this read opts out an identifier of a missing or stale record, marks the record as opted out. Returns the numbers of marked
 * records by the change that the diff had found.
 */
export async function optOutByOtherRows(context: DesiredContext): Promise<Pick<ChangeCounts, 'missing' | 'stale'>> {
  return setCauseOfMissingAndStale(context, 'opted_out', 'join opted_out using (identifier)')
}

/**
 * Marks missing and stale records with `cause` if `join` finds one of their identifiers. `join`: SQL of a join with `i.identifier`. Returns
 * the numbers of marked records by the change that the diff had found.
 */
async function setCauseOfMissingAndStale(
  { tx, destinationId }: DesiredContext,
  cause: 'suppressed' | 'opted_out',
  join: string,
): Promise<Pick<ChangeCounts, 'missing' | 'stale'>> {
  const rows = await tx.query<{ missing: string; stale: string }>(
    `with found as (
       select c.key, c.effect from change c join record r on r.destination_id = ${destinationId} and r.key = c.key
       where c.effect in (${recordChangeSql.missing}, ${recordChangeSql.stale})
         and exists (select from unnest(${rowIdentifiers('r')}) as i (identifier) ${join})),
     changed as (update change c set effect = ${recordChangeSql[cause]} from found f where c.key = f.key)
     select count(*) filter (where effect = ${recordChangeSql.missing}) as missing,
       count(*) filter (where effect = ${recordChangeSql.stale}) as stale
     from found`,
  )
  return { missing: Number(rows[0]?.missing), stale: Number(rows[0]?.stale) }
}

/** Marks missing records, so that the next diff does not find them again. For `missing: keep`, which changes nothing at the service. */
export async function markMissing(context: DesiredContext): Promise<void> {
  await records.markMissing(context.tx, context.destinationId, `select key from change where effect = ${recordChangeSql.missing}`)
}

/** Writes new and changed rows to `record`. Marks a record as stale if its row was rejected. */
export async function storeRecords({ tx, destinationId, snapshotId }: DesiredContext): Promise<void> {
  const read = { destinationId, snapshotId }
  // Updates come before inserts, because inserts make the statistics of the table wrong. With wrong statistics, Postgres would compare all
  // changes with each row (200,000 products: more than ten minutes).
  await records.markStale(tx, destinationId, `select key from change where effect = ${recordChangeSql.stale}`)
  await records.updateRecords(
    tx,
    read,
    `select s.*, c.record_ctid from change c join stage s using (key) where c.effect = ${recordChangeSql.update}`,
  )
  await records.insertRecords(
    tx,
    read,
    `select s.*, null::bigint as load_id from change c join stage s using (key) where c.effect = ${recordChangeSql.create}`,
  )
}

/** Counts the rows of `query`, SQL with the destination as `$1`. Stops at `enough`; undefined: counts all rows. */
export async function countUpTo({ tx, destinationId }: DesiredContext, query: string, enough: number | undefined): Promise<number> {
  return countRows(tx, `${query} limit $2`, [destinationId, enough ?? null])
}

/**
 * Returns SQL of `remote.desired_hash` for the identifiers of a row: a digest of its `effective_at` and `expires_at`. If it has neither:
 * `plainTimes`.
 */
export function desiredTimes(row: 's' | 'r'): string {
  return `case when ${row}.effective_at is null and ${row}.expires_at is null then ${plainTimes}
    else decode(md5(concat_ws('/', extract(epoch from ${row}.effective_at), extract(epoch from ${row}.expires_at))), 'hex') end`
}
