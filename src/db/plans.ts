/**
 * Writes the table `plan`. Its states are ready → applying → applied, or superseded (docs/states.md). Each transition checks the current
 * state.
 */
import { z } from 'zod'
import type { ProductSetRule, SetFilter } from '../model/pipeline.ts'
import type { ProductSetChange } from '../model/report.ts'
import { hasRows, type Queryable } from './queryable.ts'
import { jsonColumn } from './jsonColumn.ts'
import { guardResults, productSetChanges, runCounts } from './runs/columns.ts'
import type { DbRow } from './row.ts'

/** Plan before its operations are frozen. */
export interface NewPlan {
  readonly id: string
  readonly runId: number
  readonly pipeline: string
  readonly destinationId: number
  readonly snapshotId: number
  /** Version of the synced state that the plan is based on. */
  readonly stateVersion: string
  readonly guards: readonly object[]
}

export const decodePlanCounts = jsonColumn('plan', 'counts', runCounts)
export const decodePlanGuards = jsonColumn('plan', 'guards', guardResults)

/** Part of `plan.review` that a review of the plan shows. */
const review = z.object({ updateFields: z.array(z.object({ field: z.string(), count: z.number() })).default([]) })
/** Decodes the update fields of `plan.review`. */
export const decodeReview = jsonColumn('plan', 'review', review)

/**
 * Decodes `plan.review.resync`: ids of the plans of full refreshes that are not fully confirmed. The next plan sends their outstanding
 * keys.
 */
export const decodeResync = jsonColumn('plan', 'review', z.object({ resync: z.array(z.string()).default([]) }))

/**
 * SQL of the plans `p` with their runs `u`, except plans of `sluice plan` that were never applied. The status `superseded` does not show
 * that a plan was applied, because retention gives it to stale plans too.
 */
export const startedPlans = `plan p join run u on u.id = p.run_id and (u.trigger <> 'plan' or p.applied_at is not null)`
/** SQL of the order of `startedPlans`, the last one first: by the time at which a plan was applied, or else stored. */
const lastStartedFirst = 'coalesce(p.applied_at, p.created_at) desc'

/**
 * SQL of the last started plan of each destination. Retention keeps this plan, because the next plan reads its unconfirmed deletes and
 * outstanding keys.
 */
export const lastPlans = lastPlansWhere('true')
/** SQL of the last started plan with deletes of each destination. The next plan sends its unconfirmed deletes without a new approval. */
export const lastDeletingPlans = lastPlansWhere(`exists (select from batch b where b.plan_id = p.id and b.operation = 'delete')`)

/** Returns SQL of the last started plan of one destination. */
export const lastPlanOf = (destinationId: number) =>
  `select p.id, p.review from ${startedPlans} where p.destination_id = ${destinationId} order by ${lastStartedFirst} limit 1`

function lastPlansWhere(where: string): string {
  return `select distinct on (p.destination_id) p.id, p.review from ${startedPlans} where ${where} order by p.destination_id, ${lastStartedFirst}`
}

/**
 * Returns the SQL condition that no guard fired in any plan over a snapshot. An unchanged source gets a plan over the same snapshot.
 * `snapshot`: SQL of the snapshot's id.
 */
export const noGuardFired = (snapshot: string): string =>
  `not exists (select from plan gp where gp.snapshot_id = ${snapshot} and jsonb_array_length(gp.guards) > 0)`

/** SQL of the ids of the plans with outstanding keys that the next plan of their destination sends too (`decodeResync`). */
export const outstandingRefreshes = `select jsonb_array_elements_text(l.review -> 'resync') from (${lastPlans}) l`

/** Product sets of a plan. */
export interface PlannedSets {
  /** Rules by which the run keeps the sets. */
  readonly rules: readonly ProductSetRule[]
  /** Expected changes. */
  readonly changes: readonly ProductSetChange[]
}

/** Schema of the filters of a product set. */
export const setFilters: z.ZodType<readonly SetFilter[]> = z.array(
  z.object({ attribute: z.string(), operator: z.string(), value: z.string() }),
)
const rule: z.ZodType<ProductSetRule> = z.object({
  name: z.string(),
  description: z.string().exactOptional(),
  filters: setFilters,
  brand: z.string().exactOptional(),
})
const plannedSets: z.ZodType<PlannedSets> = z.object({ rules: z.array(rule), changes: productSetChanges })
/** Decodes `plan.product_sets`; null if the plan has none. */
export const decodePlannedSets = jsonColumn('plan', 'product_sets', plannedSets.nullable())

/** Inserts a plan, to which its batches refer. `storeFigures` adds the digest and the counts. */
export async function insertPlan(tx: Queryable, plan: NewPlan): Promise<void> {
  await tx.execute(
    `insert into plan (id, run_id, pipeline, destination_id, snapshot_id, status, state_version, digest, counts, guards)
     values ($1, $2, $3, $4, $5, 'ready', $6, '', '{}', $7)`,
    [plan.id, plan.runId, plan.pipeline, plan.destinationId, plan.snapshotId, plan.stateVersion, JSON.stringify(plan.guards)],
  )
}

