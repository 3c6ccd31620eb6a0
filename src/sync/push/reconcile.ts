/**
 * Stores a classified answer. One transaction writes the outcomes of entries, the confirmed content and the next state of the batch
 * (docs/states.md). It writes nothing if another process has claimed the batch since (its `epoch` is another one). Only this module and
 * `settleLoad.ts` mark keys as confirmed by an answer (docs/guarantees.md#confirmed-only).
 */
import { hash } from 'node:crypto'
import type { Destination, RequestOutcome } from '../../destinations/destination.ts'
import { logBatch } from '../../db/auditLog.ts'
import { finishAttempt, type AttemptResult, type SentAttempt } from '../../db/attempts.ts'
import { LeaseLost } from '../../db/batches/lease.ts'
import { releaseBatch } from '../../db/batches/release.ts'
import { settleLoad } from '../../db/batches/settleLoad.ts'
import { splitBatch } from '../../db/batches/split.ts'
import { expandEntries } from '../../db/entries/expand.ts'
import { confirmEntries, parkEntries, refuseEntries, reopenEntries, writeOutcomes } from '../../db/entries/outcomes.ts'
import { raiseVersionOfShrunkList } from '../../db/suppressed.ts'
import { pauseDestination, raiseStateVersion } from '../../db/destinations.ts'
import { markLate } from '../../db/remote/lateRequests.ts'
import { storeAnsweredKeys } from '../../db/remote/productKeys.ts'
import { confirmKeys, refuseKeys } from '../../db/remote/syncedState.ts'
import type { Transaction } from '../../db/database.ts'
import type { Value } from '../../db/row.ts'
import type { Exchange } from '../../service/client/exchange.ts'
import { errorCode } from '../../unknownValue.ts'
import { crashPoint } from '../crashPoint.ts'
import { setSiblingAside, splitFailedBatch, type SplitCause } from './isolateRecord.ts'
import type { EndedAttempt, PushContext } from './send.ts'
import type { BatchChange } from './removeEntries.ts'

/** Result of recording an answer. */
export interface Reconciled {
  /** Number of entries that are finished for this run: confirmed, refused, or parked with their whole batch. */
  readonly done: number
  readonly confirmed: number
  readonly refused: number
  /** State of the batch as it is stored. */
  readonly state: Value<'batch', 'status'>
  /** Ids of the batches to which the ambiguous entries of a settled batch moved. */
  readonly rest?: readonly number[]
  /** True if an earlier answer pointed at (named as failing) only records that did not fail. Then this push ignores all pointers. */
  readonly pointerWrong?: boolean
}

const noneDone = { done: 0, confirmed: 0, refused: 0 } as const

/**
 * Number of successive useless answers to the same bytes after which a failing record is assumed
 * (docs/guarantees.md#isolation-of-a-failing-record). Useless: complete, but for example with wrong counts (`suspectsRecord`).
 */
const suspectedAfter = 3
/**
 * Number of useless answers with which the parts of a split batch start. One more useless answer shows which part has the failing record.
 */
const miscountsOfPart = suspectedAfter - 1

/**
 * Stores a classified answer, and logs it in the audit log. `waitMs`: wait before the same bytes are sent again.
 *
 * @throws {LeaseLost} the batch was recovered or claimed by another process: nothing was written, and the answer is dropped
 */
