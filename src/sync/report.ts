/** What a run says of itself: to `--json` and to people alike (interface.md 2). */

export const runStatuses = ['succeeded', 'partial', 'withheld', 'failed', 'cancelled', 'skipped'] as const
export type RunStatus = (typeof runStatuses)[number]

export const runTriggers = ['manual', 'schedule', 'backfill', 'rerun', 'plan', 'apply'] as const
export type RunTrigger = (typeof runTriggers)[number]

/** As a report says it: an audit is stored as a `plan` that says so in its options. */
export type ShownTrigger = RunTrigger | 'audit'

/** It may leave a plan behind, and sends nothing by itself. */
export function sendsNothing(trigger: ShownTrigger): boolean {
  return trigger === 'plan' || trigger === 'audit'
}

/** The books. Rows: `read = rejected + duplicates + suppressed + valid`. Operations: see interface.md 2. */
export interface RunCounts {
  readonly read: number
  readonly rejected: number
  readonly duplicates: number
  readonly suppressed: number
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
export interface GuardVerdict {
  /** `GUARD_DELETES`, `GUARD_MIN_ROWS`, `GUARD_ROWS_FELL`, `GUARD_INCOMPLETE`, `GUARD_REJECTS` … */
  readonly code: string
  readonly message: string
  readonly mend: string
  readonly withheld: number
  /** What a person sees of it: the first keys of products; never of members. */
  readonly examples: readonly string[]
}

/** A fault counted once with its first places. */
export interface WarningSummary {
  readonly code: string
  readonly field: string
  readonly message: string
  readonly count: number
  readonly lines: readonly number[]
}

/** What a run decided of the plans of earlier runs: in the books of those, not in its own. */
export interface Settled {
  readonly confirmed: number
  readonly refused: number
}

/** Operations that are not confirmed for the same reason. */
export interface Failure {
  /** `ambiguous`: sent, and nobody knows whether it was applied. `pending`: not sent, or not taken. */
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
  /** Not judged: an operation on it is not settled, or what was confirmed of it is not kept any more. */
  readonly unsettled: number
  /** Wanted otherwise than confirmed, whatever is listed: the next run sends them. */
  readonly waiting: number
}

/** `run --json`, to the letter. Keys are only ever added. */
export interface RunReport {
  readonly runId: string
  readonly pipeline: string
  readonly trigger: ShownTrigger
  readonly status: RunStatus
  readonly counts: RunCounts
  readonly guards: readonly GuardVerdict[]
  readonly startedAt: string
  readonly finishedAt: string
  readonly durationMs: number
  readonly planId?: string
  /** Absent where nothing was left open by earlier runs. */
  readonly settled?: Settled
  /** Of audits alone. */
  readonly drift?: Drift
  readonly rejectCodes?: readonly { readonly code: string; readonly count: number }[]
  readonly warnings?: readonly WarningSummary[]
  /** Of a run or `show`; absent where everything was confirmed, and in lists of runs. */
  readonly failures?: readonly Failure[]
  readonly error?: { readonly code: string; readonly message: string; readonly where: string | null; readonly mend: string }
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

/** What a running stage tells whoever shows progress. `total` is undefined until it is known. */
export interface Progress {
  readonly stage: 'settle' | 'read' | 'diff' | 'plan' | 'push' | 'audit'
  readonly done: number
  readonly total?: number
  readonly rejected?: number
  readonly refused?: number
  /** Why nothing moves just now: `waiting for the rate limit until …`. */
  readonly waiting?: string
}

/** Exit code of one run (interface.md 2). */
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
