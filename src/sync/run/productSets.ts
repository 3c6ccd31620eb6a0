import { loadPlannedSets, planProductSets } from '../productSets/planProductSets.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { loadProductSets, markLostProducts } from '../../db/productSets.ts'
import { updateRun } from '../../db/runs/update.ts'
import type { RunRow } from '../../db/runs/claim.ts'
import type { Row } from '../../db/row.ts'
import type { EngineDeps } from '../engine.ts'
import { isRefusedOrUnresolved } from '../reports/nextCommands.ts'
import type { Ending } from './runUnderLease.ts'
import { timedStage } from './timedStage.ts'
import { destinationOf } from '../../destinations/index.ts'

/**
 * Creates, changes and deletes the planned product sets. Returns `ending`; if a change was refused or is unresolved, with the status
 * `partial` instead of `succeeded`. Does nothing if `ending` has an error, or after the signal.
 */
export async function changeProductSets(deps: EngineDeps, run: RunRow, planId: string, ending: Ending): Promise<Ending> {
  const planned = await loadPlannedSets(deps.db, planId)
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
  return ending.status === 'succeeded' && changes.some(isRefusedOrUnresolved) ? { ...ending, status: 'partial' } : ending
}

/**
 * Stores the planned changes of product sets with the plan and the run. Does nothing for people, and if there are no rules and no stored
 * sets. `isReplaced`: the sandbox was restarted without its state, so it lacks the stored sets.
 */
export async function planSetsOfCatalog(
  deps: EngineDeps,
  run: RunRow,
  { destination }: Pipeline,
  planId: string,
  { isReplaced }: { readonly isReplaced: boolean },
): Promise<void> {
  const rules = destinationOf(destination.kind).productSets(destination)
  if (rules === undefined) return
  if (!isReplaced) await markLostProducts(deps.db, run.destinationId)
  const stored = isReplaced ? [] : await loadProductSets(deps.db, run.destinationId)
  const planned = await planProductSets(deps.db, run.destinationId, planId, rules, stored)
  if (planned !== undefined) await updateRun(deps.db, run, { productSets: planned.changes })
}