export async function reconcile(
  context: PushContext,
  { batch, attemptId, exchange }: EndedAttempt,
  outcome: RequestOutcome,
  waitMs: number,
): Promise<Reconciled> {
  const { destination, sender } = context
  const { db, settings } = context.deps
  const attempt = { id: attemptId, sent: storedExchange(exchange) }
  // A batch of a first load, whose keys usually have no rows (docs/decisions/implied-keys.md), is settled in one statement.
  if (batch.mayImplyKeys && confirmsAll(destination, outcome)) {
    const confirmed = outcome.entries.length
    crashPoint('reconcile.load')
    if (await settleLoad(db, batch, attempt, confirmed, sender)) return { done: confirmed, confirmed, refused: 0, state: 'settled' }
    // `settleLoad` wrote nothing, for example because some keys have rows.
  }
  return db.transaction(async (tx) => {
    // Postgres underestimates the cost of reading all keys of a large table, so such query plans are disabled.
    const lockedBatches = await tx.query(
      `select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
         set_config('enable_seqscan', 'off', true)
       from batch where id = $1 and epoch = $2 and status = 'in_flight' for update`,
      [batch.id, batch.epoch],
    )
    if (lockedBatches.length !== 1) throw new LeaseLost()
    const { trustPointers } = context.state
    const recording = { tx, destination, batch, sender, attempt, maxAttempts: settings.maxAttempts, waitMs, trustPointers }
    const result = await recordOutcome(recording, outcome)
    const { state, confirmed, refused, rest } = result
    await logBatch(tx, batch, sender, `batch.${state}`, { outcome: outcome.kind, confirmed, refused, rest, epoch: batch.epoch })
    // Members of the batch may now be off the list. A refused delete changes nothing: its members stay on the list.
    const mayShrinkList = destination.suppresses && (confirmed > 0 || (refused > 0 && batch.operation === 'upsert'))
    if (mayShrinkList) await raiseVersionOfShrunkList(tx, batch)
    // Last, because all transactions that record answers of a destination wait for the lock of its row.
    if (confirmed + refused > 0) await raiseStateVersion(tx, batch.destinationId)
    crashPoint('reconcile.before_commit')
    return result
  })
}

/** Batch whose attempt has ended, and the transaction that records its answer. */
interface Recording extends BatchChange {
  readonly tx: Transaction
  readonly attempt: SentAttempt
  readonly maxAttempts: number
  readonly waitMs: number
  /** As in `PushState`. */
  readonly trustPointers: boolean
}

function recordOutcome(recording: Recording, outcome: RequestOutcome): Promise<Reconciled> {
  switch (outcome.kind) {
    case 'entries':
      return recordEntries(recording, outcome)
    case 'retry':
      return recordRetry(recording, outcome)
    case 'pause':
      return recordPause(recording, outcome)
    case 'refused':
      return recordRefusal(recording, outcome)
    case 'ambiguous':
      return recordAmbiguity(recording, outcome)
  }
}

async function recordEntries(recording: Recording, outcome: EntriesOutcome): Promise<Reconciled> {
  const { tx, batch, sender } = recording
  const outcomes = outcome.entries
  // If all users are confirmed, only entries that are not `pending` are written: in a settled batch, `pending` counts as confirmed.
  const allConfirmed = confirmsAll(recording.destination, outcome)
  if (allConfirmed) await confirmEntries(tx, batch.id)
  else {
    await expandEntries(tx, [batch.id])
    await writeOutcomes(tx, batch.id, outcomes)
    await storeAnsweredKeys(tx, batch, outcomes)
  }
  const confirmed = outcomes.filter((entry) => entry.outcome === 'confirmed').length
  const refused = outcomes.filter((entry) => entry.outcome === 'refused').length
  const ambiguousOrds = outcomes.flatMap((entry, ord) => (entry.outcome === 'ambiguous' ? [ord] : []))
  crashPoint('reconcile.entries_written')
  if (confirmed > 0) await confirmKeys(recording, allConfirmed)
  if (refused > 0) await refuseKeys(recording, { runId: sender.runId, staysIfApplied: recording.destination.reachesPeople })

  const ambiguousCodes = [...new Set(outcomes.flatMap((entry) => (entry.outcome === 'ambiguous' ? [entry.code] : [])))].join(' ')
  const counts = { confirmed, refused, ambiguous: ambiguousOrds.length }
  await storeAttempt(recording, outcome, counts, ambiguousOrds.length > 0 ? ambiguousCodes : null)

  const done = confirmed + refused
  if (ambiguousOrds.length === 0) {
    const state = await releaseBatch(tx, batch, { to: 'settled', horizonMs: sender.horizonMs })
    return { done, confirmed, refused, state }
  }
  if (ambiguousOrds.length === outcomes.length)
    return { ...(await scheduleAgain(recording, { reason: ambiguousCodes, maybeApplied: true })), confirmed, refused }
  const attempts = batch.attempts + 1
  const parked = attempts >= recording.maxAttempts
  const waitMs = parked ? 0 : recording.waitMs
  const part = { ords: ambiguousOrds, maybeApplied: true, parked, attempts, miscounts: 0, reason: ambiguousCodes, waitMs }
  const rest = await splitBatch(tx, recording.destination, batch, [part])
  if (!parked) for (const id of rest) await reopenEntries(tx, id)
  const state = await releaseBatch(tx, batch, { to: 'settled', horizonMs: sender.horizonMs })
  return { done, confirmed, refused, state, rest }
}

