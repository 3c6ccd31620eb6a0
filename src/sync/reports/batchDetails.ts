/** Loads one batch, and lists the batches of a plan. Returns no personal data. */
import { decodeAnswer, sendingRun } from '../../db/attempts.ts'
import type { Database } from '../../db/database.ts'
import { entriesOf, shownOutcome } from '../../db/entries/read.ts'
import type { DbRow, Value } from '../../db/row.ts'
import { destinationOf } from '../../destinations/index.ts'
import type { DestinationWords } from '../../destinations/destination.ts'
import { UsageError } from '../../errors.ts'
import { meaningsOfReason } from './reasonMeanings.ts'

/** State of a batch (docs/states.md#batch). */
export type BatchStatus = Value<'batch', 'status'>
/** Outcome of an operation (docs/states.md#entry). */
export type OperationOutcome = 'confirmed' | 'refused' | 'ambiguous' | 'pending' | 'superseded'

/** Batch in a list. */
export interface BatchLine {
  readonly batch: number
  readonly operation: 'upsert' | 'delete'
  readonly status: BatchStatus
  /** Number of products, or of users. */
  readonly operations: number
  readonly attempts: number
  /**
   * Reason why the batch is open again, parked, split, superseded or waiting: codes of `reasonMeanings.ts`, separated by spaces. Null if
   * there is none.
   */
  readonly reason: string | null
}

/** Batch with its attempts and outcomes. */
export interface BatchDetails extends BatchLine {
  readonly planId: string
  /** Run that made the plan. */
  readonly runId: string
  readonly pipeline: string
  readonly words: DestinationWords
  /** True for products, whose operations are listed by id; false for people. */
  readonly showsRecords: boolean
  /** Length of the body in bytes. Null if the body is not stored any more, or is stored as a template (`db/bodyTemplate.ts`). */
  readonly bytes: number | null
  /** SHA-256 of the body in hex. */
  readonly bodySha256: string
  readonly createdAt: Date
  /** Time from which none of its attempts can arrive at the service any more (column `settled_at`); null while the batch is open. */
  readonly settledAt: Date | null
  readonly nextAttemptAt: Date | null
  /** Earliest end of the memberships in the batch (`expires_at` of the table `batch`); null if there is none. */
  readonly expiresAt: Date | null
  readonly parent: number | null
  /** Batches to which operations of this batch moved, and batches with deletes of its suppressed or erased identifiers. */
  readonly children: readonly number[]
  /** Reason of the destination's pause; null if it is not paused. */
  readonly paused: string | null
  /** Explanation of `reason`; empty if there is none. */
  readonly meaning: string
  /** Last 50 attempts, the latest first. */
  readonly lastAttempts: readonly AttemptLine[]
  /** At most 50 groups: first the unconfirmed ones, the largest first, then the confirmed ones, the largest first. */
  readonly outcomes: readonly OutcomeGroup[]
  /** All operations, the unconfirmed ones first. Empty without `showsRecords`. */
  readonly entries: readonly EntryLine[]
}

export interface AttemptLine {
  readonly runId: string
  readonly startedAt: Date
  /** Null while the attempt is in flight. */
  readonly outcome: string | null
  readonly httpStatus: number | null
  readonly reason: string | null
  /** Explanation of `reason`; empty if there is none. */
  readonly meaning: string
  readonly durationMs: number | null
  /** Counts and codes of the answer, without counts of 0. */
  readonly answer: readonly (readonly [name: string, value: string])[]
}

/** Operations with one outcome, change and code. */
export interface OutcomeGroup {
  readonly outcome: OperationOutcome
  readonly change: string
  readonly code: string | null
  /** First message of the group in alphabetical order, or the meaning of the code; empty if there is neither. */
  readonly message: string
  /** Number of products, or of users. */
  readonly count: number
  /** First five places in the request, from 1. */
  readonly places: readonly number[]
}

export interface EntryLine {
  /** Place in the request, from 1. */
  readonly place: number
  /** Product id. */
  readonly product: string
  readonly change: string
  readonly outcome: OperationOutcome
  readonly code: string | null
  readonly message: string
}

const maxShownAttempts = 50
const maxShownGroups = 50
/** More than the 25 products of a request, so all of them are returned. */
const maxShownEntries = 100

/**
 * Loads the batch with the number `text`.
 * @throws {UsageError} `UNKNOWN_BATCH`: `text` is not a number, or no batch has this number
 */
