/** Writes what a run has done so far: counts, warnings, stages, progress, its plan. */
import type { Queryable } from '../database.ts'
import { jsonOrNull } from '../jsonColumn.ts'
import { noCounts } from '../../model/report.ts'
import type { LeasedRun } from './claim.ts'

/** Stores the given fields of a run. Undefined fields keep their values. */
export async function updateRun(
  db: Queryable,
  run: LeasedRun,
  fields: {
    readonly counts?: object
    readonly guards?: readonly object[]
    readonly snapshotId?: number
    /** Header of the source. */
    readonly columns?: readonly string[]
    readonly warnings?: readonly object[]
    readonly productSets?: readonly object[]
  },
): Promise<void> {
  await db.execute(
    `update run set counts = coalesce($3, counts), guards = coalesce($4, guards), snapshot_id = coalesce($5, snapshot_id),
       columns = coalesce($6, columns), warnings = coalesce($7, warnings), product_sets = coalesce($8, product_sets)
     where id = $1 and epoch = $2 and status = 'running'`,
    [
      run.id,
      run.epoch,
      jsonOrNull(fields.counts),
      jsonOrNull(fields.guards),
      fields.snapshotId ?? null,
      jsonOrNull(fields.columns),
      jsonOrNull(fields.warnings),
      jsonOrNull(fields.productSets),
    ],
  )
}

/** Adds warnings before (`first`) or after (`last`) the stored warnings of the run. */
export async function addWarnings(db: Queryable, run: LeasedRun, warnings: readonly object[], place: 'first' | 'last'): Promise<void> {
  await db.execute(
    `update run set warnings = case when $4 then $3::jsonb || warnings else warnings || $3::jsonb end where id = $1 and epoch = $2 and status = 'running'`,
    [run.id, run.epoch, jsonOrNull(warnings), place === 'first'],
  )
}

/** Adds a stage that has ended, with its start (ISO time) and duration. */
export async function addStage(
  db: Queryable,
  run: LeasedRun,
  stage: { readonly stage: string; readonly startedAt: string; readonly durationMs: number },
): Promise<void> {
  await db.execute(`update run set stages = stages || $3::jsonb where id = $1 and epoch = $2 and status = 'running'`, [
    run.id,
    run.epoch,
    JSON.stringify([stage]),
  ])
}

export async function storeProgress(db: Queryable, run: LeasedRun, progress: object): Promise<void> {
  await db.execute(`update run set progress = $3 where id = $1 and epoch = $2 and status = 'running'`, [
    run.id,
    run.epoch,
    JSON.stringify(progress),
  ])
}

/**
 * Stores the plan of the run with its snapshot, counts and guards. All operations count as pending. Must be called in the transaction that
 * stores or starts the plan. Then the counts add up even if the process dies after the commit. Returns false if another process has ended
 * the run.
 */
export async function attachPlan(
  tx: Queryable,
  run: LeasedRun,
  { planId, snapshotId }: { readonly planId: string; readonly snapshotId: number | string | null },
): Promise<boolean> {
  const attached = await tx.execute(
    `update run r set plan_id = p.id, snapshot_id = $4, guards = p.guards, counts = $5::jsonb || p.counts || jsonb_build_object('pending',
       (p.counts ->> 'creates')::int + (p.counts ->> 'updates')::int + (p.counts ->> 'deletes')::int + (p.counts ->> 'renewals')::int)
     from plan p where r.id = $1 and r.epoch = $2 and r.status = 'running' and p.id = $3`,
    [run.id, run.epoch, planId, snapshotId, JSON.stringify(noCounts)],
  )
  return attached === 1
}

/** Updates the counts of an ended run, because a later run settled its batches. */
export async function updateCounts(db: Queryable, runId: number, counts: object): Promise<void> {
  await db.execute('update run set counts = counts || $2::jsonb where id = $1', [runId, JSON.stringify(counts)])
}

/** Replaces the text `shown` (the first digits of an erased digest) by `erased` in the guards of the runs of a destination. */
export async function eraseInRuns(tx: Queryable, destinationId: number, shown: string): Promise<void> {
  await tx.execute(
    `update run set guards = replace(guards::text, $2, 'erased')::jsonb where destination_id = $1 and position($2 in guards::text) > 0`,
    [destinationId, shown],
  )
}
