import type { Drift, RunReport } from '../../model/report.ts'

/** Differing field: confirmed value (`ours`), listed value (`theirs`), and the desired value if it is not the confirmed one. Null: unset. */
export interface ShownDifference {
  readonly field: string
  readonly ours: string | null
  readonly theirs: string | null
  readonly desired?: string | null
}

/** Product that the report shows as an example. */
export interface AuditExample {
  readonly id: string
  readonly found: 'changed' | 'notListed' | 'unmanaged' | 'unresolved' | 'hidden'
  /** Long values are shortened. */
  readonly fields?: readonly ShownDifference[]
  /** Last run whose delete of the unmanaged product was confirmed. */
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
  /** At most ten of each outcome, by id. */
  readonly examples: readonly AuditExample[]
  /** Fields that no listed product had, so they could not be compared. */
  readonly notReturned: readonly string[]
}

/** Output of `audit --json`, with the figures of the plan that `--repair` made. */
export interface AuditReport extends RunReport, AuditFindings {
  readonly drift: Drift
  /** Requests of the plan; 0 without a plan. */
  readonly requests: number
  /** As in `Planned`; 0 without a plan. */
  readonly minutes: number
}
