/**
 * Collects the identifiers that rows of this read opt out. No other row may send them (docs/guarantees.md#a-no-is-never-sent). They are in
 * the temporary table `opted_out`, which the plan uses too.
 */
import { openStatuses } from '../../db/batches/states.ts'
import { inTransaction, type Connection } from '../../db/database.ts'
import { raiseDesiredVersion } from '../../db/destinations.ts'
import { entriesOf } from '../../db/entries/read.ts'
import { rowIdentifiers } from '../../db/identifiers.ts'
import { searchImpliedKeys, type ImpliedKey } from '../../db/impliedKeySearch.ts'
import { countRows, hasRows } from '../../db/queryable.ts'
import type { DbRow } from '../../db/row.ts'
import { stagedKind, type StageTally } from './stageTable.ts'

/** Fills the table `opted_out`, and returns its number of identifiers. */
export async function collectOptedOut(
  tx: Connection,
  {
    optedOut,
    partlyOptedOut,
    unsentOptOuts,
    withBothForms,
  }: Pick<StageTally, 'optedOut' | 'partlyOptedOut' | 'unsentOptOuts' | 'withBothForms'>,
): Promise<number> {
  if (optedOut + partlyOptedOut + unsentOptOuts === 0) return 0
  const collected = await tx.execute(
    `insert into opted_out
     -- all identifiers of rows that opt out, and those that filtered and rejected rows opt out
     select i.identifier from stage s cross join lateral unnest(${rowIdentifiers('s')}) as i (identifier)
     where s.kind in (${stagedKind.optedOut}, ${stagedKind.unsentOptOuts})
     union
     -- identifiers that a row opts out while it keeps others
     select i.identifier from stage s cross join lateral unnest(s.without_consent) as i (identifier) where s.without_consent is not null`,
  )
  await tx.query('analyze opted_out')
  return collected + (withBothForms === 0 ? 0 : await optOutOtherForms(tx))
}

/**
 * Adds the other form of each opted-out identifier that a row has in both forms. A row that opts out a digest has only one of the forms.
 * Returns the number of added identifiers.
 */
async function optOutOtherForms(tx: Connection): Promise<number> {
  return tx.execute(
    `insert into opted_out
     select f.identifier
     from stage s cross join lateral generate_series(1, cardinality(s.both_forms), 2) as i (at)
       cross join lateral unnest(s.both_forms[i.at : i.at + 1]) as f (identifier)
     where s.both_forms is not null and exists (select from opted_out o where o.identifier = any(s.both_forms[i.at : i.at + 1]))
     on conflict do nothing`,
  )
}

/**
 * Returns true if a record whose row was skipped as unchanged has an identifier that another row opts out. Then a full read is needed.
 * Every stored record counts as skipped, except those in the table `unseen_key`: this read did not find their unchanged rows.
 */
export async function skippedRecordHasOptedOutIdentifier(tx: Connection, destinationId: number): Promise<boolean> {
  // Opted-out identifiers of records whose keys have no row in `remote` (docs/decisions/implied-keys.md).
  const implied: Buffer[] = []
  await findImpliedOptedOut(tx, destinationId, ({ identifier }) => implied.push(identifier))
  return hasRows(
    tx,
    `with desired as ( -- opted-out identifiers that records have, with the number of these records
       select m.key as identifier, m.ref_count
       from opted_out o join remote m on m.destination_id = $1 and m.key = o.identifier where m.ref_count > 0
       union all
       select identifier, 1 from unnest($2::bytea[]) as i (identifier)),
     unseen as ( -- number of unseen records with each of them
       select d.identifier, count(*) as n
       from unseen_key uk join record r on r.destination_id = $1 and r.key = uk.key
         cross join lateral unnest(${rowIdentifiers('r')}) as i (identifier) join desired d using (identifier)
       group by d.identifier)
     -- More records have the identifier than unseen records do.
     select from desired d left join unseen u using (identifier) where d.ref_count > coalesce(u.n, 0)`,
    [destinationId, implied],
  )
}

/**
 * Returns the positions (`ord`) of the entries of an earlier update that must not be sent again:
 *
 * - A person of the entry opted out in this read.
 * - An identifier of the entry is neither in a stored record nor in a valid row of this read. For example, the read of `sluice plan` found
 *   an opt-out, and this run stages nothing, because its source is unchanged.
 */
export async function findOptedOutEntries(
  tx: Connection,
  batch: { readonly id: number; readonly destinationId: number },
): Promise<readonly number[]> {
  const rows = await tx.query<DbRow<'entry', 'ord'>>(
    `with entry_key as materialized ( -- the identifiers of all entries
       select e.ord, e.record_key, k.key from ${entriesOf('$1::bigint')} e cross join lateral unnest(e.keys) as k (key)),
     undesired as materialized ( -- those that no record has
       select ek.ord, ek.key from entry_key ek join remote m on m.destination_id = $2 and m.key = ek.key where m.ref_count <= 0),
     -- those of them that a valid row has. Such a row differs from every stored record, so even a gated read stages it.
     desired_again as materialized (
       select i.key from stage s cross join lateral unnest(${rowIdentifiers('s')}) as i (key)
       where s.kind = ${stagedKind.valid} and i.key in (select key from undesired))
     select ord from entry_key where key in (select identifier from opted_out)
     union select ord from entry_key where record_key in (select key from stage where kind = ${stagedKind.optedOut})
     -- An operation of several users has the record key of the first one only.
     union select ek.ord from entry_key ek join remote m on m.destination_id = $2 and m.key = ek.key
       where m.group_key in (select key from stage where kind = ${stagedKind.optedOut})
     union select u.ord from undesired u where not exists (select from desired_again a where a.key = u.key)
     order by ord`,
    [batch.id, batch.destinationId],
  )
  return rows.map(({ ord }) => ord)
}

