/** One sending of one claimed batch: grant, attempt committed, bytes, judgement, books (guarantees 3.3 to 3.7). */
import { hash } from 'node:crypto'
import type { Destination, EntryOutcome, Judgement, SentEntry, Target } from '../../destinations/destination.ts'
import type { Exchange } from '../../service/client/exchange.ts'
import { noteBatch } from '../../store/audit.ts'
import { beginAttempt } from '../../store/attempts.ts'
import { releaseBatch, type ClaimedBatch } from '../../store/batches.ts'
import { noteDelisted } from '../../store/listed.ts'
import { cutBatch } from '../../store/recut.ts'
import type { Allowance, Grant } from './allowance.ts'
import { crashPoint } from '../crashPoint.ts'
import type { EngineDeps } from '../engine.ts'
import { backoffMs, type Pace } from './pace.ts'
import { cutKnownGuilty, reconcile, type Reconciled } from './reconcile.ts'
import { cutSuppressed, type BatchHandler } from './suppression.ts'
import { adviceMs } from './waitAdvice.ts'

/** What is one for all batches of a push. */
export interface Sending {
  readonly deps: EngineDeps
  readonly destination: Destination
  readonly target: Target
  readonly allowances: Readonly<Record<'upsert' | 'delete', Allowance>>
  readonly pace: Pace
  /** Run that the attempts are booked on; undefined: the batch's own. */
  readonly runId: number | undefined
  /** No new sendings. */
  readonly signal: AbortSignal
  /** Sendings under way are given up. */
  readonly hardStop: AbortSignal
  readonly onWait: (ms: number) => void
  readonly state: PushState
}

/** Shared by the batches of one push. */
export interface PushState {
  /** Refusals in a row without anything confirmed: at `refusalsBeforePause` the request is at fault, not the records. */
  refusals: number
  unauthorized: boolean
  trustPointers: boolean
}

const refusalsBeforePause = 64
/** Between the end of the HTTP deadline and the end of the lease. */
const leaseMarginMs = 5_000
const unreachableAfter = 16
/** Jitter may say 0: the same bytes twice within 5 ms are a fault of ours, not a retry (guarantees 6.5). */
const leastWaitMs = 10

/** Carries a claimed batch as far as one sending gets it. @throws {LeaseLost} */
export async function sendBatch(sending: Sending, batch: ClaimedBatch): Promise<Reconciled | undefined> {
  const { deps, destination, pace, signal } = sending
  const { db, clock, settings } = deps
  const runId = sending.runId ?? (await runOf(deps, batch))
  const by = { workerId: deps.workerId, runId, horizonMs: settings.horizonMs }
  if (batch.expired) return supersedeExpired(sending, batch, by)
  if (await cutKnownGuilty(db, destination, batch, by)) return undefined
  crashPoint('push.claimed')

  const allowance = sending.allowances[batch.operation]
  let grant = await allowance.take({ signal, onWait: sending.onWait })
  if (grant === undefined) return putBack(sending, batch)
  const startedMs = clock.monotonic()
  const begun = await begin(sending, batch, runId)
  if (begun === undefined) return undefined
  crashPoint('push.in_flight')
  grant = await freshGrant(sending, allowance, grant)
  const exchange: Exchange =
    grant === undefined || clock.monotonic() - begun.atMs > settings.leaseMs - settings.httpTimeoutMs - leaseMarginMs
      ? // Too late to send under this lease, or told to stop: nothing left this machine.
        { kind: 'not-sent', error: new Error('not sent in time'), durationMs: 0 }
      : await exchangeBatch(sending, batch)
  crashPoint('push.answered')

  const judgement = await judge(sending, batch, exchange)
  await learn(sending, allowance, exchange, batch)
  const result = await reconcile(db, destination, batch, begun.attemptId, judgement, {
    maxAttempts: settings.maxAttempts,
    horizonMs: settings.horizonMs,
    waitMs: waitFor(sending, batch, exchange, judgement),
    workerId: deps.workerId,
    runId,
    trustPointers: sending.state.trustPointers,
    sent: {
      httpStatus: exchange.kind === 'answer' ? exchange.status : exchange.kind === 'lost' ? (exchange.status ?? null) : null,
      answer: exchange.kind === 'answer' ? { bytes: exchange.body.length } : { error: errorCode(exchange.error) },
      answerSha256: exchange.kind === 'answer' ? hash('sha256', exchange.body, 'buffer') : null,
      durationMs: exchange.durationMs,
    },
  })
  crashPoint('push.reconciled')
  tell(deps, runId, batch, exchange, judgement)
  if (result.pointerWrong) sending.state.trustPointers = false
  if (isTransportFailure(exchange)) pace.failed()
  else pace.answered(clock.monotonic() - startedMs)
  return result
}

