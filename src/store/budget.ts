/**
 * The budget of requests that all processes share: for each class of limit a ring of exact grant times, so that no
 * window of any position ever holds more grants than the limit (I13, scale 3). Times are the database's.
 */
import pg from 'pg'
import type { Database, Queryable } from './database.ts'

export interface BudgetClass {
  readonly name: string
  readonly limit: number
  /** The service's window and a little more, because the moment of a grant is not the moment on the wire. */
  readonly windowMs: number
}

/** Larger than any limit, so that a slot is never overwritten while it still counts. */
const ringSize = 16_384

/** Enters the class if it is new. Limits already learned from answers stay. */
export async function openBudget(db: Queryable, budget: BudgetClass): Promise<void> {
  await db.execute(`insert into sluice.budget (class, request_limit, window_ms) values ($1, $2, $3) on conflict (class) do nothing`, [
    budget.name,
    Math.max(1, Math.min(budget.limit, ringSize - 1)),
    budget.windowMs,
  ])
}

/**
 * Takes one grant: 0 when it was given, else the milliseconds after which to ask again. A refusal writes nothing.
 *
 * Two statements in one message, hence one implicit transaction: the first waits for the row, the second sees what the
 * holder before us wrote. (One statement alone would read the ring as it was before it waited.)
 */
export async function takeGrant(db: Database, name: string): Promise<number> {
  const key = pg.escapeLiteral(name)
  const results = (await db.pool.query(`
    select 1 from sluice.budget where class = ${key} for update;
    with head as (select granted, request_limit, window_ms, blocked_until, clock_timestamp() as t from sluice.budget where class = ${key}),
    verdict as (
      select granted, t, greatest(
        0,
        coalesce(extract(epoch from blocked_until - t) * 1000, 0),
        coalesce((
          select extract(epoch from s.granted_at + window_ms * interval '1 millisecond' - t) * 1000
          from sluice.budget_slot s
          where s.class = ${key} and granted >= request_limit and s.slot = (granted - request_limit) % ${ringSize}), 0)) as wait_ms
      from head),
    slot as (
      insert into sluice.budget_slot (class, slot, granted_at)
      select ${key}, granted % ${ringSize}, t from verdict where wait_ms <= 0
      on conflict (class, slot) do update set granted_at = excluded.granted_at),
    step as (update sluice.budget set granted = granted + 1 where class = ${key} and exists (select from verdict where wait_ms <= 0))
    select ceil(wait_ms)::float8 as wait_ms from verdict`)) as unknown as readonly pg.QueryResult<{ wait_ms: number }>[]
  const wait = results[1]?.rows[0]?.wait_ms
  if (wait === undefined) throw new Error(`budget ${name} was never opened`)
  return wait
}

/** Nobody is granted anything of the class for so long: what a 429 or an exhausted window asks for. Never shortens. */
export async function blockBudget(db: Queryable, name: string, ms: number): Promise<void> {
  await db.execute(
    `update sluice.budget set blocked_until = greatest(blocked_until, clock_timestamp() + $2 * interval '1 millisecond') where class = $1`,
    [name, ms],
  )
}

/** The limit that answers state. */
export async function setBudgetLimit(db: Queryable, name: string, limit: number): Promise<void> {
  await db.execute(`update sluice.budget set request_limit = $2 where class = $1 and request_limit <> $2`, [
    name,
    Math.max(1, Math.min(limit, ringSize - 1)),
  ])
}
