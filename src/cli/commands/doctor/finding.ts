import type { Finding } from '../../../model/report.ts'
import { presentError } from '../../terminal/present.ts'

/** Function that takes each finding of the doctor. */
export type ReportFinding = (finding: Finding) => void

export function reportFailure(error: unknown, check: string, report: ReportFinding): void {
  const { message, hint } = presentError(error)
  report({ check, state: 'failed', message, hint })
}
