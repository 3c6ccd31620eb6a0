import { presentError } from '../present.ts'

/** One line of the doctor: what was looked at, how it is, and the mend where it is not well. */
export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'failed'
  readonly message: string
  readonly mend?: string
}

export type Say = (finding: Finding) => void

export function fail(error: unknown, check: string, say: Say): void {
  const { message, mend } = presentError(error)
  say({ check, state: 'failed', message, mend })
}
