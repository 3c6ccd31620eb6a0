/**
 * Desired state of people. Each identifier of a person is a key. Its row in the table `remote` has:
 *
 * - `ref_count`: number of records with this identifier (docs/guarantees.md#reference-counts), such as 2 for an email in two rows
 * - `group_key`: the record under which the identifier is sent. A group is all identifiers of one `group_key`, sent as one user. So no
 *   identifier is sent in two users.
 *
 * After a first load, keys may have no such row: they are implied by their records (docs/decisions/implied-keys.md).
 *
 * A delete of one identifier may remove the whole user at the service. So the other identifiers of the group are sent again.
 */
import type { Transaction } from '../../db/database.ts'
import { rowIdentifiers } from '../../db/identifiers.ts'
import { countImpliedRecords, plainTimes, recordMayImply } from '../../db/impliedKeys.ts'
import { searchImpliedKeys } from '../../db/impliedKeySearch.ts'
import { hasRows } from '../../db/queryable.ts'
import * as records from '../../db/records.ts'
import { addReferences, changeTimes, insertReferences, removeReferences } from '../../db/remote/referenceCounts.ts'
import { insertChangedKeys, recordColumns } from '../../db/remote/implied.ts'
import { countUpTo, desiredTimes, collectMissingNotAtService, storeRecords, type DesiredContext } from './sharedDesiredSteps.ts'
import type { DesiredStateSteps } from './desiredState.ts'
import { writeFirstIdentifiers } from './firstLoad.ts'
import { analyzeWithSmallSample, createOrEmptyTable, fillTable, recordChangeSql } from './planTables.ts'

export function desiredIdentifiers(context: DesiredContext): DesiredStateSteps {
  return {
    context,
    writeFirstLoad: (options) => writeFirstIdentifiers(context, options),
    // Records of people have no fields to compare.
    warnOfDoubtfulChanges: () => Promise.resolve(),
    updatedFields: () => Promise.resolve([]),
    applyUpserts: async () => {
      await applyUpserts(context)
      return 0
    },
    // No record of a person is marked as missing, so each diff finds all missing ones.
    adjustMissing: () => Promise.resolve(0),
    collectMissingNotAtService: () =>
      collectMissingNotAtService(context, {
        recordKey: 'group_key',
        keys: `select unnest(${rowIdentifiers('r')}) as key
          from record r where r.destination_id = ${context.destinationId} and r.key = c.key`,
      }),
    applyRemovals: () => applyRemovals(context),
    // People are not shown (docs/guarantees.md#no-raw-identifier-at-rest).
    missingExamples: () => Promise.resolve([]),
    countConfirmed: (enough) => countConfirmed(context, enough),
  }
}

async function applyUpserts(context: DesiredContext): Promise<void> {
  // Leaves out the arrays of identifiers: no query uses their statistics, and they would take four fifths of the time.
  await analyzeWithSmallSample(context.tx, 'change', '(key, effect)')
  await collectIdentifierDelta(context)
  const hasTimes = await someHaveTimes(context.tx)
  if (hasTimes) await collectChangedTimes(context.tx)
  const gained = gainedIdentifiers(context, hasTimes)
  await applyDelta(context, gained)
  if (context.mayImplyKeys) await storeChangedKeys(context)
  await storeRecords(context)
  await insertGainedAndChangeTimes(context, gained, hasTimes)
}

/** Returns true if a staged row, or the stored version of an updated record, has an `effective_at` or `expires_at`. */
async function someHaveTimes(tx: Transaction): Promise<boolean> {
  const some = (table: 'stage' | 'former') => `(select from ${table} where effective_at is not null or expires_at is not null limit 1)`
  return hasRows(tx, `${some('stage')} union all ${some('former')}`)
}

