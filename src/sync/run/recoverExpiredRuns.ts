/**
 * Ends the runs of killed processes, so that the next run of the destination can start. That run then sends their unresolved batches again
 * (`sync/push/recoverAndResend.ts`).
 */
import type { Database } from '../../db/database.ts'
import type { Fence } from '../../db/fence.ts'
import { recoverRuns } from '../../db/runs/claim.ts'
import { repeatRun } from '../../db/runs/request.ts'
import { updateCounts } from '../../db/runs/update.ts'
import { findEndedWorkers } from '../../db/workers.ts'
import type { EngineDeps } from '../engine.ts'
import { loadReport } from '../reports/history.ts'
import { countsAtEnd, updateCountsOfOtherRuns } from './runCounts.ts'
import { logRunEnd } from './runLog.ts'

/**
 * Ends and logs the runs of this environment whose lease has expired or whose worker has ended. This unlocks their destinations. Also ends
 * queued runs of commands that died (`recoverRuns`). `nextDestinationId`: as in `recoverRunsAndCounts`.
 */
export async function recoverExpiredRuns(deps: Pick<EngineDeps, 'db' | 'service' | 'log'>, nextDestinationId?: number): Promise<void> {
  for (const id of await recoverRunsAndCounts(deps.db, deps.service, nextDestinationId)) logRunEnd(deps.log, await loadReport(deps.db, id))
}

/**
 * Ends expired runs with `recoverRuns`, and updates the counts of these and of earlier runs. Queues a repetition of each run of a schedule
 * (`repeatRun`). At `nextDestinationId` it queues none, because the caller starts a run that sends the rest. Returns the ids of the ended
 * runs. Uses one transaction, because no later call would complete a half-done recovery.
 */
export async function recoverRunsAndCounts(db: Database, fence: Fence, nextDestinationId?: number): Promise<readonly number[]> {
  return db.transaction(async (tx) => {
    const ended = await recoverRuns(tx, await findEndedWorkers(tx), fence)
    for (const { id, destinationId } of ended) {
      await updateCounts(tx, id, await countsAtEnd(tx, id))
      await updateCountsOfOtherRuns(tx, id)
      if (destinationId !== nextDestinationId) await repeatRun(tx, id)
    }
    return ended.map(({ id }) => id)
  })
}
