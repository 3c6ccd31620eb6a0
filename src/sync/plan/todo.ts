/**
 * Todo: which keys are not as wanted, and may go now. Keys of an unsettled older operation wait (I3): they are counted
 * as deferred. Everything set-based, on the plan transaction's own connection.
 */
import type pg from 'pg'
import { maskedIdentifier } from '../../mapping/maskedIdentifier.ts'
import { isSuppressed } from '../../db/suppressed.ts'
import { entryOutcome, keysOf } from '../../db/entries.ts'
import { outOfSync, type ChangedKeys } from '../../db/changedKeys.ts'
import { fillTable } from './planTables.ts'
import { collectOwnEnds, joinOwnEnds, notEnded, overdue, ownExpiresAt } from './ownEnds.ts'

export interface TodoContext {
  readonly client: pg.PoolClient
  readonly destinationId: number
  readonly keys: 'products' | 'identifiers'
  readonly full: boolean
  readonly changed: ChangedKeys
  /** Identifiers only: renew what ends within this, and up to half as much again, spread by key. */
  readonly renewBeforeMs: number
  /** What ended before its shorter end was confirmed is deleted (audiences). */
  readonly takesBack: boolean
  readonly planId: string
  /** Only what this run left refused, ambiguous or pending. */
  readonly onlyFailedOf?: number
  /** The table `resync` holds keys that a full resync before this plan still owes. */
  readonly resync: boolean
}

/** Keys that an older operation has not settled, or whose late bytes may still land: a query of them. */
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

/** The plans of a destination that were begun, so that what they held is owed: not those that wait for `apply`. */
const begun = (destinationId: number) => `plan p join run u on u.id = p.run_id
     where p.destination_id = ${destinationId} and (p.status <> 'ready' or u.trigger <> 'plan')`
const latest = 'order by coalesce(p.applied_at, p.created_at) desc limit 1'

/**
 * Fills `resync`: what a full resync has not got confirmed, however often it was cut short. Returns the plans that owe it;
 * none: there is no table.
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

/** Fills `product_todo` or `group_todo`. Returns how many keys had to be deferred. */
export async function collectTodo(context: TodoContext): Promise<{ readonly deferred: number }> {
  return { deferred: context.keys === 'products' ? await collectProducts(context) : await collectGroups(context) }
}

async function collectProducts(context: TodoContext): Promise<number> {
  const { client, destinationId, full, resync } = context
  const again = full ? 'or m.held > 0' : resync ? 'or (m.held > 0 and m.key in (select key from resync))' : ''
  const unlike = full ? outOfSync : context.changed.outOfSync
  await fillTable(
    client,
    'product_todo',
    // learn: to be deleted, but its product_key is not known, or the service did not take it: put once more, it answers with
    // the key that stands now (docs/decisions/lost-deletes.md).
    `select m.key, case when m.held > 0 then 'upsert' when m.remote_key is null or m.refused_code is not null then 'learn' else 'delete' end as what, exists (select from unsettled u where u.key = m.key) as deferred
     from remote m where m.destination_id = ${destinationId} and (${unlike} ${again}) ${onlyFailed(context)}`,
  )
  const deferred = await dropDeferred(client, 'product_todo')
  await client.query('analyze product_todo')
  return deferred
}

async function collectGroups(context: TodoContext): Promise<number> {
  const { client, destinationId, full, planId, resync } = context
  const dirty = context.changed.outOfSync
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
        // Another row that holds it came, changed or went: its end is not the one that was confirmed.
        ...(confirmed && timed
          ? [
              `select m.*, true, false, false ${due} and not ${outOfSync} and m.held > 0 and m.synced_hash is not null and ${ownExpiresAt} <> m.expires_at`,
            ]
          : []),
      ]
  // Of a list of those who must not be reached, one too long is no harm.
  if (confirmed && timed && context.takesBack) {
    parts.push(
      `select m.*, true, false, true from remote m ${joinOwnEnds(destinationId)} where m.destination_id = ${destinationId} and ${overdue} ${onlyFailed(context)}`,
    )
  }
  await fillTable(
    client,
    'group_todo',
    `select m.group_key, bool_or(m.overdue or (m.held = 0 and m.synced_hash is not null)) as deletes, bool_or(m.overdue) as overdue, bool_or(m.dirty) as dirty, not bool_or(m.dirty or m.again) as renewal,
       bool_and(m.synced_hash is null) as created, ${unsettled ? 'bool_or(exists (select from unsettled u where u.key = m.key))' : 'false'} as deferred,
       null::bytea as stamp
     from (${parts.join(' union all ')}) m
     group by m.group_key`,
  )
  await client.query('analyze group_todo')
  if (unsettled) {
    await client.query(
      `update group_todo t set deferred = true where not deferred and exists (
         select ${mine} and m.group_key = t.group_key and exists (select from unsettled u where u.key = m.key))`,
    )
  }
  const deferred = await dropDeferred(client, 'group_todo')
  const stamp = `decode(md5($1 || encode(t.group_key, 'hex')), 'hex')`
  // What joined a user whose update was cut off wants another content than the rest: one new content for all of them, or
  // one answer could confirm only some. No plan was begun: nothing can have been cut off.
  if (await some(client, `select from plan where destination_id = ${destinationId} and status <> 'ready'`)) {
    await client.query(
      `update group_todo t set stamp = ${stamp} from (
         select m.group_key from group_todo d join remote m on m.destination_id = ${destinationId} and m.group_key = d.group_key and m.held > 0
         group by m.group_key having min(m.desired_hash::text) <> max(m.desired_hash::text)) x
       where t.group_key = x.group_key`,
      [planId],
    )
  }
  if (!confirmed) return deferred
  // `created` saw the dirty identifiers only: a group is new when none of it was ever confirmed. Otherwise, all of the
  // group gets one new content, so that one answer confirms it whole.
  await client.query(
    `update group_todo t set created = false where created and exists (select ${mine} and m.group_key = t.group_key and m.synced_hash is not null)`,
  )
  await client.query(`update group_todo t set stamp = ${stamp} where deletes or (dirty and not created)`, [planId])
  return deferred
}

