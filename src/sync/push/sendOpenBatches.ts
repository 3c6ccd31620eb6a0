/** Claims and sends batches, and records their answers, until nothing more can be sent. */
import pLimit from 'p-limit'
import type { Operation } from '../../destinations/destination.ts'
import { destinationOf } from '../../destinations/index.ts'
import { claimBatches, findOpenWork, isIdle, type BatchScope, type ClaimedBatch, type OpenWork } from '../../db/batches/claim.ts'
import { LeaseLost, renewLeases } from '../../db/batches/lease.ts'
import { recoverBatches, shortenFalseDeleteWaits } from '../../db/batches/release.ts'
import { openConnections } from '../../db/database.ts'
import { pauseDestination } from '../../db/destinations.ts'
import type { DbRow } from '../../db/row.ts'
import { findEndedWorkers } from '../../db/workers.ts'
import type { Progress } from '../../model/report.ts'
import { crashPoint } from '../crashPoint.ts'
import { maxParallelRecordings, type EngineDeps } from '../engine.ts'
import { Allowance } from './sharedRateLimit.ts'
import { ClaimLimit } from './claimLimit.ts'
import { Pace, unreachableAfter } from './pace.ts'
import { openProgress, type PushProgress } from './pushProgress.ts'
import { recordAnswer } from './recordAnswer.ts'
import { sendBatch, type FindOptedOut, type PushContext } from './send.ts'

export interface PushOptions {
  /** Stops the push, as `EngineDeps.signal` does. */
  readonly signal?: AbortSignal
  /** Called instead of `EngineDeps.onProgress`. */
  readonly onProgress?: (progress: Progress) => void
  /** Finds the people who opted out after a plan was made. Absent if the sources were not read since. */
  readonly findOptedOut?: FindOptedOut
  /**
   * True if the caller helps a run of another process. Then no batch is claimed after the end of that run: the next run may read an opt-out
   * (docs/guarantees.md#a-no-is-never-sent).
   */
  readonly isHelper?: boolean
  /** Present if later parts of the plan are still being planned (docs/decisions/first-load-in-parts.md). */
  readonly growing?: GrowingPlan
}

/** Plan whose batches are sent while its later parts are being planned. */
export interface GrowingPlan {
  /** Estimated number of operations of the whole plan. */
  readonly operations: number
  readonly isComplete: boolean
  /** Resolves when the next part is stored, or the plan is complete. */
  readonly changed: Promise<void>
}

/** Time that attempts in flight have after a signal, until they are abandoned as ambiguous (docs/schedules.md#shutdown-and-crashes). */
const drainMs = 15_000
/** Interval of polling while batches wait for other processes or for their next attempt. */
const pollMs = 250
/** Minimum time between two recoveries of the batches of expired workers. */
const recoverEveryMs = 1_000

/** Batches that a push sends, their destination, and the run of the attempts. */
export interface PushInput {
  readonly scope: BatchScope
  readonly destinationId: number
  /** Run with which the attempts are stored; for an apply, the run that made the plan. */
  readonly runId: number
}

/**
 * Sends the open batches until nothing more can be sent now.
 *
 * @throws the first error, after all attempts have ended. A `LeaseLost` of a batch is logged instead
 */
export async function sendOpenBatches(deps: EngineDeps, push: PushInput, options: PushOptions): Promise<void> {
  // Aborted when the process or the caller stops the push.
  const signal = AbortSignal.any([deps.signal, options.signal].filter((signal) => signal !== undefined))
  // Aborted by the loop after an error: no new attempts.
  const stop = new AbortController()
  // Aborted `drainMs` after `signal`: attempts in flight are abandoned.
  const hardStop = new AbortController()
  const progress = await openProgress(deps.db, push.scope, options.growing?.operations, options.onProgress ?? deps.onProgress)
  const context = await createContext(deps, push, {
    signal: AbortSignal.any([signal, stop.signal]),
    hardStop: hardStop.signal,
    findOptedOut: options.findOptedOut,
    onWait: progress.reportWait,
  })
  const drain = () => setTimeout(() => hardStop.abort(), drainMs).unref()
  signal.addEventListener('abort', drain, { once: true })
  try {
    await new PushLoop(context, push, progress, options.growing).run(() => stop.abort())
    await progress.recount('end')
  } finally {
    signal.removeEventListener('abort', drain)
  }
}