/** One line a sending: what was confirmed for whoever looks closely, what was not for whoever runs a service. */
function tell(deps: EngineDeps, runId: number, batch: ClaimedBatch, exchange: Exchange, judgement: Judgement): void {
  const clear = judgement.kind === 'entries' && judgement.entries.every((entry) => entry.outcome === 'confirmed')
  deps.log[clear ? 'debug' : 'info'](
    {
      runId: `r_${runId}`,
      batch: batch.id,
      operation: batch.operation,
      attempt: batch.attempts + 1,
      ...(exchange.kind === 'not-sent' || exchange.status === undefined ? {} : { status: exchange.status }),
      outcome: clear ? 'confirmed' : judgement.kind === 'entries' ? 'partial' : judgement.kind,
      ...(judgement.kind === 'entries' ? {} : { code: 'code' in judgement ? judgement.code : judgement.reason }),
      durationMs: Math.round(exchange.durationMs),
    },
    clear ? 'a request was confirmed' : 'a request was not confirmed as a whole',
  )
}

/** The suppression check and the attempt in one transaction; undefined when the batch was cut instead. */
async function begin(
  sending: Sending,
  batch: ClaimedBatch,
  runId: number,
): Promise<{ readonly attemptId: number; readonly atMs: number } | undefined> {
  const { deps, destination } = sending
  const { db, settings, workerId } = deps
  // Before the statement: the lease that it renews cannot be younger than this.
  const atMs = deps.clock.monotonic()
  const options = { runId, workerId, leaseMs: settings.leaseMs }
  if (destination.kind !== 'audience' || batch.operation === 'delete') return { attemptId: await beginAttempt(db, batch, options), atMs }
  const attemptId = await db.transaction(async (tx) => {
    if (await cutSuppressed(tx, destination, batch, { workerId, runId, horizonMs: settings.horizonMs })) return undefined
    return beginAttempt(tx, batch, options)
  })
  return attemptId === undefined ? undefined : { attemptId, atMs }
}

/** A grant that grew old is thrown away, never used late (scale 3). */
async function freshGrant(sending: Sending, allowance: Allowance, grant: Grant): Promise<Grant | undefined> {
  let current: Grant | undefined = grant
  while (current?.stale) current = await allowance.take({ signal: sending.signal, onWait: sending.onWait })
  return current
}

function exchangeBatch(sending: Sending, batch: ClaimedBatch): Promise<Exchange> {
  const { deps, destination, target } = sending
  const { method, path } = destination.request(target, batch.operation)
  return deps.transport.exchange({
    method,
    host: 'ads',
    path,
    body: batch.body,
    timeoutMs: deps.settings.httpTimeoutMs,
    signal: sending.hardStop,
  })
}

