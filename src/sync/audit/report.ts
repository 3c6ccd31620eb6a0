/** Report of an audit, for `--json` and for the terminal. */
import type { Drift, RunReport } from '../../model/report.ts'

/** Field of a changed product: confirmed value, listed value, and the desired value if that differs from both. */
export interface ShownDifference {
  readonly field: string
  readonly ours: string | null
  readonly theirs: string | null
  readonly wanted?: string | null
}

export interface AuditExample {
  readonly id: string
  readonly found: 'changed' | 'gone' | 'hidden' | 'foreign' | 'unsettled'
  /** Differences of a changed product; long values are shortened. */
  readonly fields?: readonly ShownDifference[]
  /** For unmanaged products: the run whose delete of it was confirmed. */
  readonly deletedBy?: string
}

export interface AuditFindings {
  readonly drift: Drift
  /** Number of listing requests. */
  readonly readRequests: number
  /** Changed products by field. */
  readonly changedFields: readonly { readonly field: string; readonly count: number }[]
  /** The first ten of each kind, by id. */
  readonly examples: readonly AuditExample[]
  /** Fields that this service does not return, so they cannot be compared. */
  readonly notReturned: readonly string[]
}

/** Output of `audit --json`. If `--repair` made a plan, it has the plan's `planId` and figures. */
export interface AuditReport extends RunReport, AuditFindings {
  readonly drift: Drift
  /** Number of requests in the plan. */
  readonly requests: number
  /** Minutes that the plan takes at the service's limits. */
  readonly minutes: number
}
