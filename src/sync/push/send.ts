/**
 * Sends one claimed batch: takes a grant, commits the attempt, sends the bytes and waits for the answer. The answer is recorded
 * separately (`recordAnswer.ts`), so that the next request does not wait for the database.
 */
import type { Destination, Target } from '../../destinations/destination.ts'
import type { Exchange } from '../../service/client/exchange.ts'
import { beginAttempt } from '../../db/attempts.ts'
import type { ClaimedBatch } from '../../db/batches/claim.ts'
import { releaseBatch } from '../../db/batches/release.ts'
import type { Queryable } from '../../db/queryable.ts'
import type { Allowance, Grant } from './sharedRateLimit.ts'
import { crashPoint } from '../crashPoint.ts'
import type { EngineDeps } from '../engine.ts'
import type { Pace } from './pace.ts'
import { splitFailingHalf } from './isolateRecord.ts'
import { supersedeExpired, type BatchSender } from './removeEntries.ts'
import { splitOffOptedOut, splitOffSuppressed } from './suppression.ts'

/** Dependencies and state that all batches of a push share. */
export interface PushContext {
  readonly deps: EngineDeps
  readonly destination: Destination
  readonly target: Target
  readonly allowances: Readonly<Record<'upsert' | 'delete', Allowance>>
  readonly pace: Pace
  readonly sender: BatchSender
  /** On abort: no new attempts. */
  readonly signal: AbortSignal
  /** On abort: attempts in flight are abandoned. */
  readonly hardStop: AbortSignal
  /** Undefined if the sources were not read after the plans of the batches were made. */
  readonly findOptedOut: FindOptedOut | undefined
  readonly onWait: (why: string) => void
  readonly state: PushState
}

/** Returns the places, ascending, of those entries of an update whose people opted out after the plan was made. */
export type FindOptedOut = (batch: Pick<ClaimedBatch, 'id' | 'destinationId'>) => Promise<readonly number[]>

/** State that the answers of one push change. */
export interface PushState {
  /**
   * Number of requests since the last confirmed entry that were refused as a whole, or got useless answers. Useless: complete, but for
   * example with wrong counts (`suspectsRecord`). At `refusalsBeforePause` (`recordAnswer.ts`) the destination is paused, because
   * the cause is not a record.
   */
  refusals: number
  /** Time of the first 401 since the last answer with results or a refusal, by the monotonic clock; undefined without one. */
  unauthorizedAtMs: number | undefined
  /** Names of the variables with refused values, as the transport finds them; undefined before a second 401. Concurrent 401s share it. */
  refusedCredentials: Promise<string | undefined> | undefined
  /** Time of the last answer that listed the catalog, by the monotonic clock; undefined without one. */
  catalogSeenAtMs: number | undefined
  /** Check of the catalog in progress. Concurrent deletes share it. */
  catalogCheck: Promise<CatalogCheck> | undefined
  /** False once an answer pointed at (named as failing) only records that did not fail. */
  trustPointers: boolean
}

/**
 * Result of requesting one product of the catalog:
 *
 * - `exists`: 200, now or within the last minute.
 * - `missing`: 404, or a destination without a listing.
 * - `catalog-unchecked…`: code of a retry, after no answer, another status, or a stop of the push.
 */
export type CatalogCheck = 'exists' | 'missing' | `catalog-unchecked${string}`

/** Attempt that has ended: with an answer, without one, or before a byte was sent (`notInTime`). */
export interface EndedAttempt {
  readonly batch: ClaimedBatch
  readonly attemptId: number
  readonly exchange: Exchange
  /** Start of the attempt, by the monotonic clock. */
  readonly begunAtMs: number
}

/** Minimum time between the HTTP deadline and the end of the lease. */
const leaseMarginMs = 5_000
/** Exchange of an attempt of which no byte was sent: its lease would end too soon, or the push is stopping. */
export const notInTime: Exchange = { kind: 'not-sent', error: new Error('not sent in time'), durationMs: 0 }

/**
 * Sends a claimed batch once. Returns undefined if no attempt began: the push is stopping and the batch was released, or the batch was
 * split or superseded.
 *
 * @throws {LeaseLost} the batch was recovered or claimed by another process
 */