async function judge(sending: Sending, batch: ClaimedBatch, exchange: Exchange): Promise<Judgement> {
  const { destination, state } = sending
  const judgement = destination.judge(exchange, await sentEntries(sending, batch), batch.operation)
  if (judgement.kind === 'retry' && judgement.status === 401) {
    // The first may be our clock or a token renewed meanwhile; the second is the credentials (I24).
    if (state.unauthorized)
      return {
        kind: 'pause',
        code: judgement.reason,
        reason: 'the service refuses the credentials (SLUICE_CONSUMER_KEY, SLUICE_ACCESS_TOKEN and their secrets)',
      }
    state.unauthorized = true
    return judgement
  }
  if (judgement.kind === 'entries') state.unauthorized = false
  if (
    judgement.kind === 'pause' &&
    batch.operation === 'delete' &&
    exchange.kind === 'answer' &&
    exchange.status === 404 &&
    (await isReadable(sending))
  ) {
    // C4: the catalog is there, so the 404 means the key. Not deleted, for no answer says so.
    if (batch.maybeApplied && batch.entryCount === 1) return { kind: 'entries', entries: [goneAlready] }
    return { kind: 'refused', code: judgement.code, reason: judgement.reason, guilty: [] }
  }
  if (judgement.kind === 'entries' && destination.kind === 'catalog' && batch.operation === 'delete' && batch.maybeApplied) {
    return { kind: 'entries', entries: judgement.entries.map((entry) => (entry.outcome === 'refused' ? goneAlready : entry)) }
  }
  return countRefusals(state, judgement)
}

/**
 * A key that cannot be deleted any more, after a sending of this very delete whose answer was lost: that one was applied.
 * Keys are never given twice (spec 3.3), so nothing else is left under it; as refused it would be tried for ever.
 */
const goneAlready: EntryOutcome = {
  outcome: 'confirmed',
  warnings: ['the key was gone: an earlier sending of this delete, whose answer was lost, had been applied'],
}

/** So many refusals without one confirmation in between: not the records', the request's fault (I14). */
function countRefusals(state: PushState, judgement: Judgement): Judgement {
  const refused =
    judgement.kind === 'refused' ||
    (judgement.kind === 'ambiguous' && judgement.miscounted) ||
    (judgement.kind === 'entries' && judgement.entries.every((entry) => entry.outcome === 'refused'))
  if (judgement.kind === 'entries' && judgement.entries.some((entry) => entry.outcome === 'confirmed')) state.refusals = 0
  if (!refused) return judgement
  state.refusals++
  if (state.refusals < refusalsBeforePause || judgement.kind === 'entries') return judgement
  const { reason } = judgement
  return {
    kind: 'pause',
    code: judgement.kind === 'refused' ? judgement.code : reason,
    reason: `${refusalsBeforePause} requests in a row were refused: ${reason}`,
  }
}

async function isReadable({ deps, destination, target }: Sending): Promise<boolean> {
  const { path } = destination.request(target, 'upsert')
  const exchange = await deps.transport.exchange({
    method: 'GET',
    host: 'ads',
    path,
    query: { count: '1' },
    timeoutMs: deps.settings.httpTimeoutMs,
  })
  return exchange.kind === 'answer' && exchange.status === 200
}

async function sentEntries({ deps, destination }: Sending, batch: ClaimedBatch): Promise<readonly SentEntry[]> {
  if (destination.kind !== 'catalog' && batch.userCount === batch.entryCount) return Array.from({ length: batch.entryCount }, () => oneUser)
  const rows = await deps.db.query<{ keys: Buffer[]; users: number; byte_offset: number; byte_length: number }>(
    'select keys, users, byte_offset, byte_length from sluice.entry where batch_id = $1 order by ord',
    [batch.id],
  )
  return rows.map((row) => ({
    id: destination.idOf(row.keys, batch.body.subarray(row.byte_offset, row.byte_offset + row.byte_length), batch.operation),
    users: row.users,
  }))
}

const oneUser: SentEntry = { id: null, users: 1 }