/** Stores the digest of the frozen operations, the counts, and the data for a review. `review` undefined: keeps the stored review. */
export async function storeFigures(
  tx: Queryable,
  planId: string,
  figures: { readonly digest: string; readonly counts: object; readonly review?: object | undefined },
): Promise<void> {
  const updatedCount = await tx.execute('update plan set digest = $2, counts = $3, review = coalesce($4, review) where id = $1', [
    planId,
    figures.digest,
    JSON.stringify(figures.counts),
    figures.review === undefined ? null : JSON.stringify(figures.review),
  ])
  if (updatedCount !== 1) throw new Error(`plan ${planId} must be stored`)
}

export async function storePlannedSets(db: Queryable, planId: string, planned: object): Promise<void> {
  await db.execute('update plan set product_sets = $2 where id = $1', [planId, JSON.stringify(planned)])
}

/** Stores `options.image_sample` of the pipeline, because an apply has no pipeline file. */
export async function storeImageSample(db: Queryable, planId: string, imageSample: number): Promise<void> {
  await db.execute(`update plan set review = review || jsonb_build_object('imageSample', $2::int) where id = $1`, [planId, imageSample])
}

/** Returns the stored image sample of a plan; undefined if there is none. */
export async function imageSampleOf(db: Queryable, planId: string): Promise<number | undefined> {
  const [row] = await db.query<{ sample: number | null }>(`select (review ->> 'imageSample')::int as sample from plan where id = $1`, [
    planId,
  ])
  return row?.sample ?? undefined
}

/** Starts applying a plan. The caller must have locked its row. @throws {Error} the plan is not ready */
export async function startPlan(tx: Queryable, planId: string): Promise<void> {
  const started = await tx.execute(
    `update plan set status = 'applying', applied_at = statement_timestamp() where id = $1 and status = 'ready'`,
    [planId],
  )
  if (started !== 1) throw new Error(`plan ${planId} is not ready`)
}

/** Returns true if a plan is being applied: it has not ended, and no newer plan has replaced it. */
export async function isApplying(tx: Queryable, planId: string): Promise<boolean> {
  return hasRows(tx, `select from plan where id = $1 and status = 'applying'`, [planId])
}

/** Marks a plan as applied after all its requests have ended. Does nothing if another process has ended or replaced the plan. */
export async function finishPlan(db: Queryable, planId: string): Promise<void> {
  await db.execute(`update plan set status = 'applied' where id = $1 and status = 'applying'`, [planId])
}

/** Supersedes the plans of a destination that were being applied, because a newer plan replaces them. */
export async function supersedeApplying(tx: Queryable, destinationId: number): Promise<void> {
  await tx.execute(`update plan set status = 'superseded' where destination_id = $1 and status = 'applying'`, [destinationId])
}

/** Supersedes all plans of a destination. So no later plan continues their deletes or their full refresh. */
export async function supersedeAllPlans(tx: Queryable, destinationId: number): Promise<void> {
  await tx.execute(`update plan set status = 'superseded', review = review - 'resync' where destination_id = $1`, [destinationId])
}

/**
 * Supersedes plans that have waited for an `apply` for a week. If the synced or desired content has changed, a day is enough. Returns their
 * ids.
 */
export async function supersedeStalePlans(tx: Queryable): Promise<readonly string[]> {
  const contentHasChanged = `(p.state_version <> d.state_version or (p.review ->> 'desiredVersion')::bigint <> d.desired_version)`
  const rows = await tx.query<DbRow<'plan', 'id'>>(
    `update plan p set status = 'superseded' from destination d, run r
     where d.id = p.destination_id and r.id = p.run_id and p.status = 'ready' and r.finished_at is not null
       and (p.created_at < statement_timestamp() - interval '7 days'
         or (p.created_at < statement_timestamp() - interval '1 day' and ${contentHasChanged}))
     returning p.id`,
  )
  return rows.map(({ id }) => id)
}

/**
 * Replaces the text `shown` by `erased` in the guards and reviews of the plans of a destination. `shown`: the first digits of an erased
 * digest.
 */
export async function eraseInPlans(tx: Queryable, destinationId: number, shown: string): Promise<void> {
  await tx.execute(
    `update plan set guards = replace(guards::text, $2, 'erased')::jsonb, review = replace(review::text, $2, 'erased')::jsonb
     where destination_id = $1 and (position($2 in guards::text) > 0 or position($2 in review::text) > 0)`,
    [destinationId, shown],
  )
}

/** Deletes these plans, except those that still have a batch. */
export async function deletePlans(tx: Queryable, plans: readonly string[]): Promise<void> {
  await tx.execute(`delete from plan p where p.id = any($1) and not exists (select from batch b where b.plan_id = p.id)`, [plans])
}
