import type { RecordCode } from '../rejectCodes.ts'

/** Normalized text ready to be hashed, or why the value is not usable. `note`: a warning that goes with it. */
export type Normalized = { readonly text: string; readonly note?: RecordCode } | { readonly code: RecordCode; readonly message: string }
