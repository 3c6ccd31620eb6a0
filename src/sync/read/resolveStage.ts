/**
 * Reduces the staged rows to one row per key. Of several rows with one key:
 *
 * - If one of them opts out, the key is opted out.
 * - Otherwise, with `duplicates: last`, the last valid row stays.
 * - Otherwise, if their content is equal, the first row stays.
 * - Otherwise all of them are rejected.
 *
 * On a do-not-reach list, each of the rows first gets the identifiers of all of them, so none is rejected. Also marks the rows of
 * suppressed people.
 */
import type { Connection } from '../../db/database.ts'
import { erasedIdentifiers, erasedRecords } from '../../db/erasures.ts'
import { rowIdentifiers } from '../../db/identifiers.ts'
import { countRows, hasRows } from '../../db/queryable.ts'
import { addRejectsSql } from '../../db/rejects.ts'
import { isSuppressed } from '../../db/suppressed.ts'
import { memberHashSql, omitOptedOut, type AffectedRows } from './optedOut.ts'
import type { Staged } from './stageSources.ts'
import { stagedKind } from './stageTable.ts'

/** Number of rows by result. */
export interface ResolvedCounts {
  /** Rows left out because another row of the same key has equal content, or is later with `duplicates: last`. */
  readonly duplicates: number
  /** Rows rejected because another row of the same key has other content. */
  readonly conflicting: number
  /**
   * Rows that opted out, and rows of people who are erased or on a do-not-reach list. For a do-not-reach list: rows that remove a person,
   * and other rows with an identifier that such a row has.
   */
  readonly suppressed: number
  /** Rows that stay valid, one per key. */
  readonly valid: number
  /** Rows that share an identifier with a row that opted it out. */
  readonly affectedRows: number
}

/** Settings of the pipeline and its destination that decide which rows stay. */
interface ResolveOptions {
  readonly runId: number
  readonly destinationId: number
  /** Field of the key, for messages. */
  readonly keyField: string
  /** `identifier`: an opted-out row of a list also removes other rows with one of its identifiers. */
  readonly removesBy: 'key' | 'identifier'
  /** Treatment of contradicting rows: `reject` all, or keep the `last`. */
  readonly duplicates: 'reject' | 'last'
  /** Names of the sources, for messages. */
  readonly sources: readonly string[]
  /** Ids of the do-not-reach lists whose people must not be sent. */
  readonly suppressedBy: readonly number[]
  /** Audience whose erased people are suppressed, and the address of its service; undefined if the destination does not reach people. */
  readonly erasures: { readonly destinationId: number; readonly service: string } | undefined
}

const noneAffected: AffectedRows = { rows: 0, emptied: 0 }

/** Reduces the staged rows to one row per key, stores the rejects of contradicting rows, and returns the counts. */
export async function resolveStage(
  tx: Connection,
  staged: Pick<Staged, 'valid' | 'optedOut' | 'mayRepeat' | 'optedOutIdentifiers'>,
  options: ResolveOptions,
): Promise<ResolvedCounts> {
  const affected = staged.optedOutIdentifiers === 0 ? noneAffected : await omitOptedOut(tx)
  const repeats = staged.mayRepeat ? await resolveRepeats(tx, options) : undefined
  if (options.removesBy === 'identifier') await keepStoredIdentifiersOfList(tx, options.destinationId)
  const suppressed = await suppressRows(tx, { ...options, anyOptedOut: staged.optedOut > 0 })
  if (repeats === undefined) {
    const optedOut = staged.optedOut + affected.emptied
    const valid = staged.valid - affected.emptied - suppressed
    return { duplicates: 0, conflicting: 0, suppressed: suppressed + optedOut, valid, affectedRows: affected.rows }
  }
  const notSent = await countRows(tx, `select from stage where kind in (${stagedKind.optedOut}, ${stagedKind.suppressed})`)
  await keepOneRowPerKey(tx)
  await tx.query('drop table if exists repeated, repeated_row, contradiction')
  return {
    ...repeats,
    suppressed: notSent,
    valid: await countRows(tx, `select from stage where kind = ${stagedKind.valid}`),
    affectedRows: affected.rows,
  }
}

