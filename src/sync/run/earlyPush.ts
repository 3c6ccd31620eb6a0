/** Sends the first parts of a first load while the later parts are planned (docs/decisions/first-load-in-parts.md). */
import type { ClaimedRun } from '../../db/runs/claim.ts'
import type { EngineDeps } from '../engine.ts'
import { pushPlan } from '../push/push.ts'
import { timedStage } from './timedStage.ts'

/**
 * Runs `planning`, and meanwhile pushes the stored parts of the plan. `planning` calls `onPart` after each stored part, but not for a plan
 * with a single part. The first call awaits `onPushStart`, and starts the push. `operations`: estimated number for the whole plan.
 *
 * Returns the result of `planning`, and `awaitPush`. `awaitPush` waits for the end of the push and throws its error; undefined if no push was
 * started.
 *
 * @throws the error of `planning`, after the push has stopped. After a failed push, the next call of `onPart` throws the error of the push
 */
export async function pushWhilePlanning<Result>(
  deps: EngineDeps,
  run: ClaimedRun,
  planning: (onPart: (planId: string, operations: number) => Promise<void>) => Promise<Result>,
  onPushStart: (planId: string, operations: number) => Promise<void> | undefined,
): Promise<{ readonly result: Result; readonly awaitPush: (() => Promise<void>) | undefined }> {
  const stop = new AbortController()
  const push: { running?: Promise<void>; failure?: { readonly error: unknown } } = {}
  let change = Promise.withResolvers<void>()
  const growing = {
    operations: 0,
    isComplete: false,
    get changed() {
      return change.promise
    },
  }
  const wake = () => {
    const { resolve } = change
    change = Promise.withResolvers()
    resolve()
  }
  const onPart = async (planId: string, operations: number) => {
    if (push.failure !== undefined) throw push.failure.error
    wake()
    if (push.running !== undefined) return
    growing.operations = operations
    await onPushStart(planId, operations)
    push.running = pushPlan(deps, planId, { signal: stop.signal, growing }).catch((error: unknown) => {
      push.failure = { error }
    })
  }
  try {
    const result = await planning(onPart)
    growing.isComplete = true
    wake()
    if (push.running === undefined) return { result, awaitPush: undefined }
    const { running } = push
    const awaitPush = async () => {
      // Until here the push ran during the stage `plan`. Only the rest is timed as the stage `push`.
      await timedStage(deps, run, 'push', () => running)
      if (push.failure !== undefined) throw push.failure.error
    }
    return { result, awaitPush }
  } catch (error) {
    stop.abort()
    await push.running
    throw error
  }
}
