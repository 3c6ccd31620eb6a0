import type { Drift, RunReport } from '../../model/report.ts'

/**
 * Differing field: confirmed value (`ours`), listed value (`theirs`), and the desired value if it is not the confirmed one. Null: the field
 * is unset.
 */
export interface ShownDifference {
  readonly field: string
  readonly ours: string | null
  readonly theirs: string | null
  readonly desired?: string | null
}

/** Example of a product in the report. `found`: its outcome. `hidden`: confirmed, and not listed, but it may exist (`Drift.hidden`). */
export interface AuditExample {
  readonly id: string
  readonly found: 'changed' | 'notListed' | 'unmanaged' | 'unresolved' | 'hidden'
  /** Differences of a changed product. Long values are shortened. */
  readonly fields?: readonly ShownDifference[]
  /** Id of the last run that planned a confirmed delete of the unmanaged product; absent if there is none. */
  readonly deletedBy?: string
}

/** Result of comparing a listed catalog with the confirmed content. */
export interface AuditFindings {
  /** Numbers of products: listed by the service, by outcome, and sent by the next run (`waiting`). */
  readonly drift: Drift
  /** Number of requests that read the listing. */
  readonly readRequests: number
  /** Fields that differ, each with its number of products. The most frequent field is first. */
  readonly changedFields: readonly { readonly field: string; readonly count: number }[]
  /** At most ten of each outcome, in the order of their ids. */
  readonly examples: readonly AuditExample[]
  /** Fields that could not be compared, because no listed product had them. Empty if no product was listed. */
  readonly notReturned: readonly string[]
}

/** Output of `audit --json`. `requests` and `minutes` are those of the plan that `--repair` made. */
export interface AuditReport extends RunReport, AuditFindings {
  readonly drift: Drift
  /** Number of requests that the plan will send; 0 without a plan. Not the requests of the listing (`readRequests`). */
  readonly requests: number
  /** Minimum number of minutes to send the plan at the service's limits, rounded up. 0 without a plan, and if one burst is enough. */
  readonly minutes: number
}
