/**
 * Reconciles a classified answer in one transaction, fenced by the epoch: writes the outcomes of entries, the synced state and the
 * next state of the batch (docs/guarantees.md). Only this module and `settleWhole.ts` mark keys as synced
 * (docs/guarantees.md#confirmed-only).
 */
import type { Destination, RequestOutcome } from '../../destinations/destination.ts'
import { noteBatch } from '../../db/audit.ts'
import { finishAttempt, type AttemptResult } from '../../db/attempts.ts'
import { LeaseLost, type ClaimedBatch } from '../../db/batches/claim.ts'
import { releaseBatch } from '../../db/batches/release.ts'
import { mergeBatches, remainingOrds, splitBatch } from '../../db/batches/split.ts'
import { afterIsolation, afterPointed, afterSibling } from '../../db/batches/states.ts'
import { expandEntries } from '../../db/entries/expand.ts'
import { confirmEntries, parkEntries, refuseEntries, reopenEntries, writeOutcomes } from '../../db/entries/outcomes.ts'
import { noteNoLongerSuppressed } from '../../db/suppressed.ts'
import { pauseDestination, raiseStateVersion } from '../../db/destinations.ts'
import { confirmKeys, markLate, refuseKeys, storeRemoteKeys } from '../../db/remote/synced.ts'
import type { Database, Queryable, Transaction } from '../../db/database.ts'
import { crashPoint } from '../crashPoint.ts'
import { confirmsAll, settleWhole, type EntriesOutcome } from './settleWhole.ts'
import type { BatchHandler } from './suppression.ts'

export interface ReconcileOptions {
  readonly maxAttempts: number
  readonly horizonMs: number
  /** Wait before the same bytes are sent again. */
  readonly waitMs: number
  readonly workerId: string
  readonly runId: number
  /** True to split a refused batch at its `failing` indexes. */
  readonly trustPointers: boolean
  /** Exchange as stored with the attempt. */
  readonly sent: Omit<AttemptResult, 'outcome' | 'reason' | 'answer'> & { readonly answer: Readonly<Record<string, unknown>> }
}

/** Result for the pusher: number of finished entries, and of confirmed and refused ones. */
export interface Reconciled {
  readonly done: number
  readonly confirmed: number
  readonly refused: number
  readonly state: 'settled' | 'open' | 'parked' | 'split' | 'paused'
  /** True if an earlier answer pointed at a record that was not failing. Then the pointers of this service are ignored. */
  readonly pointerWrong?: boolean
}

/**
 * Number of complete answers with wrong counts to the same bytes, after which a failing record is assumed
 * (docs/guarantees.md#isolation-of-a-failing-record).
 */
const suspectedAfter = 3

/** @throws {LeaseLost} another process owns the batch now: nothing was written, and the answer is dropped */
export async function reconcile(
  db: Database,
  destination: Destination,
  batch: ClaimedBatch,
  attemptId: number,
  outcome: RequestOutcome,
  options: ReconcileOptions,
): Promise<Reconciled> {
  if (batch.ofLoad && confirmsAll(destination, batch, outcome)) {
    const confirmed = outcome.entries.length
    crashPoint('reconcile.load')
    if (await settleWhole(db, batch, attemptId, confirmed, options)) return { done: confirmed, confirmed, refused: 0, state: 'settled' }
  }
  return db.transaction(async (tx) => {
    // Postgres underestimates the cost of reading all keys of a large table, so such query plans are disabled.
    const mine = await tx.query(
      `select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('enable_seqscan', 'off', true)
       from batch where id = $1 and epoch = $2 and status = 'in_flight' for update`,
      [batch.id, batch.epoch],
    )
    if (mine.length !== 1) throw new LeaseLost()
    const result = await apply({ tx, destination, batch, attemptId, options }, outcome)
    await writeAudit(tx, batch, result, outcome, options)
    // A refused removal changes nothing: the members stay on the list.
    if (destination.suppresses && (result.confirmed > 0 || (result.refused > 0 && batch.operation === 'upsert')))
      await noteNoLongerSuppressed(tx, batch)
    // Last, because all transactions that reconcile for a destination wait for its row.
    if (result.confirmed + result.refused > 0) await raiseStateVersion(tx, batch.destinationId)
    crashPoint('reconcile.before_commit')
    return result
  })
}

interface Work {
  readonly tx: Transaction
  readonly destination: Destination
  readonly batch: ClaimedBatch
  readonly attemptId: number
  readonly options: ReconcileOptions
}

