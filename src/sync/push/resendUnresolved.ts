/** Sends the requests of earlier runs again that have no final answer (docs/guarantees.md#key-order). */
import { recoverBatches, resetAttempts, shortenFalseWaits, unparkBatches } from '../../db/batches/release.ts'
import { resumeDestination } from '../../db/destinations.ts'
import { deadWorkers } from '../../db/workers.ts'
import { crashPoint } from '../crashPoint.ts'
import type { EngineDeps } from '../engine.ts'
import { sendOpenBatches, type PushOptions } from './sendOpenBatches.ts'

/**
 * Resolves open batches of earlier runs before a newer plan is made. Recovers the batches of expired workers, in all destinations of this
 * environment. Then resends the open batches of the destination that were sent before, byte for byte, without people who opted out
 * (`options.findOptedOut`) or are suppressed. Ends any pause of the destination, because this is the next attempt.
 */
export async function resendUnresolved(
  deps: EngineDeps,
  destinationId: number,
  options: PushOptions & { readonly runId: number },
): Promise<void> {
  await recoverBatches(deps.db, await deadWorkers(deps.db), deps.settings.horizonMs, deps.service)
  await resumeDestination(deps.db, destinationId)
  await resetAttempts(deps.db, destinationId)
  await shortenFalseWaits(deps.db, destinationId, deps.settings.horizonMs, deps.settings.retryAfterCapMs)
  await unparkBatches(deps.db, destinationId, deps.settings.maxAttempts)
  crashPoint('settle.opened')
  const scope = { resendOf: destinationId, fence: deps.service }
  await sendOpenBatches(deps, { scope, destinationId, runId: options.runId }, options)
}
