/** Report of an audit, for `--json` and for the terminal. */
import type { Drift, RunReport } from '../../model/report.ts'

/** Field of a changed product: confirmed value, listed value, and the desired value if it differs from the confirmed value. Null: unset. */
export interface ShownDifference {
  readonly field: string
  readonly ours: string | null
  readonly theirs: string | null
  readonly desired?: string | null
}

/** Product that the report shows as an example. */
export interface AuditExample {
  /** Id of the product. */
  readonly id: string
  readonly found: 'changed' | 'notListed' | 'unmanaged' | 'unresolved' | 'hidden'
  /** Differences of a changed product; long values are shortened. */
  readonly fields?: readonly ShownDifference[]
  /** Last run whose delete of the unmanaged product was confirmed; absent if there is none. */
  readonly deletedBy?: string
}

/** Result of reading a catalog back. */
export interface AuditFindings {
  /** Number of products by outcome. */
  readonly drift: Drift
  /** Number of listing requests. */
  readonly readRequests: number
  /** Number of changed products by field that differs, the most frequent field first. */
  readonly changedFields: readonly { readonly field: string; readonly count: number }[]
  /** The first products of each outcome in `found`, at most ten of each, by id. */
  readonly examples: readonly AuditExample[]
  /** Fields that no listed product had, so they could not be compared. */
  readonly notReturned: readonly string[]
}

/** Output of `audit --json`. If `--repair` made a plan, the report has the plan's `planId` and figures. */
export interface AuditReport extends RunReport, AuditFindings {
  readonly drift: Drift
  /** Number of requests in the plan; 0 without a plan. */
  readonly requests: number
  /** Minutes that the plan takes at the service's limits; 0 without a plan. */
  readonly minutes: number
}
