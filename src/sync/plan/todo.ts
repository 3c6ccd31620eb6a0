/**
 * Todo: which keys are not as wanted, and may go now. Keys of an unsettled older operation wait (I3): they are counted
 * as deferred. Everything set-based, on the plan transaction's own connection.
 */
import type pg from 'pg'
import { isListed } from '../../store/listed.ts'
import { entryOutcome } from '../../store/outcomes.ts'
import { currentRound, unlikeWanted } from '../../store/rounds.ts'
import { collectOwnEnds, joinOwnEnds, notEnded, overdue, ownExpiresAt } from './ownEnds.ts'

export interface TodoContext {
  readonly client: pg.PoolClient
  readonly destinationId: number
  readonly keys: 'products' | 'identifiers'
  readonly full: boolean
  /** `destination.settled_round`: only keys of later rounds can be other than wanted. */
  readonly settledRound: number
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
  `select distinct k.key
   from sluice.batch b join sluice.entry e on e.batch_id = b.id cross join lateral unnest(e.keys) as k (key)
   where b.destination_id = ${destinationId} and e.outcome in ('pending', 'ambiguous')
     and (b.status in ('in_flight', 'ambiguous', 'parked') or (b.status = 'pending' and b.attempts > 0))
   union
   select key from sluice.remote where destination_id = ${destinationId} and late_until > clock_timestamp()`

export async function collectUnsettled(client: pg.PoolClient, destinationId: number): Promise<void> {
  await client.query(`create temp table unsettled as ${unsettledKeys(destinationId)}`)
  await client.query('analyze unsettled')
}

/** The plans of a destination that were begun, so that what they held is owed: not those that wait for `apply`. */
const begun = (destinationId: number) => `sluice.plan p join sluice.run u on u.id = p.run_id
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
  const filled = await client.query(
    `create temp table resync as
     select distinct k.key from sluice.batch b join sluice.entry e on e.batch_id = b.id cross join lateral unnest(e.keys) as k (key)
     where b.plan_id = any($1) and b.operation = 'upsert' and ${entryOutcome} <> 'confirmed'`,
    [plans],
  )
  return filled.rowCount === 0 ? [] : plans
}

/** Fills `todo`, one row a product or a group of identifiers. Returns how many keys had to be deferred. */
export async function collectTodo(context: TodoContext): Promise<{ readonly deferred: number }> {
  await context.client.query('drop table if exists todo')
  const deferred = context.keys === 'products' ? await collectProducts(context) : await collectGroups(context)
  await context.client.query('analyze todo')
  return { deferred }
}

async function collectProducts(context: TodoContext): Promise<number> {
  const { client, destinationId, full, resync } = context
  const again = full ? 'or m.held > 0' : resync ? 'or (m.held > 0 and m.key in (select key from resync))' : ''
  const unlike = full ? unlikeWanted : openKeys(context)
  await client.query(
    // learn: to be deleted, but its product_key is not known, or the service did not take it: put once more, it answers with
    // the key that stands now (docs/decisions/lost-deletes.md).
    `create temp table todo as
     select m.key, case when m.held > 0 then 'upsert' when m.remote_key is null or m.refused_code is not null then 'learn' else 'delete' end as what, exists (select from unsettled u where u.key = m.key) as deferred
     from sluice.remote m where m.destination_id = ${destinationId} and (${unlike} ${again}) ${onlyFailed(context)}`,
  )
  return dropDeferred(client)
}

async function collectGroups(context: TodoContext): Promise<number> {
  const { client, destinationId, full, planId, resync } = context
  const dirty = openKeys(context)
  const unsettled = await some(client, 'select from unsettled')
  const confirmed = await some(client, `select from sluice.remote where destination_id = ${destinationId} and synced_hash is not null`)
  const ending = confirmed && !full && (await someEnd(context))
  const timed = await collectOwnEnds(client, destinationId)
  const mine = `from sluice.remote m where m.destination_id = ${destinationId} ${onlyFailed(context)}`
  const due = timed
    ? `from sluice.remote m ${joinOwnEnds(destinationId)} where m.destination_id = ${destinationId} and ${notEnded} ${onlyFailed(context)}`
    : mine
  const parts = full
    ? [`select m.*, ${unlikeWanted} as dirty, true as again, false as overdue ${due} and (m.held > 0 or ${unlikeWanted})`]
    : [
        `select m.*, true as dirty, false as again, false as overdue ${due} and ${dirty}`,
        ...(resync
          ? [`select m.*, false, true, false ${due} and not ${unlikeWanted} and m.held > 0 and m.key in (select key from resync)`]
          : []),
        ...(ending ? [`select m.*, false, false, false ${due} and not ${unlikeWanted} and ${renewalDue(context, timed)}`] : []),
        // Another row that holds it came, changed or went: its end is not the one that was confirmed.
        ...(confirmed && timed
          ? [
              `select m.*, true, false, false ${due} and not ${unlikeWanted} and m.held > 0 and m.synced_hash is not null and ${ownExpiresAt} <> m.expires_at`,
            ]
          : []),
      ]
  // Of a list of those who must not be reached, one too long is no harm.
  if (confirmed && timed && context.takesBack) {
    parts.push(
      `select m.*, true, false, true from sluice.remote m ${joinOwnEnds(destinationId)} where m.destination_id = ${destinationId} and ${overdue} ${onlyFailed(context)}`,
    )
  }
  await client.query(
    `create temp table todo as
     select m.group_key, bool_or(m.overdue or (m.held = 0 and m.synced_hash is not null)) as deletes, bool_or(m.overdue) as overdue, bool_or(m.dirty) as dirty, not bool_or(m.dirty or m.again) as renewal,
       bool_and(m.synced_hash is null) as created, ${unsettled ? 'bool_or(exists (select from unsettled u where u.key = m.key))' : 'false'} as deferred,
       null::bytea as stamp
     from (${parts.join(' union all ')}) m
     group by m.group_key`,
  )
  await client.query('analyze todo')
  if (unsettled) {
    await client.query(
      `update todo t set deferred = true where not deferred and exists (
         select ${mine} and m.group_key = t.group_key and exists (select from unsettled u where u.key = m.key))`,
    )
  }
  const deferred = await dropDeferred(client)
  const stamp = `decode(md5($1 || encode(t.group_key, 'hex')), 'hex')`
  // What joined a user whose update was cut off wants another content than the rest: one new content for all of them, or
  // one answer could confirm only some. No plan was begun: nothing can have been cut off.
  if (await some(client, `select from sluice.plan where destination_id = ${destinationId} and status <> 'ready'`)) {
    await client.query(
      `update todo t set stamp = ${stamp} from (
         select m.group_key from todo d join sluice.remote m on m.destination_id = ${destinationId} and m.group_key = d.group_key and m.held > 0
         group by m.group_key having min(m.desired_hash::text) <> max(m.desired_hash::text)) x
       where t.group_key = x.group_key`,
      [planId],
    )
  }
  if (!confirmed) return deferred
  // `created` saw the dirty identifiers only: a group is new when none of it was ever confirmed. Otherwise, all of the
  // group gets one new content, so that one answer confirms it whole.
  await client.query(
    `update todo t set created = false where created and exists (select ${mine} and m.group_key = t.group_key and m.synced_hash is not null)`,
  )
  await client.query(`update todo t set stamp = ${stamp} where deletes or (dirty and not created)`, [planId])
  return deferred
}

/**
 * Due for renewal: its end is nearer than `renewBeforeMs` and a tenth to half as much again, spread by key (I19). The tenth
 * is for whoever runs once a month: a month may be a day longer than 30 days.
 */
function renewalDue({ renewBeforeMs }: TodoContext, timed: boolean): string {
  return `m.held > 0 and m.expires_at <= clock_timestamp() + ${renewBeforeMs * 1.5} * interval '1 millisecond'
    and m.expires_at <= clock_timestamp() + (${renewBeforeMs * 1.1}
      + ${renewBeforeMs * 0.4}::float8 * (get_byte(m.group_key, 0) * 256 + get_byte(m.group_key, 1)) / 65536.0) * interval '1 millisecond'
${timed ? `and ${ownExpiresAt} is null` : ''}`
}

/**
 * Whether any membership ends soon enough to be looked at: ends are in no index, because every answer writes them, but no
 * membership ends before the earliest end of the batch that confirmed it. Batches of which nothing stands any more, or
 * only what ends later, say so from here on.
 */
async function someEnd({ client, destinationId, renewBeforeMs }: TodoContext): Promise<boolean> {
  const soon = `b.destination_id = ${destinationId} and b.status = 'settled' and b.expires_at <= clock_timestamp() + ${renewBeforeMs * 1.5} * interval '1 millisecond'`
  if (!(await some(client, `select from sluice.batch b where ${soon}`))) return false
  await client.query(
    `with ends as (select m.batch_id, min(m.expires_at) as first from sluice.remote m
       where m.destination_id = ${destinationId} and m.expires_at is not null group by m.batch_id)
     update sluice.batch b set expires_at = (select first from ends where batch_id = b.id)
     where ${soon} and b.expires_at is distinct from (select first from ends where batch_id = b.id)`,
  )
  return some(client, `select from sluice.batch b where ${soon}`)
}

/** Keys that are not as wanted; few rows of the index `remote_open`, however many the destination has. */
function openKeys({ settledRound }: TodoContext): string {
  return `(m.round > ${settledRound} and ${unlikeWanted})`
}

/** Keys of the operations that a run left open; everything without the option. */
function onlyFailed({ onlyFailedOf }: TodoContext): string {
  return onlyFailedOf === undefined
    ? ''
    : `and m.key in (
         select k.key from sluice.run r join sluice.batch b on b.plan_id = r.plan_id join sluice.entry e on e.batch_id = b.id
           cross join lateral unnest(e.keys) as k (key)
         where r.id = ${onlyFailedOf} and ${entryOutcome} <> 'confirmed')`
}

async function some(client: pg.PoolClient, query: string): Promise<boolean> {
  return (await client.query(`${query} limit 1`)).rowCount === 1
}

async function dropDeferred(client: pg.PoolClient): Promise<number> {
  return (await client.query('delete from todo where deferred')).rowCount ?? 0
}

export interface GuardedDeletes {
  /** All but those of people on the do-not-reach list, which always go (I16). */
  readonly all: number
  /**
   * Of these, those that passed the guard, or were approved, in a plan that was begun and did not get them confirmed: a
   * crash, a pause or a refusal does not ask for the same word twice.
   */
  readonly judged: number
}

/** Deletes in `todo` that a guard may hold. */
export async function countGuardedDeletes(context: TodoContext, suppressedBy: readonly number[]): Promise<GuardedDeletes> {
  const { client } = context
  await markJudged(context)
  if (context.keys === 'products') {
    const deletes = `select count(*) as n from todo where what in ('delete', 'learn')`
    return { all: await scalar(client, deletes), judged: await scalar(client, `${deletes} and key in (select key from judged)`) }
  }
  await markExempt(context, suppressedBy)
  const deletes = 'select count(*) as n from todo where deletes and not exists (select from exempt x where x.group_key = todo.group_key)'
  return { all: await scalar(client, deletes), judged: await scalar(client, `${deletes} and group_key in (select key from judged)`) }
}

/**
 * Fills `judged`. A product's record tells whether it came back since: then it is another delete. An identifier has none,
 * so only the plan before this one counts there.
 */
async function markJudged({ client, destinationId, keys }: TodoContext): Promise<void> {
  await client.query('drop table if exists judged')
  if (keys === 'products') {
    await client.query(
      `create temp table judged as
       select t.key from todo t join sluice.record r on r.destination_id = ${destinationId} and r.key = t.key and r.status = 'missing'
       where t.what in ('delete', 'learn') and exists (
         select from sluice.entry e join sluice.batch b on b.id = e.batch_id
         where e.destination_id = ${destinationId} and e.record_key = t.key and e.change = 'delete' and ${entryOutcome} <> 'confirmed'
           and exists (select from ${begun(destinationId)} and p.id = b.plan_id and p.snapshot_id >= r.snapshot_id))`,
    )
    return
  }
  // From the few batches that delete to their operations. From each key to its operations, Postgres took 27 s for 10,000 keys
  // behind a first load whose batches it had not analyzed yet.
  await client.query(
    `create temp table judged as
     with own as materialized (
       select b.id, b.status from sluice.batch b
       where b.plan_id = (select p.id from ${begun(destinationId)} ${latest}) and b.operation = 'delete')
     select distinct e.record_key as key from own b join sluice.entry e on e.batch_id = b.id
     where e.change = 'delete' and ${entryOutcome} <> 'confirmed' and e.record_key in (select group_key from todo where deletes)`,
  )
}

/** Products that this plan puts once more only to be deleted by the next one. */
export async function countLearning({ client, keys }: TodoContext): Promise<number> {
  return keys === 'products' ? scalar(client, `select count(*) as n from todo where what = 'learn'`) : 0
}

/** Leaves the deletes of `todo` to a later run, but for the exempt ones and, where `judgedGo`, those judged before. */
export async function withholdDeletes(context: TodoContext, judgedGo: boolean): Promise<void> {
  const { client } = context
  const judged = (key: string) => (judgedGo ? `and ${key} not in (select key from judged)` : '')
  if (context.keys === 'products') {
    await client.query(`delete from todo where what in ('delete', 'learn') ${judged('key')}`)
    return
  }
  await client.query(
    `update todo t set deletes = false where deletes and not exists (select from exempt x where x.group_key = t.group_key) ${judged('t.group_key')}`,
  )
  // A group that was there for its delete alone has nothing left to do.
  await client.query(
    `delete from todo t where not deletes and not renewal and not exists (
       select from sluice.remote m where m.destination_id = ${context.destinationId} and m.group_key = t.group_key and m.held > 0
         and m.desired_hash is distinct from m.synced_hash)`,
  )
}

/** Gives dirty groups the one content that a confirmation will confirm. Deletes' groups get theirs when the plan is applied. */
export async function stampGroups({ client, destinationId }: TodoContext): Promise<void> {
  await client.query(
    `update sluice.remote m set desired_hash = t.stamp, round = ${currentRound} from todo t
     where m.destination_id = $1 and m.group_key = t.group_key and m.held > 0 and t.stamp is not null and not t.deletes`,
    [destinationId],
  )
}

/** Erasures: what somebody listed left behind, and who came onto a list only after their row had gone, or is not off it yet. */
async function markExempt({ client, destinationId, settledRound }: TodoContext, suppressedBy: readonly number[]): Promise<void> {
  const lists = `array[${[-1, ...suppressedBy].join(', ')}]`
  await client.query('drop table if exists exempt')
  await client.query(
    `create temp table exempt as
     select distinct m.group_key from sluice.remote m
     where m.destination_id = ${destinationId} and m.round > ${settledRound} and m.held = 0 and m.synced_hash is not null
       and (m.erase or exists (select from sluice.remote r where r.destination_id = any(${lists}) and r.key = m.key and ${isListed(lists)}))`,
  )
}

async function scalar(client: pg.PoolClient, query: string): Promise<number> {
  const { rows } = await client.query<{ n: string }>(query)
  return Number(rows[0]?.n)
}