async function applyRemovals({ tx, destinationId, mayImplyKeys, changed }: DesiredContext): Promise<void> {
  await removeReferences(
    tx,
    destinationId,
    // the number of removed records with each identifier
    `select i.identifier, count(*)::int as n, bool_or(x.cause = 'suppressed') as suppressed
     from removal x join record r on r.destination_id = $1 and r.key = x.key
       cross join lateral unnest(${rowIdentifiers('r')}) as i (identifier)
     group by i.identifier`,
  )
  // An implied key belongs to one record, so its reference count becomes 0.
  if (mayImplyKeys)
    await insertChangedKeys(
      changed,
      `select ${recordColumns}, x.suppressed
       from (select key, bool_or(cause = 'suppressed') as suppressed from removal group by key) x
         join record r on r.destination_id = $1 and r.key = x.key and ${recordMayImply('r')}`,
      { refCount: '0', suppressed: 'r.suppressed' },
    )
  await changed.add(`select unnest(${rowIdentifiers('r')}) from removal x join record r on r.destination_id = $1 and r.key = x.key`)
  await records.deleteRecords(tx, destinationId, 'select key from removal', { keepMissing: false })
}

/** Counts the confirmed users. Stops at `enough`. The query then reads an index in order, instead of sorting all users. */
async function countConfirmed(context: DesiredContext, enough: number | undefined): Promise<number> {
  // `preparePlanWork` has stored rows for the implied keys of unanswered requests. So all keys that are still implied are confirmed.
  const implied = context.mayImplyKeys ? await countImpliedRecords(context.tx, context.destinationId, enough) : 0
  const stored = await countUpTo(
    context,
    `select distinct group_key from remote
     where destination_id = $1 and synced_hash is not null and group_key is not null order by group_key`,
    enough === undefined ? undefined : Math.max(0, enough - implied),
  )
  return implied + stored
}

/**
 * Stores the implied keys of updated records, and of records with an identifier that another row gains. Adds the differences of `delta` to
 * their reference counts. If the plan writes new content, the keys of updated records get it.
 */
async function storeChangedKeys({ tx, destinationId, changed, newContent }: DesiredContext): Promise<void> {
  await createOrEmptyTable(tx, 'sharing_record')
  for await (const found of searchImpliedKeys(tx, destinationId, 'select identifier from delta where difference > 0')) {
    if (found.length === 0) continue
    await tx.query('insert into sharing_record select distinct key from unnest($1::bytea[]) as k (key)', [
      found.map(({ recordKey }) => recordKey),
    ])
  }
  await insertChangedKeys(
    changed,
    `-- updated records, as they were before this read
     select $1::int as destination_id, f.key, f.identifiers, f.load_id, true as updated from former f where ${recordMayImply('f')}
     union all
     -- other records with an identifier that a row gains
     select ${recordColumns}, false from sharing_record h join record r on r.destination_id = $1 and r.key = h.key and ${recordMayImply('r')}
     where not exists (select from former f where f.key = r.key)`,
    {
      refCount: 'greatest(1 + coalesce(d.difference, 0), 0)',
      joins: 'left join delta d on d.identifier = i.identifier',
      ...(newContent === undefined ? {} : { desired: `case when r.updated then ${newContent('r.key')} else ${plainTimes} end` }),
    },
  )
  await records.endImplying(tx, destinationId, 'select key from sharing_record')
}

/**
 * Fills `delta` with the change of each reference count. Must run before `record` changes. `group_key`: group that a gained identifier gets
 * if it was neither desired nor confirmed before this read. Identifiers that a row keeps are left out.
 */
