/**
 * Grants requests from the rate limit (budget) that all processes of one user of the service share. Each class of limit has a ring of the
 * exact grant times. Therefore no time window has more grants than the limit, no matter when it begins (docs/guarantees.md#limits-hold).
 * All times are by the database's clock.
 */
import type { Database, Queryable } from './database.ts'
import type { DbRow } from './row.ts'

/** Budget of one user of the service for one class of limit. */
export interface BudgetClass {
  /** Address of the service, credentials, and class of the limit. */
  readonly name: string
  /** Maximum number of requests per window. */
  readonly limit: number
  /** Window of the service plus a margin, because a request is sent some time after its grant. */
  readonly windowMs: number
}

/** Number of slots of a ring. Larger than any limit, so that a slot is never overwritten while it is needed. */
const ringSize = 16_384

/** Returns the limit within the range that a budget can store. */
export function storableLimit(limit: number): number {
  return Math.max(1, Math.min(limit, ringSize - 1))
}

/** Inserts the class if it is new, otherwise keeps its stored limit and window. Returns the stored limit. */
export async function openBudget(db: Queryable, budget: BudgetClass): Promise<number> {
  const limit = storableLimit(budget.limit)
  const [row] = await db.query<DbRow<'budget', 'request_limit'>>(
    `with added as (
       insert into budget (class, request_limit, window_ms) values ($1, $2, $3) on conflict (class) do nothing returning request_limit)
     select request_limit from added union all select request_limit from budget where class = $1`,
    [budget.name, limit, budget.windowMs],
  )
  return row?.request_limit ?? limit
}

/**
 * Maximum number of seconds by which a grant may be later than a statement that runs after it. The time of a statement is the arrival of
 * its message. A message that arrived later may have got the lock of the row first.
 */
const maxAheadS = 60

/** Maximum seconds of a block: the longest requested wait (`longestRequestedWaitMs`) with a margin. A later end is ignored. */
const longestBlockS = 1_200

/** Result of taking grants. */
export interface Granted {
  /** Number of requests that may be sent now. */
  readonly granted: number
  /** Milliseconds until the next grant is possible; 0 if as many as possible in one statement were granted. */
  readonly waitMs: number
  /** Stored limit. */
  readonly limit: number
}

/** Returns SQL for the time from which grant `n` of the budget `b` is possible; null if nothing delays it. */
function possibleFrom(n: string): string {
  return `greatest(
      case when b.blocked_until < statement_timestamp() + ${longestBlockS} * interval '1 second' then b.blocked_until end,
      (select s.granted_at + b.window_ms * interval '1 millisecond' from budget_slot s
       where s.class = $1 and ${n} >= b.request_limit and s.slot = (${n} - b.request_limit) % ${ringSize}))`
}

/**
 * Takes up to $2 grants of the class $1. Locks and writes nothing if none is possible.
 *
 * After a wait for the lock of the row, a statement reads only this row again. It sees the ring as it was before the wait (`seen`). Each
 * grant is compared with the grant `request_limit` numbers before it. So the statement gives only grants that are compared with a grant
 * from before the wait.
 */
const takeGrantsSql = `
  with seen as materialized (
    select b.granted, b.request_limit, ${possibleFrom('b.granted')} as possible_from,
      exists (select from budget_slot s
        where s.class = $1 and s.slot in ((b.granted + ${ringSize - 1}) % ${ringSize}, (b.granted + ${ringSize} - b.request_limit) % ${ringSize})
          and s.granted_at > statement_timestamp() + ${maxAheadS} * interval '1 second') as is_ahead
    from budget b where b.class = $1),
  head as materialized (
    select b.* from budget b
    where b.class = $1 and (select is_ahead or possible_from > statement_timestamp() from seen) is not true for update),
  candidates as materialized (
    select i, (b.granted + i) % ${ringSize} as slot, ${possibleFrom('b.granted + i')} as possible_from
    from head b cross join generate_series(0, least($2, b.request_limit - (b.granted - (select granted from seen))) - 1) as i),
  taken as materialized (
    select slot from candidates where i < coalesce((select min(i) from candidates where possible_from > statement_timestamp()), $2)),
  stored as (
    insert into budget_slot (class, slot, granted_at) select $1, slot, statement_timestamp() from taken
    on conflict (class, slot) do update set granted_at = excluded.granted_at),
  raised as (update budget set granted = granted + (select count(*) from taken) where class = $1 and exists (select from taken))
  select (select count(*) from taken)::int as granted, request_limit as "limit", is_ahead as "isAhead", ceil(greatest(0, extract(epoch from
    coalesce((select min(possible_from) from candidates where possible_from > statement_timestamp()), possible_from) - statement_timestamp()
  ) * 1000))::float8 as "waitMs"
  from seen`

