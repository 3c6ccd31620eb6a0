/**
 * Reconcile: one transaction, fenced by the epoch, turns a judged answer into entries' outcomes, confirmed state and the
 * batch's next state (guarantees 3.7). Only here does anything become synced (I1).
 */
import type { Destination, EntryOutcome, Judgement } from '../../destinations/destination.ts'
import { noteBatch } from '../../store/audit.ts'
import { finishAttempt, type AttemptResult } from '../../store/attempts.ts'
import {
  afterIsolation,
  afterPointed,
  afterSibling,
  LeaseLost,
  markLate,
  pauseDestination,
  releaseBatch,
  type ClaimedBatch,
} from '../../store/batches.ts'
import { noteDelisted } from '../../store/listed.ts'
import { bumpState, confirmAlike, confirmKeys, refuseKeys, writeOutcomes } from '../../store/outcomes.ts'
import type { Database, Queryable, Transaction } from '../../store/database.ts'
import { cutBatch, mergeBatches, remainingOrds } from '../../store/recut.ts'
import { crashPoint } from '../crashPoint.ts'
import type { BatchHandler } from './suppression.ts'

export interface ReconcileOptions {
  readonly maxAttempts: number
  readonly horizonMs: number
  /** Before the same bytes go again. */
  readonly waitMs: number
  readonly workerId: string
  readonly runId: number
  /** Are `guilty` indexes worth following? */
  readonly trustPointers: boolean
  /** The exchange as the attempt keeps it. */
  readonly sent: Omit<AttemptResult, 'outcome' | 'reason' | 'answer'> & { readonly answer: Readonly<Record<string, unknown>> }
}

/** What a pusher needs to know of it: entries that are done with, and whether anything at all was confirmed. */
export interface Reconciled {
  readonly done: number
  readonly confirmed: number
  readonly refused: number
  readonly state: 'settled' | 'open' | 'parked' | 'split' | 'paused'
  /** What the answer before pointed at was innocent: follow no pointer of this service again. */
  readonly pointerWrong?: boolean
}

/** Complete answers to the same bytes that must be wrong alike before one record is suspected (I14). */
const suspectedAfter = 3