/** Resolves repeated keys, and collects them in the table `repeated`. Returns undefined if no key is repeated. */
async function resolveRepeats(
  tx: Connection,
  options: Pick<ResolveOptions, 'runId' | 'keyField' | 'removesBy' | 'duplicates' | 'sources'>,
): Promise<Pick<ResolvedCounts, 'duplicates' | 'conflicting'> | undefined> {
  const repeated = await tx.execute('create temp table repeated as select key from stage group by key having count(*) > 1')
  if (repeated === 0) {
    await tx.query('drop table repeated')
    return undefined
  }
  // `opts_out`: true if one of the rows with this key opts out.
  await tx.query(`
    create temp table repeated_row as
    select s.ctid as row, s.key, s.kind, bool_or(s.kind = ${stagedKind.optedOut}) over (partition by s.key) as opts_out
    from stage s join repeated using (key)`)
  // An opted-out row wins (docs/inputs.md 129, 131): the valid rows of its key are opted out too.
  await tx.query(`
    update stage s set kind = ${stagedKind.optedOut}
    from repeated_row r where s.ctid = r.row and s.key = r.key and r.opts_out and r.kind = ${stagedKind.valid}`)
  await tx.query('drop table repeated_row')
  if (options.removesBy === 'identifier') {
    // This comes before the merge. After it, the removal of one row's identifier would suppress all rows with that key.
    await suppressRowsWithRemovedIdentifiers(tx)
    await mergeRowsOfList(tx)
  }
  if (options.duplicates === 'last') return { duplicates: await keepLast(tx), conflicting: 0 }
  // The same rows with their changed kinds. `nth`: place among the rows with equal key and kind.
  await tx.query(`
    create temp table repeated_row as
    select s.ctid as row, s.key, s.kind, s.line, s.source, s.hash,
      row_number() over (partition by s.key, s.kind order by s.source, s.line) as nth
    from stage s join repeated using (key)`)
  await tx.query(`
    create temp table contradiction as
    select key, array_agg(line order by source, line) as lines,
      array_agg(source order by source, line) as sources
    from repeated_row where kind = ${stagedKind.valid} group by key having count(distinct hash) > 1`)

  const conflicting = await rejectContradictions(tx, options)
  // The first of several rows with equal content stays (docs/inputs.md 57).
  const duplicates = await tx.execute(`
    delete from stage s using repeated_row r
    where s.ctid = r.row and s.key = r.key and r.kind = ${stagedKind.valid} and r.nth > 1
      and not exists (select 1 from contradiction c where c.key = r.key)`)
  return { duplicates, conflicting }
}

/**
 * For a do-not-reach list: gives valid rows with the same key the identifiers of all these rows, and the latest end. Otherwise a person
 * would be left out of the list because another row has the same key.
 */
async function mergeRowsOfList(tx: Connection): Promise<void> {
  await tx.query(`
    with merged as (
      select s.key, array_agg(distinct i.identifier order by i.identifier) as identifiers,
        -- A row without an end is on the list as long as it is in the source.
        case when bool_and(s.expires_at is not null) then max(s.expires_at) end as expires_at
      from stage s join repeated using (key) cross join lateral unnest(${rowIdentifiers('s')}) as i (identifier)
      where s.kind = ${stagedKind.valid} group by s.key having count(distinct s.hash) > 1)
    update stage s set identifiers = m.identifiers, joined_identifiers = null, expires_at = m.expires_at,
      hash = ${memberHashSql('m.identifiers', 'm.expires_at')}
    from merged m where s.key = m.key and s.kind = ${stagedKind.valid}`)
}

