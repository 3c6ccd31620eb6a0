/**
 * Sends the batches of a plan until each is settled, parked or blocked. Any number of processes may push one plan together: they
 * share the leases in the batch table, and one rate budget.
 */
import pLimit from 'p-limit'
import type { Operation } from '../../destinations/destination.ts'
import { destinationOf } from '../../destinations/index.ts'
import { claimBatches, findOpenWork, type BatchScope, type ClaimedBatch } from '../../db/batches/claim.ts'
import { LeaseLost, renewLeases } from '../../db/batches/lease.ts'
import { recoverBatches, resetAttempts, unparkBatches } from '../../db/batches/release.ts'
import { erasurePhase } from '../../db/batches/states.ts'
import type { Database } from '../../db/database.ts'
import { pauseDestination, resumeDestination } from '../../db/destinations.ts'
import { entryOutcome, usersOf } from '../../db/entries/read.ts'
import type { Row } from '../../db/row.ts'
import { deadWorkers } from '../../db/workers.ts'
import { Allowance } from './allowance.ts'
import { crashPoint } from '../crashPoint.ts'
import type { EngineDeps } from '../engine.ts'
import { ClaimedBatches } from './claimedBatches.ts'
import { Pace } from './pace.ts'
import { recordAnswer } from './recordAnswer.ts'
import type { Progress } from '../../model/report.ts'
import { isUnreachable, sendBatch, type FindOptedOut, type Sending } from './send.ts'

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
 * Time for attempts in flight to end after a signal, in milliseconds. Then they are abandoned as ambiguous (docs/guarantees.md).
 */
const drainMs = 15_000
/** Interval of polling while batches wait for other processes or for their next attempt. */
const pollMs = 250
/** Maximum number of answers recorded concurrently. Each uses a connection of the pool. */
const recordAtOnce = 4

/**
 * Sends the batches of the plan. Returns if nothing more can be sent now: each batch is settled or parked, the destination is
 * paused, updates wait for a parked delete, or the signal aborted. `planCounts` then returns the outcomes.
 */
export async function pushPlan(deps: EngineDeps, planId: string, options: PushOptions = {}): Promise<void> {
  const [plan] = await deps.db.query<Row<'plan', 'destination_id' | 'run_id'>>('select destination_id, run_id from plan where id = $1', [
    planId,
  ])
  if (plan === undefined) throw new Error(`plan ${planId} is not stored`)
  await sendOpenBatches(deps, { planId, fence: deps.service }, plan.destination_id, Number(plan.run_id), options)
}

/**
 * Settles open batches of earlier runs before a newer plan is made. Releases the batches of expired workers, in all destinations of this
 * environment. Then sends the open batches of the destination that were sent at least once again, byte for byte, except people whom
 * `options.findOptedOut` finds. Ends any pause of the destination, because this is the next attempt.
 */
export async function settleLeftovers(
  deps: EngineDeps,
  destinationId: number,
  options: PushOptions & { readonly runId: number },
): Promise<void> {
  await recoverBatches(deps.db, await deadWorkers(deps.db), deps.settings.horizonMs, deps.service)
  await resumeDestination(deps.db, destinationId)
  await resetAttempts(deps.db, destinationId)
  await unparkBatches(deps.db, destinationId, deps.settings.maxAttempts)
  crashPoint('settle.opened')
  await sendOpenBatches(deps, { leftoversOf: destinationId, fence: deps.service }, destinationId, options.runId, options)
}

/**
 * Sends the deletes of an erasure in one audience: each delete twice, the second time one horizon after the first. Returns if all are settled, or
 * if nothing more can be sent now; the next run of the audience sends the open deletes.
 */
export async function pushErasure(deps: EngineDeps, erasure: number, audience: number, options: PushOptions = {}): Promise<void> {
  const [first] = await deps.db.query<Row<'plan', 'run_id'>>(
    `select p.run_id from erasure_delete d join batch b on b.id = d.batch_id join plan p on p.id = b.plan_id
     where d.erasure_id = $1 and b.destination_id = $2 limit 1`,
    [erasure, audience],
  )
  if (first === undefined) return
  await resumeDestination(deps.db, audience)
  await sendOpenBatches(deps, { erasure, audience, fence: deps.service }, audience, Number(first.run_id), options)
}

/** Number of products or users of a plan by outcome. */
export interface PlanCounts {
  readonly confirmed: number
  readonly refused: number
  readonly ambiguous: number
  readonly pending: number
  /** Number of attempts of the plan's batches. */
  readonly requests: number
}

