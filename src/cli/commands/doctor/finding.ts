import { presentError } from '../../terminal/present.ts'

/** Result of one check of the doctor. `hint`: present for most warnings and failures. */
export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'failed'
  readonly message: string
  readonly hint?: string
}

export type ReportFinding = (finding: Finding) => void

/** Reports an error as a failed check. */
export function reportFailure(error: unknown, check: string, report: ReportFinding): void {
  const { message, hint } = presentError(error)
  report({ check, state: 'failed', message, hint })
}