export async function loadBatch(db: Database, text: string): Promise<BatchDetails> {
  const id = batchNumber(text)
  const [row] = await db.query<BatchRow>(
    `select b.id, b.plan_id, p.run_id, p.pipeline, d.kind, b.operation, b.status, b.user_count, b.attempts, b.reason,
       octet_length(b.body) as bytes, encode(b.body_sha256, 'hex') as sha256,
       b.created_at, b.settled_at, b.next_attempt_at, b.expires_at, b.parent_id, d.paused_reason,
       array(select child.id from batch child where child.plan_id = b.plan_id and child.parent_id = b.id order by child.seq) as children
     from batch b join plan p on p.id = b.plan_id join destination d on d.id = b.destination_id where b.id = $1`,
    [id],
  )
  if (row === undefined) throw unknownBatch(text)
  const { words, showsRecords } = destinationOf(row.kind)
  const [lastAttempts, outcomes, entries] = await Promise.all([
    loadAttempts(db, id),
    loadOutcomes(db, id),
    showsRecords ? loadEntries(db, id) : [],
  ])
  return {
    ...toLine(row),
    planId: row.plan_id,
    runId: `r_${row.run_id}`,
    pipeline: row.pipeline,
    words,
    showsRecords,
    bytes: row.bytes,
    bodySha256: row.sha256,
    createdAt: row.created_at,
    settledAt: row.settled_at,
    nextAttemptAt: row.next_attempt_at,
    expiresAt: row.expires_at,
    parent: row.parent_id === null ? null : Number(row.parent_id),
    children: row.children.map(Number),
    paused: row.paused_reason,
    meaning: row.reason === null ? '' : meaningsOfReason(row.reason),
    lastAttempts,
    outcomes,
    entries,
  }
}

type LineRow = DbRow<'batch', 'id' | 'operation' | 'status' | 'user_count' | 'attempts' | 'reason'>

type BatchRow = LineRow &
  DbRow<'batch', 'plan_id' | 'created_at' | 'settled_at' | 'next_attempt_at' | 'expires_at' | 'parent_id'> &
  DbRow<'plan', 'run_id' | 'pipeline'> &
  DbRow<'destination', 'kind' | 'paused_reason'> & {
    readonly bytes: number | null
    readonly sha256: string
    readonly children: readonly Value<'batch', 'id'>[]
  }

/** Returns at most `limit` batches of a plan, without split batches. Settled and superseded batches come last. */
export async function listBatches(db: Database, planId: string, limit: number): Promise<readonly BatchLine[]> {
  const rows = await db.query<LineRow>(
    `select b.id, b.operation, b.status, b.user_count, b.attempts, b.reason from batch b
     where b.plan_id = $1 and b.status <> 'split' order by b.status in ('settled', 'superseded'), b.seq limit $2`,
    [planId, limit],
  )
  return rows.map(toLine)
}

function toLine({ id, operation, status, user_count, attempts, reason }: LineRow): BatchLine {
  return { batch: Number(id), operation, status, operations: user_count, attempts, reason }
}

async function loadAttempts(db: Database, id: number): Promise<readonly AttemptLine[]> {
  const rows = await db.query<
    DbRow<'attempt', 'id' | 'run_id' | 'started_at' | 'outcome' | 'http_status' | 'reason' | 'duration_ms' | 'answer'>
  >(
    `select ${sendingRun} as run_id, a.id, a.started_at, a.outcome, a.http_status, a.reason, a.duration_ms, a.answer
     from attempt a join batch b on b.id = a.batch_id join plan p on p.id = b.plan_id
     where b.id = $1 order by a.id desc limit ${maxShownAttempts}`,
    [id],
  )
  return rows.map(({ id: attempt, run_id, started_at, http_status, duration_ms, answer, ...row }) => ({
    ...row,
    runId: `r_${run_id}`,
    startedAt: started_at,
    httpStatus: http_status,
    durationMs: duration_ms,
    meaning: row.reason === null ? '' : meaningsOfReason(row.reason),
    answer: Object.entries(decodeAnswer(answer, attempt) ?? {}).flatMap(([name, value]) =>
      value === 0 ? [] : [[name, String(value)] as const],
    ),
  }))
}

async function loadOutcomes(db: Database, id: number): Promise<readonly OutcomeGroup[]> {
  const rows = await db.query<Omit<OutcomeGroup, 'message'> & { message: string | null }>(
    `select o.outcome, e.change, e.code, min(e.message) as message, sum(e.users)::int as count,
       (array_agg(e.ord + 1 order by e.ord))[1:5] as places
     from batch b cross join ${entriesOf('b.id')} e cross join lateral (select ${shownOutcome} as outcome) o where b.id = $1
     group by o.outcome, e.change, e.code order by o.outcome = 'confirmed', sum(e.users) desc, e.code limit ${maxShownGroups}`,
    [id],
  )
  return rows.map((row) => ({ ...row, message: row.message ?? (row.code === null ? '' : meaningsOfReason(row.code)) }))
}

async function loadEntries(db: Database, id: number): Promise<readonly EntryLine[]> {
  const rows = await db.query<Omit<EntryLine, 'product' | 'message'> & { key: Buffer | null; message: string | null }>(
    `select e.ord + 1 as place, e.record_key as key, e.change, ${shownOutcome} as outcome, e.code, e.message
     from batch b cross join ${entriesOf('b.id')} e where b.id = $1
     order by ${shownOutcome} = 'confirmed', e.ord limit ${maxShownEntries}`,
    [id],
  )
  return rows.map(({ key, message, ...row }) => ({
    ...row,
    product: key?.toString() ?? '',
    message: message ?? (row.code === null ? '' : meaningsOfReason(row.code)),
  }))
}

function batchNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw unknownBatch(text)
  return Number(text)
}

function unknownBatch(text: string): UsageError {
  const where = text.slice(0, 40)
  return new UsageError('UNKNOWN_BATCH', `there is no batch "${where}", or its run has expired`, { where, hint: 'sluice runs' })
}
