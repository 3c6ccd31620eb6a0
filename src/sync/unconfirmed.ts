/** Operations of a plan that are not confirmed, by kind of change. Stored with the counts of a run, for the metrics. */
import type { Queryable } from '../db/database.ts'
import { entriesOf, entryOutcome } from '../db/entries.ts'

/** Number of operations by kind (`create`, `update` …) and result. */
export type Unconfirmed = Readonly<Record<string, Readonly<Record<string, number>>>>

/** The same rows as in `planCounts`; reads only batches with an operation that is not confirmed. */
export async function unconfirmedOf(db: Queryable, planId: string): Promise<Unconfirmed> {
  const rows = await db.query<{ change: string; result: string; count: number }>(
    `select e.change, r.result, sum(e.users)::int as count
     from batch b cross join ${entriesOf('b.id')} e left join batch p on p.id = b.parent_id
       cross join lateral (select ${entryOutcome} as outcome) o
       cross join lateral (select case when o.outcome = 'superseded' then 'pending'
         when o.outcome = 'pending' and b.status in ('ambiguous', 'in_flight') then 'ambiguous' else o.outcome end as result) r
     where b.plan_id = $1 and (p.operation is null or p.operation = b.operation) and r.result <> 'confirmed'
       and (b.status <> 'settled' or exists (select from entry x where x.batch_id = b.id and x.outcome not in ('pending', 'confirmed')))
     group by e.change, r.result`,
    [planId],
  )
  return Object.fromEntries(
    [...Map.groupBy(rows, ({ change }) => change)].map(([change, of]) => [
      change,
      Object.fromEntries(of.map(({ result, count }) => [result, count])),
    ]),
  )
}
