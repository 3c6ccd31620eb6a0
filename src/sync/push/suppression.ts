/**
 * Removes from an update, before it is sent, people who were suppressed or opted out after the plan was made
 * (docs/guarantees.md#suppression-wins, docs/guarantees.md#a-no-is-never-sent).
 */
import { rowIdentifiers } from '../../db/identifiers.ts'
import { renderDeleteOf } from '../../destinations/renderUserOperation.ts'
import { markLate } from '../../db/remote/lateRequests.ts'
import { markUnknownContent } from '../../db/remote/syncedState.ts'
import type { Outer, DbRow } from '../../db/row.ts'
import { entriesOf } from '../../db/entries/read.ts'
import { awaitErasures, erasedIdentifiers, erasedRecords } from '../../db/erasures.ts'
import { isSuppressed } from '../../db/suppressed.ts'
import { kindsWhere } from '../../destinations/index.ts'
import { insertDeleteBatch, removeEntries, type BatchChange } from './removeEntries.ts'

/**
 * Supersedes an update of people that has entries with a suppressed identifier, and moves its other entries to a new batch. If the update
 * may have been applied, also inserts two deletes of the users of the suppressed entries. If no entry is suppressed, changes nothing and
 * returns false.
 *
 * Must run in the transaction that commits the attempt, because it locks the lists and the erasures until the commit. So an erasure is
 * either found here, or made after the attempt was committed.
 */
export async function splitOffSuppressed(change: BatchChange): Promise<boolean> {
  const { tx, destination, batch, sender } = change
  // `suppression_version`: sum of the versions of these lists at the plan's read.
  const lists = await tx.query<DbRow<'destination', 'id' | 'desired_version'> & Outer<DbRow<'snapshot', 'suppression_version'>>>(
    `select l.id, l.desired_version, s.suppression_version
     from destination t
     join destination l on l.kind = any($3) and l.service = t.service and l.account_id = t.account_id
     join plan p on p.id = $2 and p.review ->> 'suppress' is distinct from 'none'
     left join snapshot s on s.id = p.snapshot_id
     where t.id = $1 order by l.id for share of l`,
    [batch.destinationId, batch.planId, kindsWhere(({ suppresses }) => suppresses)],
  )
  await awaitErasures(tx)
  const [serviceWithErasure] = await tx.query<DbRow<'destination', 'service'>>(
    `select t.service from destination t join plan p on p.id = $2
     where t.id = $1 and exists (
       select from erasure later where later.service = t.service and later.id > coalesce((p.review ->> 'erasures')::bigint, 0))`,
    [batch.destinationId, batch.planId],
  )
  const listsVersion = lists.reduce((sum, list) => sum + Number(list.desired_version), 0)
  const listsChanged = lists.some((list) => list.suppression_version === null || Number(list.suppression_version) !== listsVersion)
  if (serviceWithErasure === undefined && !listsChanged) return false
  // An entry is suppressed by its keys and its record, or by another identifier of a record with one of its keys. Example: the list has a
  // phone number in one form, and this entry has it in the other form (docs/decisions/both-forms.md). An operation of several users names
  // only the first user's record. For its other keys, the query searches all records of the audience. It uses joins, because such an entry
  // has many keys.
  const suppressed = await tx.query<DbRow<'entry', 'ord' | 'keys' | 'users' | 'byte_offset' | 'byte_length'>>(
    `with
     entries_with_identifiers as materialized (
       select e.ord, e.keys, e.users, e.byte_offset, e.byte_length, e.record_key, coalesce(${rowIdentifiers('r')}, '{}') as identifiers
       from ${entriesOf('$1::bigint')} e left join record r on r.destination_id = $3 and r.key = e.record_key),
     -- Keys that are not in the record of their entry.
     key_elsewhere as materialized (
       select e.ord, k.key from entries_with_identifiers e cross join lateral unnest(e.keys) as k (key)
       where not k.key = any(e.identifiers)),
     -- Records that have these keys. The condition with exists saves the search if there are none.
     other_record as materialized (
       select x.ord, r.key, ${rowIdentifiers('r')} as identifiers
       from record r cross join lateral unnest(${rowIdentifiers('r')}) as i (key) join key_elsewhere x on x.key = i.key
       where exists (select from key_elsewhere) and r.destination_id = $3),
     -- All keys of each entry, and all identifiers of its records.
     entry_identifier as materialized (
       select e.ord, k.key from entries_with_identifiers e cross join lateral unnest(e.keys || e.identifiers) as k (key)
       union select o.ord, k.key from other_record o cross join lateral unnest(o.identifiers) as k (key))
     select e.ord, e.keys, e.users, e.byte_offset, e.byte_length from entries_with_identifiers e
     where e.ord in (
         select n.ord from entry_identifier n
           join remote listed on listed.destination_id = any($2::int[]) and listed.key = n.key and ${isSuppressed('listed', '$2::int[]')}
         union all select n.ord from entry_identifier n where n.key in (${erasedIdentifiers('$4')})
         -- Another record with a key of the entry is erased.
         union all select o.ord from other_record o where o.key in (${erasedRecords('$4', '$3')}))
       -- The record of the entry is erased.
       or e.record_key in (${erasedRecords('$4', '$3')})
     order by e.ord`,
    [batch.id, lists.map((list) => list.id), batch.destinationId, serviceWithErasure?.service ?? null],
  )
  if (suppressed.length === 0) return false
  await removeEntries(change, suppressed)
  if (batch.maybeApplied) {
    const updates = suppressed.map((entry) => batch.body.subarray(entry.byte_offset, entry.byte_offset + entry.byte_length))
    const entry = {
      bytes: renderDeleteOf(updates),
      keys: suppressed.flatMap(({ keys }) => keys),
      users: suppressed.reduce((sum, { users }) => sum + users, 0),
    }
    // Two deletes, because the update may arrive after the first one, and no later run would repair that
    // (docs/decisions/late-arrival-horizon.md).
    for (const waitMs of [sender.horizonMs, 2 * sender.horizonMs]) {
      const id = await insertDeleteBatch(tx, destination, batch, entry, { phase: 1, waitMs })
      await markLate(tx, [id], waitMs)
    }
  }
  return true
}

/**
 * Supersedes the batch, and moves its entries except those at `ords` (people who opted out) to a new batch. If the batch may have been
 * applied, the service may have the removed identifiers. Those without synced content are stored as synced with unknown content. A later
 * plan then deletes the identifiers that no row of the source has any more, unless a guard withholds that.
 */
export async function splitOffOptedOut(change: BatchChange, ords: readonly number[]): Promise<void> {
  const { tx, batch, sender } = change
  const entries = await tx.query<DbRow<'entry', 'ord' | 'keys' | 'users'>>(
    `select e.ord, e.keys, e.users from ${entriesOf('$1::bigint')} e where e.ord = any($2::int[])`,
    [batch.id, ords],
  )
  await removeEntries(change, entries)
  if (!batch.maybeApplied) return
  const keys = entries.flatMap((entry) => entry.keys)
  await markUnknownContent(tx, batch.destinationId, keys, sender.runId)
}
