/**
 * Compares the rows of a read (table `stage`) with the stored records (table `record`). After a full read, this takes 0.6 s per million
 * rows.
 */
import type { Transaction } from '../../db/database.ts'
import { rowIdentifiers } from '../../db/identifiers.ts'
import type { ReadMode } from '../read/snapshot.ts'
import { analyzeStage, stagedKind } from '../read/stageTable.ts'
import { fillTable, recordChangeSql, type RecordChange } from './planTables.ts'

/** Number of records by change. */
export interface ChangeCounts {
  readonly creates: number
  readonly updates: number
  /** Records whose row was rejected or contradicts another row. They keep their content. */
  readonly stale: number
  /**
   * Missing records that are not marked as missing yet. Their row is no longer in the source, is filtered out, or was rejected because its
   * key cannot be read.
   */
  readonly missing: number
  /** Records whose row opts out or, in a do-not-reach list, takes its person off the list. */
  readonly optedOut: number
  /**
   * In an audience: records of people who are erased or on a do-not-reach list. In a do-not-reach list: records with an identifier that
   * another row removes.
   */
  readonly suppressed: number
}

/**
 * Fills the table `change`, and returns the number of records by change. `reading`: a `gated` read has skipped known rows. `onIdle`: called
 * once while Postgres compares.
 */
export async function diffStage(tx: Transaction, destinationId: number, reading: ReadMode, onIdle?: () => void): Promise<ChangeCounts> {
  await analyzeStage(tx)
  if (reading === 'gated') {
    // The statement searches few records, in key order, so one page often has several of them. With the default of 4, Postgres would read
    // the whole table. That takes 360 instead of 70 ms (10,000 of 1,000,000 records).
    await tx.query('set local random_page_cost = 0.2')
  }
  const filling = fillTable(tx, 'change', reading === 'gated' ? gatedDiff(destinationId) : fullDiff(destinationId))
  onIdle?.()
  await filling
  // Later statements search keys in any order, so they need a higher value. The default of 4 is for rotating disks.
  if (reading === 'gated') await tx.query('set local random_page_cost = 1.1')
  const rows = await tx.query<{ effect: RecordChange; n: string }>('select effect, count(*) as n from change group by effect')
  const count = (change: RecordChange) => Number(rows.find(({ effect }) => effect === change)?.n ?? 0)
  return {
    creates: count('create'),
    updates: count('update'),
    stale: count('stale'),
    missing: count('missing'),
    optedOut: count('opted_out'),
    suppressed: count('suppressed'),
  }
}

/** SQL of the change that a staged row `s` makes to the stored record `r`. One of them may be null. */
const changeOfRowSql = `case
    when s.key is null then ${recordChangeSql.missing}
    when s.kind = ${stagedKind.rejected} then ${recordChangeSql.stale}
    when s.kind = ${stagedKind.optedOut} then ${recordChangeSql.opted_out}
    when s.kind = ${stagedKind.suppressed} then ${recordChangeSql.suppressed}
    when r.key is null then ${recordChangeSql.create}
    else ${recordChangeSql.update}
  end`

/**
 * SQL: true if the staged row `s` changes the record `r`, or makes a new one if `r` is null. A row that is not valid counts only
 * if it has a record.
 */
const isChangeSql = `case when s.kind = ${stagedKind.valid} then r.key is null or r.hash <> s.hash or r.status <> 'live'
    else r.key is not null end`

function fullDiff(destinationId: number): string {
  return `select coalesce(s.key, r.key) as key, ${changeOfRowSql} as effect, null::bytea[] as identifiers, null::timestamptz as effective_at,
      null::timestamptz as expires_at, null::bigint as load_id, r.record_ctid
    from stage s
    full join (select key, hash, status, ctid as record_ctid from record where destination_id = ${destinationId}) r on r.key = s.key
    where case when s.key is null then r.status <> 'missing' else ${isChangeSql} end`
}

/**
 * Returns SQL of the diff of a gated read. A gated read skips rows whose digest is stored. Its table `unseen_key` has the keys of the
 * stored digests that no row had.
 *
 * - A skipped row is neither in `stage` nor in `unseen_key`.
 * - A record whose row only moved, or whose raw bytes only look different, may be in both. Its equal hash shows that it is unchanged.
 * - A stale record has no digest, so its row is never skipped. If no row is staged for it, it is missing.
 */
function gatedDiff(destinationId: number): string {
  // `offset 0` makes Postgres keep the sort. In key order, the statement takes half of the time (10,000 of 1,000,000 records).
  return `select s.key, ${changeOfRowSql} as effect, ${rowIdentifiers('r')}, r.effective_at, r.expires_at, r.load_id, r.ctid
    from (select key, kind, hash from stage order by key offset 0) s
      left join record r on r.destination_id = ${destinationId} and r.key = s.key where ${isChangeSql}
    union all
    -- Live records without a row. Most unseen keys have a staged row, because the record changed. Such keys are excluded first.
    select r.key, ${recordChangeSql.missing}, null, null, null, null, null
    from (select key from unseen_key u where not exists (select from stage s where s.key = u.key) offset 0) u
      join record r on r.destination_id = ${destinationId} and r.key = u.key
    where r.status = 'live'
    union all
    -- stale records without a row
    select r.key, ${recordChangeSql.missing}, null, null, null, null, null from record r
    where r.destination_id = ${destinationId} and r.status = 'stale' and not exists (select from stage s where s.key = r.key)`
}
