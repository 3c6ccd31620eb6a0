/** Reports of runs, plans, audits and checks, for `--json`, the API and the terminal. */
import type { ErrorCode } from './errorCodes.ts'

export const runStatuses = ['succeeded', 'partial', 'withheld', 'failed', 'cancelled', 'skipped'] as const
/** Status of a run that ended. Each status has an exit code. */
export type RunStatus = (typeof runStatuses)[number]

/** Status as stored: of a run that ended, or `queued` or `running`. */
export type StoredRunStatus = RunStatus | 'queued' | 'running'

export const runTriggers = ['manual', 'schedule', 'backfill', 'rerun', 'plan', 'apply'] as const
/** Reason why a run started, as stored. */
export type RunTrigger = (typeof runTriggers)[number]

/** Trigger as reports show it. An audit is stored as a `plan` with an option. */
export type ShownTrigger = RunTrigger | 'audit'

/** Effect of an operation on a record at the service. */
export type Change = 'create' | 'update' | 'delete' | 'renewal'

/** Returns true for runs that send nothing themselves. They may store a plan, and `sluice apply` sends it. */
export function onlyPlans(trigger: ShownTrigger): boolean {
  return trigger === 'plan' || trigger === 'audit'
}

/**
 * Counts of a run. Rows: `read = rejected + duplicates + suppressed + filtered + valid`. Operations: `creates + updates + deletes +
 * renewals = confirmed + refused + ambiguous + pending`; `withheld` and `deferred` operations are in none of these.
 */
export interface RunCounts {
  readonly read: number
  readonly rejected: number
  readonly duplicates: number
  /** Rows that opted out, and rows on a do-not-reach list or erased. */
  readonly suppressed: number
  /** Rows that `only:` and `except:` leave out; absent if the pipeline has neither. */
  readonly filtered?: number
  readonly valid: number
  /** Valid rows without a planned or deferred operation. */
  readonly unchanged: number
  /** Records with a row that is rejected or contradicts another row. Their last content stays desired. */
  readonly stale: number
  readonly creates: number
  readonly updates: number
  readonly deletes: number
  readonly renewals: number
  /** Deletes that a guard withheld, and products that it did not set out of stock. */
  readonly withheld: number
  /** Operations that a later run plans, in most cases because an earlier operation on the key is unresolved. */
  readonly deferred: number
  readonly requests: number
  readonly confirmed: number
  readonly refused: number
  readonly ambiguous: number
  readonly pending: number
}

/** Counts of rows, as stored with a snapshot. */
export type RowCounts = Pick<RunCounts, 'read' | 'rejected' | 'duplicates' | 'suppressed' | 'filtered' | 'valid'>

/** Counts of a run that has done nothing yet. */
export const noCounts: RunCounts = {
  read: 0,
  rejected: 0,
  duplicates: 0,
  suppressed: 0,
  valid: 0,
  unchanged: 0,
  stale: 0,
  creates: 0,
  updates: 0,
  deletes: 0,
  renewals: 0,
  withheld: 0,
  deferred: 0,
  requests: 0,
  confirmed: 0,
  refused: 0,
  ambiguous: 0,
  pending: 0,
}

/** Guard that withheld deletes, or stopped the run. */
export interface GuardResult {
  /** `GUARD_DELETES`, `GUARD_IDENTIFIERS`, `GUARD_MIN_ROWS`, `GUARD_ROWS_FELL`, `GUARD_IDS_LOST`, `GUARD_INCOMPLETE`, `GUARD_REJECTS` … */
  readonly code: string
  readonly message: string
  readonly hint: string
  /** Number of deletes that this guard withheld, including `outOfStock`; 0 if it stopped the run. */
  readonly withheld: number
  /** Number of `withheld` changes that only set a missing product out of stock. Absent if there are none. */
  readonly outOfStock?: number
  /** True for a run that reads the source of a backfill. Present only then. No approval overrides the guard there. */
  readonly ofBackfill?: true
  /** Examples for the user: the first keys of products; never of members. */
  readonly examples: readonly string[]
}

export interface GuardEffect {
  /** `run`: all requests, so that the run stops. */
  readonly withholds: 'deletes' | 'run'
  /** True if `--approve-deletes` overrides the guard. */
  readonly approvable: boolean
}

const guardEffects: Readonly<Record<string, GuardEffect>> = {
  GUARD_DELETES: { withholds: 'deletes', approvable: true },
  GUARD_IDENTIFIERS: { withholds: 'deletes', approvable: true },
  GUARD_ROWS_FELL: { withholds: 'deletes', approvable: true },
  GUARD_IDS_LOST: { withholds: 'deletes', approvable: true },
  GUARD_MIN_ROWS: { withholds: 'deletes', approvable: false },
  GUARD_INCOMPLETE: { withholds: 'deletes', approvable: false },
  GUARD_IDS_CHANGED: { withholds: 'run', approvable: true },
  GUARD_PEOPLE_CHANGED: { withholds: 'run', approvable: true },
}

/** Returns the effect of a guard. All guards without an entry above stop the run. */
export function guardEffectOf({ code, ofBackfill }: Pick<GuardResult, 'code' | 'ofBackfill'>): GuardEffect {
  const effect = guardEffects[code] ?? { withholds: 'run', approvable: false }
  return ofBackfill === true ? { ...effect, approvable: false } : effect
}

