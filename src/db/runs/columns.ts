/** Types and decoders of the JSON columns of the `run` table. Fields that an earlier version did not store have defaults. */
import { z } from 'zod'
import type { ErrorCode } from '../../model/errorCodes.ts'
import type { Drift, GuardResult, ProductSetChange, Progress, RunCounts, RunReport, Settled, WarningSummary } from '../../model/report.ts'
import { recordOf } from '../../unknownValue.ts'
import { jsonColumn } from '../jsonColumn.ts'

/** Options of a run, stored with it so that any process can execute it. */
export interface RunOptions {
  /** True: sends all desired records again, and not only changes. */
  readonly full?: boolean
  /** Maximum number of deletes that the user approved. */
  readonly approveDeletes?: number
  /** Address of the source of a backfill, which replaces the sources of the pipeline. */
  readonly source?: string
  /** True for `rerun --failed`: plans only the unconfirmed operations of the earlier run. */
  readonly failedOnly?: boolean
  /**
   * Set for an audit. An audit reads the catalog back, and with `repair` also plans corrections. The trigger of such a run is `plan`, which
   * workers of earlier versions ignore.
   */
  readonly audit?: 'report' | 'repair'
  /** Set for a run that was requested over HTTP or from the dashboard, so that any worker may claim it. */
  readonly anyWorker?: true
}

/** Decodes `run.options`. Leaves out unknown options, and values of another type. */
export function readOptions(stored: unknown): RunOptions {
  const { full, approveDeletes, source, failedOnly, audit, anyWorker } = recordOf(stored)
  return {
    ...(typeof full === 'boolean' ? { full } : {}),
    ...(typeof approveDeletes === 'number' ? { approveDeletes } : {}),
    ...(typeof source === 'string' ? { source } : {}),
    ...(typeof failedOnly === 'boolean' ? { failedOnly } : {}),
    ...(audit === 'report' || audit === 'repair' ? { audit } : {}),
    ...(anyWorker === true ? { anyWorker } : {}),
  }
}

const text = z.string()
const number = z.number()
/** Count with the default 0, for runs of versions that did not store this count. */
const count = number.default(0)

/** Result of an audit. Earlier versions stored `gone`, `foreign` and `unsettled` instead of `notListed`, `unmanaged` and `unresolved`. */
const drift: z.ZodType<Drift> = z
  .object({
    listed: count,
    same: count,
    changed: count,
    hidden: count,
    waiting: count,
    notListed: count,
    unmanaged: count,
    unresolved: count,
    gone: count,
    foreign: count,
    unsettled: count,
  })
  .transform(({ gone, foreign, unsettled, notListed, unmanaged, unresolved, ...others }) => ({
    ...others,
    notListed: notListed + gone,
    unmanaged: unmanaged + foreign,
    unresolved: unresolved + unsettled,
  }))

/**
 * Stored counts of a run, with the counts of earlier runs that it settled and the result of an audit. Reports show these two separately.
 */
export type StoredCounts = RunCounts & { readonly settled?: Settled; readonly drift?: Drift }

const reportedCounts = {
  read: count,
  rejected: count,
  duplicates: count,
  suppressed: count,
  filtered: number.exactOptional(),
  valid: count,
  unchanged: count,
  stale: count,
  creates: count,
  updates: count,
  deletes: count,
  renewals: count,
  withheld: count,
  deferred: count,
  requests: count,
  confirmed: count,
  refused: count,
  ambiguous: count,
  pending: count,
}

/** Schema of the counts of a run or a plan. */
export const runCounts: z.ZodType<StoredCounts> = z.object({
  ...reportedCounts,
  settled: z.object({ confirmed: number, refused: number }).exactOptional(),
  drift: drift.exactOptional(),
})

/** Number of unconfirmed operations of a run by change (`create`, `update` …) and result (`refused`, `ambiguous`, `pending`). */
export type Unconfirmed = Readonly<Record<string, Readonly<Record<string, number>>>>

/** Counts for metrics. `unconfirmed` is null for a run that has sent no plan yet, and for a run of an earlier version. */
const metricCounts: z.ZodType<RunCounts & { readonly unconfirmed: Unconfirmed | null }> = z.object({
  ...reportedCounts,
  unconfirmed: z.record(text, z.record(text, number)).nullable().default(null),
})

export const guardResults: z.ZodType<readonly GuardResult[]> = z.array(
  z.object({
    code: text,
    message: text,
    hint: text.default(''),
    withheld: count,
    outOfStock: number.exactOptional(),
    ofBackfill: z.literal(true).exactOptional(),
    examples: z.array(text).default([]),
  }),
)

export const productSetChanges: z.ZodType<readonly ProductSetChange[]> = z.array(
  z.object({
    name: text,
    action: z.enum(['create', 'update', 'replace', 'delete', 'unchanged']),
    outcome: z.enum(['planned', 'confirmed', 'refused', 'unresolved']),
    code: text.exactOptional(),
    message: text.exactOptional(),
  }),
)

const warnings: z.ZodType<readonly WarningSummary[]> = z.array(
  z.object({
    code: text,
    field: text.default(''),
    message: text,
    count: number,
    lines: z.array(number).default([]),
    hint: text.exactOptional(),
  }),
)

/** Start and duration of a stage that has ended. */
export interface StageTime {
  readonly stage: string
  readonly startedAt: string
  readonly durationMs: number
}

const stages: z.ZodType<readonly StageTime[]> = z.array(z.object({ stage: text, startedAt: text, durationMs: number }))

/** Progress of a running stage. */
export interface StoredProgress extends Progress {
  readonly stageStartedAt: string
  /** Time at which the progress was stored. */
  readonly at: string
}

const progress: z.ZodType<StoredProgress> = z.object({
  stage: z.enum(['settle', 'read', 'diff', 'plan', 'push', 'audit']),
  done: number,
  total: number.exactOptional(),
  rejected: number.exactOptional(),
  waiting: text.exactOptional(),
  stageStartedAt: text,
  at: text,
})

/** Accepts every text with the form of a code. A newer version may have stored a code that this version does not have. */
const errorCode = z.custom<ErrorCode>((code) => typeof code === 'string' && /^[A-Z][A-Z0-9_]+$/.test(code))

const error: z.ZodType<NonNullable<RunReport['error']>> = z.object({
  code: errorCode,
  message: text,
  where: text.nullable().default(null),
  hint: text.default(''),
})

/** Decodes `run.counts` for reports. */
export const decodeCounts = jsonColumn('run', 'counts', runCounts)
/** Decodes `run.counts` for metrics. */
export const decodeMetricCounts = jsonColumn('run', 'counts', metricCounts)
export const decodeGuards = jsonColumn('run', 'guards', guardResults)
export const decodeWarnings = jsonColumn('run', 'warnings', warnings)
export const decodeStages = jsonColumn('run', 'stages', stages)
/** Decodes `run.progress`; null if no stage is running. */
export const decodeProgress = jsonColumn('run', 'progress', progress.nullable())
/** Decodes `run.columns`: the column names of the source. */
export const decodeColumns = jsonColumn('run', 'columns', z.array(text))
/** Decodes `run.error`; null if the run has no error. */
export const decodeError = jsonColumn('run', 'error', error.nullable())
/** Decodes `run.product_sets`; null if the pipeline has no product sets. */
export const decodeProductSets = jsonColumn('run', 'product_sets', productSetChanges.nullable())
