/**
 * The books of runs that ended before everything they had planned was decided. What a later run settles of their plans is
 * written into their counts too, so that a run's history says what became of it.
 */
import type { Database, Queryable } from '../store/database.ts'
import { entryOutcome } from '../store/outcomes.ts'
import { rescueRuns } from '../store/runs.ts'
import { deadWorkers } from '../store/workers.ts'
import { planBooks, type PlanBooks } from './push/push.ts'
import type { Settled } from './report.ts'

/** Products or users of earlier plans that the sendings of this run decided. */
export async function settledBy(db: Queryable, runId: number, ownPlanId: string | null): Promise<Settled> {
  const [row] = await db.query<{ confirmed: number; refused: number }>(
    `select coalesce(sum(e.users) filter (where ${entryOutcome} = 'confirmed'), 0)::int as confirmed,
       coalesce(sum(e.users) filter (where e.outcome = 'refused'), 0)::int as refused
     from sluice.entry e join sluice.batch b on b.id = e.batch_id where e.batch_id in (
       select a.batch_id from sluice.attempt a join sluice.batch t on t.id = a.batch_id
       where a.run_id = $1 and t.plan_id is distinct from $2 and a.outcome in ('confirmed', 'refused', 'partial'))`,
    [runId, ownPlanId],
  )
  return { confirmed: row?.confirmed ?? 0, refused: row?.refused ?? 0 }
}

/** Brings the counts of other runs up to date whose plans this run sent, or gave up, something of. */
export async function updateBooksOfOthers(db: Database, runId: number): Promise<void> {
  const plans = await db.query<{ plan_id: string }>(
    `select b.plan_id from sluice.attempt a join sluice.batch b on b.id = a.batch_id where a.run_id = $1
     union select plan_id from sluice.audit where run_id = $1 and plan_id is not null`,
    [runId],
  )
  for (const { plan_id } of plans) await updateBooksOfPlan(db, plan_id, runId)
}

/** Brings the counts of ended runs of a plan up to date. Requests stay with the run that sent them. */
export async function updateBooksOfPlan(db: Database, planId: string, butRunId?: number): Promise<void> {
  const runs = await db.query<{ id: string }>(
    `select id from sluice.run where plan_id = $1 and trigger <> 'plan' and finished_at is not null and id is distinct from $2::bigint`,
    [planId, butRunId ?? null],
  )
  if (runs.length === 0) return
  const { requests: _, ...books } = await planBooks(db, planId)
  for (const { id } of runs) await writeBooks(db, Number(id), books)
}

/** Ends the runs of dead processes, with the books as far as they had come. Returns their numbers. */
export async function rescueRunsAndBooks(db: Database): Promise<readonly number[]> {
  const ids = await rescueRuns(db, await deadWorkers(db))
  const runs = await db.query<{ id: string; plan_id: string }>(
    `select id, plan_id from sluice.run where id = any($1::bigint[]) and plan_id is not null and trigger <> 'plan'`,
    [ids],
  )
  for (const { id, plan_id } of runs) await writeBooks(db, Number(id), await planBooks(db, plan_id))
  return ids
}

async function writeBooks(db: Queryable, runId: number, books: Partial<PlanBooks>): Promise<void> {
  await db.execute('update sluice.run set counts = counts || $2::jsonb where id = $1', [runId, JSON.stringify(books)])
}
