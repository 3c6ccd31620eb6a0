import type { RecordCode } from '../rejectCodes.ts'

/**
 * Normalized text, which is hashed unless it is a `partner_user_id`, or the reason why the value is not usable. `also`: a second form to send
 * (docs/decisions/both-forms.md), if the settings request it. `note`: code of a warning about the value.
 */
export type Normalized =
  | { readonly text: string; readonly also?: string; readonly note?: RecordCode }
  | { readonly code: RecordCode; readonly message: string }
