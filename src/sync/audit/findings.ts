/** Loads the findings of an audit: counts by outcome (`ListingOutcome`) and by field, and examples of outcomes. */
import type { Connection } from '../../db/database.ts'
import { countRows } from '../../db/queryable.ts'
import type { Value } from '../../db/row.ts'
import { entryOutcome } from '../../db/entries/read.ts'
import { isOutOfSync } from '../../db/changedKeys.ts'
import type { Drift } from '../../model/report.ts'
import type { AuditExample, AuditFindings, ShownDifference } from './report.ts'
import type { ListingOutcome } from './classifyListing.ts'

/** Maximum number of examples of each outcome. */
const maxExamples = 10
/** Outcomes with examples, in the order of the report. */
const shownOutcomes = ['changed', 'notListed', 'unmanaged', 'unresolved', 'hidden'] as const satisfies readonly ListingOutcome[]

/**
 * Loads the findings from the temporary tables of a `ListingClassifier`, after its `finish`, over the same connection. `requests`: number
 * of listing requests. `notReturned`: as in `AuditFindings`.
 */
export async function loadFindings(
  tx: Connection,
  destinationId: number,
  reading: { readonly requests: number; readonly notReturned: readonly string[] },
): Promise<AuditFindings> {
  const { requests, notReturned } = reading
  return {
    drift: await countDrift(tx, destinationId),
    readRequests: requests,
    changedFields: await countFields(tx),
    examples: await loadExamples(tx, destinationId),
    notReturned,
  }
}

/**
 * Counts the products by outcome, and those that are out of sync (`waiting`). Products with the outcome `unconfirmed` count only as
 * `listed`.
 */
async function countDrift(tx: Connection, destinationId: number): Promise<Drift> {
  const rows = await tx.query<{ outcome: ListingOutcome; count: number; listed: number }>(
    `select outcome, count(*)::int as count, count(*) filter (where listed)::int as listed from audited group by outcome`,
  )
  const countOf = (outcome: ListingOutcome) => rows.find((row) => row.outcome === outcome)?.count ?? 0
  return {
    listed: rows.reduce((sum, { listed }) => sum + listed, 0),
    same: countOf('same'),
    changed: countOf('changed'),
    notListed: countOf('notListed'),
    hidden: countOf('hidden'),
    unmanaged: countOf('unmanaged'),
    unresolved: countOf('unresolved'),
    waiting: await countRows(tx, `select from remote m where m.destination_id = ${destinationId} and ${isOutOfSync}`),
  }
}

async function countFields(tx: Connection): Promise<AuditFindings['changedFields']> {
  return tx.query<{ field: string; count: number }>(
    `select f.field, count(*)::int as count from audited a cross join lateral unnest(a.fields) as f (field)
     where a.outcome = 'changed' group by f.field order by count desc, f.field`,
  )
}

/** Returns the first products of each shown outcome, in the order of their ids. */
async function loadExamples(tx: Connection, destinationId: number): Promise<AuditExample[]> {
  const examples: AuditExample[] = []
  for (const outcome of shownOutcomes) {
    // `deleted_by`: the last run that planned a confirmed delete of an unmanaged product
    const rows = await tx.query<{ id: string; detail: ShownDifference[] | null; deleted_by: Value<'plan', 'run_id'> | null }>(
      `select convert_from(a.key, 'UTF8') as id, a.detail, case when a.outcome = 'unmanaged' then (
         select max(p.run_id) from entry e join batch b on b.id = e.batch_id join plan p on p.id = b.plan_id
         where e.destination_id = ${destinationId} and e.record_key = a.key
           and e.change = 'delete' and ${entryOutcome} = 'confirmed') end as deleted_by
       from (select * from audited where outcome = $1 order by key limit ${maxExamples}) a order by a.key`,
      [outcome],
    )
    for (const { id, detail, deleted_by } of rows)
      examples.push({
        id,
        found: outcome,
        ...(detail === null ? {} : { fields: detail }),
        ...(deleted_by === null ? {} : { deletedBy: `r_${deleted_by}` }),
      })
  }
  return examples
}
