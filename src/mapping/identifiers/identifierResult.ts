import type { RecordCode } from '../rejectCodes.ts'

/**
 * Normalized identifier, or the reason why the value is not usable. `otherForm`: second form to send, if the settings request it
 * (docs/decisions/both-forms.md). `note`: code of a warning.
 */
export type IdentifierResult =
  | { readonly text: string; readonly otherForm?: string; readonly note?: RecordCode }
  | { readonly code: RecordCode; readonly message: string }
