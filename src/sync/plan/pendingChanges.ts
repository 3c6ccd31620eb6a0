/**
 * Selects the pending changes: keys that are out of sync and may be sent now. Keys with an unresolved older operation wait
 * (docs/guarantees.md#key-order) and count as deferred. Set-based, on the connection of the plan's transaction.
 */
import type pg from 'pg'
import { maskedIdentifier } from '../../mapping/maskedIdentifier.ts'
import { isSuppressed } from '../../db/suppressed.ts'
import { mayMembersEnd, updateMemberEnds } from '../../db/batches/memberEnds.ts'
import { entryOutcome, keysOf } from '../../db/entries/read.ts'
import { outOfSync, type ChangedKeys } from '../../db/changedKeys.ts'
import { stampOf, unifyGroups } from '../../db/remote/desired.ts'
import { storeEndingKeys } from '../../db/remote/implied.ts'
import { queryable } from '../../db/database.ts'
import { fillTable } from './planTables.ts'
import { collectOwnEnds, joinOwnEnds, notEnded, overdue, ownExpiresAt } from './ownEnds.ts'

export interface PendingContext {
  readonly client: pg.PoolClient
  readonly destinationId: number
  readonly keys: 'products' | 'identifiers'
  readonly full: boolean
  readonly changed: ChangedKeys
  /** For identifiers: memberships are renewed if they end within this time plus a tenth to a half of it, spread by key. */
  readonly renewBeforeMs: number
  /**
   * True for audiences: memberships are deleted if their end was moved to an earlier time that has passed and was never confirmed.
   */
  readonly takesBack: boolean
  readonly planId: string
  /** Selects only keys that this run left refused, ambiguous or pending. */
  readonly onlyFailedOf?: number
  /** True if the table `resync` has outstanding keys of an earlier full refresh. */
  readonly resync: boolean
}

/** Returns SQL of the keys with an unresolved older operation, or whose late request may still be applied. */
export const unsettledKeys = (destinationId: number): string =>
  `select distinct e.key
   from batch b cross join ${keysOf('b.id')} e
   where b.destination_id = ${destinationId} and e.outcome in ('pending', 'ambiguous')
     and (b.status in ('in_flight', 'ambiguous', 'parked') or (b.status = 'pending' and b.attempts > 0))
   union
   select key from remote where destination_id = ${destinationId} and late_until > statement_timestamp()`

export async function collectUnsettled(client: pg.PoolClient, destinationId: number): Promise<void> {
  await fillTable(client, 'unsettled', unsettledKeys(destinationId))
  await client.query('analyze unsettled')
}

/** SQL of the plans of a destination, except those of `sluice plan` that wait for `apply`. */
const begun = (destinationId: number) => `plan p join run u on u.id = p.run_id
     where p.destination_id = ${destinationId} and (p.status <> 'ready' or u.trigger <> 'plan')`
const latest = 'order by coalesce(p.applied_at, p.created_at) desc limit 1'

/**
 * Fills `resync` with the unconfirmed keys of interrupted full refreshes. Returns the plans of these; if there are none, makes no
 * table.
 */
export async function collectResync(client: pg.PoolClient, destinationId: number): Promise<readonly string[]> {
  const { rows } = await client.query<{ resync: string[] | null }>(
    `select p.review -> 'resync' as resync from ${begun(destinationId)} ${latest}`,
  )
  const plans = rows[0]?.resync ?? []
  if (plans.length === 0) return []
  const filled = await fillTable(
    client,
    'resync',
    `select distinct e.key from batch b cross join ${keysOf('b.id')} e
     where b.plan_id = any($1) and b.operation = 'upsert' and ${entryOutcome} <> 'confirmed'`,
    [plans],
  )
  return filled === 0 ? [] : plans
}

/** Fills `pending_product` or `pending_group`. Returns the number of deferred keys. */
export async function collectPendingChanges(context: PendingContext): Promise<{ readonly deferred: number }> {
  return { deferred: context.keys === 'products' ? await collectProducts(context) : await collectGroups(context) }
}

async function collectProducts(context: PendingContext): Promise<number> {
  const { client, destinationId, full, resync } = context
  const again = full ? 'or m.held > 0' : resync ? 'or (m.held > 0 and m.key in (select key from resync))' : ''
  const unlike = full ? outOfSync : context.changed.outOfSync
  await fillTable(
    client,
    'pending_product',
    // lookup: the product must be deleted, but its product_key is unknown or was refused. It is put once more, because the answer
    // has the current key (docs/decisions/lost-deletes.md).
    `select m.key, case when m.held > 0 then 'upsert' when m.remote_key is null or m.refused_code is not null then 'lookup' else 'delete' end as what, exists (select from unsettled u where u.key = m.key) as deferred
     from remote m where m.destination_id = ${destinationId} and (${unlike} ${again}) ${onlyFailed(context)}`,
  )
  const deferred = await dropDeferred(client, 'pending_product')
  await client.query('analyze pending_product')
  return deferred
}

