/**
 * Grants requests from the rate limit (budget) that all processes of one user of the service share. Each class of limit has a ring of the
 * exact grant times. Therefore no time window, wherever it begins, has more grants than the limit (docs/guarantees.md#limits-hold). All
 * times are by the database's clock.
 */
import pg from 'pg'
import type { Database, Queryable } from './database.ts'
import type { Row } from './row.ts'

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

/** Inserts the class if it is new, otherwise keeps its stored limit and window. Returns the stored limit. */
export async function openBudget(db: Queryable, budget: BudgetClass): Promise<number> {
  const limit = Math.max(1, Math.min(budget.limit, ringSize - 1))
  const [row] = await db.query<Row<'budget', 'request_limit'>>(
    `with added as (
       insert into budget (class, request_limit, window_ms) values ($1, $2, $3) on conflict (class) do nothing returning request_limit)
     select request_limit from added union all select request_limit from budget where class = $1`,
    [budget.name, limit, budget.windowMs],
  )
  return row?.request_limit ?? limit
}

/**
 * Maximum number of seconds by which the time of a grant may be later than that of a statement that runs after it. A statement has the time
 * at which its message arrived, and a message that arrived later may have got the lock of the row first.
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
}

/**
 * Takes up to `count` grants of an opened class.
 *
 * Sends three statements in one message, which are one implicit transaction. The first statement waits for the lock of the row. The others
 * see the grants of the process that had the lock before; a single statement would see the ring as it was before the wait.
 *
 * If the newest grant is more than `maxAheadS` seconds in the future, the clock was ahead. Then all such grants count as granted now;
 * otherwise nothing would be sent until that time. Only the newest grant is tested, so that the ring is not searched each time.
 *
 * @throws {RangeError} `count` is not a positive integer
 */
export async function takeGrants(db: Database, name: string, count: number): Promise<Granted> {
  if (!Number.isSafeInteger(count) || count < 1) throw new RangeError(`the number of grants must be a positive integer: ${count}`)
  const key = pg.escapeLiteral(name)
  const results = await db.pool.query(`
    select 1 from budget where class = ${key} for update;
    update budget_slot set granted_at = statement_timestamp()
    where class = ${key} and granted_at > statement_timestamp() + ${maxAheadS} * interval '1 second'
      and exists (select from budget b join budget_slot s on s.class = b.class and s.slot = (b.granted + ${ringSize - 1}) % ${ringSize}
        where b.class = ${key} and s.granted_at > statement_timestamp() + ${maxAheadS} * interval '1 second');
    with head as materialized (
      select granted, request_limit, window_ms, statement_timestamp() as t,
        case when blocked_until < statement_timestamp() + ${longestBlockS} * interval '1 second' then blocked_until end as blocked_until
      from budget where class = ${key}),
    wanted as materialized (
      select i, greatest(
        0,
        coalesce(extract(epoch from blocked_until - t) * 1000, 0),
        coalesce((
          select extract(epoch from s.granted_at + window_ms * interval '1 millisecond' - t) * 1000
          from budget_slot s
          where s.class = ${key} and granted + i >= request_limit and s.slot = (granted + i - request_limit) % ${ringSize}), 0)) as wait_ms
      -- At most the limit, because more would be compared with slots that are not written yet.
      from head cross join generate_series(0, least(${count}, request_limit) - 1) as i),
    given as materialized (select i from wanted where i < coalesce((select min(i) from wanted where wait_ms > 0), ${count})),
    slot as (
      insert into budget_slot (class, slot, granted_at)
      select ${key}, (granted + i) % ${ringSize}, t from head cross join given
      on conflict (class, slot) do update set granted_at = excluded.granted_at),
    step as (update budget set granted = granted + (select count(*) from given) where class = ${key} and exists (select from given))
    select (select count(*) from given)::int as granted, coalesce((select ceil(min(wait_ms)) from wanted where wait_ms > 0), 0)::float8 as "waitMs"
    from head`)
  // The cast holds because `pg` returns one result per statement of a message, and its types declare only one.
  const granted = (results as unknown as readonly pg.QueryResult<Granted>[])[2]?.rows[0]
  if (granted === undefined) throw new Error(`budget ${name} was never opened`)
  return granted
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
  await db.execute(`update budget set request_limit = $2 where class = $1 and request_limit <> $2`, [
    name,
    Math.max(1, Math.min(limit, ringSize - 1)),
  ])
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
  const rows = await db.query<Row<'budget', 'class' | 'request_limit' | 'window_ms' | 'blocked_until'> & { used: number }>(
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
