import type { RecordCode } from '../rejectCodes.ts'

/**
 * Normalized text ready to be hashed, or why the value is not usable. `also`: the other form that a service may hash
 * (docs/decisions/both-forms.md), where it was asked for and there is one. `note`: a warning that goes with it.
 */
export type Normalized =
  | { readonly text: string; readonly also?: string; readonly note?: RecordCode }
  | { readonly code: RecordCode; readonly message: string }
