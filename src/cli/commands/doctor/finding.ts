import { presentError } from '../../terminal/present.ts'

/** Result of one check of the doctor, with a hint unless it is ok. */
export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'failed'
  readonly message: string
  readonly hint?: string
}

export type ReportFinding = (finding: Finding) => void

export function fail(error: unknown, check: string, report: ReportFinding): void {
  const { message, hint } = presentError(error)
  report({ check, state: 'failed', message, hint })
}