/** Sends each claimed batch in a task of its own. */
class PushLoop {
  readonly #context: PushContext
  readonly #push: PushInput
  readonly #progress: PushProgress
  readonly #growing: GrowingPlan | undefined
  readonly #claims: ClaimLimit
  readonly #recordingLimit = pLimit(maxParallelRecordings)
  readonly #running = new Set<Promise<void>>()
  /** Resolves when a slot or a batch is released. */
  #released = Promise.withResolvers<void>()
  /**
   * True if the last claim got all batches that could be sent. Then a free slot is no reason for another claim, only a recorded answer is.
   * A claim takes Postgres 2 ms.
   */
  #allClaimed = false
  /** Number of connections that the pool was asked to open for recording answers. The pool opens the first one anyway. */
  #requestedConnections = 1
  #failure: unknown
  /** Time of the last recovery of batches, by the monotonic clock; at first, the start of the loop. */
  #recoveredAt: number

  constructor(context: PushContext, push: PushInput, progress: PushProgress, growing: GrowingPlan | undefined) {
    this.#context = context
    this.#push = push
    this.#progress = progress
    this.#growing = growing
    this.#claims = new ClaimLimit(context.deps.settings.maxBytesInMemory)
    this.#recoveredAt = context.deps.clock.monotonic()
  }

