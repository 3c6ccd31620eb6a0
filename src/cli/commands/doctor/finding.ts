import { presentError } from '../../terminal/present.ts'

/** Result of one check of the doctor, with a hint unless it is ok. */
export interface Finding {
  readonly check: string
  readonly state: 'ok' | 'warning' | 'failed'
  readonly message: string
  readonly hint?: string
}

export type Say = (finding: Finding) => void

export function fail(error: unknown, check: string, say: Say): void {
  const { message, hint } = presentError(error)
  say({ check, state: 'failed', message, hint })
}