/**
 * Adds to each changed row of a do-not-reach list the identifiers that only its stored record has. Only an explicit removal takes an
 * identifier off the list; a changed email is not a removal (docs/guarantees.md#suppression-wins). Leaves out identifiers that another row
 * removes. A suppressed row becomes valid again if this adds an identifier. Example: another row removes its new address, and its stored
 * address is left.
 */
async function keepStoredIdentifiersOfList(tx: Connection, destinationId: number): Promise<void> {
  await tx.query(
    `with removed as materialized (
       select unnest(${rowIdentifiers('removing')}) as identifier from stage removing where removing.kind = ${stagedKind.optedOut}),
     without_valid_row as materialized (
       select key from stage where kind in (${stagedKind.valid}, ${stagedKind.suppressed})
         and key in (select key from stage where kind = ${stagedKind.suppressed})
       group by key having bool_and(kind = ${stagedKind.suppressed})),
     kept as materialized (
       -- One of several suppressed rows with one key is enough. Rows of two partitions of the stage may have the same ctid.
       select distinct on (s.key) s.tableoid as part, s.ctid as row, array(
         select i.identifier
         from (select unnest(${rowIdentifiers('s')}) union select unnest(${rowIdentifiers('r')})) as i (identifier)
         where not exists (select from removed x where x.identifier = i.identifier)
         order by i.identifier) as identifiers
       from stage s join record r on r.destination_id = $1 and r.key = s.key and r.hash <> s.hash
       where (s.kind = ${stagedKind.valid} or s.kind = ${stagedKind.suppressed} and s.key in (select key from without_valid_row))
         and not (${rowIdentifiers('r')} <@ ${rowIdentifiers('s')}))
     update stage s set kind = ${stagedKind.valid}, identifiers = k.identifiers, joined_identifiers = null,
       hash = ${memberHashSql('k.identifiers', 's.expires_at')}
     from kept k where s.tableoid = k.part and s.ctid = k.row and not (k.identifiers <@ ${rowIdentifiers('s')})`,
    [destinationId],
  )
}

/**
 * Keeps the last valid row of each key: of the last source, then of the last line and place in the line. The order in the table is another
 * one, because Postgres fills gaps in earlier pages. Returns the number of deleted rows.
 */
async function keepLast(tx: Connection): Promise<number> {
  return tx.execute(`
    delete from stage s using (
      select s.ctid as row, s.key,
        row_number() over (partition by s.key order by s.source desc, s.line desc, s.place desc nulls last) as nth
      from stage s join repeated using (key)
      where s.kind = ${stagedKind.valid}) r
    where s.ctid = r.row and s.key = r.key and r.nth > 1`)
}

/**
 * Rejects all valid rows of each key with different contents (docs/inputs.md 58), and returns their number. The message names at most ten
 * lines, with their sources if there are several.
 */
async function rejectContradictions(tx: Connection, options: Pick<ResolveOptions, 'runId' | 'keyField' | 'sources'>): Promise<number> {
  const conflicting = await tx.execute(
    addRejectsSql(`select $1, r.line, r.source, 'DUPLICATE_CONFLICT', $2,
       'the same ' || $2::text || ' is in ' ||
         case when c.sources[1] <> c.sources[cardinality(c.sources)] then
           (select string_agg('line ' || x.line || ' of ' || ($3::text[])[x.source + 1], ', ' order by x.nth)
            from unnest(c.lines[1:10], c.sources[1:10]) with ordinality as x (line, source, nth))
         when c.lines[1] = c.lines[cardinality(c.lines)] then cardinality(c.lines) || ' records of line ' || c.lines[1]
         else 'lines ' || array_to_string(c.lines[1:10], ', ') end || ' with different content',
       'keep one of these rows; or set duplicates: last, if the last one is right', r.key
     from repeated_row r join contradiction c using (key)
     where r.kind = ${stagedKind.valid}`),
    [options.runId, options.keyField, options.sources],
  )
  await tx.query(`
    update stage s set kind = ${stagedKind.rejected}
    from repeated_row r join contradiction c using (key)
    where s.ctid = r.row and s.key = r.key and r.kind = ${stagedKind.valid}`)
  return conflicting
}