async function collectIdentifierDelta({ tx, destinationId }: DesiredContext): Promise<void> {
  // After a gated read, `change` has the stored versions of updated records. After a full read, they come from `record`.
  await fillTable(
    tx,
    'former',
    `select key, identifiers, effective_at, expires_at, load_id from change where effect = ${recordChangeSql.update} and identifiers is not null
     union all
     select r.key, ${rowIdentifiers('r')}, r.effective_at, r.expires_at, r.load_id
     from change c join record r on r.destination_id = ${destinationId} and r.key = c.key
     where c.effect = ${recordChangeSql.update} and c.identifiers is null`,
  )
  await analyzeWithSmallSample(tx, 'former', '(key)')
  await fillTable(
    tx,
    'delta',
    `-- identifiers that a new or updated row gains
     select i.identifier, 1 as difference, s.key as group_key
     from change c join stage s using (key) left join former f using (key)
       cross join lateral unnest(${rowIdentifiers('s')}) as i (identifier)
     where c.effect in (${recordChangeSql.create}, ${recordChangeSql.update}) and (f.key is null or i.identifier <> all (f.identifiers))
     union all
     -- identifiers that an updated row loses
     select i.identifier, -1, f.key
     from former f join stage s using (key) cross join lateral unnest(f.identifiers) as i (identifier)
     where i.identifier <> all (${rowIdentifiers('s')})`,
  )
  const repeated = await fillTable(tx, 'repeated_in_delta', 'select identifier from delta group by identifier having count(*) > 1')
  if (repeated > 0) {
    await analyzeWithSmallSample(tx, 'repeated_in_delta')
    // Replaces only identifiers with several rows. Summing all rows took twice as long. A second table of 2,000,000 sums took 0.6 s more.
    await tx.query(
      // Replaces the rows of an identifier by one row with their sum; by none if the sum is 0. Its group is the smallest key of the rows
      // that gain the identifier.
      `with taken as (delete from delta d using repeated_in_delta x where d.identifier = x.identifier returning d.*)
       insert into delta
       select identifier, sum(difference)::int, decode(min(encode(group_key, 'hex') collate "C") filter (where difference = 1), 'hex')
       from taken group by identifier having sum(difference) <> 0`,
    )
  }
  await analyzeWithSmallSample(tx, 'delta', '(identifier, difference)')
}

async function collectChangedTimes(tx: Transaction): Promise<void> {
  await fillTable(
    tx,
    'changed_times',
    `select s.key, ${desiredTimes('s')} as desired_times from former f join stage s using (key)
     where (s.effective_at, s.expires_at) is distinct from (f.effective_at, f.expires_at)`,
  )
}

/** Adds the differences of `delta` to the reference counts in `remote`. */
async function applyDelta({ tx, destinationId }: DesiredContext, gained: string): Promise<void> {
  // Two statements take 1.6 s for 60,000 of 2,000,000 keys; one took 3.4 s.
  await removeReferences(tx, destinationId, 'select identifier, -difference as n, false as suppressed from delta where difference < 0')
  await addReferences(tx, destinationId, gained)
}

/**
 * Returns SQL of the identifiers that rows gain, with their desired content. For updated rows this is `newContent`, if it is defined. In all
 * other cases it is computed from the times of the row.
 */
function gainedIdentifiers({ newContent }: DesiredContext, hasTimes: boolean): string {
  const times = hasTimes ? desiredTimes('s') : plainTimes
  const content = newContent === undefined ? times : `case when f.key is null then ${times} else ${newContent('d.group_key')} end`
  return `select d.identifier, d.difference as n, d.group_key, ${content} as desired_times
    from delta d left join former f on f.key = d.group_key
      ${hasTimes ? 'join stage s on s.key = d.group_key' : ''} where d.difference > 0`
}

/** Inserts the gained identifiers that have no row in `remote`, and changes the desired times of groups. Collects all changed keys. */
async function insertGainedAndChangeTimes(
  { tx, destinationId, changed }: DesiredContext,
  gained: string,
  hasTimes: boolean,
): Promise<void> {
  await insertReferences(tx, destinationId, gained)
  await changed.add('select identifier from delta')
  if (!hasTimes || !(await hasRows(tx, 'select from changed_times'))) return
  await changeTimes(tx, destinationId, 'select key as group_key, desired_times from changed_times')
  await changed.add('select m.key from changed_times x join remote m on m.destination_id = $1 and m.group_key = x.key and m.ref_count > 0')
}