/**
 * Due for renewal: its end is nearer than `renewBeforeMs` and a tenth to half as much again, spread by key (I19). The tenth
 * is for whoever runs once a month: a month may be a day longer than 30 days.
 */
function renewalDue({ renewBeforeMs }: TodoContext, timed: boolean): string {
  return `m.held > 0 and m.expires_at <= statement_timestamp() + ${renewBeforeMs * 1.5} * interval '1 millisecond'
    and m.expires_at <= statement_timestamp() + (${renewBeforeMs * 1.1}
      + ${renewBeforeMs * 0.4}::float8 * (get_byte(m.group_key, 0) * 256 + get_byte(m.group_key, 1)) / 65536.0) * interval '1 millisecond'
${timed ? `and ${ownExpiresAt} is null` : ''}`
}

/**
 * Whether any membership ends soon enough to be looked at: ends are in no index, because every answer writes them, but no
 * membership ends before the earliest end of the batch that confirmed it. Batches of which nothing stands any more, or
 * only what ends later, say so from here on.
 */
async function someEnd({ client, destinationId, renewBeforeMs }: TodoContext): Promise<boolean> {
  const soon = `b.destination_id = ${destinationId} and b.status = 'settled' and b.expires_at <= statement_timestamp() + ${renewBeforeMs * 1.5} * interval '1 millisecond'`
  if (!(await some(client, `select from batch b where ${soon}`))) return false
  await client.query(
    `with ends as (select m.batch_id, min(m.expires_at) as first from remote m
       where m.destination_id = ${destinationId} and m.expires_at is not null group by m.batch_id)
     update batch b set expires_at = (select first from ends where batch_id = b.id)
     where ${soon} and b.expires_at is distinct from (select first from ends where batch_id = b.id)`,
  )
  return some(client, `select from batch b where ${soon}`)
}

/** Keys of the operations that a run left open; everything without the option. */
function onlyFailed({ onlyFailedOf }: TodoContext): string {
  return onlyFailedOf === undefined
    ? ''
    : `and m.key in (
         select e.key from run r join batch b on b.plan_id = r.plan_id cross join ${keysOf('b.id')} e
         where r.id = ${onlyFailedOf} and ${entryOutcome} <> 'confirmed')`
}

async function some(client: pg.PoolClient, query: string): Promise<boolean> {
  return (await client.query(`${query} limit 1`)).rowCount === 1
}

async function dropDeferred(client: pg.PoolClient, todo: 'product_todo' | 'group_todo'): Promise<number> {
  return (await client.query(`delete from ${todo} where deferred`)).rowCount ?? 0
}

export interface GuardedDeletes {
  /** All but those of people on the do-not-reach list, which always go (I16). */
  readonly all: number
  /**
   * Of these, those that passed the guard, or were approved, in a plan that was begun and did not get them confirmed: a
   * crash, a pause or a refusal does not ask for the same word twice.
   */
  readonly cleared: number
  /** Of the others, people whose row stays in the source without some of the identifiers that are synced. */
  readonly replaced: number
}

/** Rows of `group_todo` that lose identifiers while their record stays. */
const keepsRow = (destinationId: number) =>
  `deletes and not overdue and exists (select from record r where r.destination_id = ${destinationId} and r.key = group_todo.group_key)`