/**
 * Makes waiting plans of the destination stale if one of their open updates has a person who opted out in this read. `apply` could start or
 * continue such a plan. Called after a read without a plan, because only a plan stores new desired content and so makes earlier plans stale.
 * One statement for all batches, because each statement searches the whole stage.
 */
export async function outdatePlansWithOptOuts(tx: Connection, destinationId: number): Promise<void> {
  const isAffected = await hasRows(
    tx,
    `with opted_out_record as materialized (select key from stage where kind = ${stagedKind.optedOut}),
     opted_out_key as materialized (
       select identifier as key from opted_out
       union select m.key from opted_out_record o join remote m on m.destination_id = $1 and m.group_key = o.key)
     select from plan p join batch b on b.plan_id = p.id cross join ${entriesOf('b.id')} e cross join lateral unnest(e.keys) as k (key)
     where p.destination_id = $1 and p.status in ('ready', 'applying') and b.operation = 'upsert' and b.status in ${openStatuses}
       and (exists (select from opted_out_record) or exists (select from opted_out_key))
       and (e.record_key in (select key from opted_out_record) or k.key in (select key from opted_out_key))`,
    [destinationId],
  )
  if (isAffected) await raiseDesiredVersion(tx, destinationId, 1)
}

/** Returns true if a stored record has the key or an identifier of a person who opted out in this read. */
export async function hasStoredRecordOptedOut(tx: Connection, destinationId: number): Promise<boolean> {
  const isStored = await hasRows(
    tx,
    `select from stage s join record r on r.destination_id = $1 and r.key = s.key
     where s.kind = ${stagedKind.optedOut} and r.status <> 'missing'
     union all
     select from opted_out o join remote m on m.destination_id = $1 and m.key = o.identifier where m.ref_count > 0`,
    [destinationId],
  )
  if (isStored) return true
  let isFound = false
  await findImpliedOptedOut(tx, destinationId, () => (isFound = true))
  return isFound
}

/**
 * Calls `add` for each implied key that a row opts out. The cursor of the search needs a transaction. It is repeatable read, because
 * retention and erasures may change the tables meanwhile.
 */
async function findImpliedOptedOut(connection: Connection, destinationId: number, add: (key: ImpliedKey) => unknown): Promise<void> {
  await inTransaction(connection, async (tx) => {
    await tx.query('set transaction isolation level repeatable read')
    for await (const found of searchImpliedKeys(tx, destinationId, 'select identifier from opted_out')) found.forEach(add)
  })
}

/** Numbers of valid rows that have an opted-out identifier. */
export interface AffectedRows {
  readonly rows: number
  /** Rows that have no other identifier. They count as opted out. */
  readonly emptied: number
}

/**
 * Returns SQL of a hash of a staged row's content, after a statement changed its identifiers. `identifiers`: SQL of their array. `end`: SQL
 * of the end of the membership.
 */
export function memberHashSql(identifiers: string, end: string): string {
  return `decode(md5(concat_ws('/',
    array_to_string(${identifiers}, ','), extract(epoch from s.effective_at), extract(epoch from ${end}))), 'hex')`
}

/**
 * Removes the identifiers of `opted_out` from the valid rows of the stage. If a row has no other identifier, it keeps its identifiers and
 * becomes opted out. All these rows lose their digest: their outcome depends on other rows, so the next read must map them again.
 */
export async function omitOptedOut(tx: Connection): Promise<AffectedRows> {
  await tx.query(
    `create temp table affected_row as
     select s.ctid as row, s.key, array(
       select i.identifier from unnest(${rowIdentifiers('s')}) as i (identifier)
       where not exists (select from opted_out o where o.identifier = i.identifier) order by i.identifier) as kept
     from stage s
     where s.kind = ${stagedKind.valid} and exists (
       select from unnest(${rowIdentifiers('s')}) as i (identifier) join opted_out o using (identifier))`,
  )
  const updated = await tx.execute(
    `update stage s set identifiers = case when x.kept = '{}' then s.identifiers else x.kept end,
       joined_identifiers = case when x.kept = '{}' then s.joined_identifiers end, digest = null,
       kind = case when x.kept = '{}' then ${stagedKind.optedOut} else s.kind end,
       hash = ${memberHashSql('x.kept', 's.expires_at')}
     -- Rows of two partitions of the stage may have the same ctid.
     from affected_row x where s.ctid = x.row and s.key = x.key`,
  )
  const emptied = await countRows(tx, `select from affected_row where kept = '{}'`)
  await tx.query('drop table affected_row')
  return { rows: updated, emptied }
}