/**
 * Counts products and users of a plan by outcome. The four outcomes add up to the planned number. Entries that were removed from a batch
 * count as pending (docs/guarantees.md#nothing-lost).
 */
export async function planCounts(db: Pick<Database, 'query'>, planId: string): Promise<PlanCounts> {
  const [row] = await db.query<PlanCounts & Record<string, number>>(
    `select coalesce(sum(e.users) filter (where o.outcome = 'confirmed'), 0)::int as confirmed,
       coalesce(sum(e.users) filter (where o.outcome = 'refused'), 0)::int as refused,
       coalesce(sum(e.users) filter (where o.outcome = 'ambiguous' or (o.outcome = 'pending' and b.status in ('ambiguous', 'in_flight'))), 0)::int as ambiguous,
       coalesce(sum(e.users) filter (where o.outcome = 'superseded' or (o.outcome = 'pending' and b.status not in ('ambiguous', 'in_flight'))), 0)::int as pending,
       (select count(*)::int from attempt a join batch t on t.id = a.batch_id where t.plan_id = $1) as requests
     -- Leaves out deletes of members that were suppressed while their update was in flight (removeEntries.ts): the plan did not have
     -- them.
     from batch b cross join ${usersOf('b')} e cross join lateral (select ${entryOutcome} as outcome) o left join batch p on p.id = b.parent_id
     where b.plan_id = $1 and (p.operation is null or p.operation = b.operation)`,
    [planId],
  )
  return {
    confirmed: row?.confirmed ?? 0,
    refused: row?.refused ?? 0,
    ambiguous: row?.ambiguous ?? 0,
    pending: row?.pending ?? 0,
    requests: row?.requests ?? 0,
  }
}

/**
 * Claims and sends the open batches in `scope` until nothing more can be sent.
 *
 * @throws the first error of any batch, once all have ended
 */
async function sendOpenBatches(
  deps: EngineDeps,
  scope: BatchScope,
  destinationId: number,
  runId: number,
  options: PushOptions,
): Promise<void> {
  const { db, clock, service, settings } = deps
  const { growing } = options
  if (growing === undefined && isIdle(await findOpenWork(db, scope))) return
  const signal = AbortSignal.any([deps.signal, options.signal].filter((signal) => signal !== undefined))
  const stop = new AbortController()
  const hardStop = new AbortController()
  const progress = await openProgress(deps, scope, options)
  const sending = await openSending(deps, destinationId, runId, {
    signal: AbortSignal.any([signal, stop.signal]),
    hardStop: hardStop.signal,
    findOptedOut: options.findOptedOut,
    onWaiting: (why) => progress.waiting(why),
  })
  const claims = new ClaimedBatches(settings.bytesInHand)
  const record = pLimit(recordAtOnce)
  const running = new Set<Promise<void>>()
  let failure: unknown
  let wake = Promise.withResolvers<void>()
  const start = (batch: ClaimedBatch) => {
    let stage: 'under way' | 'answered' = 'under way'
    claims.claimed(batch)
    const sendAndRecord = async () => {
      const answered = await sendBatch(sending, batch)
      if (answered === undefined) return
      // The slot is free for the next request while the answer is recorded.
      stage = 'answered'
      claims.answered()
      wake.resolve()
      const { done } = await record(() => recordAnswer(sending, answered))
      if (done > 0) progress.add(done)
    }
    const task = sendAndRecord()
      .catch((error: unknown) => {
        if (error instanceof LeaseLost)
          deps.log.warn({ batch: batch.id }, 'this batch was recovered or claimed by another process; this answer is dropped')
        else failure ??= error
      })
      .finally(() => {
        claims.released(batch, stage)
        running.delete(task)
        wake.resolve()
      })
    running.add(task)
  }
  // Runs on the event loop that sends, so that a process whose loop is blocked loses its leases (docs/guarantees.md).
  const heartbeat = setInterval(() => {
    renewLeases(db, deps.workerId, settings.leaseMs, claims.ids).catch(() => deps.log.warn({}, 'the leases could not be renewed'))
  }, settings.heartbeatMs)
  const drain = () => setTimeout(() => hardStop.abort(), drainMs).unref()
  signal.addEventListener('abort', drain, { once: true })

  try {
    let recoveredAt = clock.monotonic()
    while (failure === undefined && !sending.signal.aborted) {
      wake = Promise.withResolvers<void>()
      // Claims nothing if the service is unreachable, even if answers wait to be recorded. Otherwise a service that is down would
      // be probed forever.
      const count = isUnreachable(sending.pace) ? 0 : claims.room(sending.pace.slots)
      const claimed = count > 0 ? await claimBatches(db, scope, { workerId: deps.workerId, leaseMs: settings.leaseMs, count }) : []
      crashPoint('push.batches_claimed')
      if (claimed.length < count) sending.pace.starved()
      for (const batch of claimed) start(batch)
      if (claimed.length > 0 && claims.room(sending.pace.slots) > 0) continue
      if (claims.count > 0) {
        await Promise.race([wake.promise, clock.sleep(pollMs, sending.signal)])
        continue
      }
      if (isUnreachable(sending.pace)) {
        await pauseDestination(db, destinationId, `SERVICE_UNREACHABLE: ${deps.service.origin} stopped answering`)
        break
      }
      // Read first: if a part is stored after the search for batches, `isComplete` must still be false here.
      const { isComplete, changed } = growing ?? { isComplete: true, changed: undefined }
      const open = await findOpenWork(db, scope)
      if (isIdle(open)) {
        if (isComplete || open.paused) break
        await Promise.race([changed, clock.sleep(pollMs, sending.signal)])
        continue
      }
      if (open.inFlight > 0 && clock.monotonic() - recoveredAt > 1_000) {
        recoveredAt = clock.monotonic()
        await recoverBatches(db, await deadWorkers(db), settings.horizonMs, service)
      }
      const waitMs = Math.max(10, Math.min(pollMs, Math.max(open.waitMs, sending.pace.stillMs)))
      if (sending.pace.failuresInRow > 1)
        progress.waiting(`service down (${deps.service.origin}), retrying in ${Math.ceil(sending.pace.stillMs / 1000)} s`)
      await clock.sleep(open.waiting > 0 ? waitMs : pollMs, sending.signal)
    }
  } finally {
    if (failure !== undefined) stop.abort()
    await Promise.allSettled(running)
    clearInterval(heartbeat)
    signal.removeEventListener('abort', drain)
  }
  if (failure !== undefined) throw failure instanceof Error ? failure : new Error(String(failure))
}