async function recordRetry(recording: Recording, outcome: Extract<RequestOutcome, { kind: 'retry' }>): Promise<Reconciled> {
  await storeAttempt(recording, outcome, {})
  const { maybeApplied, miscounts } = recording.batch
  // The service did not process the content, so the number of successive useless answers stays the same.
  return scheduleAgain(recording, { reason: outcome.code, maybeApplied, miscounts })
}

async function recordPause(recording: Recording, outcome: Extract<RequestOutcome, { kind: 'pause' }>): Promise<Reconciled> {
  const { tx, batch } = recording
  const maybeApplied = batch.maybeApplied || outcome.maybeApplied
  await storeAttempt(recording, outcome, { message: outcome.message })
  const state = await releaseBatch(tx, batch, { to: 'open', reason: outcome.code, waitMs: 0, maybeApplied })
  await pauseDestination(tx, batch.destinationId, { code: outcome.code, text: outcome.message })
  return { ...noneDone, state }
}

async function recordRefusal(recording: Recording, outcome: Extract<RequestOutcome, { kind: 'refused' }>): Promise<Reconciled> {
  const { tx, batch, sender } = recording
  await storeAttempt(recording, outcome, { message: outcome.message, failing: outcome.failing.length })
  await setSiblingAside(recording, { miscounts: 0 })
  const { code: reason, failing } = outcome
  const isolated = await isolate(recording, { failing, reason, miscounts: 0, maybeApplied: batch.maybeApplied })
  if (isolated !== undefined) return isolated
  await expandEntries(tx, [batch.id])
  await refuseEntries(tx, batch.id, { code: outcome.code, message: outcome.message })
  await refuseKeys(recording, { runId: sender.runId, staysIfApplied: recording.destination.reachesPeople })
  const state = await releaseBatch(tx, batch, { to: 'settled', horizonMs: sender.horizonMs })
  return { done: 1, confirmed: 0, refused: 1, state }
}

async function recordAmbiguity(recording: Recording, outcome: Extract<RequestOutcome, { kind: 'ambiguous' }>): Promise<Reconciled> {
  const { tx, batch, sender } = recording
  await storeAttempt(recording, outcome, { mayLandLater: outcome.mayLandLater, failing: outcome.failing.length })
  if (outcome.mayLandLater) await markLate(tx, [batch.id], sender.horizonMs)
  crashPoint('reconcile.ambiguous')
  const miscounts = outcome.suspectsRecord ? batch.miscounts + 1 : 0
  if (miscounts >= suspectedAfter) {
    await setSiblingAside(recording, { miscounts: miscountsOfPart })
    const { code: reason, failing } = outcome
    const isolated = await isolate(recording, { failing, reason, miscounts: miscountsOfPart, maybeApplied: true })
    return isolated ?? park(recording, { reason, maybeApplied: true })
  }
  return scheduleAgain(recording, { reason: outcome.code, maybeApplied: true, miscounts })
}

/** Reason to send the same bytes again, in this run or in a later one. */
interface ResendCause {
  readonly reason: string
  readonly maybeApplied: boolean
}

