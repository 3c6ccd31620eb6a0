/** Computes and stores the counts of runs. A run may also settle operations of earlier runs, so the counts of those change too. */
import { countAttempts } from '../../db/attempts.ts'
import type { Queryable } from '../../db/database.ts'
import { entriesOf, entryOutcome, shownOutcome, usersOf } from '../../db/entries/read.ts'
import { hasRows } from '../../db/queryable.ts'
import type { Unconfirmed } from '../../db/runs/columns.ts'
import { updateCounts } from '../../db/runs/update.ts'
import type { DbRow } from '../../db/row.ts'
import { countedBatches, planCounts, type PlanCounts } from '../reports/planCounts.ts'
import type { Settled } from '../../model/report.ts'

/**
 * Returns the counts of a run at its end:
 *
 * - `requests`: attempts of the run, also for other plans than its own, and those of which no byte was sent
 * - the outcomes of its plan, unless its trigger is `plan`
 * - `settled`: counts of `settledBy`; absent if the run sent no request of another plan
 */
export async function countsAtEnd(db: Queryable, runId: number): Promise<object> {
  const [row] = await db.query<DbRow<'run', 'plan_id' | 'trigger'>>('select plan_id, trigger from run where id = $1', [runId])
  const planId = row?.plan_id ?? null
  const sent = planId !== null && row?.trigger !== 'plan' ? await outcomeCounts(db, planId) : undefined
  const settled = await settledBy(db, runId, planId)
  return { ...sent, requests: await countAttempts(db, runId), ...(settled === undefined ? {} : { settled }) }
}

/**
 * Takes the batches of other plans that this run settled, fully or partly. Counts all their confirmed and refused products or users.
 * Undefined if the run sent no batch of another plan.
 */
async function settledBy(db: Queryable, runId: number, ownPlanId: string | null): Promise<Settled | undefined> {
  const sentForOthers = `select from attempt a join batch b on b.id = a.batch_id where a.run_id = $1 and b.plan_id is distinct from $2`
  if (!(await hasRows(db, sentForOthers, [runId, ownPlanId]))) return undefined
  const [row] = await db.query<{ confirmed: number; refused: number }>(
    `select coalesce(sum(e.users) filter (where ${entryOutcome} = 'confirmed'), 0)::int as confirmed,
       coalesce(sum(e.users) filter (where e.outcome = 'refused'), 0)::int as refused
     from batch b cross join ${usersOf('b')} e where b.id in (
       select a.batch_id from attempt a join batch b on b.id = a.batch_id
       where a.run_id = $1 and b.plan_id is distinct from $2 and a.outcome in ('confirmed', 'refused', 'partial'))`,
    [runId, ownPlanId],
  )
  return { confirmed: row?.confirmed ?? 0, refused: row?.refused ?? 0 }
}

/**
 * Updates the counts of earlier runs whose batches this run settled or superseded. The database does not record which run
 * superseded unsent batches. So of the last 20 runs of the pipeline, those with ambiguous operations are updated too.
 */
export async function updateCountsOfOtherRuns(db: Queryable, runId: number): Promise<void> {
  const plans = await db.query<DbRow<'batch', 'plan_id'>>(
    `select b.plan_id from attempt a join batch b on b.id = a.batch_id where a.run_id = $1
     union select plan_id from audit where run_id = $1 and plan_id is not null
     -- A batch that a killed run claimed and did not send counts as ambiguous in that run, until a later plan supersedes it.
     union select r.plan_id from (
       select plan_id, finished_at, counts from run
       where pipeline = (select pipeline from run where id = $1) and id < $1 order by id desc limit 20) r
     where r.plan_id is not null and r.finished_at is not null and (r.counts ->> 'ambiguous')::int > 0`,
    [runId],
  )
  for (const { plan_id } of plans) await updateCountsOfPlan(db, plan_id, runId)
}

/** Updates the counts of the ended runs that sent a plan, except the run `exceptRunId`. Does not change `requests`. */
export async function updateCountsOfPlan(db: Queryable, planId: string, exceptRunId?: number): Promise<void> {
  const runs = await db.query<DbRow<'run', 'id'>>(
    `select id from run where plan_id = $1 and trigger <> 'plan' and finished_at is not null and id is distinct from $2::bigint`,
    [planId, exceptRunId ?? null],
  )
  if (runs.length === 0) return
  const { requests: _, ...counts } = await outcomeCounts(db, planId)
  for (const { id } of runs) await updateCounts(db, Number(id), counts)
}

async function outcomeCounts(db: Queryable, planId: string): Promise<PlanCounts & { readonly unconfirmed: Unconfirmed }> {
  const counts = await planCounts(db, planId)
  const unconfirmedCount = counts.refused + counts.ambiguous + counts.pending
  return { ...counts, unconfirmed: unconfirmedCount === 0 ? {} : await unconfirmedOf(db, planId) }
}

/** Counts the unconfirmed products or users by change and outcome, for the metrics. Uses the same batches as `planCounts`. */
async function unconfirmedOf(db: Queryable, planId: string): Promise<Unconfirmed> {
  const rows = await db.query<{ change: string; result: string; count: number }>(
    `select e.change, r.result, sum(e.users)::int as count
     from ${countedBatches} cross join ${entriesOf('b.id')} e
       cross join lateral (select ${shownOutcome} as outcome) o
       cross join lateral (select case o.outcome when 'superseded' then 'pending' else o.outcome end as result) r
     where r.result <> 'confirmed'
       -- skips settled batches that are confirmed as a whole
       and (b.status <> 'settled' or exists (select from entry x where x.batch_id = b.id and x.outcome not in ('pending', 'confirmed')))
     group by e.change, r.result`,
    [planId],
  )
  return Object.fromEntries(
    [...Map.groupBy(rows, ({ change }) => change)].map(([change, rowsOfChange]) => [
      change,
      Object.fromEntries(rowsOfChange.map(({ result, count }) => [result, count])),
    ]),
  )
}