async function collectGroups(context: PendingContext): Promise<number> {
  const { client, destinationId, full, planId, resync } = context
  const dirty = context.changed.outOfSync
  if (!full) await storeEndingKeys(queryable(client), destinationId, endingBefore(context))
  const unsettled = await some(client, 'select from unsettled')
  const confirmed = await some(client, `select from remote where destination_id = ${destinationId} and synced_hash is not null`)
  const ending = confirmed && !full && (await someEnd(context))
  const timed = await collectOwnEnds(client, destinationId)
  const mine = `from remote m where m.destination_id = ${destinationId} ${onlyFailed(context)}`
  const due = timed
    ? `from remote m ${joinOwnEnds(destinationId)} where m.destination_id = ${destinationId} and ${notEnded} ${onlyFailed(context)}`
    : mine
  const parts = full
    ? [`select m.*, ${outOfSync} as dirty, true as again, false as overdue ${due} and (m.held > 0 or ${outOfSync})`]
    : [
        `select m.*, true as dirty, false as again, false as overdue ${due} and ${dirty}`,
        ...(resync
          ? [`select m.*, false, true, false ${due} and not ${outOfSync} and m.held > 0 and m.key in (select key from resync)`]
          : []),
        ...(ending ? [`select m.*, false, false, false ${due} and not ${outOfSync} and ${renewalDue(context, timed)}`] : []),
        // Ends that differ from the confirmed one, because another row with the identifier was added, changed or removed.
        ...(confirmed && timed
          ? [
              `select m.*, true, false, false ${due} and not ${outOfSync} and m.held > 0 and m.synced_hash is not null and ${ownExpiresAt} <> m.expires_at`,
            ]
          : []),
      ]
  // An entry of a do-not-reach list may last too long without harm.
  if (confirmed && timed && context.takesBack) {
    parts.push(
      `select m.*, true, false, true from remote m ${joinOwnEnds(destinationId)} where m.destination_id = ${destinationId} and ${overdue} ${onlyFailed(context)}`,
    )
  }
  await fillTable(
    client,
    'pending_group',
    `select m.group_key, bool_or(m.overdue or (m.held = 0 and m.synced_hash is not null)) as deletes, bool_or(m.overdue) as overdue, bool_or(m.dirty) as dirty, not bool_or(m.dirty or m.again) as renewal,
       bool_and(m.synced_hash is null) as created, ${unsettled ? 'bool_or(exists (select from unsettled u where u.key = m.key))' : 'false'} as deferred,
       null::bytea as stamp
     from (${parts.join(' union all ')}) m
     group by m.group_key`,
  )
  await client.query('analyze pending_group')
  if (unsettled) {
    await client.query(
      `update pending_group t set deferred = true where not deferred and exists (
         select ${mine} and m.group_key = t.group_key and exists (select from unsettled u where u.key = m.key))`,
    )
  }
  const deferred = await dropDeferred(client, 'pending_group')
  const stamp = stampOf('$1', 't.group_key')
  // An identifier may have joined a user whose update was interrupted. Then the identifiers of the user have different desired
  // contents, and one answer could confirm only some of them. So all get one new content. Not needed if no plan was ever started.
  if (await some(client, `select from plan where destination_id = ${destinationId} and status <> 'ready'`)) {
    await client.query(
      `update pending_group t set stamp = ${stamp} from (
         select m.group_key from pending_group d join remote m on m.destination_id = ${destinationId} and m.group_key = d.group_key and m.held > 0
         group by m.group_key having min(m.desired_hash::text) <> max(m.desired_hash::text)) x
       where t.group_key = x.group_key`,
      [planId],
    )
  }
  if (!confirmed) return deferred
  // So far `created` is based on the changed identifiers only. A group is new only if none of its identifiers was ever confirmed.
  // Otherwise the whole group gets one new content, so that one answer confirms all of it.
  await client.query(
    `update pending_group t set created = false where created and exists (select ${mine} and m.group_key = t.group_key and m.synced_hash is not null)`,
  )
  await client.query(`update pending_group t set stamp = ${stamp} where deletes or (dirty and not created)`, [planId])
  return deferred
}

