/** Counts the operations of a plan by outcome. */
import type { Database } from '../../db/database.ts'
import { shownOutcome, usersOf } from '../../db/entries/read.ts'

/**
 * SQL of the batches `b` of plan `$1` that have its planned operations. Leaves out deletes of suppressed and erased people, which a push or
 * an erasure inserts as children of an update (`push/removeEntries.ts`).
 */
export const countedBatches = `(select b.* from batch b left join batch parent on parent.id = b.parent_id
  where b.plan_id = $1 and (parent.operation is null or parent.operation = b.operation)) b`

export interface PlanCounts {
  readonly confirmed: number
  readonly refused: number
  readonly ambiguous: number
  readonly pending: number
  /** Number of attempts of the plan's batches, by all runs. */
  readonly requests: number
}

/**
 * Counts the products or users of a plan by outcome. Superseded entries count as pending, so that the four outcomes add up to the planned
 * number (docs/guarantees.md#nothing-lost).
 */
export async function planCounts(db: Pick<Database, 'query'>, planId: string): Promise<PlanCounts> {
  const [row] = await db.query<PlanCounts & Record<string, number>>(
    `select coalesce(sum(e.users) filter (where o.outcome = 'confirmed'), 0)::int as confirmed,
       coalesce(sum(e.users) filter (where o.outcome = 'refused'), 0)::int as refused,
       coalesce(sum(e.users) filter (where o.outcome = 'ambiguous'), 0)::int as ambiguous,
       coalesce(sum(e.users) filter (where o.outcome in ('pending', 'superseded')), 0)::int as pending,
       (select count(*)::int from attempt a join batch b on b.id = a.batch_id where b.plan_id = $1) as requests
     from ${countedBatches} cross join ${usersOf('b')} e cross join lateral (select ${shownOutcome} as outcome) o`,
    [planId],
  )
  return {
    confirmed: row?.confirmed ?? 0,
    refused: row?.refused ?? 0,
    ambiguous: row?.ambiguous ?? 0,
    pending: row?.pending ?? 0,
    requests: row?.requests ?? 0,
  }
}
