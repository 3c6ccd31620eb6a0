/** Determines the size of an audience while uploads are processed, and the reasons why it cannot be targeted. */
import type { Call } from '../area.ts'
import { isProcessed } from '../processing.ts'
import type { Audience, AudienceState } from './state.ts'

/** Minimum number of members of an audience that can be targeted. */
const TARGETABLE_FROM = 100

/** Size of an audience, and the fields of its wire form that depend on the size. */
interface AudienceSize {
  /** Number of members; null for an audience that is too small to be targeted. */
  readonly size: number | null
  readonly targeting: { readonly targetable: boolean; readonly reasons_not_targetable: readonly string[] }
}

/**
 * Returns the size of the audience. While an upload is processed, returns the size from before the upload, and for a small audience the
 * reason `PROCESSING` instead of `TOO_SMALL`.
 */
export function sizeOf(call: Call<AudienceState>, audience: Audience): AudienceSize {
  const { processing } = audience
  const isPending = processing !== null && !isProcessed(call.world, 'audience', processing.since)
  const members = isPending ? processing.members : audience.memberships.count(call.now / 1000).members
  if (members >= TARGETABLE_FROM) return { size: members, targeting: { targetable: true, reasons_not_targetable: [] } }
  return { size: null, targeting: { targetable: false, reasons_not_targetable: [isPending ? 'PROCESSING' : 'TOO_SMALL'] } }
}

/**
 * Starts the processing of an upload, unless an earlier upload is still processed (docs/spec-notes.md#audience-uploads). Does nothing
 * without the switch `processing_times: clock`. Must be called before the upload is applied, because it stores the current number of
 * members.
 */
export function startProcessing(call: Call<AudienceState>, audience: Audience): void {
  // Counting members takes time, and the count is needed only with processing times.
  if (call.world.switch('processing_times') !== 'clock') return
  const { processing } = audience
  if (processing !== null && !isProcessed(call.world, 'audience', processing.since)) return
  audience.processing = { since: call.now, members: audience.memberships.count(call.now / 1000).members }
}