/** Returns true if no batch is in flight or may be sent. */
function isIdle(open: { readonly inFlight: number; readonly waiting: number; readonly paused: boolean }): boolean {
  return open.inFlight === 0 && (open.waiting === 0 || open.paused)
}

/** Loads the destination, and opens the allowances and the pace of a push. */
async function openSending(
  deps: EngineDeps,
  destinationId: number,
  runId: number,
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
    state: { refusals: 0, unauthorizedAtMs: undefined, trustPointers: true },
  }
}

interface PushProgress {
  /** Adds finished operations. */
  readonly add: (done: number) => void
  /** Shows the reason of a wait, beside the progress. */
  readonly waiting: (why: string) => void
}

/** Starts the progress of a push: counts its operations and reports the settled ones. */
async function openProgress(deps: EngineDeps, scope: BatchScope, options: PushOptions): Promise<PushProgress> {
  const onProgress = options.onProgress ?? deps.onProgress
  if (onProgress === undefined) return { add: () => undefined, waiting: () => undefined }
  const stage = 'leftoversOf' in scope ? 'settle' : 'push'
  const [row] = await deps.db.query<{ total: number; open: number }>(
    `select coalesce(sum(entry_count), 0)::int as total, coalesce(sum(entry_count) filter (where status in ('pending', 'ambiguous', 'in_flight')), 0)::int as open
     from batch where ${'planId' in scope ? `plan_id = $1 and phase <> ${erasurePhase}` : 'erasure' in scope ? `id in (select batch_id from erasure_delete where erasure_id = $1) and destination_id = ${scope.audience}` : `destination_id = $1::int and (status in ('ambiguous', 'in_flight') or (status = 'pending' and attempts > 0))`}`,
    ['planId' in scope ? scope.planId : 'erasure' in scope ? scope.erasure : scope.leftoversOf],
  )
  const total = options.growing?.operations ?? row?.total ?? 0
  let done = (row?.total ?? 0) - (row?.open ?? 0)
  const report = (waiting?: string) =>
    onProgress({ stage, done: Math.min(done, total), total, ...(waiting === undefined ? {} : { waiting }) })
  report()
  return {
    add(count) {
      done += count
      report()
    },
    waiting: report,
  }
}
