/** Pending changes of people: groups of identifiers that are sent under one record, in the table `pending_group`. */
import { isDue, mayMembersEnd, updateMemberEnds, type DueEnds } from '../../db/batches/memberEnds.ts'
import { outOfSync } from '../../db/changedKeys.ts'
import type { Transaction } from '../../db/database.ts'
import { entriesOf, entryOutcome } from '../../db/entries/read.ts'
import { contentVersionOf, unifyGroups } from '../../db/remote/referenceCounts.ts'
import { storeEndingKeys } from '../../db/remote/implied.ts'
import type { Row } from '../../db/row.ts'
import { lastPlanOf } from '../../db/plans.ts'
import { isSuppressed } from '../../db/suppressed.ts'
import { describeIdentifier } from '../../mapping/mask.ts'
import { firstMembers, memberOperations } from './memberOperations.ts'
import type { MembershipTerms } from './packUsers.ts'
import { collectOwnEnds, joinOwnEnds, notEnded, overdue, ownExpiresAt } from './ownEnds.ts'
import {
  countRows,
  noneDeferred,
  onlyFailed,
  recordsWithoutValidRow,
  removeDeferred,
  type Deferred,
  type GuardedDeletes,
  type PendingChanges,
  type PendingContext,
} from './pendingChanges.ts'
import { analyzeTable, fillTable, recordChange } from './planTables.ts'

/** Context of the pending changes of people. */
export interface MembershipContext extends PendingContext {
  /** Memberships are renewed if they end within 1.1 to 1.5 times this duration (`renewalDue`). */
  readonly renewBeforeMs: number
  /**
   * True for audiences: if the end of its row has passed, but the confirmed end has not, a membership is deleted. False for do-not-reach
   * lists: an entry that lasts too long does no harm.
   */
  readonly endsExactly: boolean
  readonly terms: MembershipTerms
  /** True if the destination has an earlier plan, other than one that waits for `apply`. */
  readonly hasStartedPlan: boolean
  /** As in `PlanWork`. */
  readonly writesContent: boolean
}

/** Returns the pending changes of a destination of people. */
export function pendingGroups(context: MembershipContext): PendingChanges {
  return {
    collect: () => collect(context),
    markAndCountDeletes: (suppressedBy) => markAndCountDeletes(context, suppressedBy),
    rowsLosingIdentifiers: () => rowsLosingIdentifiers(context),
    withholdDeletes: ({ sendCleared }) => withholdDeletes(context, sendCleared),
    unifyGroups: () => unifyChanged(context),
    countCreates: () => countRows(context.tx, 'select from pending_group where created and desired and not deletes'),
    countKeyLookups: () => Promise.resolve(0),
    countWithoutValidRow: () =>
      countRows(context.tx, `select from pending_group where desired and group_key in (${recordsWithoutValidRow(context.destinationId)})`),
    operations: (first) =>
      first?.isUntimed === true
        ? firstMembers(context, context.terms, { hasShared: first.hasShared, range: {}, index: undefined })
        : memberOperations(context, context.terms),
  }
}

/** Fills `pending_group` with the groups that have pending changes. Returns the numbers of deferred groups, which it leaves out. */
async function collect(context: MembershipContext): Promise<Deferred> {
  const { tx, destinationId, full } = context
  // For a full refresh, `openWork` has stored the implied keys.
  if (!full) await storeEndingKeys(tx, destinationId, dueEnds(context))
  const hasConfirmed = await hasRows(tx, `select from remote where destination_id = ${destinationId} and synced_hash is not null`)
  const mayBeDue = hasConfirmed && !full && (await updateEndsIfDue(context))
  const rowsExpire = await collectOwnEnds(tx, destinationId)
  await fillPendingGroups(context, { hasConfirmed, mayBeDue, rowsExpire })
  const deferred = await removeDeferredGroups(context)
  await completeContent(context, hasConfirmed)
  return deferred
}

/** Facts about the keys of a destination. For each false fact, a part of the search for pending keys is skipped. */
interface KeyFacts {
  /** True if a key is confirmed. */
  readonly hasConfirmed: boolean
  /** True if a membership may be due for renewal. */
  readonly mayBeDue: boolean
  /** True if a row has its own end. */
  readonly rowsExpire: boolean
}

