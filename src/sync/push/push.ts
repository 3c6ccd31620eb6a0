/**
 * Push: every batch of a plan goes out until it is settled, parked or blocked. Any number of processes may push one plan
 * at once; the batch table says who holds what, one budget says when.
 */
import pLimit from 'p-limit'
import { destinationOf } from '../../destinations/index.ts'
import type { Destination } from '../../destinations/destination.ts'
import {
  claimBatches,
  findOpenWork,
  LeaseLost,
  pauseDestination,
  renewLeases,
  rescueBatches,
  resetAttempts,
  resumeDestination,
  unparkBatches,
  type BatchScope,
  type ClaimedBatch,
} from '../../store/batches.ts'
import type { Database } from '../../store/database.ts'
import { entryOutcome } from '../../store/outcomes.ts'
import { deadWorkers } from '../../store/workers.ts'
import { Allowance } from './allowance.ts'
import { crashPoint } from '../crashPoint.ts'
import type { EngineDeps } from '../engine.ts'
import { Pace } from './pace.ts'
import type { Progress } from '../report.ts'
import { isUnreachable, sendBatch, type Sending } from './send.ts'

export interface PushOptions {
  readonly signal?: AbortSignal
  readonly onProgress?: (progress: Progress) => void
}

/** Sendings under way get so long to end after the signal; then they are given up as ambiguous (SIGTERM, guarantees 3). */
const drainMs = 15_000
/** How often batches of others, and backoffs, are looked at again. */
const pollMs = 250
/** Batches taken by one statement. */
const claimAtOnce = 4

/**
 * Sends the plan's batches. Returns when none of them can get any further by waiting: each is settled or parked, or the
 * destination is paused, or Updates stand behind a parked Delete. What is left shows in `planBooks`.
 */
export async function pushPlan(deps: EngineDeps, planId: string, options: PushOptions = {}): Promise<void> {
  const [plan] = await deps.db.query<{ destination_id: number; run_id: string }>(
    'select destination_id, run_id from sluice.plan where id = $1',
    [planId],
  )
  if (plan === undefined) throw new Error(`plan ${planId} is not stored`)
  await drive(deps, { planId }, plan.destination_id, Number(plan.run_id), options)
}

/**
 * Settles what earlier runs left at a destination, before anything newer is planned: takes back what dead workers held,
 * sends ambiguous batches again byte for byte, and parked ones once more. Clears a pause, because this is the next try.
 */
export async function settleLeftovers(
  deps: EngineDeps,
  destinationId: number,
  options: PushOptions & { readonly runId: number },
): Promise<void> {
  await rescueBatches(deps.db, await deadWorkers(deps.db), deps.settings.horizonMs)
  await resumeDestination(deps.db, destinationId)
  await resetAttempts(deps.db, destinationId)
  await unparkBatches(deps.db, destinationId, deps.settings.maxAttempts)
  crashPoint('settle.opened')
  await drive(deps, { leftoversOf: destinationId }, destinationId, options.runId, options)
}

export interface PlanBooks {
  readonly confirmed: number
  readonly refused: number
  readonly ambiguous: number
  readonly pending: number
  /** Sendings of the plan's batches. */
  readonly requests: number
}

