/** Claims and sends batches, and records their answers, until nothing more can be sent. */
import pLimit from 'p-limit'
import type { Operation } from '../../destinations/destination.ts'
import { destinationOf } from '../../destinations/index.ts'
import { claimBatches, findOpenWork, type BatchScope, type ClaimedBatch, type OpenWork } from '../../db/batches/claim.ts'
import { LeaseLost, renewLeases } from '../../db/batches/lease.ts'
import { recoverBatches } from '../../db/batches/release.ts'
import { openConnections } from '../../db/database.ts'
import { pauseDestination } from '../../db/destinations.ts'
import type { Row } from '../../db/row.ts'
import { findEndedWorkers } from '../../db/workers.ts'
import type { Progress } from '../../model/report.ts'
import { crashPoint } from '../crashPoint.ts'
import type { EngineDeps } from '../engine.ts'
import { Allowance } from './allowance.ts'
import { ClaimedBatches } from './claimedBatches.ts'
import { Pace, unreachableAfter } from './pace.ts'
import { openProgress, type PushProgress } from './pushProgress.ts'
import { recordAnswer } from './recordAnswer.ts'
import { sendBatch, type FindOptedOut, type Sending } from './send.ts'

/** Options of a push. */
export interface PushOptions {
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
  /** Set if the sources were read after the plans of the batches were made. */
  readonly findOptedOut?: FindOptedOut
  /** Set while later parts of the plan are still being stored. */
  readonly growing?: GrowingPlan
}

/** Plan whose batches are sent while its later parts are being planned. */
export interface GrowingPlan {
  /** Estimated number of operations of the whole plan. */
  readonly operations: number
  readonly isComplete: boolean
  /** Resolves with the next part, or when the plan is complete. */
  readonly changed: Promise<void>
}

/**
 * Time for attempts in flight to end after a signal, in milliseconds. Then they are abandoned as ambiguous
 * (docs/schedules.md#shutdown-and-crashes).
 */
const drainMs = 15_000
/** Interval of polling while batches wait for other processes or for their next attempt. */
const pollMs = 250
/** Maximum number of answers recorded concurrently. Each uses a connection of the pool. */
const recordAtOnce = 4

/** Batches of one destination that a push sends for a run. */
interface OpenBatches {
  readonly scope: BatchScope
  readonly destinationId: number
  readonly runId: number
}

/**
 * Sends the open batches until nothing more can be sent now.
 *
 * @throws the first error of a batch, except `LeaseLost`, or of a statement of the loop. All attempts have ended before
 */
export async function sendOpenBatches(deps: EngineDeps, batches: OpenBatches, options: PushOptions): Promise<void> {
  if (options.growing === undefined && isIdle(await findOpenWork(deps.db, batches.scope))) return
  const signal = AbortSignal.any([deps.signal, options.signal].filter((signal) => signal !== undefined))
  const stop = new AbortController()
  const hardStop = new AbortController()
  const progress = await openProgress(deps.db, batches.scope, options.growing?.operations, options.onProgress ?? deps.onProgress)
  const sending = await openSending(deps, batches, {
    signal: AbortSignal.any([signal, stop.signal]),
    hardStop: hardStop.signal,
    findOptedOut: options.findOptedOut,
    onWaiting: (why) => progress.waiting(why),
  })
  const drain = () => setTimeout(() => hardStop.abort(), drainMs).unref()
  signal.addEventListener('abort', drain, { once: true })
  try {
    await new PushLoop(sending, batches, progress, options.growing).run(() => stop.abort())
    await progress.recount('end')
  } finally {
    signal.removeEventListener('abort', drain)
  }
}

/** Claims batches, sends each in a task of its own, and records their answers. */
class PushLoop {
  readonly #sending: Sending
  readonly #batches: OpenBatches
  readonly #progress: PushProgress
  readonly #growing: GrowingPlan | undefined
  readonly #claims: ClaimedBatches
  readonly #record = pLimit(recordAtOnce)
  readonly #running = new Set<Promise<void>>()
  /** Resolves when a slot or a batch is released. */
  #released = Promise.withResolvers<void>()
  /** Number of connections that were opened to record answers. */
  #connections = 1
  #failure: unknown
  #recoveredAt: number