function apply(work: Work, outcome: RequestOutcome): Promise<Reconciled> {
  switch (outcome.kind) {
    case 'entries':
      return applyEntries(work, outcome)
    case 'retry':
      return applyRetry(work, outcome.reason)
    case 'pause':
      return applyPause(work, outcome)
    case 'refused':
      return applyRefusal(work, outcome)
    case 'ambiguous':
      return applyAmbiguity(work, outcome)
  }
}

async function applyEntries(work: Work, answer: EntriesOutcome): Promise<Reconciled> {
  const { tx, batch, options } = work
  const outcomes = answer.entries
  // If all users are confirmed, no outcome per entry is written.
  const alike = confirmsAll(work.destination, batch, answer)
  if (alike) await confirmEntries(tx, batch.id)
  else {
    await expandEntries(tx, [batch.id])
    await writeOutcomes(tx, batch.id, outcomes)
    await storeRemoteKeys(tx, batch, outcomes)
  }
  const confirmed = outcomes.filter((entry) => entry.outcome === 'confirmed').length
  const refused = outcomes.filter((entry) => entry.outcome === 'refused').length
  const open = outcomes.flatMap((entry, ord) => (entry.outcome === 'ambiguous' ? [ord] : []))
  crashPoint('reconcile.entries_written')
  if (confirmed > 0) await confirmKeys(work, alike)
  if (refused > 0) await refuseKeys(work, { runId: options.runId, mayStand: work.destination.reachesPeople })

  const reasons = [...new Set(outcomes.flatMap((entry) => (entry.outcome === 'ambiguous' ? [entry.reason] : [])))].join(' ')
  const outcome =
    open.length === outcomes.length
      ? 'ambiguous'
      : confirmed === outcomes.length
        ? 'confirmed'
        : refused === outcomes.length
          ? 'refused'
          : 'partial'
  await finish(work, outcome, open.length > 0 ? reasons : null, { confirmed, refused, ambiguous: open.length })

  const done = confirmed + refused
  if (open.length === 0) {
    await releaseBatch(tx, batch, { to: 'settled' }, options.horizonMs)
    return { done, confirmed, refused, state: 'settled' }
  }
  if (open.length === outcomes.length) return { ...(await again(work, reasons, true)), confirmed, refused }
  // Only the entries that are not settled are sent again.
  const attempts = batch.attempts + 1
  const next =
    attempts >= options.maxAttempts
      ? ({ status: 'parked', waitMs: 0 } as const)
      : ({ status: 'ambiguous', waitMs: options.waitMs } as const)
  for (const rest of await splitBatch(tx, work.destination, batch, [{ ...next, ords: open, attempts, wrongAlike: 0, reason: reasons }]))
    if (next.status === 'ambiguous') await reopenEntries(tx, rest)
  await releaseBatch(tx, batch, { to: 'settled' }, options.horizonMs)
  return { done, confirmed, refused, state: 'split' }
}

async function applyRetry(work: Work, reason: string): Promise<Reconciled> {
  await finish(work, 'retry', reason, {})
  return again(work, reason, work.batch.maybeApplied)
}

async function applyPause(work: Work, outcome: { readonly code: string; readonly reason: string }): Promise<Reconciled> {
  const { tx, batch, options } = work
  await finish(work, 'pause', outcome.code, { message: outcome.reason })
  await releaseBatch(tx, batch, { to: 'open', reason: outcome.code, waitMs: 0, maybeApplied: batch.maybeApplied }, options.horizonMs)
  await pauseDestination(tx, batch.destinationId, `${outcome.code}: ${outcome.reason}`)
  return { done: 0, confirmed: 0, refused: 0, state: 'paused' }
}

async function applyRefusal(
  work: Work,
  outcome: { readonly code: string; readonly reason: string; readonly failing: readonly number[] },
): Promise<Reconciled> {
  const { tx, batch, options } = work
  await finish(work, 'refused', outcome.code, { message: outcome.reason, failing: outcome.failing.length })
  await setSiblingAside(work, 0)
  if (batch.entryCount > 1) return split(work, outcome.failing, { reason: outcome.code, wrongAlike: 0, maybeApplied: batch.maybeApplied })
  await expandEntries(tx, [batch.id])
  await refuseEntries(tx, batch.id, { code: outcome.code, message: outcome.reason })
  await refuseKeys(work, { runId: options.runId, mayStand: work.destination.reachesPeople })
  await releaseBatch(tx, batch, { to: 'settled' }, options.horizonMs)
  return { done: 1, confirmed: 0, refused: 1, state: 'settled' }
}

