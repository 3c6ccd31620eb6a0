/** Report of a run, for `--json` and for the terminal. */

export const runStatuses = ['succeeded', 'partial', 'withheld', 'failed', 'cancelled', 'skipped'] as const
export type RunStatus = (typeof runStatuses)[number]

export const runTriggers = ['manual', 'schedule', 'backfill', 'rerun', 'plan', 'apply'] as const
export type RunTrigger = (typeof runTriggers)[number]

/** As a report says it: an audit is stored as a `plan` that says so in its options. */
export type ShownTrigger = RunTrigger | 'audit'

/** It may store a plan, and sends nothing on its own. */
export function sendsNothing(trigger: ShownTrigger): boolean {
  return trigger === 'plan' || trigger === 'audit'
}

/** Counts of a run. Rows: `read = rejected + duplicates + suppressed + valid`. Operations: created, updated, deleted and so on. */
export interface RunCounts {
  readonly read: number
  readonly rejected: number
  readonly duplicates: number
  readonly suppressed: number
  /** Rows that `only:` and `except:` leave out; absent where the pipeline has neither. `read` includes them. */
  readonly filtered?: number
  readonly valid: number
  readonly unchanged: number
  readonly stale: number
  readonly creates: number
  readonly updates: number
  readonly deletes: number
  readonly renewals: number
  readonly withheld: number
  readonly deferred: number
  readonly requests: number
  readonly confirmed: number
  readonly refused: number
  readonly ambiguous: number
  readonly pending: number
}

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

/** A guard that held something back, or stopped the run. */
export interface GuardResult {
  /** `GUARD_DELETES`, `GUARD_IDENTIFIERS`, `GUARD_MIN_ROWS`, `GUARD_ROWS_FELL`, `GUARD_INCOMPLETE`, `GUARD_REJECTS` … */
  readonly code: string
  readonly message: string
  readonly hint: string
  readonly withheld: number
  /** Examples for the user: the first keys of products; never of members. */
  readonly examples: readonly string[]
}

/** A fault counted once with its first places. */
export interface WarningSummary {
  readonly code: string
  readonly field: string
  readonly message: string
  readonly count: number
  readonly lines: readonly number[]
  /** The setting to write for this file, where there is one. */
  readonly hint?: string
}

/** Entries of earlier runs' plans that this run settled: counted in those runs, not in this one. */
export interface Settled {
  readonly confirmed: number
  readonly refused: number
}

/** Operations that are not confirmed for the same reason. */
export interface Failure {
  /** `ambiguous`: sent, and may have been applied. `pending`: not sent, or not accepted. */
  readonly outcome: 'refused' | 'ambiguous' | 'pending'
  /** The service's own, or ours of a sending: `http-503`, `not-sent`, `connection-lost` … */
  readonly code: string
  /** One of the service's with that code, cleaned of personal data; or what our code means. */
  readonly message: string
  readonly count: number
  /** The first ids of products; never of members. */
  readonly examples: readonly string[]
}

/**
 * What an audit found of a catalog, in products. What is confirmed is `same + changed + gone + hidden + unsettled`; `foreign` and
 * `waiting` are said apart.
 */
export interface Drift {
  /** Products that the service listed. */
  readonly listed: number
  readonly same: number
  /** Listed with another content than the confirmed one. */
  readonly changed: number
  /** Not listed, and nothing that is listed hides it. */
  readonly gone: number
  /** Not listed, as the service lists only the first variant of a group: only a put can ask for it. */
  readonly hidden: number
  /** Listed, and not ours. Never touched. */
  readonly foreign: number
  /** Not compared: an operation on it is unresolved, or its confirmed content is no longer stored. */
  readonly unsettled: number
  /** Wanted otherwise than confirmed, whatever is listed: the next run sends them. */
  readonly waiting: number
}

/** What a run did, or will do, with one product set of its pipeline. */
export interface ProductSetChange {
  readonly name: string
  /** `replace`: type and filters of a set cannot be changed, so a new one takes its place. */
  readonly action: 'create' | 'update' | 'replace' | 'delete' | 'unchanged'
  readonly outcome: 'planned' | 'confirmed' | 'refused' | 'unresolved'
  /** Only where it is not confirmed, or will not be. */
  readonly code?: string
  readonly message?: string
}

/** `run --json`, to the letter. Keys are only ever added. */
export interface RunReport {
  readonly runId: string
  readonly pipeline: string
  readonly trigger: ShownTrigger
  readonly status: RunStatus
  readonly counts: RunCounts
  readonly guards: readonly GuardResult[]
  readonly startedAt: string
  readonly finishedAt: string
  readonly durationMs: number
  readonly planId?: string
  /** Absent where nothing was left open by earlier runs. */
  readonly settled?: Settled
  /** Only for audits. */
  readonly drift?: Drift
  /** Product sets that the pipeline keeps; absent where it keeps none. */
  readonly productSets?: readonly ProductSetChange[]
  readonly rejectCodes?: readonly { readonly code: string; readonly count: number }[]
  readonly warnings?: readonly WarningSummary[]
  /** Only for a run or `show`; absent if everything was confirmed, and in lists of runs. */
  readonly failures?: readonly Failure[]
  readonly error?: { readonly code: string; readonly message: string; readonly where: string | null; readonly hint: string }
}

/** `plan --json`. */
export interface PlanReport extends RunReport {
  readonly planId: string
  /** Updates by changed field, for products. */
  readonly updateFields: readonly { readonly field: string; readonly count: number }[]
  readonly requests: number
  /** Minutes at the service's limits; null when that cannot be known. */
  readonly minutes: number | null
  readonly proof: string
}

/** Progress of a running stage. `total` is undefined until it is known. */
export interface Progress {
  readonly stage: 'settle' | 'read' | 'diff' | 'plan' | 'push' | 'audit'
  readonly done: number
  readonly total?: number
  readonly rejected?: number
  readonly refused?: number
  /** Why nothing moves just now: `waiting for the rate limit until …`. */
  readonly waiting?: string
}

/** Exit code of one run. */
export function exitCodeOf(status: RunStatus): number {
  switch (status) {
    case 'succeeded':
      return 0
    case 'partial':
      return 3
    case 'withheld':
      return 4
    case 'skipped':
      return 5
    case 'cancelled':
    case 'failed':
      return 1
  }
}