/**
 * SQL: true if a membership is due for renewal: it ends within `renewBeforeMs` plus a tenth to a half of it, spread by key
 * (docs/guarantees.md#freshness). The tenth is for monthly runs, because a month may be longer than 30 days.
 */
function renewalDue({ renewBeforeMs }: PendingContext, timed: boolean): string {
  return `m.held > 0 and m.expires_at <= statement_timestamp() + ${renewBeforeMs * 1.5} * interval '1 millisecond'
    and m.expires_at <= statement_timestamp() + (${renewBeforeMs * 1.1}
      + ${renewBeforeMs * 0.4}::float8 * (get_byte(m.group_key, 0) * 256 + get_byte(m.group_key, 1)) / 65536.0) * interval '1 millisecond'
${timed ? `and ${ownExpiresAt} is null` : ''}`
}

/** SQL of the latest end of memberships that may be due for renewal. */
const endingBefore = ({ renewBeforeMs }: PendingContext) => `statement_timestamp() + ${renewBeforeMs * 1.5} * interval '1 millisecond'`

/** Returns true if a membership may be due. Updates the stored ends of batches whose keys were removed or end later. */
async function someEnd(context: PendingContext): Promise<boolean> {
  const [tx, { destinationId }, before] = [queryable(context.client), context, endingBefore(context)]
  if (!(await mayMembersEnd(tx, destinationId, before))) return false
  await updateMemberEnds(tx, destinationId, before)
  return mayMembersEnd(tx, destinationId, before)
}

/** SQL condition for `rerun --failed`: only keys of the open operations of that run. Empty without the option. */
function onlyFailed({ onlyFailedOf }: PendingContext): string {
  return onlyFailedOf === undefined
    ? ''
    : `and m.key in (
         select e.key from run r join batch b on b.plan_id = r.plan_id cross join ${keysOf('b.id')} e
         where r.id = ${onlyFailedOf} and ${entryOutcome} <> 'confirmed')`
}

async function some(client: pg.PoolClient, query: string): Promise<boolean> {
  return (await client.query(`${query} limit 1`)).rowCount === 1
}

async function dropDeferred(client: pg.PoolClient, pending: 'pending_product' | 'pending_group'): Promise<number> {
  return (await client.query(`delete from ${pending} where deferred`)).rowCount ?? 0
}

export interface GuardedDeletes {
  /** All deletes, except those of people on the do-not-reach list, which are always sent (docs/guarantees.md#suppression-wins). */
  readonly all: number
  /**
   * Number of these that passed the guard or were approved in an earlier plan, but are not confirmed. After a crash, a pause or a
   * refusal they need no second approval.
   */
  readonly cleared: number
  /** Number of the others whose row is still in the source, without some of the synced identifiers. */
  readonly replaced: number
}

/** SQL: true for rows of `pending_group` that lose identifiers while their record stays. */
const keepsRow = (destinationId: number) =>
  `deletes and not overdue and exists (select from record r where r.destination_id = ${destinationId} and r.key = pending_group.group_key)`

/** Counts the deletes that a guard may withhold. */
export async function countGuardedDeletes(context: PendingContext, suppressedBy: readonly number[]): Promise<GuardedDeletes> {
  const { client } = context
  await markCleared(context)
  if (context.keys === 'products') {
    const deletes = `select count(*) as n from pending_product where what in ('delete', 'lookup')`
    return {
      all: await scalar(client, deletes),
      cleared: await scalar(client, `${deletes} and key in (select key from cleared)`),
      replaced: 0,
    }
  }
  await markExempt(context, suppressedBy)
  const deletes =
    'select count(*) as n from pending_group where deletes and not exists (select from exempt x where x.group_key = pending_group.group_key)'
  return {
    all: await scalar(client, deletes),
    cleared: await scalar(client, `${deletes} and group_key in (select key from cleared)`),
    replaced: await scalar(client, `${deletes} and ${keepsRow(context.destinationId)} and group_key not in (select key from cleared)`),
  }
}

/** Returns the first remaining rows that lose identifiers: line, first digits of the row key's digest, masked identifiers. */
export async function replacedIdentifiers({ client, destinationId }: PendingContext): Promise<string[]> {
  const { rows } = await client.query<{ line: string; key: Buffer; lost: Buffer[] }>(
    `select r.line, r.key, array_agg(m.key order by m.key) as lost
     from (select group_key from pending_group where ${keepsRow(destinationId)} and not exists (select from exempt x where x.group_key = pending_group.group_key)) t
       join record r on r.destination_id = ${destinationId} and r.key = t.group_key
       join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key and m.held = 0 and m.synced_hash is not null
     group by r.line, r.key order by r.line, r.key limit 5`,
  )
  return rows.map(({ line, key, lost }) => `line ${line}, key ${key.toString('hex', 0, 6)}…: ${lost.map(maskedIdentifier).join(', ')}`)
}