/** @throws {LeaseLost} the batch is another's by now: nothing was written, and the answer counts for nothing */
export async function reconcile(
  db: Database,
  destination: Destination,
  batch: ClaimedBatch,
  attemptId: number,
  judgement: Judgement,
  options: ReconcileOptions,
): Promise<Reconciled> {
  return db.transaction(async (tx) => {
    // Plans that look at every key of a large table would be cheap for the planner's guesses and dear for us.
    const mine = await tx.query(
      `select set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true), set_config('enable_seqscan', 'off', true)
       from sluice.batch where id = $1 and epoch = $2 and status = 'in_flight' for update`,
      [batch.id, batch.epoch],
    )
    if (mine.length !== 1) throw new LeaseLost()
    const result = await apply({ tx, destination, batch, attemptId, options }, judgement)
    await writeAudit(tx, batch, result, judgement, options)
    // A refused removal changes nothing: they are on the list as before.
    if (destination.kind === 'do-not-reach' && (result.confirmed > 0 || (result.refused > 0 && batch.operation === 'upsert')))
      await noteDelisted(tx, batch)
    if (result.confirmed + result.refused > 0) await bumpState(tx, batch)
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

function apply(work: Work, judgement: Judgement): Promise<Reconciled> {
  switch (judgement.kind) {
    case 'entries':
      return applyEntries(work, judgement.entries)
    case 'retry':
      return applyRetry(work, judgement.reason)
    case 'pause':
      return applyPause(work, judgement)
    case 'refused':
      return applyRefusal(work, judgement)
    case 'ambiguous':
      return applyAmbiguity(work, judgement)
  }
}

async function applyEntries(work: Work, outcomes: readonly EntryOutcome[]): Promise<Reconciled> {
  const { tx, batch, options } = work
  // Users are confirmed all alike: nothing needs to be said of each. Deletes are few, and what became of each is asked for.
  const alike =
    work.destination.kind !== 'catalog' && batch.operation === 'upsert' && outcomes.every((entry) => entry.outcome === 'confirmed')
  if (alike) await confirmAlike(work)
  else await writeOutcomes(tx, batch, outcomes)
  const confirmed = outcomes.filter((entry) => entry.outcome === 'confirmed').length
  const refused = outcomes.filter((entry) => entry.outcome === 'refused').length
  const open = outcomes.flatMap((entry, ord) => (entry.outcome === 'ambiguous' ? [ord] : []))
  crashPoint('reconcile.entries_written')
  if (confirmed > 0) await confirmKeys(work, alike)
  if (refused > 0) await refuseKeys(work, { runId: options.runId, mayStand: work.destination.kind === 'audience' })

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
  // What is settled needs no second sending: the rest goes alone.
  const [child] = await cutBatch(tx, work.destination, batch, [
    { ords: open, status: 'ambiguous', attempts: batch.attempts + 1, wrongAlike: 0, reason: reasons, waitMs: options.waitMs },
  ])
  if (batch.attempts + 1 >= options.maxAttempts)
    await tx.execute(`update sluice.batch set status = 'parked', next_attempt_at = null where id = $1`, [child])
  else await tx.execute(`update sluice.entry set outcome = 'pending' where batch_id = $1`, [child])
  await releaseBatch(tx, batch, { to: 'settled' }, options.horizonMs)
  return { done, confirmed, refused, state: 'split' }
}

async function applyRetry(work: Work, reason: string): Promise<Reconciled> {
  await finish(work, 'retry', reason, {})
  return again(work, reason, work.batch.maybeApplied)
}

async function applyPause(work: Work, judgement: { readonly code: string; readonly reason: string }): Promise<Reconciled> {
  const { tx, batch, options } = work
  await finish(work, 'pause', judgement.code, { message: judgement.reason })
  await releaseBatch(tx, batch, { to: 'open', reason: judgement.code, waitMs: 0, maybeApplied: batch.maybeApplied }, options.horizonMs)
  await pauseDestination(tx, batch.destinationId, `${judgement.code}: ${judgement.reason}`)
  return { done: 0, confirmed: 0, refused: 0, state: 'paused' }
}

async function applyRefusal(
  work: Work,
  judgement: { readonly code: string; readonly reason: string; readonly guilty: readonly number[] },
): Promise<Reconciled> {
  const { tx, batch, options } = work
  await finish(work, 'refused', judgement.code, { message: judgement.reason, guilty: judgement.guilty.length })
  await setSiblingAside(work, 0)
  if (batch.entryCount > 1)
    return split(work, judgement.guilty, { reason: judgement.code, wrongAlike: 0, maybeApplied: batch.maybeApplied })
  await tx.execute(`update sluice.entry set outcome = 'refused', code = $2, message = $3 where batch_id = $1`, [
    batch.id,
    judgement.code,
    judgement.reason,
  ])
  await refuseKeys(work, { runId: options.runId, mayStand: work.destination.kind === 'audience' })
  await releaseBatch(tx, batch, { to: 'settled' }, options.horizonMs)
  return { done: 1, confirmed: 0, refused: 1, state: 'settled' }
}

async function applyAmbiguity(work: Work, judgement: Extract<Judgement, { kind: 'ambiguous' }>): Promise<Reconciled> {
  const { tx, batch, options } = work
  await finish(work, 'ambiguous', judgement.reason, { mayLandLater: judgement.mayLandLater, guilty: judgement.guilty.length })
  if (judgement.mayLandLater) await markLate(tx, [batch.id], options.horizonMs)
  crashPoint('reconcile.ambiguous')
  const wrongAlike = judgement.miscounted ? batch.wrongAlike + 1 : 0
  if (wrongAlike >= suspectedAfter) {
    await setSiblingAside(work, suspectedAfter - 1)
    // One wrong answer is enough for its parts: the suspicion is there already.
    if (batch.entryCount > 1)
      return split(work, judgement.guilty, { reason: judgement.reason, wrongAlike: suspectedAfter - 1, maybeApplied: true })
    return park(work, judgement.reason, true)
  }
  return again(work, judgement.reason, true, wrongAlike)
}

/** The same bytes later, or enough for this run. */
async function again(work: Work, reason: string, maybeApplied: boolean, wrongAlike = 0): Promise<Reconciled> {
  const { tx, batch, options } = work
  if (batch.attempts + 1 >= options.maxAttempts) return park(work, reason, maybeApplied)
  await releaseBatch(tx, batch, { to: 'open', reason, waitMs: options.waitMs, maybeApplied, wrongAlike }, options.horizonMs)
  return { done: 0, confirmed: 0, refused: 0, state: 'open' }
}

async function park(work: Work, reason: string, maybeApplied: boolean): Promise<Reconciled> {
  const { tx, batch, options } = work
  await tx.execute(`update sluice.entry set outcome = $2, code = $3 where batch_id = $1`, [
    batch.id,
    maybeApplied ? 'ambiguous' : 'pending',
    reason,
  ])
  await releaseBatch(tx, batch, { to: 'parked', reason }, options.horizonMs)
  return { done: batch.entryCount, confirmed: 0, refused: 0, state: 'parked' }
}

/**
 * Takes out what the answer points at, or halves. Of two halves the left goes first: when it is clean, the fault must be
 * in the right one, which is then cut without being sent whole; when it is not, the right one is set aside. So a culprit
 * costs one request a halving, and one more for all that was set aside (I14).
 */
async function split(
  work: Work,
  guilty: readonly number[],
  how: { readonly reason: string; readonly wrongAlike: number; readonly maybeApplied: boolean },
): Promise<Reconciled> {
  const { tx, batch, destination, options } = work
  const ords = await remainingOrds(tx, batch.id)
  const pointerWrong = !(await wasPointerRight(tx, batch))
  const pointed = new Set(options.trustPointers && !pointerWrong ? guilty : [])
  const part = {
    status: how.maybeApplied ? 'ambiguous' : 'pending',
    attempts: 0,
    wrongAlike: how.wrongAlike,
    reason: how.reason,
    waitMs: 0,
  } as const
  if (pointed.size > 0 && pointed.size < ords.length) {
    await cutBatch(tx, destination, batch, [
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
 * The left half was wrong: its right sibling, if one waits, is taken for clean and joins what was set aside before, to go
 * as one request when the culprit is found.
 */
async function setSiblingAside({ tx, batch, destination }: Work, wrongAlike: number): Promise<void> {
  if (batch.parentId === null) return
  const rows = await tx.query<{ id: string; sibling: boolean; root: string }>(
    `with recursive up (id, parent_id) as (
       select id, parent_id from sluice.batch where id = $1 union all select p.id, p.parent_id from up join sluice.batch p on p.id = up.parent_id)
     select b.id, b.reason = $4 as sibling, root.id as root
     from sluice.batch b, (select id from up where parent_id is null) root
     where b.plan_id = $2 and b.status in ('pending', 'ambiguous')
       and ((b.parent_id = $3 and b.seq > $6 and b.reason = $4) or (b.parent_id = root.id and b.reason = $5))
     -- What was set aside before stood behind this one in the frozen body.
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

/** A pointer that took out the innocent once is not followed again: what points beside would cost a request a record. */
async function wasPointerRight(tx: Queryable, batch: ClaimedBatch): Promise<boolean> {
  if (batch.reason !== afterPointed) return true
  const [sibling] = await tx.query<{ guilty: boolean }>(
    `select s.status in ('split', 'parked') or exists (select from sluice.entry e where e.batch_id = s.id and e.outcome = 'refused') as guilty
     from sluice.batch s where s.parent_id = $1 and s.plan_id = $2 and s.seq < $3 order by s.seq desc limit 1`,
    [batch.parentId, batch.planId, batch.seq],
  )
  return sibling?.guilty === true
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
  await cutBatch(tx, destination, batch, [
    { ...part, ords: ords.slice(0, middle) },
    { ...part, ords: ords.slice(middle), reason: afterSibling },
  ])
}

/** A right half whose left sibling was clean is cut at once. False: send it as it is. */
export async function cutKnownGuilty(db: Database, destination: Destination, batch: ClaimedBatch, options: BatchHandler): Promise<boolean> {
  if (batch.reason !== afterSibling || batch.entryCount < 2) return false
  return db.transaction(async (tx) => {
    const [sibling] = await tx.query<{ clean: boolean }>(
      `select s.status = 'settled' and not exists (select from sluice.entry e where e.batch_id = s.id and e.outcome not in ('pending', 'confirmed')) as clean
       from sluice.batch s where s.parent_id = $1 and s.plan_id = $2 and s.seq < $3 order by s.seq desc limit 1`,
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
  judgement: Judgement,
  options: ReconcileOptions,
): Promise<void> {
  await noteBatch(tx, {
    actor: options.workerId,
    what: `batch.${result.state}`,
    runId: options.runId,
    planId: batch.planId,
    batchId: batch.id,
    detail: { judged: judgement.kind, confirmed: result.confirmed, refused: result.refused, epoch: batch.epoch },
  })
}
