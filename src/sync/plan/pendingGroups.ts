/**
 * Selects the pending changes of people, in the table `pending_group`. A group is the identifiers that are sent under one record, as one
 * user.
 */
import { isDue, mayHaveDueMembers, updateMemberEnds, type DueEnds } from '../../db/batches/memberEnds.ts'
import { isOutOfSync } from '../../db/changedKeys.ts'
import { entriesOf, entryOutcome } from '../../db/entries/read.ts'
import { countRows, hasRows } from '../../db/queryable.ts'
import { contentVersionOf, unifyGroups } from '../../db/remote/referenceCounts.ts'
import { storeEndingKeys } from '../../db/remote/implied.ts'
import type { DbRow } from '../../db/row.ts'
import { lastPlanOf } from '../../db/plans.ts'
import { isSuppressed } from '../../db/suppressed.ts'
import { describeIdentifier } from '../../mapping/redactPersonalData.ts'
import { firstMemberOperations, memberOperations } from './memberOperations.ts'
import type { MembershipTerms } from './packUsers.ts'
import { collectOwnTimes, ownTimesJoinSql, notEndedSql, overdueSql, ownExpiresAtSql } from './ownTimes.ts'
import {
  noneDeferred,
  andOnlyFailed,
  recordsWithoutValidRow,
  removeDeferred,
  type Deferred,
  type GuardedDeletes,
  type PendingChanges,
  type PendingContext,
} from './pendingChanges.ts'
import { analyzeWithSmallSample, fillTable, recordChangeSql } from './planTables.ts'

export interface MembershipContext extends PendingContext {
  /** Memberships are renewed if they end within 1.1 to 1.5 times this duration (`renewalDue`). */
  readonly renewBeforeMs: number
  /**
   * True: deletes a membership if the end that its rows set has passed, but the end that the service confirmed has not. False for
   * do-not-reach lists, where an entry that lasts too long does no harm.
   */
  readonly endsExactly: boolean
  readonly terms: MembershipTerms
  /** True if the destination has an earlier plan, other than one that waits for `apply`. */
  readonly hasStartedPlan: boolean
  /** True if this plan writes the new content of changed groups. */
  readonly writesContent: boolean
}

export function pendingGroups(context: MembershipContext): PendingChanges {
  return {
    collect: () => collect(context),
    markAndCountDeletes: (suppressedBy) => markAndCountDeletes(context, suppressedBy),
    describeRowsLosingIdentifiers: () => describeRowsLosingIdentifiers(context),
    withholdDeletes: ({ sendAllowedBefore }) => withholdDeletes(context, sendAllowedBefore),
    unifyGroups: () => unifyChanged(context),
    countNewPeople: () => countRows(context.tx, 'select from pending_group where created and desired and not deletes'),
    countKeyLookups: () => Promise.resolve(0),
    countWithoutValidRow: () =>
      countRows(context.tx, `select from pending_group where desired and group_key in (${recordsWithoutValidRow(context.destinationId)})`),
    operations: (firstLoad) =>
      firstLoad?.isUntimed === true
        ? firstMemberOperations(context, context.terms, { hasShared: firstLoad.hasShared, range: {}, index: undefined })
        : memberOperations(context, context.terms),
  }
}

/** Fills `pending_group`, without groups that wait for unresolved requests. Returns the numbers of these deferred groups. */
async function collect(context: MembershipContext): Promise<Deferred> {
  const { tx, destinationId, isFullRefresh } = context
  // Renewals need rows in `remote`. For a full refresh, `preparePlanWork` has stored rows for all keys.
  if (!isFullRefresh) await storeEndingKeys(tx, destinationId, dueEnds(context))
  const hasConfirmed = await hasRows(tx, `select from remote where destination_id = ${destinationId} and synced_hash is not null`)
  const mayBeDue = hasConfirmed && !isFullRefresh && (await updateEndsIfDue(context))
  const { rowsExpire } = await collectOwnTimes(tx, destinationId)
  await fillPendingGroups(context, { hasConfirmed, mayBeDue, rowsExpire })
  const deferred = await removeDeferredGroups(context)
  await completeContent(context, hasConfirmed)
  return deferred
}

/** Facts about the keys of a destination. Each false fact saves a part of the search for pending keys. */
interface KeyFacts {
  readonly hasConfirmed: boolean
  readonly mayBeDue: boolean
  readonly rowsExpire: boolean
}

/** Fills `pending_group`, from the pending keys alone. `completeContent` then corrects `created` and `content_version`. */
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
  await analyzeWithSmallSample(tx, 'pending_group', '(group_key, deletes, overdue, out_of_sync, desired, created)')
}

/**
 * Returns SQL of the pending keys, rows of `remote` with three flags. If all three are false, the key is due for renewal.
 *
 * - `out_of_sync`: the content or the end is not the desired one.
 * - `again`: the key is sent again by a full refresh.
 * - `overdue`: the end that its rows set has passed.
 */