/** Fills `pending_group` with the groups of the pending keys. `completeContent` completes `created` and `content_version`. */
async function fillPendingGroups(context: MembershipContext, facts: KeyFacts): Promise<void> {
  const { tx, onlyFailedOf } = context
  const isDelete = 'm.ref_count = 0 and m.synced_hash is not null'
  const deletes = `bool_or(m.overdue or (${isDelete}))`
  const created = 'bool_and(m.synced_hash is null)'
  const getsNewContent = `${deletes} or (bool_or(m.out_of_sync) and not ${created})`
  const newContent = facts.hasConfirmed ? `case when ${getsNewContent} then ${newContentOf(context, 'm.group_key')} end` : 'null'
  const keysToDelete = `string_agg(encode(m.key, 'hex'), ',' order by m.key) filter (where ${isDelete})`
  await fillTable(
    tx,
    'pending_group',
    `select m.group_key,
       ${deletes} as deletes,
       bool_or(m.overdue) as overdue,
       bool_or(m.suppressed and ${isDelete}) as suppressed,
       bool_or(m.out_of_sync) as out_of_sync,
       not bool_or(m.out_of_sync or m.again) as renewal,
       bool_or(m.ref_count > 0 and not m.overdue) as desired,
       ${created} as created,
       ${newContent} as content_version,
       ${onlyFailedOf === undefined ? keysToDelete : 'null'} as keys_to_delete
     from (${await pendingKeys(context, facts)}) m
     group by m.group_key`,
  )
  await analyzeTable(tx, 'pending_group', '(group_key, deletes, overdue, out_of_sync, desired, created)')
}

/**
 * Returns SQL of the pending keys. `out_of_sync`: the content or the end is not the desired one. `again`: sent again by a full refresh.
 * `overdue`: the end of its rows has passed. If all three are false, the key is due for renewal.
 */
async function pendingKeys(context: MembershipContext, { hasConfirmed, mayBeDue, rowsExpire }: KeyFacts): Promise<string> {
  const { destinationId, full, hasResync, changed, endsExactly } = context
  const keysWhere = (where: string, flags: { readonly out_of_sync?: string; readonly again?: string; readonly overdue?: string }) =>
    `select m.*, ${flags.out_of_sync ?? 'false'} as out_of_sync, ${flags.again ?? 'false'} as again, ${flags.overdue ?? 'false'} as overdue
     from remote m ${rowsExpire ? joinOwnEnds(destinationId) : ''}
     where m.destination_id = ${destinationId} and ${where} ${onlyFailed(context)}`
  const sendable = rowsExpire ? notEnded : 'true'
  const sendableInSync = `${sendable} and not ${outOfSync}`
  const parts: string[] = []
  if (full) parts.push(keysWhere(`${sendable} and (m.ref_count > 0 or ${outOfSync})`, { out_of_sync: outOfSync, again: 'true' }))
  else {
    parts.push(keysWhere(`${sendable} and ${await changed.outOfSync()}`, { out_of_sync: 'true' }))
    if (hasResync) parts.push(keysWhere(`${sendableInSync} and m.ref_count > 0 and m.key in (select key from resync)`, { again: 'true' }))
    if (mayBeDue) parts.push(keysWhere(`${sendableInSync} and ${renewalDue(context, rowsExpire)}`, {}))
    // The end of the rows may differ from the confirmed end, because another row with the identifier was added, changed or removed.
    const hasOtherEnd = `m.ref_count > 0 and m.synced_hash is not null and ${ownExpiresAt} <> m.expires_at`
    if (hasConfirmed && rowsExpire) parts.push(keysWhere(`${sendableInSync} and ${hasOtherEnd}`, { out_of_sync: 'true' }))
  }
  // The membership is deleted, because the end of its rows has passed.
  if (hasConfirmed && rowsExpire && endsExactly) parts.push(keysWhere(overdue, { out_of_sync: 'true', overdue: 'true' }))
  return parts.join(' union all ')
}

/** Removes the groups that have an unresolved key, whether it is pending or not. Returns their numbers. */
async function removeDeferredGroups(context: MembershipContext): Promise<Deferred> {
  const { tx, destinationId } = context
  if (!(await hasRows(tx, 'select from unresolved'))) return noneDeferred
  return removeDeferred(
    tx,
    destinationId,
    `delete from pending_group t where exists (
       select from remote m where m.destination_id = ${destinationId} ${onlyFailed(context)}
         and m.group_key = t.group_key and exists (select from unresolved u where u.key = m.key))
     returning t.group_key as key, t.desired`,
  )
}

/**
 * Completes `created`, and the new content of groups. A changed group gets one new content if it is not new, or if it loses identifiers.
 * Then one answer confirms all its identifiers. A renewal keeps its content.
 */