/** Products and users of a plan by outcome; the four sum up to what was planned, and what was cut out of a batch counts as pending (I2). */
export async function planBooks(db: Pick<Database, 'query'>, planId: string): Promise<PlanBooks> {
  const [row] = await db.query<PlanBooks & Record<string, number>>(
    `select coalesce(sum(e.users) filter (where o.outcome = 'confirmed'), 0)::int as confirmed,
       coalesce(sum(e.users) filter (where o.outcome = 'refused'), 0)::int as refused,
       coalesce(sum(e.users) filter (where o.outcome = 'ambiguous' or (o.outcome = 'pending' and b.status in ('ambiguous', 'in_flight'))), 0)::int as ambiguous,
       coalesce(sum(e.users) filter (where o.outcome = 'superseded' or (o.outcome = 'pending' and b.status not in ('ambiguous', 'in_flight'))), 0)::int as pending,
       (select count(*)::int from sluice.attempt a join sluice.batch t on t.id = a.batch_id where t.plan_id = $1) as requests
     -- The delete of somebody listed while their update was under way (suppression.ts) was never planned.
     from sluice.batch b join sluice.entry e on e.batch_id = b.id cross join lateral (select ${entryOutcome} as outcome) o left join sluice.batch p on p.id = b.parent_id
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

async function drive(deps: EngineDeps, scope: BatchScope, destinationId: number, runId: number, options: PushOptions): Promise<void> {
  const { db, clock, settings } = deps
  if (isIdle(await findOpenWork(db, scope))) return
  const signal = AbortSignal.any([deps.signal, options.signal].filter((one) => one !== undefined))
  const stop = new AbortController()
  const hardStop = new AbortController()
  const sending = await openSending(deps, destinationId, runId, {
    signal: AbortSignal.any([signal, stop.signal]),
    hardStop: hardStop.signal,
    onProgress: options.onProgress ?? deps.onProgress,
  })
  const progress = await openProgress(deps, scope, options)
  const limit = pLimit(settings.concurrency)
  const running = new Set<Promise<void>>()
  let failure: unknown
  const start = (batch: ClaimedBatch) => {
    const task = limit(async () => {
      const result = await sendBatch(sending, batch)
      if (result !== undefined && result.done > 0) progress.add(result.done)
    })
      .catch((error: unknown) => {
        if (error instanceof LeaseLost) deps.log.warn({ batch: batch.id }, 'another process took this batch over; its answer decides')
        else failure ??= error
      })
      .finally(() => running.delete(task))
    running.add(task)
  }
  // On the loop that sends: a process whose loop is blocked must lose its leases (guarantees 3).
  const heartbeat = setInterval(() => {
    renewLeases(db, deps.workerId, settings.leaseMs).catch(() => deps.log.warn({}, 'the leases could not be renewed'))
  }, settings.heartbeatMs)
  const drain = () => setTimeout(() => hardStop.abort(), drainMs).unref()
  signal.addEventListener('abort', drain, { once: true })

  try {
    let rescuedAt = clock.monotonic()
    while (failure === undefined && !sending.signal.aborted) {
      const free = Math.min(claimAtOnce, sending.pace.slots - running.size)
      const claimed = free > 0 ? await claimBatches(db, scope, { workerId: deps.workerId, leaseMs: settings.leaseMs, count: free }) : []
      crashPoint('push.batches_claimed')
      for (const batch of claimed) start(batch)
      if (claimed.length > 0 && sending.pace.slots > running.size) continue
      if (running.size > 0) {
        await Promise.race([...running, clock.sleep(pollMs, sending.signal)])
        continue
      }
      if (isUnreachable(sending.pace)) {
        await pauseDestination(db, destinationId, 'SERVICE_UNREACHABLE: the service did not answer any more')
        break
      }
      const open = await findOpenWork(db, scope)
      if (isIdle(open)) break
      if (open.inFlight > 0 && clock.monotonic() - rescuedAt > 1_000) {
        rescuedAt = clock.monotonic()
        await rescueBatches(db, await deadWorkers(db), settings.horizonMs)
      }
      const waitMs = Math.max(10, Math.min(pollMs, Math.max(open.waitMs, sending.pace.stillMs)))
      await clock.sleep(open.waiting > 0 ? waitMs : pollMs, sending.signal)
    }
  } finally {
    if (failure !== undefined) stop.abort()
    await Promise.allSettled(running)
    clearInterval(heartbeat)
    signal.removeEventListener('abort', drain)
  }
  // Kept from above: the first error of any batch, after all others came to rest.
  if (failure !== undefined) throw failure instanceof Error ? failure : new Error(String(failure))
}

function isIdle(open: { readonly inFlight: number; readonly waiting: number; readonly paused: boolean }): boolean {
  return open.inFlight === 0 && (open.waiting === 0 || open.paused)
}

async function openSending(
  deps: EngineDeps,
  destinationId: number,
  runId: number,
  options: {
    readonly signal: AbortSignal
    readonly hardStop: AbortSignal
    readonly onProgress: ((progress: Progress) => void) | undefined
  },
): Promise<Sending> {
  const { db, clock, service, settings } = deps
  const [row] = await db.query<{ kind: Destination['kind']; account_id: string; target_id: string }>(
    'select kind, account_id, target_id from sluice.destination where id = $1',
    [destinationId],
  )
  if (row === undefined) throw new Error(`destination ${destinationId} is not stored`)
  const destination = destinationOf(row.kind)
  const target = { accountId: row.account_id === '' ? null : row.account_id, targetId: row.target_id, version: service.version }
  const allowance = (op: 'upsert' | 'delete') => Allowance.open(db, clock, service.origin, destination.request(target, op).limitClass)
  const upsert = await allowance('upsert')
  const allowances = { upsert, delete: row.kind === 'catalog' ? await allowance('delete') : upsert }
  return {
    deps,
    destination,
    target,
    allowances,
    pace: new Pace(clock, settings, upsert),
    runId,
    signal: options.signal,
    hardStop: options.hardStop,
    onWait: (ms) =>
      options.onProgress?.({
        stage: 'push',
        done: 0,
        waiting: `waiting for the rate limit until ${new Date(clock.now() + ms).toISOString().slice(0, 19)}Z`,
      }),
    state: { refusals: 0, unauthorized: false, trustPointers: true },
  }
}

async function openProgress(deps: EngineDeps, scope: BatchScope, options: PushOptions): Promise<{ readonly add: (done: number) => void }> {
  const onProgress = options.onProgress ?? deps.onProgress
  if (onProgress === undefined) return { add: () => undefined }
  const stage = 'planId' in scope ? 'push' : 'settle'
  const [row] = await deps.db.query<{ total: number; open: number }>(
    `select coalesce(sum(entry_count), 0)::int as total, coalesce(sum(entry_count) filter (where status in ('pending', 'ambiguous', 'in_flight')), 0)::int as open
     from sluice.batch where ${'planId' in scope ? 'plan_id = $1' : `destination_id = $1::int and (status in ('ambiguous', 'in_flight') or (status = 'pending' and attempts > 0))`}`,
    ['planId' in scope ? scope.planId : scope.leftoversOf],
  )
  const total = row?.total ?? 0
  let done = total - (row?.open ?? 0)
  const tell = () => onProgress({ stage, done: Math.min(done, total), total })
  tell()
  return {
    add(count) {
      done += count
      tell()
    },
  }
}