async function applyAmbiguity(work: Work, outcome: Extract<RequestOutcome, { kind: 'ambiguous' }>): Promise<Reconciled> {
  const { tx, batch, options } = work
  await finish(work, 'ambiguous', outcome.reason, { mayLandLater: outcome.mayLandLater, failing: outcome.failing.length })
  if (outcome.mayLandLater) await markLate(tx, [batch.id], options.horizonMs)
  crashPoint('reconcile.ambiguous')
  const wrongAlike = outcome.miscounted ? batch.wrongAlike + 1 : 0
  if (wrongAlike >= suspectedAfter) {
    await setSiblingAside(work, suspectedAfter - 1)
    // For the parts, one more wrong answer is enough.
    if (batch.entryCount > 1)
      return split(work, outcome.failing, { reason: outcome.reason, wrongAlike: suspectedAfter - 1, maybeApplied: true })
    return park(work, outcome.reason, true)
  }
  return again(work, outcome.reason, true, wrongAlike)
}

/** Schedules the same bytes for later, or parks the batch when this run has no attempts left. */
async function again(work: Work, reason: string, maybeApplied: boolean, wrongAlike = 0): Promise<Reconciled> {
  const { tx, batch, options } = work
  if (batch.attempts + 1 >= options.maxAttempts) return park(work, reason, maybeApplied)
  await releaseBatch(tx, batch, { to: 'open', reason, waitMs: options.waitMs, maybeApplied, wrongAlike }, options.horizonMs)
  return { done: 0, confirmed: 0, refused: 0, state: 'open' }
}

async function park(work: Work, reason: string, maybeApplied: boolean): Promise<Reconciled> {
  const { tx, batch, options } = work
  await expandEntries(tx, [batch.id])
  await parkEntries(tx, batch.id, { maybeApplied, code: reason })
  await releaseBatch(tx, batch, { to: 'parked', reason }, options.horizonMs)
  return { done: batch.entryCount, confirmed: 0, refused: 0, state: 'parked' }
}

/**
 * Splits off the records that the answer points at, or halves the batch. The left half is sent first. If it succeeds, the failing
 * record is in the right half, which is split again without being sent. If it fails, the right half is set aside. So a failing
 * record costs one request per halving, and one more for all records that were set aside
 * (docs/guarantees.md#isolation-of-a-failing-record).
 */
async function split(
  work: Work,
  failing: readonly number[],
  how: { readonly reason: string; readonly wrongAlike: number; readonly maybeApplied: boolean },
): Promise<Reconciled> {
  const { tx, batch, destination, options } = work
  await expandEntries(tx, [batch.id])
  crashPoint('reconcile.expanded')
  const ords = await remainingOrds(tx, batch.id)
  const pointerWrong = !(await wasPointerRight(tx, batch))
  const pointed = new Set(options.trustPointers && !pointerWrong ? failing : [])
  const part = {
    status: how.maybeApplied ? 'ambiguous' : 'pending',
    attempts: 0,
    wrongAlike: how.wrongAlike,
    reason: how.reason,
    waitMs: 0,
  } as const
  if (pointed.size > 0 && pointed.size < ords.length) {
    await splitBatch(tx, destination, batch, [
      { ...part, ords: ords.filter((ord) => pointed.has(ord)) },
      { ...part, ords: ords.filter((ord) => !pointed.has(ord)), reason: afterPointed },
    ])
  } else {
    await halve(tx, destination, batch, ords, part)
  }
  crashPoint('reconcile.split')
  await releaseBatch(tx, batch, { to: 'split', reason: how.reason }, options.horizonMs)
  return { done: 0, confirmed: 0, refused: 0, state: 'split', pointerWrong }
}

/**
 * Sets the right half aside after the left half failed. It joins the halves that were set aside before. They are sent as one
 * request after the failing record was found.
 */