  /**
   * Sends until nothing more can be sent, the signal aborts, or an error occurs. `stop`: called after an error, to end the waits of all
   * batches.
   */
  async run(stop: () => void): Promise<void> {
    const { db, log, settings, workerId } = this.#context.deps
    // The timer is on the event loop that sends, so that a process whose loop is blocked loses its leases (docs/guarantees.md#one-holder).
    const heartbeat = setInterval(() => {
      renewLeases(db, workerId, settings.leaseMs, this.#claims.ids).catch(() => log.warn({}, 'the leases could not be renewed'))
    }, settings.heartbeatMs)
    try {
      while (this.#failure === undefined && !this.#context.signal.aborted) {
        this.#released = Promise.withResolvers<void>()
        if (await this.#claimAndSend()) continue
        if (this.#claims.count > 0) await this.#sleepUntil(this.#released.promise)
        else if ((await this.#endOrWait()) === 'ended') break
      }
    } catch (error) {
      this.#failure ??= error
    }
    if (this.#failure !== undefined) stop()
    await Promise.allSettled(this.#running)
    clearInterval(heartbeat)
    if (this.#failure !== undefined) throw this.#failure instanceof Error ? this.#failure : new Error(String(this.#failure))
  }

  /** Claims batches and starts to send them. Returns true if more can be claimed immediately. */
  async #claimAndSend(): Promise<boolean> {
    const { deps, pace } = this.#context
    // Claims nothing if the service is unreachable, because `#endOrWait` ends the push only while no batch is claimed.
    const count = pace.isUnreachable ? 0 : this.#claims.claimableCount(pace.slots)
    const { leaseMs } = deps.settings
    const claimed = count > 0 ? await claimBatches(deps.db, this.#push.scope, { workerId: deps.workerId, leaseMs, count }) : []
    crashPoint('push.batches_claimed')
    if (claimed.length < count) pace.restartMeasurement()
    for (const batch of claimed) this.#start(batch)
    this.#openConnections()
    this.#allClaimed = claimed.length < count
    return claimed.length > 0 && !this.#allClaimed && this.#claims.claimableCount(pace.slots) > 0
  }

  /**
   * Opens connections for recording answers while the requests are in flight. If two connections were opened only after the answers, the
   * updates that wait for deletes were sent 40 ms later.
   */
  #openConnections(): void {
    const needed = Math.min(this.#claims.count, maxParallelRecordings)
    if (needed <= this.#requestedConnections) return
    this.#requestedConnections = needed
    // One more, for claims.
    void openConnections(this.#context.deps.db, needed + 1)
  }

  #start(batch: ClaimedBatch): void {
    this.#claims.add(batch)
    const sendAndRecord = async () => {
      const attempt = await sendBatch(this.#context, batch)
      if (attempt === undefined) return
      // The slot is free for the next request while the answer is recorded.
      this.#claims.freeSlot(batch)
      if (!this.#allClaimed) this.#released.resolve()
      const { done } = await this.#recordingLimit(() => recordAnswer(this.#context, attempt))
      if (done > 0) this.#progress.add(done)
      await this.#progress.recount()
    }
    const task = sendAndRecord()
      .catch((error: unknown) => {
        if (error instanceof LeaseLost)
          this.#context.deps.log.warn({ batch: batch.id }, 'this batch was recovered or claimed by another process; this answer is dropped')
        else this.#failure ??= error
      })
      .finally(() => {
        this.#claims.remove(batch)
        this.#running.delete(task)
        this.#released.resolve()
      })
    this.#running.add(task)
  }

  /**
   * Ends the push if nothing more can be sent now; pauses the destination first if the service is unreachable. Otherwise waits for the next
   * attempt, other processes, or the next part of the plan.
   */
  async #endOrWait(): Promise<'ended' | 'waited'> {
    const { db, clock, service, settings } = this.#context.deps
    const { scope, destinationId } = this.#push
    if (this.#context.pace.isUnreachable) {
      const text = `${unreachableAfter} attempts in a row got no usable answer from ${service.origin}`
      await pauseDestination(db, destinationId, { code: 'SERVICE_UNREACHABLE', text })
      return 'ended'
    }
    // `isComplete` is read before the query. If it were read after it, a last part that is stored between the two would not be sent.
    const nextPart = this.#growing?.isComplete === false ? this.#growing.changed : undefined
    const work = await findOpenWork(db, scope)
    if (isIdle(work)) {
      if (nextPart === undefined || work.paused) return 'ended'
      await this.#sleepUntil(nextPart)
      return 'waited'
    }
    if (work.waitMs > settings.horizonMs) await shortenFalseDeleteWaits(db, destinationId, settings.horizonMs)
    if (work.inFlight > 0 && clock.monotonic() - this.#recoveredAt > recoverEveryMs) await this.#recover()
    await this.#progress.recount()
    await this.#sleepUntilDue(work)
    return 'waited'
  }

  async #recover(): Promise<void> {
    const { db, clock, service, settings } = this.#context.deps
    this.#recoveredAt = clock.monotonic()
    await recoverBatches(db, await findEndedWorkers(db), settings.horizonMs, service)
  }

  /** Waits until a batch may be sent again, or another process may have ended one; at most `pollMs`. */
  async #sleepUntilDue({ inFlight, waiting, waitMs }: OpenWork): Promise<void> {
    const { deps, pace, signal } = this.#context
    if (pace.failuresInRow > 1)
      this.#progress.reportWait(`service down (${deps.service.origin}), retrying in ${Math.ceil(pace.backoffLeftMs / 1000)} s`)
    else if (inFlight === 0 && waitMs > 1_000) {
      const seconds = Math.ceil(waitMs / 1000)
      this.#progress.reportWait(
        'erasure' in this.#push.scope
          ? `the deletes are sent again in ${seconds} s, because an earlier request may arrive until then`
          : `next attempt in ${seconds} s`,
      )
    }
    const dueInMs = Math.max(waitMs, pace.backoffLeftMs)
    await deps.clock.sleep(waiting > 0 ? Math.max(10, Math.min(pollMs, dueInMs)) : pollMs, signal)
  }

  /** Waits for the event, at most `pollMs`. Clears the timer, because a timer would keep a finished command alive. */
  async #sleepUntil(event: Promise<void>): Promise<void> {
    const { deps, signal } = this.#context
    const woken = new AbortController()
    await Promise.race([event, deps.clock.sleep(pollMs, AbortSignal.any([signal, woken.signal]))])
    woken.abort()
  }
}

async function createContext(
  deps: EngineDeps,
  { destinationId, runId }: PushInput,
  options: Pick<PushContext, 'signal' | 'hardStop' | 'findOptedOut' | 'onWait'>,
): Promise<PushContext> {
  const { db, clock, service, settings } = deps
  const [row] = await db.query<DbRow<'destination', 'kind' | 'account_id' | 'target_id'>>(
    'select kind, account_id, target_id from destination where id = $1',
    [destinationId],
  )
  if (row === undefined) throw new Error(`destination ${destinationId} is not stored`)
  const destination = destinationOf(row.kind)
  const target = { accountId: row.account_id === '' ? null : row.account_id, targetId: row.target_id, version: service.version }
  const openAllowance = (op: Operation) => Allowance.open(deps, destination.limitClass(op))
  const upsert = await openAllowance('upsert')
  const allowances = {
    upsert,
    delete: destination.limitClass('delete') === destination.limitClass('upsert') ? upsert : await openAllowance('delete'),
  }
  return {
    ...options,
    deps,
    destination,
    target,
    allowances,
    pace: new Pace(clock, settings, upsert),
    sender: { workerId: deps.workerId, runId, horizonMs: settings.horizonMs },
    state: {
      refusals: 0,
      unauthorizedAtMs: undefined,
      refusedCredentials: undefined,
      catalogSeenAtMs: undefined,
      catalogCheck: undefined,
      trustPointers: true,
    },
  }
}
