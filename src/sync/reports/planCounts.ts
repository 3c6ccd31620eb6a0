/** Counts the operations of a plan by outcome, and those that are not confirmed by code. */
import type { Database } from '../../db/database.ts'
import { shownOutcome, usersOf } from '../../db/entries/read.ts'
import type { Failure, RunCounts } from '../../model/report.ts'
import { kindsWhere } from '../../destinations/index.ts'
import { meaningsOfReason } from './reasonMeanings.ts'

/**
 * SQL of the batches `b` of plan `$1` that have its planned operations. Leaves out deletes of suppressed and erased people, which a push or
 * an erasure inserts as children of an update (`push/removeEntries.ts`).
 */
export const countedBatches = `(select b.* from batch b left join batch parent on parent.id = b.parent_id
  where b.plan_id = $1 and (parent.operation is null or parent.operation = b.operation)) b`

/** Numbers of operations by outcome, and of attempts of the plan's batches by all runs (`requests`). */
export type PlanCounts = Pick<RunCounts, 'confirmed' | 'refused' | 'ambiguous' | 'pending' | 'requests'>

/**
 * Counts the products or users of a plan by outcome. Superseded entries count as pending, so that the four outcomes add up to the planned
 * number (docs/guarantees.md#nothing-lost).
 */
export async function planCounts(db: Pick<Database, 'query'>, planId: string): Promise<PlanCounts> {
  const [row] = await db.query<PlanCounts>(
    `select coalesce(sum(e.users) filter (where o.outcome = 'confirmed'), 0)::int as confirmed,
       coalesce(sum(e.users) filter (where o.outcome = 'refused'), 0)::int as refused,
       coalesce(sum(e.users) filter (where o.outcome = 'ambiguous'), 0)::int as ambiguous,
       coalesce(sum(e.users) filter (where o.outcome in ('pending', 'superseded')), 0)::int as pending,
       (select count(*)::int from attempt a join batch b on b.id = a.batch_id where b.plan_id = $1) as requests
     from ${countedBatches} cross join ${usersOf('b')} e cross join lateral (select ${shownOutcome} as outcome) o`,
    [planId],
  )
  return row ?? { confirmed: 0, refused: 0, ambiguous: 0, pending: 0, requests: 0 }
}

/** Maximum number of failures in a report: as many as fit on a screen. */
const maxFailures = 20

/**
 * Returns at most `maxFailures` failures, the most frequent first. Counts products or users. Leaves out superseded operations, and
 * operations without a code, because these have no answer yet.
 */
export async function loadFailures(db: Pick<Database, 'query'>, planId: string): Promise<readonly Failure[]> {
  const rows = await db.query<{
    outcome: Failure['outcome']
    code: string
    message: string | null
    count: number
    examples: Buffer[] | null
  }>(
    `select o.outcome, f.code, min(e.message) as message, sum(e.users)::int as count,
       (array_agg(e.key order by e.key) filter (where d.kind = any($2)))[1:3] as examples
     from ${countedBatches} join destination d on d.id = b.destination_id cross join ${usersOf('b')} e
       cross join lateral (select ${shownOutcome} as outcome) o
       cross join lateral (select coalesce(e.code, b.reason) as code) f
     where o.outcome in ('refused', 'ambiguous', 'pending') and f.code is not null
     group by o.outcome, f.code order by sum(e.users) desc, f.code limit ${maxFailures}`,
    [planId, kindsWhere(({ showsRecords }) => showsRecords)],
  )
  return rows.map(({ message, examples, ...row }) => ({
    ...row,
    message: message ?? meaningsOfReason(row.code),
    examples: (examples ?? []).map((key) => key.toString()),
  }))
}