async function learn(sending: Sending, allowance: Allowance, exchange: Exchange, batch: ClaimedBatch): Promise<void> {
  if (exchange.kind !== 'answer') return
  const { settings, clock } = sending.deps
  await allowance.learn(exchange.headers, settings.retryAfterCapMs)
  if (exchange.status !== 429) return
  const advice = adviceMs(exchange.headers, clock.now()) ?? 0
  await allowance.block(
    Math.min(
      settings.retryAfterCapMs,
      Math.max(
        advice,
        backoffMs(batch.attempts + 1, settings, () => 1),
      ),
    ),
  )
}

function waitFor(sending: Sending, batch: ClaimedBatch, exchange: Exchange, judgement: Judgement): number {
  const { settings, clock } = sending.deps
  if (judgement.kind === 'retry' && judgement.status === 401) return 0
  const own = Math.max(leastWaitMs, backoffMs(batch.attempts + 1, settings))
  const advice =
    exchange.kind === 'answer' && (exchange.status === 429 || exchange.status === 503) ? (adviceMs(exchange.headers, clock.now()) ?? 0) : 0
  return Math.max(own, Math.min(advice, settings.retryAfterCapMs))
}

/** No usable word from the service itself: what a probe, not a storm, is the answer to. */
function isTransportFailure(exchange: Exchange): boolean {
  return exchange.kind !== 'answer' || exchange.status >= 500 || exchange.status === 408
}

/** True when the service has not answered for so long that this run should end. */
export function isUnreachable(pace: Pace): boolean {
  return pace.failuresInRow >= unreachableAfter
}

async function putBack({ deps }: Sending, batch: ClaimedBatch): Promise<undefined> {
  await releaseBatch(
    deps.db,
    batch,
    { to: 'open', reason: batch.reason, waitMs: 0, maybeApplied: batch.maybeApplied, wrongAlike: batch.wrongAlike },
    deps.settings.horizonMs,
  )
  return undefined
}

/**
 * A membership whose frozen end has passed is not sent any more; the next plan decides anew (I19). What may have been
 * applied beside it, and has not ended, still has to be settled: it goes on alone, byte for byte. On a do-not-reach list
 * nobody is listed any more by what has lapsed: audiences that waited for its answer look at their files again.
 */
async function supersedeExpired({ deps, destination }: Sending, batch: ClaimedBatch, by: BatchHandler): Promise<undefined> {
  await deps.db.transaction(async (tx) => {
    if (batch.maybeApplied) {
      const living = await tx.query<{ ord: number }>(
        'select ord from sluice.entry where batch_id = $1 and (expires_at is null or expires_at > clock_timestamp()) order by ord',
        [batch.id],
      )
      const { attempts, wrongAlike, reason } = batch
      const part = { ords: living.map(({ ord }) => ord), status: 'ambiguous', attempts, wrongAlike, reason, waitMs: 0 } as const
      if (living.length > 0) await cutBatch(tx, destination, batch, [part])
    }
    await releaseBatch(tx, batch, { to: 'superseded', reason: 'expired' }, by.horizonMs)
    await tx.execute(`update sluice.entry set outcome = 'superseded', code = 'expired' where batch_id = $1 and outcome <> 'confirmed'`, [
      batch.id,
    ])
    if (destination.kind === 'do-not-reach') await noteDelisted(tx, batch)
    await noteBatch(tx, {
      actor: by.workerId,
      what: 'batch.superseded',
      runId: by.runId,
      planId: batch.planId,
      batchId: batch.id,
      detail: { reason: 'expired' },
    })
  })
  return undefined
}

async function runOf({ db }: EngineDeps, batch: ClaimedBatch): Promise<number> {
  const [row] = await db.query<{ run_id: string }>('select run_id from sluice.plan where id = $1', [batch.planId])
  return Number(row?.run_id)
}

function errorCode(error: Error): string {
  const { code } = error as { code?: unknown }
  return typeof code === 'string' ? code : error.name
}