/** Marks as suppressed the valid rows that must not be sent, and returns their number. */
async function suppressRows(
  tx: Connection,
  {
    anyOptedOut,
    removesBy,
    suppressedBy,
    erasures,
  }: Pick<ResolveOptions, 'removesBy' | 'suppressedBy' | 'erasures'> & { readonly anyOptedOut: boolean },
): Promise<number> {
  if (removesBy === 'identifier') return anyOptedOut ? suppressRowsWithRemovedIdentifiers(tx) : 0
  const onLists = suppressedBy.length === 0 ? 0 : await suppressDoNotReachMembers(tx, suppressedBy)
  return onLists + (erasures === undefined ? 0 : await suppressErasedRows(tx, erasures))
}

/**
 * Suppresses the rows of a do-not-reach list that have an identifier which another row removes. Otherwise the next run would add the
 * identifier again. Other identifiers of a suppressed row suppress no further rows. Returns the number of suppressed rows.
 */
async function suppressRowsWithRemovedIdentifiers(tx: Connection): Promise<number> {
  return tx.execute(
    `update stage set kind = ${stagedKind.suppressed}
     -- Rows of two partitions of the stage may have the same ctid.
     where kind = ${stagedKind.valid} and (key, ctid) in (
       select s.key, s.ctid from stage s cross join lateral unnest(${rowIdentifiers('s')}) as i (identifier)
       where i.identifier in (
         select unnest(${rowIdentifiers('removing')}) from stage removing where removing.kind = ${stagedKind.optedOut}))`,
  )
}

/**
 * Marks as suppressed the members with at least one identifier on the do-not-reach lists (docs/guarantees.md#suppression-wins). Returns
 * their number.
 */
async function suppressDoNotReachMembers(tx: Connection, listIds: readonly number[]): Promise<number> {
  if (!(await hasRows(tx, 'select from remote where destination_id = any($1::int[])', [listIds]))) return 0
  return tx.execute(
    `update stage set kind = ${stagedKind.suppressed}
     where kind = ${stagedKind.valid} and key in (
       select s.key from stage s cross join lateral unnest(${rowIdentifiers('s')}) as i (identifier)
       join remote m on m.destination_id = any($1::int[]) and m.key = i.identifier
         and ${isSuppressed('m', '$1::int[]')})`,
    [listIds],
  )
}

/** Marks as suppressed the valid staged rows of erased people, and returns their number. */
export async function suppressErasedRows(
  tx: Connection,
  { destinationId, service }: NonNullable<ResolveOptions['erasures']>,
): Promise<number> {
  if (!(await hasRows(tx, 'select from erased_key where service = $1', [service]))) return 0
  return tx.execute(
    `update stage set kind = ${stagedKind.suppressed}
     where kind = ${stagedKind.valid} and key in (
       ${erasedRecords('$1', '$2')}
       union all
       select s.key from stage s cross join lateral unnest(${rowIdentifiers('s')}) as i (identifier)
       where i.identifier in (${erasedIdentifiers('$1')}))`,
    [service, destinationId],
  )
}

/** Keeps one row of each repeated key, if possible neither a rejected nor a suppressed one. The diff joins on the key. */
async function keepOneRowPerKey(tx: Connection): Promise<void> {
  await tx.query(`
    delete from stage s using (
      select s.ctid as row, s.key,
        row_number() over (partition by s.key order by (s.kind = ${stagedKind.rejected}), (s.kind = ${stagedKind.suppressed}), s.source, s.line) as nth
      from stage s join repeated using (key)) r
    where s.ctid = r.row and s.key = r.key and r.nth > 1`)
}
