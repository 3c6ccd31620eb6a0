/** Groups the unconfirmed operations of a plan by outcome and code (of the service, or the reason of the batch). */
import type { Database } from '../../db/database.ts'
import { shownOutcome, usersOf } from '../../db/entries/read.ts'
import type { Failure } from '../../model/report.ts'
import { kindsWhere } from '../../destinations/index.ts'
import { countedBatches } from './planCounts.ts'
import { meaningOf } from './reasonMeanings.ts'

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
    message: message ?? meaningOf(row.code),
    examples: (examples ?? []).map((key) => key.toString()),
  }))
}
