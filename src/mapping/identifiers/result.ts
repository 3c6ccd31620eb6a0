import type { RecordCode } from '../rejectCodes.ts'

/**
 * Normalized identifier, or the reason why the value is not usable. `text`: hashed before it is sent, except for a `partner_user_id`.
 * `otherForm`: second form to send, if the settings request it (docs/decisions/both-forms.md). `note`: code of a warning about the value.
 */
export type Normalized =
  | { readonly text: string; readonly otherForm?: string; readonly note?: RecordCode }
  | { readonly code: RecordCode; readonly message: string }