async function completeContent(context: MembershipContext, hasConfirmed: boolean): Promise<void> {
  const { tx, destinationId, hasStartedPlan } = context
  const newContent = newContentOf(context, 't.group_key')
  if (hasConfirmed) {
    // So far `created` is based on the pending identifiers only. A group is new only if none of its identifiers is confirmed.
    await tx.query(
      `update pending_group t set created = false, content_version = case when t.deletes or t.out_of_sync then ${newContent} end
       where t.created and exists (
         select from remote m where m.destination_id = ${destinationId} ${onlyFailed(context)}
           and m.group_key = t.group_key and m.synced_hash is not null)`,
    )
  }
  // A user may have gained an identifier after an interrupted update. Then the user's identifiers have different desired contents, and one
  // answer could confirm only some of them. Therefore all of them get one new content. Without an earlier plan there is no such update.
  if (!hasStartedPlan) return
  await tx.query(
    `update pending_group t set content_version = ${newContent} from (
       -- groups without new content whose identifiers have different desired contents
       select m.group_key
       from pending_group t join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key and m.ref_count > 0
       where t.content_version is null
       group by m.group_key having min(m.desired_hash::text) <> max(m.desired_hash::text)) mixed
     where t.group_key = mixed.group_key`,
  )
}

/** Returns SQL of the new content that this plan gives to the group `group`, SQL of a group key. */
const newContentOf = ({ planId }: MembershipContext, group: string) => contentVersionOf(`'${planId}'`, group)

/**
 * Returns the SQL condition that a membership is due for renewal (docs/guarantees.md#freshness). It is due in two cases:
 *
 * - It ends later than `expires_in` permits (`dueEnds`).
 * - It ends within 1.1 to 1.5 times `renewBeforeMs`. The factor depends on the group's key, so that renewals spread over several runs. The
 *   minimum of 1.1 is for monthly runs, because a month may be longer than 30 days.
 *
 * A membership that ends with its rows is never due. `rowsExpire`: as in `KeyFacts`.
 */
function renewalDue(context: MembershipContext, rowsExpire: boolean): string {
  const { renewBeforeMs } = context
  const due = dueEnds(context)
  // From 0 to 1, by the first two bytes of the key.
  const spread = '(get_byte(m.group_key, 0) * 256 + get_byte(m.group_key, 1)) / 65536.0'
  const renewedBeforeMs = `(${renewBeforeMs * 1.1} + ${renewBeforeMs * 0.4}::float8 * ${spread})`
  return `m.ref_count > 0 and ${isDue('m.expires_at', due)}
    and (m.expires_at > ${due.after} or m.expires_at <= statement_timestamp() + ${renewedBeforeMs} * interval '1 millisecond')
    ${rowsExpire ? `and ${ownExpiresAt} is null` : ''}`
}

/**
 * Returns the ends of memberships that may be due for renewal:
 *
 * - `before`: ends within 1.5 times `renewBeforeMs`
 * - `after`: ends more than a day later than `expires_in` permits. These were confirmed before `expires_in` was shortened
 */
const dueEnds = ({ renewBeforeMs, terms }: MembershipContext): DueEnds => ({
  before: `statement_timestamp() + ${renewBeforeMs * 1.5} * interval '1 millisecond'`,
  after: `to_timestamp(${(terms.expiresAtMs + 86_400_000) / 1000})`,
})

/**
 * If a membership may be due for renewal, updates the stored ends of batches. Keys of a batch may have been removed, or end later by now.
 * Returns true if a membership may still be due.
 */
async function updateEndsIfDue(context: MembershipContext): Promise<boolean> {
  const { tx, destinationId } = context
  const due = dueEnds(context)
  if (!(await mayMembersEnd(tx, destinationId, due))) return false
  await updateMemberEnds(tx, destinationId, due)
  return mayMembersEnd(tx, destinationId, due)
}

async function hasRows(tx: Transaction, query: string): Promise<boolean> {
  return (await tx.query(`${query} limit 1`)).length === 1
}

/** SQL: the group `t` does not belong to suppressed people. */
const notExempt = 'not exists (select from exempt e where e.group_key = t.group_key)'
/**
 * SQL: the delete of the group `t` is not in `cleared`. With `not in` instead of `not exists`, Postgres would search a table of some
 * million keys for each group.
 */
const notCleared = 'not exists (select from cleared c where c.key = t.group_key)'

