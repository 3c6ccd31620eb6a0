import { loadPlannedSets, planProductSets } from '../productSets/planProductSets.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { loadProductSets, markLostProducts } from '../../db/productSets.ts'
import { updateRun } from '../../db/runs/update.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import type { DbRow } from '../../db/row.ts'
import type { EngineDeps } from '../engine.ts'
import { isRefusedOrUnresolved } from '../reports/nextCommands.ts'
import type { Ending } from './runUnderLease.ts'
import { timedStage } from './timedStage.ts'
import { destinationOf } from '../../destinations/index.ts'

/**
 * Keeps the product sets in sync, by the rules in the plan. The changes may differ from the planned ones, because products were confirmed
 * since. Returns `ending`. A status `succeeded` becomes `partial` if a change was refused or is unresolved. Does nothing without planned
 * sets, after an error, or once `deps.signal` has aborted.
 */
export async function keepSetsOfRun(deps: EngineDeps, run: ClaimedRun, planId: string, ending: Ending): Promise<Ending> {
  const planned = await loadPlannedSets(deps.db, planId)
  if (planned === undefined || ending.error !== undefined || deps.signal?.aborted) return ending
  const [target] = await deps.db.query<DbRow<'destination', 'target_id'>>('select target_id from destination where id = $1', [
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
 * sets. `isNewSandbox`: the sandbox was restarted without its state, so it lacks the stored sets.
 */
export async function planSetsOfRun(
  deps: EngineDeps,
  run: ClaimedRun,
  { destination }: Pipeline,
  planId: string,
  { isNewSandbox }: { readonly isNewSandbox: boolean },
): Promise<void> {
  const rules = destinationOf(destination.kind).productSets(destination)
  if (rules === undefined) return
  if (!isNewSandbox) await markLostProducts(deps.db, run.destinationId)
  const stored = isNewSandbox ? [] : await loadProductSets(deps.db, run.destinationId)
  const planned = await planProductSets(deps.db, run.destinationId, planId, rules, stored)
  if (planned !== undefined) await updateRun(deps.db, run, { productSets: planned.changes })
}
