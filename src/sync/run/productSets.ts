/** Plans the product sets of a catalog during a run, and changes them after the plan is sent. */
import { plannedSetsOf, planProductSets } from '../productSets/plan.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { loadProductSets } from '../../db/productSets.ts'
import { updateRun } from '../../db/runs/update.ts'
import type { RunRow } from '../../db/runs/claim.ts'
import type { Row } from '../../db/row.ts'
import type { EngineDeps } from '../engine.ts'
import { isOpenSet } from '../reports/nextCommands.ts'
import type { Ending } from './runUnderLease.ts'
import { timedStage } from './timedStage.ts'
import { destinationOf } from '../../destinations/index.ts'

/**
 * Changes the product sets of the plan. Does nothing if `ending` has an error, or if the run is to stop (`deps.signal`). Returns the ending of the run. If a
 * change was refused or is unresolved, the status `succeeded` becomes `partial`.
 */
export async function changeProductSets(deps: EngineDeps, run: RunRow, planId: string, ending: Ending): Promise<Ending> {
  const planned = await plannedSetsOf(deps.db, planId)
  if (planned === undefined || ending.error !== undefined || deps.signal?.aborted) return ending
  const [target] = await deps.db.query<Row<'destination', 'target_id'>>('select target_id from destination where id = $1', [
    run.destinationId,
  ])
  if (target === undefined) throw new Error(`destination ${run.destinationId} is not stored`)
  const { keepProductSets } = await import('../productSets/keepProductSets.ts')
  const changes = await timedStage(deps, run, 'sets', () =>
    keepProductSets({ deps, run, target: { accountId: null, targetId: target.target_id, version: deps.service.version } }, planned.rules),
  )
  await updateRun(deps.db, run, { productSets: changes })
  return ending.status === 'succeeded' && changes.some(isOpenSet) ? { ...ending, status: 'partial' } : ending
}

/**
 * Plans the product sets of a catalog pipeline, and stores the planned changes with the plan and the run. Does nothing for other
 * pipelines, or if there are neither rules nor stored sets. `isReplaced`: the service is a new sandbox instance without the stored sets.
 */
export async function planSetsOf(
  deps: EngineDeps,
  run: RunRow,
  { destination }: Pipeline,
  planId: string,
  { isReplaced }: { readonly isReplaced: boolean },
): Promise<void> {
  const rules = destinationOf(destination.kind).productSets(destination)
  if (rules === undefined) return
  const stored = isReplaced ? [] : await loadProductSets(deps.db, run.destinationId)
  const planned = await planProductSets(deps.db, run.destinationId, planId, rules, stored)
  if (planned !== undefined) await updateRun(deps.db, run, { productSets: planned.changes })
}