  constructor(sending: Sending, batches: OpenBatches, progress: PushProgress, growing: GrowingPlan | undefined) {
    this.#sending = sending
    this.#batches = batches
    this.#progress = progress
    this.#growing = growing
    this.#claims = new ClaimedBatches(sending.deps.settings.bytesInHand)
    this.#recoveredAt = sending.deps.clock.monotonic()
  }

  /** Sends until nothing more can be sent, the signal aborts, or a batch or a claim throws. `stop`: ends the waits of the other batches. */
  async run(stop: () => void): Promise<void> {
    const { db, log, settings, workerId } = this.#sending.deps
    // The timer is on the event loop that sends, so that a process whose loop is blocked loses its leases (docs/guarantees.md#one-holder).
    const heartbeat = setInterval(() => {
      renewLeases(db, workerId, settings.leaseMs, this.#claims.ids).catch(() => log.warn({}, 'the leases could not be renewed'))
    }, settings.heartbeatMs)
    try {
      while (this.#failure === undefined && !this.#sending.signal.aborted) {
        this.#released = Promise.withResolvers<void>()
        if (await this.#claim()) continue
        if (this.#claims.count > 0) await this.#sleepUntil(this.#released.promise)
        else if (await this.#hasEnded()) break
      }
    } catch (error) {
      this.#failure ??= error
    }
    if (this.#failure !== undefined) stop()
    await Promise.allSettled(this.#running)
    clearInterval(heartbeat)
    if (this.#failure !== undefined) throw this.#failure instanceof Error ? this.#failure : new Error(String(this.#failure))
  }

  /** Claims batches and starts to send them. Returns true if more may be claimed immediately. */
  async #claim(): Promise<boolean> {
    const { deps, pace } = this.#sending
    // Claims nothing if the service is unreachable, even if answers wait to be recorded. Otherwise a service that is down would
    // be probed forever.
    const count = pace.isUnreachable ? 0 : this.#claims.room(pace.slots)
    const { leaseMs } = deps.settings
    const claimed = count > 0 ? await claimBatches(deps.db, this.#batches.scope, { workerId: deps.workerId, leaseMs, count }) : []
    crashPoint('push.batches_claimed')
    if (claimed.length < count) pace.starved()
    for (const batch of claimed) this.#start(batch)
    this.#openConnections()
    return claimed.length > 0 && this.#claims.room(pace.slots) > 0
  }

  /**
   * Opens the connections that record answers, once several requests are in flight. They open while the service works. Opened on demand,
   * two of them delayed the requests that follow the deletes of a plan by 40 ms.
   */
  #openConnections(): void {
    const needed = Math.min(this.#claims.count, recordAtOnce)
    if (needed <= this.#connections) return
    this.#connections = needed
    void openConnections(this.#sending.deps.db, this.#connections + 1)
  }

  #start(batch: ClaimedBatch): void {
    this.#claims.claimed(batch)
    const sendAndRecord = async () => {
      const answered = await sendBatch(this.#sending, batch)
      if (answered === undefined) return
      // The slot is free for the next request while the answer is recorded.
      this.#claims.answered(batch)
      this.#released.resolve()
      const { done } = await this.#record(() => recordAnswer(this.#sending, answered))
      if (done > 0) this.#progress.add(done)
      await this.#progress.recount()
    }
    const task = sendAndRecord()
      .catch((error: unknown) => {
        if (error instanceof LeaseLost)
          this.#sending.deps.log.warn({ batch: batch.id }, 'this batch was recovered or claimed by another process; this answer is dropped')
        else this.#failure ??= error
      })
      .finally(() => {
        this.#claims.released(batch)
        this.#running.delete(task)
        this.#released.resolve()
      })
    this.#running.add(task)
  }

  /** Returns true if nothing more can be sent now. Otherwise waits for the next attempt, other processes, or the next part of the plan. */
  async #hasEnded(): Promise<boolean> {
    const { db, clock, service } = this.#sending.deps
    const { scope, destinationId } = this.#batches
    if (this.#sending.pace.isUnreachable) {
      const text = `${unreachableAfter} attempts in a row got no usable answer from ${service.origin}`
      await pauseDestination(db, destinationId, { code: 'SERVICE_UNREACHABLE', text })
      return true
    }
    // Read first: if a part is stored after the search for batches, `isComplete` must still be false here.
    const { isComplete, changed } = this.#growing ?? { isComplete: true, changed: undefined }
    const open = await findOpenWork(db, scope)
    if (isIdle(open)) {
      if (isComplete || open.paused) return true
      await this.#sleepUntil(changed)
      return false
    }
    if (open.inFlight > 0 && clock.monotonic() - this.#recoveredAt > 1_000) await this.#recover()
    await this.#progress.recount()
    await this.#sleepUntilDue(open)
    return false
  }

  /** Recovers the batches of expired workers. */
  async #recover(): Promise<void> {
    const { db, clock, service, settings } = this.#sending.deps
    this.#recoveredAt = clock.monotonic()
    await recoverBatches(db, await findEndedWorkers(db), settings.horizonMs, service)
  }

  /** Waits until a batch may be sent again, or another process may have ended one; at most `pollMs`. */
  async #sleepUntilDue(open: OpenWork): Promise<void> {
    const { deps, pace, signal } = this.#sending
    if (pace.failuresInRow > 1)
      this.#progress.waiting(`service down (${deps.service.origin}), retrying in ${Math.ceil(pace.backoffLeftMs / 1000)} s`)
    else if (open.inFlight === 0 && open.waitMs > 1_000) {
      const seconds = Math.ceil(open.waitMs / 1000)
      this.#progress.waiting(
        'erasure' in this.#batches.scope
          ? `the deletes are repeated in ${seconds} s, when no earlier request can arrive any more`
          : `next attempt in ${seconds} s`,
      )
    }
    const waitMs = Math.max(10, Math.min(pollMs, Math.max(open.waitMs, pace.backoffLeftMs)))
    await deps.clock.sleep(open.waiting > 0 ? waitMs : pollMs, signal)
  }

  /** Waits for the event, at most `pollMs`. Ends the timer with the event: otherwise it would keep a finished command alive, for 180 ms. */
  async #sleepUntil(event: Promise<void> | undefined): Promise<void> {
    const { deps, signal } = this.#sending
    const woken = new AbortController()
    await Promise.race([event, deps.clock.sleep(pollMs, AbortSignal.any([signal, woken.signal]))])
    woken.abort()
  }
}

/** Returns true if no batch is in flight or may be sent. */
function isIdle({ inFlight, waiting, paused }: OpenWork): boolean {
  return inFlight === 0 && (waiting === 0 || paused)
}

/** Loads the destination, and opens the allowances and the pace of a push. */
async function openSending(
  deps: EngineDeps,
  { destinationId, runId }: OpenBatches,
  options: {
    readonly signal: AbortSignal
    readonly hardStop: AbortSignal
    readonly findOptedOut: FindOptedOut | undefined
    readonly onWaiting: (why: string) => void
  },
): Promise<Sending> {
  const { db, clock, service, settings } = deps
  const [row] = await db.query<Row<'destination', 'kind' | 'account_id' | 'target_id'>>(
    'select kind, account_id, target_id from destination where id = $1',
    [destinationId],
  )
  if (row === undefined) throw new Error(`destination ${destinationId} is not stored`)
  const destination = destinationOf(row.kind)
  const target = { accountId: row.account_id === '' ? null : row.account_id, targetId: row.target_id, version: service.version }
  const open = (op: Operation) => Allowance.open(deps, destination.limitClass(op))
  const upsert = await open('upsert')
  const allowances = {
    upsert,
    delete: destination.limitClass('delete') === destination.limitClass('upsert') ? upsert : await open('delete'),
  }
  return {
    deps,
    destination,
    target,
    allowances,
    pace: new Pace(clock, settings, upsert),
    by: { workerId: deps.workerId, runId, horizonMs: settings.horizonMs },
    signal: options.signal,
    hardStop: options.hardStop,
    findOptedOut: options.findOptedOut,
    onWait: (ms) => options.onWaiting(`waiting for the rate limit until ${new Date(clock.now() + ms).toISOString().slice(0, 19)}Z`),
    state: { refusals: 0, unauthorizedAtMs: undefined, catalogSeenAtMs: undefined, trustPointers: true },
  }
}
