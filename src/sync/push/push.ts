/**
 * Sends the batches of a plan, or the deletes of an erasure. `recoverAndResend.ts` sends what earlier runs left open. Several processes may
 * push one plan together: each batch is leased to one of them, and all share one rate budget.
 */
import { findOpenWork, isIdle } from '../../db/batches/claim.ts'
import { unparkBatches } from '../../db/batches/release.ts'
import { resumeForErasure } from '../../db/destinations.ts'
import type { DbRow } from '../../db/row.ts'
import type { EngineDeps } from '../engine.ts'
import type { PushInput, PushOptions } from './sendOpenBatches.ts'

/**
 * Sends the batches of the plan. Returns when nothing more can be sent now:
 *
 * - No batch is open, except parked ones (out of attempts in this run).
 * - The destination is paused.
 * - Updates wait for a parked delete.
 * - The signal aborted.
 * - With `isHelper`: the run of the plan has ended.
 */
export async function pushPlan(deps: EngineDeps, planId: string, options: PushOptions = {}): Promise<void> {
  const [plan] = await deps.db.query<DbRow<'plan', 'destination_id' | 'run_id'>>('select destination_id, run_id from plan where id = $1', [
    planId,
  ])
  if (plan === undefined) throw new Error(`plan ${planId} is not stored`)
  const scope = { planId, isHelper: options.isHelper ?? false, fence: deps.service }
  await sendIfOpen(deps, { scope, destinationId: plan.destination_id, runId: Number(plan.run_id) }, options)
}

/**
 * Sends the deletes of the erasure in this audience, also during the pause of a cancelled run. Ends any other pause first. Each delete is
 * sent twice: the second time once no earlier update can arrive after it (docs/decisions/late-arrival-horizon.md). The next run of the
 * audience sends what is still open.
 */
export async function pushErasure(
  deps: EngineDeps,
  { erasure, audience }: { readonly erasure: number; readonly audience: number },
): Promise<void> {
  const [plan] = await deps.db.query<DbRow<'plan', 'run_id'>>(
    `select p.run_id from erasure_delete d join batch b on b.id = d.batch_id join plan p on p.id = b.plan_id
     where d.erasure_id = $1 and b.destination_id = $2 limit 1`,
    [erasure, audience],
  )
  if (plan === undefined) return
  await resumeForErasure(deps.db, audience)
  // An earlier command for the same person may have parked these deletes.
  await unparkBatches(deps.db, audience, deps.settings.maxAttempts, erasure)
  const scope = { erasure, audience, fence: deps.service }
  await sendIfOpen(deps, { scope, destinationId: audience, runId: Number(plan.run_id) }, {})
}

/** Sends the open batches of the scope. Loads the modules for this only if there are any. */
export async function sendIfOpen(deps: EngineDeps, push: PushInput, options: PushOptions): Promise<void> {
  if (options.growing === undefined && isIdle(await findOpenWork(deps.db, push.scope))) return
  // Loaded before a grant is taken, because a grant is valid for half a second. Loaded after it, the first request of a process was sent
  // late, possibly during a requested wait.
  const [{ sendOpenBatches }] = await Promise.all([import('./sendOpenBatches.ts'), deps.transport.load?.()])
  await sendOpenBatches(deps, push, options)
}

/**
 * Starts to load the modules that send requests. Loading blocks the process for 80 ms, so call this function while Postgres works. If
 * loading fails, the push throws the error.
 */
export function prepareSending({ transport }: Pick<EngineDeps, 'transport'>): void {
  transport.load?.().catch(() => undefined)
  import('./sendOpenBatches.ts').catch(() => undefined)
}
