/** What an audit says of itself: to `--json` and to people. */
import type { Drift, RunReport } from '../report.ts'

/** A field of a changed product: confirmed, listed, and what the source wants where that is something else again. */
export interface ShownDifference {
  readonly field: string
  readonly ours: string | null
  readonly theirs: string | null
  readonly wanted?: string | null
}

export interface AuditExample {
  readonly id: string
  readonly found: 'changed' | 'gone' | 'hidden' | 'foreign' | 'unsettled'
  /** Of changed products; long values are cut. */
  readonly fields?: readonly ShownDifference[]
  /** Of foreign ones: the run whose delete of it was confirmed. */
  readonly deletedBy?: string
}

export interface AuditFindings {
  readonly drift: Drift
  /** Requests that the reading took. */
  readonly readRequests: number
  /** Changed products by field. */
  readonly changedFields: readonly { readonly field: string; readonly count: number }[]
  /** The first ten of each kind, by id. */
  readonly examples: readonly AuditExample[]
  /** Fields that this service does not return, and so nobody can compare. */
  readonly notReturned: readonly string[]
}

/** `audit --json`. With `--repair` and something to put again: `planId`, and the plan's figures. */
export interface AuditReport extends RunReport, AuditFindings {
  readonly drift: Drift
  /** Of the plan. */
  readonly requests: number
  /** Minutes at the service's limits that the plan takes. */
  readonly minutes: number
}
