/** What an audit found, read from the table of its verdicts: how many of each kind, in which fields, and the first of each. */
import type pg from 'pg'
import { entryOutcome } from '../../store/outcomes.ts'
import { unlikeWanted } from '../../store/rounds.ts'
import type { Drift } from '../report.ts'
import type { AuditExample, AuditFindings, ShownDifference } from './report.ts'
import type { Verdict } from './judgeListing.ts'

/** Of each kind that people look at. */
const examplesEach = 10
const shownKinds = ['changed', 'gone', 'foreign', 'unsettled', 'hidden'] as const

export async function loadFindings(
  client: pg.PoolClient,
  destinationId: number,
  reading: { readonly requests: number; readonly notReturned: readonly string[] },
): Promise<AuditFindings> {
  const { requests, notReturned } = reading
  return {
    drift: await countDrift(client, destinationId),
    readRequests: requests,
    changedFields: await countFields(client),
    examples: await loadExamples(client, destinationId),
    notReturned,
  }
}

/** Confirmed products are `same + changed + gone + hidden + unsettled`. */
async function countDrift(client: pg.PoolClient, destinationId: number): Promise<Drift> {
  const { rows } = await client.query<{ verdict: Verdict; n: number; listed: number }>(
    `select verdict, count(*)::int as n, count(*) filter (where listed)::int as listed from audited group by verdict`,
  )
  const { rows: open } = await client.query<{ n: number }>(
    `select count(*)::int as n from sluice.remote m where m.destination_id = ${destinationId} and ${unlikeWanted}`,
  )
  const of = (verdict: Verdict) => rows.find((row) => row.verdict === verdict)?.n ?? 0
  return {
    listed: rows.reduce((sum, { listed }) => sum + listed, 0),
    same: of('same'),
    changed: of('changed'),
    gone: of('gone'),
    hidden: of('hidden'),
    foreign: of('foreign'),
    unsettled: of('unsettled'),
    waiting: open[0]?.n ?? 0,
  }
}

async function countFields(client: pg.PoolClient): Promise<AuditFindings['changedFields']> {
  const { rows } = await client.query<{ field: string; count: number }>(
    `select f.field, count(*)::int as count from audited a cross join lateral unnest(a.fields) as f (field)
     where a.verdict = 'changed' group by f.field order by count desc, f.field`,
  )
  return rows
}

async function loadExamples(client: pg.PoolClient, destinationId: number): Promise<AuditExample[]> {
  const examples: AuditExample[] = []
  for (const verdict of shownKinds) {
    // What was put and deleted by us, and stands there all the same, was never foreign (docs/decisions/lost-deletes.md).
    const { rows } = await client.query<{ id: string; detail: ShownDifference[] | null; deleted_by: string | null }>(
      `select convert_from(a.key, 'UTF8') as id, a.detail, case when a.verdict = 'foreign' then (
         select max(p.run_id) from sluice.entry e join sluice.batch b on b.id = e.batch_id join sluice.plan p on p.id = b.plan_id
         where e.destination_id = ${destinationId} and e.record_key = a.key and e.change = 'delete' and ${entryOutcome} = 'confirmed') end as deleted_by
       from (select * from audited where verdict = $1 order by key limit ${examplesEach}) a order by a.key`,
      [verdict],
    )
    for (const { id, detail, deleted_by } of rows)
      examples.push({
        id,
        found: verdict,
        ...(detail === null ? {} : { fields: detail }),
        ...(deleted_by === null ? {} : { deletedBy: `r_${deleted_by}` }),
      })
  }
  return examples
}