/**
 * Schedules the same bytes for another attempt, or parks the batch if it has no attempts left in this run. `cause.miscounts`: number of
 * successive useless answers to store; absent: 0.
 */
async function scheduleAgain(recording: Recording, cause: ResendCause & { readonly miscounts?: number }): Promise<Reconciled> {
  const { tx, batch } = recording
  // `miscounts` is stored with a parked batch too. Such a batch gets one attempt per run, so only a later run can reach `suspectedAfter`.
  if (batch.attempts + 1 >= recording.maxAttempts) return park(recording, { miscounts: 0, ...cause })
  const state = await releaseBatch(tx, batch, { to: 'open', waitMs: recording.waitMs, miscounts: 0, ...cause })
  return { ...noneDone, state }
}

/** Parks the batch: this run does not send it any more, but the next run does. `miscounts` absent: the batch keeps its stored number. */
async function park(
  recording: Recording,
  { reason, maybeApplied, miscounts }: ResendCause & { readonly miscounts?: number },
): Promise<Reconciled> {
  const { tx, batch } = recording
  await expandEntries(tx, [batch.id])
  await parkEntries(tx, batch.id, { maybeApplied, code: reason })
  const state = await releaseBatch(tx, batch, { to: 'parked', reason, maybeApplied, miscounts })
  return { ...noneDone, done: batch.entryCount, state }
}

/** Splits the batch. Returns undefined if it cannot be split (`splitFailedBatch`). */
async function isolate(recording: Recording, cause: SplitCause): Promise<Reconciled | undefined> {
  const split = await splitFailedBatch(recording, cause)
  return split && { ...noneDone, state: 'split', ...split }
}

/**
 * Returns the outcome of an attempt as it is stored. `partial`: its entries have different outcomes. A pause after which the batch may
 * have been applied is `ambiguous`.
 */
export function attemptOutcome(outcome: RequestOutcome): AttemptResult['outcome'] {
  if (outcome.kind === 'pause') return outcome.maybeApplied ? 'ambiguous' : 'pause'
  if (outcome.kind !== 'entries') return outcome.kind
  const [first, ...others] = new Set(outcome.entries.map((entry) => entry.outcome))
  return first === undefined || others.length > 0 ? 'partial' : first
}

/**
 * Stores the outcome of the attempt. `details`: stored beside size and error of the answer. `reason`: codes of the outcome, separated by
 * spaces; null without one.
 */
async function storeAttempt(
  recording: Recording,
  outcome: RequestOutcome,
  details: Readonly<Record<string, unknown>>,
  reason = 'code' in outcome ? outcome.code : null,
): Promise<void> {
  const { id, sent } = recording.attempt
  await finishAttempt(recording.tx, id, { ...sent, outcome: attemptOutcome(outcome), reason, answer: { ...sent.answer, ...details } })
}

function storedExchange(exchange: Exchange): SentAttempt['sent'] {
  const { durationMs } = exchange
  if (exchange.kind === 'answer')
    return {
      httpStatus: exchange.status,
      answer: { bytes: exchange.body.length },
      answerSha256: hash('sha256', exchange.body, 'buffer'),
      durationMs,
    }
  const httpStatus = exchange.kind === 'lost' ? (exchange.status ?? null) : null
  return { httpStatus, answer: { error: errorCode(exchange.error) ?? exchange.error.name }, answerSha256: null, durationMs }
}

type EntriesOutcome = Extract<RequestOutcome, { kind: 'entries' }>

/**
 * Returns true if the counts of the answer confirm all users of the request, without a warning to store. Always false for a destination
 * whose answers have a result for each entry.
 */
function confirmsAll(destination: Destination, outcome: RequestOutcome): outcome is EntriesOutcome {
  return (
    outcome.kind === 'entries' &&
    destination.evidence === 'counts' &&
    outcome.entries.every((entry) => entry.outcome === 'confirmed' && entry.warnings === undefined)
  )
}