async function setSiblingAside({ tx, batch, destination }: Work, wrongAlike: number): Promise<void> {
  if (batch.parentId === null) return
  const rows = await tx.query<{ id: string; sibling: boolean; root: string }>(
    `with recursive up (id, parent_id) as (
       select id, parent_id from batch where id = $1 union all select p.id, p.parent_id from up join batch p on p.id = up.parent_id)
     select b.id, b.reason = $4 as sibling, root.id as root
     from batch b, (select id from up where parent_id is null) root
     where b.plan_id = $2 and b.status in ('pending', 'ambiguous')
       and ((b.parent_id = $3 and b.seq > $6 and b.reason = $4) or (b.parent_id = root.id and b.reason = $5))
     -- Entries that were set aside before come after this one in the frozen body.
     order by b.reason = $5, b.seq for update of b`,
    [batch.id, batch.planId, batch.parentId, afterSibling, afterIsolation, batch.seq],
  )
  if (!rows.some((row) => row.sibling)) return
  await mergeBatches(
    tx,
    destination,
    rows.map((row) => Number(row.id)),
    { parentId: Number(rows[0]?.root), attempts: 0, wrongAlike, reason: afterIsolation },
  )
}

/**
 * Returns false if the record that was split off by a pointer succeeded. Following wrong pointers would cost one request per
 * record.
 */
async function wasPointerRight(tx: Queryable, batch: ClaimedBatch): Promise<boolean> {
  if (batch.reason !== afterPointed) return true
  const [sibling] = await tx.query<{ failing: boolean }>(
    `select s.status in ('split', 'parked') or exists (select from entry e where e.batch_id = s.id and e.outcome = 'refused') as failing
     from batch s where s.parent_id = $1 and s.plan_id = $2 and s.seq < $3 order by s.seq desc limit 1`,
    [batch.parentId, batch.planId, batch.seq],
  )
  return sibling?.failing === true
}

type PartState = {
  readonly status: 'pending' | 'ambiguous'
  readonly attempts: number
  readonly wrongAlike: number
  readonly waitMs: number
  readonly reason: string
}

async function halve(
  tx: Queryable,
  destination: Destination,
  batch: ClaimedBatch,
  ords: readonly number[],
  part: PartState,
): Promise<void> {
  const middle = Math.ceil(ords.length / 2)
  await splitBatch(tx, destination, batch, [
    { ...part, ords: ords.slice(0, middle) },
    { ...part, ords: ords.slice(middle), reason: afterSibling },
  ])
}

/** Splits a right half whose left half succeeded. Returns false if the batch must be sent as it is. */
export async function splitFailingHalf(
  db: Database,
  destination: Destination,
  batch: ClaimedBatch,
  options: BatchHandler,
): Promise<boolean> {
  if (batch.reason !== afterSibling || batch.entryCount < 2) return false
  return db.transaction(async (tx) => {
    const [sibling] = await tx.query<{ clean: boolean }>(
      `select s.status = 'settled' and not exists (select from entry e where e.batch_id = s.id and e.outcome not in ('pending', 'confirmed')) as clean
       from batch s where s.parent_id = $1 and s.plan_id = $2 and s.seq < $3 order by s.seq desc limit 1`,
      [batch.parentId, batch.planId, batch.seq],
    )
    if (sibling?.clean !== true) return false
    await halve(tx, destination, batch, await remainingOrds(tx, batch.id), {
      status: batch.maybeApplied ? 'ambiguous' : 'pending',
      attempts: 0,
      wrongAlike: batch.wrongAlike,
      waitMs: 0,
      reason: 'known_guilty',
    })
    await releaseBatch(tx, batch, { to: 'split', reason: 'known_guilty' }, options.horizonMs)
    await noteBatch(tx, {
      actor: options.workerId,
      what: 'batch.split',
      runId: options.runId,
      planId: batch.planId,
      batchId: batch.id,
      detail: { reason: 'known_guilty' },
    })
    return true
  })
}

async function finish(
  work: Work,
  outcome: AttemptResult['outcome'],
  reason: string | null,
  answer: Readonly<Record<string, unknown>>,
): Promise<void> {
  const { sent } = work.options
  await finishAttempt(work.tx, work.attemptId, { ...sent, outcome, reason, answer: { ...sent.answer, ...answer } })
}

async function writeAudit(
  tx: Queryable,
  batch: ClaimedBatch,
  result: Reconciled,
  outcome: RequestOutcome,
  options: ReconcileOptions,
): Promise<void> {
  await noteBatch(tx, {
    actor: options.workerId,
    what: `batch.${result.state}`,
    runId: options.runId,
    planId: batch.planId,
    batchId: batch.id,
    detail: { outcome: outcome.kind, confirmed: result.confirmed, refused: result.refused, epoch: batch.epoch },
  })
}
