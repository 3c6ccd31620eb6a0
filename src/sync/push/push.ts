/**
 * Sends the batches of a plan, the unresolved batches of earlier runs, or the deletes of an erasure. Several processes may push one plan
 * together: each batch is leased to one of them, and all share one rate budget.
 */
import { findOpenWork, isIdle } from '../../db/batches/claim.ts'
import { recoverBatches, resetAttempts, shortenFalseWaits, unparkBatches } from '../../db/batches/release.ts'
import { erasurePhase } from '../../db/batches/states.ts'
import { resumeDestination } from '../../db/destinations.ts'
import { hasOpenErasures } from '../../db/erasures.ts'
import type { Row } from '../../db/row.ts'
import { findEndedWorkers } from '../../db/workers.ts'
import { crashPoint } from '../crashPoint.ts'
import type { EngineDeps } from '../engine.ts'
import type { PushOptions, PushScope } from './sendOpenBatches.ts'

/**
 * Sends the batches of the plan. Returns when nothing more can be sent now:
 *
 * - No batch is open, except parked ones (out of attempts in this run).
 * - The destination is paused.
 * - Updates wait for a parked delete.
 * - The signal aborted.
 */
export async function pushPlan(deps: EngineDeps, planId: string, options: PushOptions = {}): Promise<void> {
  const [plan] = await deps.db.query<Row<'plan', 'destination_id' | 'run_id'>>('select destination_id, run_id from plan where id = $1', [
    planId,
  ])
  if (plan === undefined) throw new Error(`plan ${planId} is not stored`)
  const scope = { planId, fence: deps.service }
  await sendOpen(deps, { scope, destinationId: plan.destination_id, runId: Number(plan.run_id) }, options)
}

/**
 * Resolves open batches of earlier runs before a newer plan is made (docs/guarantees.md#key-order). Recovers the batches of expired
 * workers, in all destinations of this environment. Then resends, byte for byte, the open batches of the destination that were sent before.
 * Leaves out people who opted out (`options.findOptedOut`) or are suppressed. Ends a pause of the destination, because a pause lasts until
 * the next run.
 */
export async function resendUnresolved(
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
  await sendOpen(deps, { scope, destinationId, runId }, options)
}

/** Sends the deletes of erased people that are due, if there are any, and nothing else. They need no read of the sources. */
export async function resendErasures(deps: EngineDeps, destinationId: number, runId: number): Promise<void> {
  if (await hasOpenErasures(deps.db, destinationId)) await resendUnresolved(deps, destinationId, { runId, phase: erasurePhase })
}

/**
 * Ends a pause of the audience, then sends the deletes of the erasure in this audience. Each delete is sent twice: the second time once no
 * earlier update can arrive after it (docs/decisions/late-arrival-horizon.md). The next run of the audience sends what is still open.
 */
export async function pushErasure(
  deps: EngineDeps,
  { erasure, audience }: { readonly erasure: number; readonly audience: number },
): Promise<void> {
  const [plan] = await deps.db.query<Row<'plan', 'run_id'>>(
    `select p.run_id from erasure_delete d join batch b on b.id = d.batch_id join plan p on p.id = b.plan_id
     where d.erasure_id = $1 and b.destination_id = $2 limit 1`,
    [erasure, audience],
  )
  if (plan === undefined) return
  await resumeDestination(deps.db, audience, 'forget')
  // An earlier command for the same person may have parked them.
  await unparkBatches(deps.db, audience, deps.settings.maxAttempts, erasure)
  const scope = { erasure, audience, fence: deps.service }
  await sendOpen(deps, { scope, destinationId: audience, runId: Number(plan.run_id) }, {})
}

/** Sends the open batches. Loads the modules for this only if there are any. */
async function sendOpen(deps: EngineDeps, push: PushScope, options: PushOptions): Promise<void> {
  if (options.growing === undefined && isIdle(await findOpenWork(deps.db, push.scope))) return
  // A grant is valid for half a second. Without this, the first request of a process was sent late, possibly during a requested wait.
  const [{ sendOpenBatches }] = await Promise.all([import('./sendOpenBatches.ts'), deps.transport.load?.()])
  await sendOpenBatches(deps, push, options)
}

/**
 * Starts to load the modules that send requests. This blocks the process for 80 ms, so call it while Postgres works. If loading fails, the
 * push throws the error.
 */
export function prepareSending({ transport }: Pick<EngineDeps, 'transport'>): void {
  transport.load?.().catch(() => undefined)
  import('./sendOpenBatches.ts').catch(() => undefined)
}