async function pendingKeys(context: MembershipContext, { hasConfirmed, mayBeDue, rowsExpire }: KeyFacts): Promise<string> {
  const { destinationId, isFullRefresh, hasResync, changed, endsExactly } = context
  const keysWhere = (where: string, flags: { readonly out_of_sync?: string; readonly again?: string; readonly overdue?: string }) =>
    `select m.*, ${flags.out_of_sync ?? 'false'} as out_of_sync, ${flags.again ?? 'false'} as again, ${flags.overdue ?? 'false'} as overdue
     from remote m ${rowsExpire ? ownTimesJoinSql(destinationId) : ''}
     where m.destination_id = ${destinationId} and ${where} ${andOnlyFailed(context)}`
  const sendable = rowsExpire ? notEndedSql : 'true'
  const sendableInSync = `${sendable} and not ${isOutOfSync}`
  const selects: string[] = []
  if (isFullRefresh)
    selects.push(keysWhere(`${sendable} and (m.ref_count > 0 or ${isOutOfSync})`, { out_of_sync: isOutOfSync, again: 'true' }))
  else {
    selects.push(keysWhere(`${sendable} and ${await changed.outOfSync()}`, { out_of_sync: 'true' }))
    if (hasResync) selects.push(keysWhere(`${sendableInSync} and m.ref_count > 0 and m.key in (select key from resync)`, { again: 'true' }))
    if (mayBeDue) selects.push(keysWhere(`${sendableInSync} and ${renewalDue(context, rowsExpire)}`, {}))
    // The end changes if a row with the identifier is added, changed or removed.
    const hasOtherEnd = `m.ref_count > 0 and m.synced_hash is not null and ${ownExpiresAtSql} <> m.expires_at`
    if (hasConfirmed && rowsExpire) selects.push(keysWhere(`${sendableInSync} and ${hasOtherEnd}`, { out_of_sync: 'true' }))
  }
  if (hasConfirmed && rowsExpire && endsExactly) selects.push(keysWhere(overdueSql, { out_of_sync: 'true', overdue: 'true' }))
  return selects.join(' union all ')
}

/** Removes the groups that have a key with an unresolved request. The key itself may be in sync. Returns the numbers of removed groups. */
async function removeDeferredGroups(context: MembershipContext): Promise<Deferred> {
  const { tx, destinationId } = context
  if (!(await hasRows(tx, 'select from unresolved'))) return noneDeferred
  return removeDeferred(
    tx,
    destinationId,
    `delete from pending_group t where exists (
       select from remote m where m.destination_id = ${destinationId} ${andOnlyFailed(context)}
         and m.group_key = t.group_key and exists (select from unresolved u where u.key = m.key))
     returning t.group_key as key, t.desired`,
  )
}

/**
 * Corrects `created` and `content_version` by all keys of a group. All identifiers of a changed group get one new content, so that one
 * answer confirms them all. New groups and renewals keep their content, unless it differs between their identifiers.
 */
async function completeContent(context: MembershipContext, hasConfirmed: boolean): Promise<void> {
  const { tx, destinationId, hasStartedPlan } = context
  const newContent = newContentOf(context, 't.group_key')
  if (hasConfirmed) {
    await tx.query(
      `update pending_group t set created = false, content_version = case when t.deletes or t.out_of_sync then ${newContent} end
       where t.created and exists (
         select from remote m where m.destination_id = ${destinationId} ${andOnlyFailed(context)}
           and m.group_key = t.group_key and m.synced_hash is not null)`,
    )
  }
  // If a user gains an identifier after an interrupted update, its identifiers have different desired contents. One answer could confirm
  // only some of them, so all get one new content.
  if (!hasStartedPlan) return
  await tx.query(
    `update pending_group t set content_version = ${newContent} from (
       select m.group_key
       from pending_group t join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key and m.ref_count > 0
       where t.content_version is null
       group by m.group_key having min(m.desired_hash::text) <> max(m.desired_hash::text)) mixed
     where t.group_key = mixed.group_key`,
  )
}

const newContentOf = ({ planId }: MembershipContext, group: string) => contentVersionOf(`'${planId}'`, group)

/**
 * Returns the SQL condition that a membership is due for renewal (docs/guarantees.md#freshness). Its rows set no end, and one of these is
 * true:
 *
 * - It ends more than a day later than `expires_in` permits.
 * - It ends within 1.1 to 1.5 times `renewBeforeMs`. The factor depends on the group's key, so that renewals spread over several runs. It
 *   is at least 1.1, because the next monthly run may be more than 30 days later.
 */
function renewalDue(context: MembershipContext, rowsExpire: boolean): string {
  const { renewBeforeMs } = context
  const ends = dueEnds(context)
  // from 0 to 1, by the first two bytes of the key
  const spread = '(get_byte(m.group_key, 0) * 256 + get_byte(m.group_key, 1)) / 65536.0'
  const renewedBeforeMs = `(${renewBeforeMs * 1.1} + ${renewBeforeMs * 0.4}::float8 * ${spread})`
  return `m.ref_count > 0 and ${isDue('m.expires_at', ends)}
    and (m.expires_at > ${ends.after} or m.expires_at <= statement_timestamp() + ${renewedBeforeMs} * interval '1 millisecond')
    ${rowsExpire ? `and ${ownExpiresAtSql} is null` : ''}`
}