/**
 * Minimum number of rows of the earlier read for `GUARD_ROWS_FELL` and `ROWS_ERODED`. A source with fewer rows may lose more than half of
 * them.
 */
export const minComparedRows = 20

/** Maximum number of lines of a `WarningSummary`. */
export const maxWarningLines = 5

/** Warnings of one code and field, with their number and first lines, at most `maxWarningLines`. */
export interface WarningSummary {
  readonly code: string
  readonly field: string
  readonly message: string
  readonly count: number
  readonly lines: readonly number[]
  /** Suggested setting for this file, if there is one. */
  readonly hint?: string
}

/** Products or users in batches of earlier runs, settled by this run. They count in the earlier runs, not in this run. */
export interface Settled {
  readonly confirmed: number
  readonly refused: number
}

/** Operations that are not confirmed for the same reason. */
export interface Failure {
  /** `ambiguous`: sent, and may have been applied. `pending`: not sent, or not accepted. */
  readonly outcome: 'refused' | 'ambiguous' | 'pending'
  /** Code of the service, or of the attempt: `http-503`, `not-sent`, `connection-lost` … */
  readonly code: string
  /** Message of the service without personal data, or the meaning of the code. */
  readonly message: string
  readonly count: number
  /** The first ids of products; never of members. */
  readonly examples: readonly string[]
}

/**
 * Result of an audit of a catalog, in products. A product counts in at most one of `same`, `changed`, `notListed`, `hidden`, `unmanaged`
 * and `unresolved`. `listed` and `waiting` are counted separately.
 */
export interface Drift {
  /** Products that the service listed. */
  readonly listed: number
  readonly same: number
  /** Listed with another content than the confirmed one. */
  readonly changed: number
  /** Confirmed, but not listed, and not `hidden`. */
  readonly notListed: number
  /**
   * Confirmed and not listed, but may be at the service. Either another variant of its group is listed, and a listing shows only the first
   * one. Or the confirmed content is no longer stored. Only a put can verify such a product.
   */
  readonly hidden: number
  /** Listed, and not written by this pipeline. Sluice never changes them. */
  readonly unmanaged: number
  /**
   * Not compared, because a request for it was unresolved or was confirmed during the audit. Or listed with another hash than that of the
   * confirmed content, while the confirmed content is no longer stored.
   */
  readonly unresolved: number
  /** Desired content differs from the confirmed content, so the next run sends these products. */
  readonly waiting: number
}

/** Change of one product set of a pipeline by a run, done or planned. */
export interface ProductSetChange {
  readonly name: string
  /** `replace`: type and filters of a set cannot be changed, so a new set takes its place. */
  readonly action: 'create' | 'update' | 'replace' | 'delete' | 'unchanged'
  readonly outcome: 'planned' | 'confirmed' | 'refused' | 'unresolved'
  /** Reason why the change was not confirmed, or cannot be applied; absent otherwise. */
  readonly code?: string
  readonly message?: string
}

/** Document of `run --json`. Keys may be added, never removed. */
export interface RunReport {
  readonly runId: string
  readonly pipeline: string
  readonly trigger: ShownTrigger
  /** Only for a backfill from standard input, and for a rerun of it. */
  readonly fromStandardInput?: boolean
  readonly status: RunStatus
  readonly counts: RunCounts
  readonly guards: readonly GuardResult[]
  readonly startedAt: string
  readonly finishedAt: string
  readonly durationMs: number
  readonly planId?: string
  /** Absent if this run sent no batch of an earlier run. */
  readonly settled?: Settled
  /** Only for audits. */
  readonly drift?: Drift
  /** Product sets of the pipeline; absent if it has none. */
  readonly productSets?: readonly ProductSetChange[]
  readonly rejectCodes?: readonly { readonly code: string; readonly count: number }[]
  readonly warnings?: readonly WarningSummary[]
  /** Only for a run or `show`; absent if everything was confirmed, and in lists of runs. */
  readonly failures?: readonly Failure[]
  readonly error?: { readonly code: ErrorCode; readonly message: string; readonly where: string | null; readonly hint: string }
}

/** Run as lists and pages show it; may also be queued or running. */
export type ShownRun = Omit<RunReport, 'status' | 'finishedAt'> & {
  readonly status: StoredRunStatus
  /** Null until the run has ended. */
  readonly finishedAt: string | null
}

/** Document of `plan --json`. */
export interface PlanReport extends RunReport {
  readonly planId: string
  /** Updates by changed field, for products. */
  readonly updateFields: readonly { readonly field: string; readonly count: number }[]
  readonly requests: number
  /** Minutes that sending takes at the service's limits; null without a plan. */
  readonly minutes: number | null
  /** Proof of the end of the sources, or why it is missing, for users. */
  readonly proof: string
}

/** Progress of a running stage, in rows of a read, operations, or listed products. `total` is undefined until it is known. */
export interface Progress {
  readonly stage: 'settle' | 'read' | 'diff' | 'plan' | 'push' | 'audit'
  readonly done: number
  readonly total?: number
  readonly rejected?: number
  /** Reason for a wait: `waiting for the rate limit until …`. */
  readonly waiting?: string
  /** The run, once it has started. */
  readonly run?: Pick<RunReport, 'runId' | 'pipeline'>
}

/** One line of `sluice doctor`. */
export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'failed'
  readonly message: string
  readonly hint?: string
}