/**
 * Returns SQL of the groups `t` that lose identifiers while their record stays, without the groups of suppressed people. An updated record
 * is in `change`. Other records are looked up one by one, because for `exists` Postgres may read all records.
 */
const groupsThatKeepTheirRow = (destinationId: number) =>
  `select t.group_key
   from pending_group t left join (select key from change where what = ${recordChange.update}) updated on updated.key = t.group_key
   where t.deletes and not t.overdue and ${notExempt}
     and (updated.key is not null or (select true from record r where r.destination_id = ${destinationId} and r.key = t.group_key))`

async function markAndCountDeletes(context: PendingContext, suppressedBy: readonly number[]): Promise<GuardedDeletes> {
  const { tx, destinationId } = context
  await markCleared(context)
  await markExempt(context, suppressedBy)
  const deletes = `select from pending_group t where t.deletes and ${notExempt}`
  return {
    all: await countRows(tx, deletes),
    cleared: await countRows(tx, `${deletes} and t.group_key in (select key from cleared)`),
    identifierDeletes: await countRows(tx, `${groupsThatKeepTheirRow(destinationId)} and ${notCleared}`),
  }
}

async function rowsLosingIdentifiers({ tx, destinationId }: PendingContext): Promise<string[]> {
  const rows = await tx.query<Row<'record', 'line' | 'key'> & { readonly identifiers: Buffer[] }>(
    `select r.line, r.key, array_agg(m.key order by m.key) as identifiers
     from (${groupsThatKeepTheirRow(destinationId)}) t
       join record r on r.destination_id = ${destinationId} and r.key = t.group_key
       join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key and m.ref_count = 0 and m.synced_hash is not null
     group by r.line, r.key order by r.line, r.key limit 5`,
  )
  return rows.map(
    ({ line, key, identifiers }) => `line ${line}, key ${key.toString('hex', 0, 6)}…: ${identifiers.map(describeIdentifier).join(', ')}`,
  )
}

/**
 * Fills `cleared` with the unconfirmed deletes that the plan before this one was allowed to send. Older plans do not count, because a
 * removed member has no record that shows since when it is missing.
 */
async function markCleared({ tx, destinationId }: PendingContext): Promise<void> {
  // Reads the operations of the few batches with deletes. To search the operations of each key took 27 s for 10,000 keys, after a first
  // load whose batches were not analyzed yet.
  await fillTable(
    tx,
    'cleared',
    `with delete_batch as materialized ( -- batches with deletes of the plan before this one
       select b.id, b.status from batch b
       where b.plan_id = (select l.id from (${lastPlanOf(destinationId)}) l) and b.operation = 'delete')
     -- their unconfirmed deletes that are pending in this plan too
     select distinct e.record_key as key from delete_batch b cross join ${entriesOf('b.id')} e
     where e.change = 'delete' and ${entryOutcome} <> 'confirmed' and e.record_key in (select group_key from pending_group where deletes)`,
  )
}

/**
 * Fills `exempt` with the groups of suppressed people, to which no guard applies. Includes people who were suppressed after their row
 * was removed, and people whose removal from a do-not-reach list is not confirmed.
 */
async function markExempt({ tx, destinationId, changed }: PendingContext, suppressedBy: readonly number[]): Promise<void> {
  const suppressed = 'select group_key from pending_group where suppressed'
  if (suppressedBy.length === 0) {
    await fillTable(tx, 'exempt', suppressed)
    return
  }
  const lists = `array[${suppressedBy.join(', ')}]`
  await fillTable(
    tx,
    'exempt',
    `${suppressed} union
     -- groups of which an identifier is to be deleted and is on one of the lists
     select m.group_key from remote m
     where m.destination_id = ${destinationId} and ${await changed.outOfSync()} and m.ref_count = 0
       and exists (
         select from remote listed where listed.destination_id = any(${lists}) and listed.key = m.key and ${isSuppressed('listed', lists)})`,
  )
}

async function withholdDeletes({ tx }: PendingContext, sendCleared: boolean): Promise<void> {
  await tx.query(`update pending_group t set deletes = false where t.deletes and ${notExempt} ${sendCleared ? `and ${notCleared}` : ''}`)
  // A group without any other pending change is not sent.
  await tx.query('delete from pending_group where not deletes and not desired')
}

async function unifyChanged({ changed, writesContent }: MembershipContext): Promise<void> {
  if (writesContent) await unifyGroups(changed, 'select group_key, content_version from pending_group where content_version is not null')
}