/**
 * Returns SQL of the ends of memberships that may be due for renewal. `before`: now plus 1.5 times `renewBeforeMs`. `after`: a day later
 * than `expires_in` permits. A membership ends that late if `expires_in` was shortened.
 */
const dueEnds = ({ renewBeforeMs, terms }: MembershipContext): DueEnds => ({
  before: `statement_timestamp() + ${renewBeforeMs * 1.5} * interval '1 millisecond'`,
  after: `to_timestamp(${(terms.expiresAtMs + 86_400_000) / 1000})`,
})

/**
 * Returns true if a membership may be due for renewal, by the ends that are stored with batches. If one may be due, first updates these
 * ends, because members may have been removed or renewed since.
 */
async function updateEndsIfDue(context: MembershipContext): Promise<boolean> {
  const { tx, destinationId } = context
  const ends = dueEnds(context)
  if (!(await mayHaveDueMembers(tx, destinationId, ends))) return false
  await updateMemberEnds(tx, destinationId, ends)
  return mayHaveDueMembers(tx, destinationId, ends)
}

const notExempt = 'not exists (select from exempt e where e.group_key = t.group_key)'
// With `not in`, Postgres would search a table of some million keys for each group.
const notAllowedBefore = 'not exists (select from allowed_delete c where c.key = t.group_key)'

/**
 * Returns SQL of the groups that lose identifiers while their record stays. Leaves out suppressed people. Looks up records one by one if
 * they are not updated, because for `exists` Postgres may read all records.
 */
const groupsThatKeepTheirRow = (destinationId: number) =>
  `select t.group_key
   from pending_group t left join (select key from change where effect = ${recordChangeSql.update}) updated on updated.key = t.group_key
   where t.deletes and not t.overdue and ${notExempt}
     and (updated.key is not null or (select true from record r where r.destination_id = ${destinationId} and r.key = t.group_key))`

async function markAndCountDeletes(context: PendingContext, suppressedBy: readonly number[]): Promise<GuardedDeletes> {
  const { tx, destinationId } = context
  await markAllowedBefore(context)
  await markExempt(context, suppressedBy)
  const deletes = `select from pending_group t where t.deletes and ${notExempt}`
  return {
    guardedDeletes: await countRows(tx, deletes),
    allowedBefore: await countRows(tx, `${deletes} and t.group_key in (select key from allowed_delete)`),
    identifierOnlyDeletes: await countRows(tx, `${groupsThatKeepTheirRow(destinationId)} and ${notAllowedBefore}`),
  }
}

async function describeRowsLosingIdentifiers({ tx, destinationId }: PendingContext): Promise<string[]> {
  const rows = await tx.query<DbRow<'record', 'line' | 'key'> & { readonly identifiers: Buffer[] }>(
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
 * Fills `allowed_delete` with the unconfirmed deletes of the last started plan. Older plans do not count: a removed person has no record
 * that shows since when the person is missing.
 */
async function markAllowedBefore({ tx, destinationId }: PendingContext): Promise<void> {
  // Reads the few batches with deletes. To search by key took 27 s for 10,000 keys, before Postgres had statistics of the batches of a
  // first load.
  await fillTable(
    tx,
    'allowed_delete',
    `with delete_batch as materialized (
       select b.id, b.status from batch b
       where b.plan_id = (select l.id from (${lastPlanOf(destinationId)}) l) and b.operation = 'delete')
     select distinct e.record_key as key from delete_batch b cross join ${entriesOf('b.id')} e
     where e.change = 'delete' and ${entryOutcome} <> 'confirmed' and e.record_key in (select group_key from pending_group where deletes)`,
  )
}

/**
 * Fills `exempt` with the groups of suppressed people, whose deletes no guard withholds. Includes people who were suppressed after their
 * row was removed.
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
     select m.group_key from remote m
     where m.destination_id = ${destinationId} and ${await changed.outOfSync()} and m.ref_count = 0
       and exists (
         select from remote listed where listed.destination_id = any(${lists}) and listed.key = m.key and ${isSuppressed('listed', lists)})`,
  )
}

async function withholdDeletes({ tx }: PendingContext, sendAllowedBefore: boolean): Promise<void> {
  await tx.query(
    `update pending_group t set deletes = false where t.deletes and ${notExempt} ${sendAllowedBefore ? `and ${notAllowedBefore}` : ''}`,
  )
  // Without their deletes, these groups have no pending change.
  await tx.query('delete from pending_group where not deletes and not desired')
}

async function unifyChanged({ changed, writesContent }: MembershipContext): Promise<void> {
  if (writesContent) await unifyGroups(changed, 'select group_key, content_version from pending_group where content_version is not null')
}