/**
 * Fills `cleared`, the deletes that an earlier plan was allowed to send. If the record of a product came back meanwhile, its delete
 * is a new one. Identifiers have no record, so for them only the plan before this one counts.
 */
async function markCleared({ client, destinationId, keys }: PendingContext): Promise<void> {
  if (keys === 'products') {
    await fillTable(
      client,
      'cleared',
      `select t.key from pending_product t join record r on r.destination_id = ${destinationId} and r.key = t.key and r.status = 'missing'
       where t.what in ('delete', 'lookup') and exists (
         select from entry e join batch b on b.id = e.batch_id
         where e.destination_id = ${destinationId} and e.record_key = t.key and e.change = 'delete' and ${entryOutcome} <> 'confirmed'
           and exists (select from ${begun(destinationId)} and p.id = b.plan_id and p.snapshot_id >= r.snapshot_id))`,
    )
    return
  }
  // Joins from the few batches with deletes to their operations. A join from each key to its operations took 27 s for 10,000 keys,
  // after a first load whose batches were not analyzed yet.
  await fillTable(
    client,
    'cleared',
    `with own as materialized (
       select b.id, b.status from batch b
       where b.plan_id = (select p.id from ${begun(destinationId)} ${latest}) and b.operation = 'delete')
     select distinct e.record_key as key from own b join entry e on e.batch_id = b.id
     where e.change = 'delete' and ${entryOutcome} <> 'confirmed' and e.record_key in (select group_key from pending_group where deletes)`,
  )
}

/** Counts the products that this plan puts once more so that the next one can delete them. */
export async function countKeyLookups({ client, keys }: PendingContext): Promise<number> {
  return keys === 'products' ? scalar(client, `select count(*) as n from pending_product where what = 'lookup'`) : 0
}

/** Removes the deletes from this plan, except exempt ones and, with `sendCleared`, those that an earlier plan cleared. */
export async function withholdDeletes(context: PendingContext, sendCleared: boolean): Promise<void> {
  const { client } = context
  const cleared = (key: string) => (sendCleared ? `and ${key} not in (select key from cleared)` : '')
  if (context.keys === 'products') {
    await client.query(`delete from pending_product where what in ('delete', 'lookup') ${cleared('key')}`)
    return
  }
  await client.query(
    `update pending_group t set deletes = false where deletes and not exists (select from exempt x where x.group_key = t.group_key) ${cleared('t.group_key')}`,
  )
  // Removes groups without any other pending change.
  await client.query(
    `delete from pending_group t where not deletes and not renewal and not exists (
       select from remote m where m.destination_id = ${context.destinationId} and m.group_key = t.group_key and m.held > 0
         and m.desired_hash is distinct from m.synced_hash)`,
  )
}

/** Gives all identifiers of a changed group one common desired content. Groups with deletes get theirs when the plan is applied. */
export async function stampGroups({ client, destinationId, changed }: PendingContext): Promise<void> {
  const stamped = 'select group_key, stamp from pending_group where stamp is not null and not deletes'
  await unifyGroups(queryable(client), destinationId, stamped)
  await changed.add(`select m.key from (${stamped}) t join remote m on m.destination_id = $1 and m.group_key = t.group_key and m.held > 0`)
}

/**
 * Fills `exempt` with groups of suppressed people, to which no guard applies. Includes people who were suppressed after their row
 * was removed, and people whose removal from the list is not confirmed.
 */
async function markExempt({ client, destinationId, changed }: PendingContext, suppressedBy: readonly number[]): Promise<void> {
  const lists = `array[${[-1, ...suppressedBy].join(', ')}]`
  await fillTable(
    client,
    'exempt',
    `select distinct m.group_key from remote m
     where m.destination_id = ${destinationId} and ${changed.outOfSync} and m.held = 0
       and (m.erase or exists (select from remote r where r.destination_id = any(${lists}) and r.key = m.key and ${isSuppressed(lists)}))`,
  )
}

async function scalar(client: pg.PoolClient, query: string): Promise<number> {
  const { rows } = await client.query<{ n: string }>(query)
  return Number(rows[0]?.n)
}