export async function sendBatch(context: PushContext, batch: ClaimedBatch): Promise<EndedAttempt | undefined> {
  const { deps, destination, pace, sender } = context
  const { db, clock, settings } = deps
  if (batch.expired) {
    await db.transaction((tx) => supersedeExpired({ tx, destination, batch, sender }))
    return undefined
  }
  if (await splitFailingHalf(db, { destination, batch, sender })) return undefined
  crashPoint('push.claimed')

  const allowance = context.allowances[batch.operation]
  const begun = await beginUnderGrant(context, batch, allowance)
  if (begun === undefined) return undefined
  const beginDurationMs = clock.monotonic() - begun.atMs
  crashPoint('push.in_flight')
  const grant = await freshGrant(context, allowance, begun.grant)
  const sentAtMs = clock.monotonic()
  const leaseEndsTooSoon = sentAtMs - begun.atMs > settings.leaseMs - settings.httpTimeoutMs - leaseMarginMs
  const exchange = grant === undefined || leaseEndsTooSoon ? notInTime : await exchangeBatch(context, batch)
  crashPoint('push.answered')

  if (exchange !== notInTime) {
    if (isFailure(exchange)) pace.noteFailure()
    // The wait for a fresh grant does not count.
    else pace.noteAnswer(beginDurationMs + clock.monotonic() - sentAtMs)
  }
  // Before the answer is recorded, so that a requested wait applies to all other requests immediately.
  await allowance.update(exchange, batch.attempts + 1)
  return { batch, attemptId: begun.attemptId, exchange, begunAtMs: begun.atMs }
}

interface CommittedAttempt {
  readonly attemptId: number
  /** Time just before the lease was renewed, by the monotonic clock. The lease lasts at least `leaseMs` from then on. */
  readonly atMs: number
}

/**
 * Takes a grant and begins the attempt. Takes another grant if the service requested a wait meanwhile. Returns undefined in two cases:
 * - the push is stopping, and the batch was released;
 * - people were removed from the batch, and the others were moved to a new one.
 */
async function beginUnderGrant(
  context: PushContext,
  batch: ClaimedBatch,
  allowance: Allowance,
): Promise<(CommittedAttempt & { readonly grant: Grant }) | undefined> {
  for (;;) {
    const grant = await takeGrant(context, allowance)
    if (grant === undefined) {
      const { reason, maybeApplied, miscounts } = batch
      await releaseBatch(context.deps.db, batch, { to: 'open', reason, waitMs: 0, maybeApplied, miscounts })
      return undefined
    }
    const begun = await commitAttempt(context, batch)
    if (begun === 'superseded') return undefined
    if (begun !== 'blocked') return { ...begun, grant }
  }
}

/**
 * Stores the attempt before it is sent. For an update of people, checks in the same transaction if one of them is suppressed. Returns
 * `superseded` if the batch had people who are suppressed or opted out, and `blocked` if the service has requested a wait.
 */
async function commitAttempt(context: PushContext, batch: ClaimedBatch): Promise<CommittedAttempt | 'superseded' | 'blocked'> {
  const { deps, destination, sender } = context
  const { db, settings } = deps
  const atMs = deps.clock.monotonic()
  const options = { ...sender, leaseMs: settings.leaseMs, budget: context.allowances[batch.operation].name }
  const commit = async (tx: Queryable): Promise<CommittedAttempt | 'blocked'> => {
    const attemptId = await beginAttempt(tx, batch, options)
    return attemptId === undefined ? 'blocked' : { attemptId, atMs }
  }
  if (!destination.reachesPeople || batch.operation === 'delete') return commit(db)
  const optedOut = (await context.findOptedOut?.(batch)) ?? []
  return db.transaction(async (tx) => {
    const change = { tx, destination, batch, sender }
    if (optedOut.length > 0) {
      await splitOffOptedOut(change, optedOut)
      return 'superseded'
    }
    return (await splitOffSuppressed(change)) ? 'superseded' : commit(tx)
  })
}

/** Returns the grant, or a new grant if the grant is stale or the service has requested a wait. Undefined if the push is stopping. */
async function freshGrant(context: PushContext, allowance: Allowance, grant: Grant): Promise<Grant | undefined> {
  let current: Grant | undefined = grant
  while (current !== undefined && (current.isStale || allowance.isBlocked)) current = await takeGrant(context, allowance)
  return current
}

async function takeGrant(context: PushContext, allowance: Allowance): Promise<Grant | undefined> {
  const grant = await allowance.takeGrant(context)
  if (grant?.isDelayed) context.pace.restartMeasurement()
  return grant
}

function exchangeBatch(context: PushContext, batch: ClaimedBatch): Promise<Exchange> {
  const { deps, destination, target } = context
  const { method, path } = destination.request(target, batch.operation)
  const request = {
    method,
    host: 'ads' as const,
    path,
    body: batch.body,
    timeoutMs: deps.settings.httpTimeoutMs,
    signal: context.hardStop,
  }
  return destination.exchange?.(request) ?? deps.transport.exchange(request)
}

function isFailure(exchange: Exchange): boolean {
  return exchange.kind !== 'answer' || exchange.status >= 500 || exchange.status === 408
}
