/**
 * Continues the push of earlier runs after a crash, a stop or a lost answer. A killed run itself is not continued: `recoverExpiredRuns.ts`
 * in `sync/run` ends it. The next run of the destination sends its batches again.
 */
import { recoverBatches, resetAttempts, shortenFalseWaits, unparkBatches } from '../../db/batches/release.ts'
import { erasurePhase } from '../../db/batches/states.ts'
import { resumeDestination } from '../../db/destinations.ts'
import { hasOpenErasures } from '../../db/erasures.ts'
import { findEndedWorkers } from '../../db/workers.ts'
import { crashPoint } from '../crashPoint.ts'
import type { EngineDeps } from '../engine.ts'
import { sendIfOpen } from './push.ts'
import type { PushOptions } from './sendOpenBatches.ts'

/**
 * Resolves open batches of earlier runs before a newer plan is made (docs/guarantees.md#key-order):
 *
 * 1. Recovers the batches of expired workers, in all destinations of this environment.
 * 2. Ends a pause of the destination, because a pause lasts until the next run.
 * 3. Resends, byte for byte, the open and parked batches of the destination that were sent before. Leaves out people who opted out
 *    (`options.findOptedOut`) or are suppressed.
 *
 * `runId`: run with which the attempts are stored. `phase`: resends only the batches of this phase.
 */
export async function recoverAndResend(
  deps: EngineDeps,
  destinationId: number,
  options: PushOptions & { readonly runId: number; readonly phase?: typeof erasurePhase },
): Promise<void> {
  await recoverBatches(deps.db, await findEndedWorkers(deps.db), deps.settings.horizonMs, deps.service)
  await resumeDestination(deps.db, destinationId)
  await resetAttempts(deps.db, destinationId)
  await shortenFalseWaits(deps.db, destinationId, deps.settings.horizonMs, deps.settings.retryAfterCapMs)
  await unparkBatches(deps.db, destinationId, deps.settings.maxAttempts)
  crashPoint('settle.opened')
  const { runId, phase } = options
  const scope = { resendOf: destinationId, fence: deps.service, ...(phase === undefined ? {} : { phase }) }
  await sendIfOpen(deps, { scope, destinationId, runId }, options)
}

/**
 * If the destination has open deletes of erased people, resends those that are due. They need no read of the sources. If there are
 * any, also recovers batches and ends a pause, as `recoverAndResend` does.
 */
export async function resendErasures(deps: EngineDeps, destinationId: number, runId: number): Promise<void> {
  if (await hasOpenErasures(deps.db, destinationId)) await recoverAndResend(deps, destinationId, { runId, phase: erasurePhase })
}