/** Deletes that a guard may hold. */
export async function countGuardedDeletes(context: TodoContext, suppressedBy: readonly number[]): Promise<GuardedDeletes> {
  const { client } = context
  await markJudged(context)
  if (context.keys === 'products') {
    const deletes = `select count(*) as n from product_todo where what in ('delete', 'learn')`
    return {
      all: await scalar(client, deletes),
      cleared: await scalar(client, `${deletes} and key in (select key from judged)`),
      replaced: 0,
    }
  }
  await markExempt(context, suppressedBy)
  const deletes =
    'select count(*) as n from group_todo where deletes and not exists (select from exempt x where x.group_key = group_todo.group_key)'
  return {
    all: await scalar(client, deletes),
    cleared: await scalar(client, `${deletes} and group_key in (select key from judged)`),
    replaced: await scalar(client, `${deletes} and ${keepsRow(context.destinationId)} and group_key not in (select key from judged)`),
  }
}

/** The first rows that stay and lose identifiers: line, beginning of the row key's digest, masked identifiers. */
export async function replacedIdentifiers({ client, destinationId }: TodoContext): Promise<string[]> {
  const { rows } = await client.query<{ line: string; key: Buffer; lost: Buffer[] }>(
    `select r.line, r.key, array_agg(m.key order by m.key) as lost
     from (select group_key from group_todo where ${keepsRow(destinationId)} and not exists (select from exempt x where x.group_key = group_todo.group_key)) t
       join record r on r.destination_id = ${destinationId} and r.key = t.group_key
       join remote m on m.destination_id = ${destinationId} and m.group_key = t.group_key and m.held = 0 and m.synced_hash is not null
     group by r.line, r.key order by r.line, r.key limit 5`,
  )
  return rows.map(({ line, key, lost }) => `line ${line}, key ${key.toString('hex', 0, 6)}…: ${lost.map(maskedIdentifier).join(', ')}`)
}

/**
 * Fills `judged`. A product's record tells whether it came back since: then it is another delete. An identifier has none,
 * so only the plan before this one counts there.
 */
async function markJudged({ client, destinationId, keys }: TodoContext): Promise<void> {
  if (keys === 'products') {
    await fillTable(
      client,
      'judged',
      `select t.key from product_todo t join record r on r.destination_id = ${destinationId} and r.key = t.key and r.status = 'missing'
       where t.what in ('delete', 'learn') and exists (
         select from entry e join batch b on b.id = e.batch_id
         where e.destination_id = ${destinationId} and e.record_key = t.key and e.change = 'delete' and ${entryOutcome} <> 'confirmed'
           and exists (select from ${begun(destinationId)} and p.id = b.plan_id and p.snapshot_id >= r.snapshot_id))`,
    )
    return
  }
  // From the few batches that delete to their operations. From each key to its operations, Postgres took 27 s for 10,000 keys
  // behind a first load whose batches it had not analyzed yet.
  await fillTable(
    client,
    'judged',
    `with own as materialized (
       select b.id, b.status from batch b
       where b.plan_id = (select p.id from ${begun(destinationId)} ${latest}) and b.operation = 'delete')
     select distinct e.record_key as key from own b join entry e on e.batch_id = b.id
     where e.change = 'delete' and ${entryOutcome} <> 'confirmed' and e.record_key in (select group_key from group_todo where deletes)`,
  )
}

/** Products that this plan puts once more only to be deleted by the next one. */
export async function countLearning({ client, keys }: TodoContext): Promise<number> {
  return keys === 'products' ? scalar(client, `select count(*) as n from product_todo where what = 'learn'`) : 0
}

/** Leaves the deletes to a later run, but for the exempt ones and, where `judgedGo`, those judged before. */
export async function withholdDeletes(context: TodoContext, judgedGo: boolean): Promise<void> {
  const { client } = context
  const judged = (key: string) => (judgedGo ? `and ${key} not in (select key from judged)` : '')
  if (context.keys === 'products') {
    await client.query(`delete from product_todo where what in ('delete', 'learn') ${judged('key')}`)
    return
  }
  await client.query(
    `update group_todo t set deletes = false where deletes and not exists (select from exempt x where x.group_key = t.group_key) ${judged('t.group_key')}`,
  )
  // A group that was there for its delete alone has nothing left to do.
  await client.query(
    `delete from group_todo t where not deletes and not renewal and not exists (
       select from remote m where m.destination_id = ${context.destinationId} and m.group_key = t.group_key and m.held > 0
         and m.desired_hash is distinct from m.synced_hash)`,
  )
}

/** Gives dirty groups the one content that a confirmation will confirm. Deletes' groups get theirs when the plan is applied. */
export async function stampGroups({ client, destinationId, changed }: TodoContext): Promise<void> {
  const stamped = `m.destination_id = $1 and m.group_key = t.group_key and m.held > 0 and t.stamp is not null and not t.deletes`
  await client.query(`update remote m set desired_hash = t.stamp from group_todo t where ${stamped}`, [destinationId])
  await changed.add(`select m.key from group_todo t join remote m on ${stamped}`)
}

/** Erasures: what somebody listed left behind, and who came onto a list only after their row had gone, or is not off it yet. */
async function markExempt({ client, destinationId, changed }: TodoContext, suppressedBy: readonly number[]): Promise<void> {
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