/**
 * Takes up to `count` grants of an opened class. Tries again if other processes took very many grants during the wait for the lock. All
 * further grants must then be compared with theirs.
 *
 * A grant more than `maxAheadS` seconds in the future shows that the clock was ahead. This is checked for the newest grant, and for the
 * grant that leaves the window next. Then all such grants count as granted now; otherwise nothing would be sent until that time.
 *
 * @throws {RangeError} `count` is not a positive integer
 */
export async function takeGrants(db: Database, name: string, count: number): Promise<Granted> {
  if (!Number.isSafeInteger(count) || count < 1) throw new RangeError(`the number of grants must be a positive integer: ${count}`)
  for (;;) {
    // Prepared once per connection: planning took 0.6 of 1.5 ms of processor time per grant in the server (Postgres 18, 8 connections).
    const { rows } = await db.pool.query<Granted & { isAhead: boolean }>({
      name: 'take grants',
      text: takeGrantsSql,
      values: [name, count],
    })
    const [taken] = rows
    if (taken === undefined) throw new Error(`budget ${name} was never opened`)
    const { isAhead, ...granted } = taken
    if (isAhead) await resetFutureGrants(db, name)
    else if (granted.granted > 0 || granted.waitMs > 0) return granted
  }
}

/** Sets the time of all grants that are more than `maxAheadS` seconds in the future to now. */
async function resetFutureGrants(db: Queryable, name: string): Promise<void> {
  await db.execute(
    `update budget_slot set granted_at = statement_timestamp()
     where class = $1 and granted_at > statement_timestamp() + ${maxAheadS} * interval '1 second'`,
    [name],
  )
}

/** Stops all grants of the class for `ms`, because the service requested a wait. Never shortens a wait of at most `longestBlockS`. */
export async function blockBudget(db: Queryable, name: string, ms: number): Promise<void> {
  await db.execute(
    `update budget set blocked_until = greatest(
       case when blocked_until < statement_timestamp() + ${longestBlockS} * interval '1 second' then blocked_until end,
       statement_timestamp() + $2 * interval '1 millisecond')
     where class = $1`,
    [name, ms],
  )
}

/** Stores the limit from the headers of an answer, in requests per window. */
export async function setBudgetLimit(db: Queryable, name: string, limit: number): Promise<void> {
  await db.execute(`update budget set request_limit = $2 where class = $1 and request_limit <> $2`, [name, storableLimit(limit)])
}

/** State of the budget of one class of limit. */
export interface BudgetRow {
  readonly class: string
  readonly limit: number
  readonly windowMs: number
  /** Number of grants in the last window. */
  readonly used: number
  readonly blockedUntil: Date | null
}

/** Returns the budgets of all opened classes, by name. */
export async function listBudgets(db: Queryable): Promise<readonly BudgetRow[]> {
  const rows = await db.query<DbRow<'budget', 'class' | 'request_limit' | 'window_ms' | 'blocked_until'> & { used: number }>(
    `select b.class, b.request_limit, b.window_ms, b.blocked_until,
       (select count(*)::int from budget_slot s where s.class = b.class and s.granted_at > statement_timestamp() - b.window_ms * interval '1 millisecond') as used
     from budget b order by b.class`,
  )
  return rows.map((row) => ({
    class: row.class,
    limit: row.request_limit,
    windowMs: row.window_ms,
    used: row.used,
    blockedUntil: row.blocked_until,
  }))
}
