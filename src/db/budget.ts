/**
 * The budget of requests that all processes share: for each class of limit a ring of exact grant times, so that no
 * window of any position ever holds more grants than the limit (docs/guarantees.md#limits-hold). Times are the database's.
 */
import pg from 'pg'
import type { Database, Queryable } from './database.ts'
import type { Row } from './row.ts'

export interface BudgetClass {
  readonly name: string
  readonly limit: number
  /** The service's window and a little more, because the moment of a grant is not the moment on the wire. */
  readonly windowMs: number
}

/** Larger than any limit, so that a slot is never overwritten while it still counts. */
const ringSize = 16_384

/** Enters the class if it is new. Limits that answers stated before are kept. */
export async function openBudget(db: Queryable, budget: BudgetClass): Promise<void> {
  await db.execute(`insert into budget (class, request_limit, window_ms) values ($1, $2, $3) on conflict (class) do nothing`, [
    budget.name,
    Math.max(1, Math.min(budget.limit, ringSize - 1)),
    budget.windowMs,
  ])
}

export interface Granted {
  /** Requests that may be sent now. */
  readonly granted: number
  /** Milliseconds after which to request the rest; 0 when all were granted. */
  readonly waitMs: number
}

/**
 * Takes up to `count` grants at one moment. Writes nothing when none is granted.
 *
 * Two statements in one message, hence one implicit transaction: the first waits for the row, the second sees what the
 * holder before us wrote. (One statement alone would read the ring as it was before it waited.)
 */
export async function takeGrants(db: Database, name: string, count: number): Promise<Granted> {
  if (!Number.isSafeInteger(count) || count < 1) throw new RangeError(`${count} grants`)
  const key = pg.escapeLiteral(name)
  // `pg` returns one result for each statement of a message; its types say one.
  const results = (await db.pool.query(`
    select 1 from budget where class = ${key} for update;
    with head as materialized (
      select granted, request_limit, window_ms, blocked_until, statement_timestamp() as t from budget where class = ${key}),
    wanted as materialized (
      select i, greatest(
        0,
        coalesce(extract(epoch from blocked_until - t) * 1000, 0),
        coalesce((
          select extract(epoch from s.granted_at + window_ms * interval '1 millisecond' - t) * 1000
          from budget_slot s
          where s.class = ${key} and granted + i >= request_limit and s.slot = (granted + i - request_limit) % ${ringSize}), 0)) as wait_ms
      -- More than the limit in one statement would be compared with slots that are not written yet.
      from head cross join generate_series(0, least(${count}, request_limit) - 1) as i),
    given as materialized (select i from wanted where i < coalesce((select min(i) from wanted where wait_ms > 0), ${count})),
    slot as (
      insert into budget_slot (class, slot, granted_at)
      select ${key}, (granted + i) % ${ringSize}, t from head cross join given
      on conflict (class, slot) do update set granted_at = excluded.granted_at),
    step as (update budget set granted = granted + (select count(*) from given) where class = ${key} and exists (select from given))
    select (select count(*) from given)::int as granted, coalesce((select ceil(min(wait_ms)) from wanted where wait_ms > 0), 0)::float8 as "waitMs"
    from head`)) as unknown as readonly pg.QueryResult<Granted>[]
  const granted = results[1]?.rows[0]
  if (granted === undefined) throw new Error(`budget ${name} was never opened`)
  return granted
}

/** Stops all grants of the class for so long, as a 429 or an exhausted window requires. Never shortens a wait. */
export async function blockBudget(db: Queryable, name: string, ms: number): Promise<void> {
  await db.execute(
    `update budget set blocked_until = greatest(blocked_until, statement_timestamp() + $2 * interval '1 millisecond') where class = $1`,
    [name, ms],
  )
}

/** Stores the limit that answers state. */
export async function setBudgetLimit(db: Queryable, name: string, limit: number): Promise<void> {
  await db.execute(`update budget set request_limit = $2 where class = $1 and request_limit <> $2`, [
    name,
    Math.max(1, Math.min(limit, ringSize - 1)),
  ])
}

export interface BudgetRow {
  readonly class: string
  readonly limit: number
  readonly windowMs: number
  /** Grants of the last window. */
  readonly used: number
  readonly blockedUntil: Date | null
}

/** Returns the shared budget of every class of limit that was used. */
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
