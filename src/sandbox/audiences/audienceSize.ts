/** Determines the size of an audience or do-not-reach list, and the reasons why it cannot be targeted. */
import type { Call } from '../area.ts'
import { isProcessed } from '../processing.ts'
import type { Audience, AudienceState } from './state.ts'

/** Minimum number of members of an audience that can be targeted. */
const MIN_TARGETABLE_MEMBERS = 100

/** Size of an audience, and whether it can be targeted, in wire form. */
interface SizeAndTargeting {
  /** Number of members; null below `MIN_TARGETABLE_MEMBERS`. */
  readonly size: number | null
  readonly targeting: { readonly targetable: boolean; readonly reasons_not_targetable: readonly string[] }
}

/**
 * Returns the size of the audience, and whether it can be targeted. During the processing of an upload, this is the size before the upload.
 * An audience below `MIN_TARGETABLE_MEMBERS` cannot be targeted: the reason is `PROCESSING` during the processing, else `TOO_SMALL`.
 */
export function sizeAndTargetingOf(call: Call<AudienceState>, audience: Audience): SizeAndTargeting {
  const { processing } = audience
  const isPending = processing !== null && !isProcessed(call.world, 'audience', processing.since)
  const members = isPending ? processing.members : audience.memberships.count(call.now / 1000).members
  if (members >= MIN_TARGETABLE_MEMBERS) return { size: members, targeting: { targetable: true, reasons_not_targetable: [] } }
  return { size: null, targeting: { targetable: false, reasons_not_targetable: [isPending ? 'PROCESSING' : 'TOO_SMALL'] } }
}

/**
 * Starts the processing of an upload (docs/spec-notes.md#audience-uploads). Call it before the upload is applied: it stores the number of
 * members before the upload. Does nothing during the processing of an earlier upload, or if the switch `processing_times` is not `clock`.
 */
export function startProcessing(call: Call<AudienceState>, audience: Audience): void {
  // Counting members takes time, and only `clock` needs their number.
  if (call.world.switchValue('processing_times') !== 'clock') return
  const { processing } = audience
  if (processing !== null && !isProcessed(call.world, 'audience', processing.since)) return
  audience.processing = { since: call.now, members: audience.memberships.count(call.now / 1000).members }
}
