/** History that `explain` returns, and functions that derive its headline and digests. */
import { identifierBytes, identifierTypes, type IdentifierType } from '../../model/record.ts'

export interface RecordEvent {
  /** ISO 8601. */
  readonly at: string
  /** `desired`: a key waits to be sent or deleted. `withheld`: a guard withheld the delete, or the update to out of stock. */
  readonly what:
    | 'read'
    | 'rejected'
    | 'planned'
    | 'sent'
    | 'answered'
    | 'desired'
    | 'confirmed'
    | 'invalidated'
    | 'suppressed'
    | 'withheld'
    | 'refused'
    | 'deleted'
  readonly message: string
  readonly runId?: string
  readonly line?: number
  /** SHA-256 of the identifier, 64 hex digits. Absent if the event has several identifiers, or one that is sent as plain text. */
  readonly digest?: string
  /** All identifiers that the event is about; absent if there are none. */
  readonly identifiers?: readonly IdentifierDigest[]
  /** Hash by which changes are detected. `read`: hash of the mapped row. `planned`: hash of the content to send. */
  readonly contentHash?: string
  /** Content that was read: the JSON of a product, or the masked identifiers of a person. */
  readonly value?: string
  readonly planId?: string
  readonly batch?: number
  readonly change?: string
  readonly outcome?: string
  readonly httpStatus?: number
  readonly code?: string
  readonly hint?: string
  readonly expiresAt?: string
  /** For `rejected`: true if a later run read the row and did not reject it. */
  readonly outdated?: boolean
  /** For `invalidated`: true if the service still has the record, with another content than the confirmed one. */
  readonly live?: boolean
}

export interface IdentifierDigest {
  readonly type: IdentifierType
  /** SHA-256 that is sent, 64 hex digits; absent for an identifier that is sent as plain text. */
  readonly digest?: string
}

export interface RecordHistory {
  /** First line: `Live: …` or `Not live: …`, with the reason. */
  readonly headline: string
  /** Command that shows the reason; absent if the headline has it. */
  readonly hint?: string
  /** True if the service has the record. */
  readonly live: boolean
  /** True if the service confirmed the desired content, and no change of the record waits or is withheld. */
  readonly isConfirmed: boolean
  /** Product id; for people the keys of the stored records, 32 hex digits each. */
  readonly keys: readonly string[]
  /** Identifiers that match the given text, with their full digests. Empty for products. */
  readonly identifiers: readonly IdentifierDigest[]
  /** Oldest first. */
  readonly events: readonly RecordEvent[]
}

/** Returns the types and full digests of packed identifiers. A `partner_user_id` gets no digest, because it is not hashed. */
export function identifierDigests(packed: readonly Buffer[]): readonly IdentifierDigest[] {
  return packed.flatMap((identifier) => {
    const type = identifierTypes[(identifier[0] ?? 0) - 1]
    if (type === undefined) return []
    return [
      type === 'partner_user_id' || identifier.length !== identifierBytes ? { type } : { type, digest: identifier.toString('hex', 1) },
    ]
  })
}

/** Returns the fields of an event about these identifiers; an empty object if there are none. */
export function digestsOf(packed: readonly Buffer[]): Pick<RecordEvent, 'digest' | 'identifiers'> {
  const identifiers = identifierDigests(packed)
  const [first, ...others] = identifiers
  if (first === undefined) return {}
  return { ...(others.length > 0 || first.digest === undefined ? {} : { digest: first.digest }), identifiers }
}

/** State of a record at the service. */
export type Liveness = Pick<RecordHistory, 'headline' | 'live' | 'isConfirmed'>

const live = (reason: string): Liveness => ({ headline: `Live: ${reason}`, live: true, isConfirmed: false })
const notLive = (reason: string): Liveness => ({ headline: `Not live: ${reason}`, live: false, isConfirmed: false })

/**
 * Derives from the events of a record whether the record is live, and why. `events`: oldest first. `deletesRecord`: true if a confirmed
 * delete removes the whole record. `unknown`: reason if there are no events.
 */
export function livenessOf(
  events: readonly RecordEvent[],
  { deletesRecord, unknown = 'unknown key' }: { readonly deletesRecord: boolean; readonly unknown?: string },
): Liveness {
  if (events.length === 0) return notLive(unknown)
  const last = (what: RecordEvent['what']) => events.findLast((event) => event.what === what)
  const rejected = events.findLast(({ what, outdated }) => what === 'rejected' && outdated !== true)
  const read = last('read')
  const refused = last('refused')
  const confirmed = last('confirmed')
  const desired = last('desired')
  const deleted = last('deleted')
  const invalidated = last('invalidated')
  const suppressed = last('suppressed')
  /** Returns the liveness of a record whose new content is not sent. The service keeps the last confirmed content, if there is one. */
  const notSent = (reason: string) => (confirmed ? live(`previous version, as ${reason}`) : notLive(reason))
  // A deleted product is back if it was added again, or if its row is in the source again but is rejected.
  const isBack =
    deletesRecord && (confirmed !== undefined || desired !== undefined || (rejected !== undefined && rejected.at > (deleted?.at ?? '')))
  const isDeleted = deleted !== undefined && !isBack
  // If the identifier was deleted, the confirmed ones are other identifiers of its former record.
  if (suppressed && confirmed && !isDeleted) return live(`until the next run deletes it (${suppressed.message})`)
  if (suppressed) return notLive(suppressed.message)
  if (isDeleted) return notLive(`${deleted.message} (${deleted.runId ?? ''})`)
  const waitingDelete = events.find((event) => event.what === 'desired' && event.change === 'delete')
  const withheld = last('withheld')
  if (waitingDelete) {
    if (invalidated && !confirmed)
      return notLive(`not certain, ${invalidated.message} (${invalidated.runId ?? ''}), and it waits to be deleted`)
    if (refused) return live(`its delete was refused: ${refused.message}`)
    return live(`${waitingDelete.message}${withheld ? `; ${withheld.message}` : ''}`)
  }
  if (refused && invalidated?.live) return live(`with other content, as ${refused.message}`)
  if (refused) return invalidated ? notLive(`not certain, ${refused.message}`) : notSent(refused.message)
  if (rejected && (!read || read.at < rejected.at)) return notSent(`${rejected.message} (${rejected.runId ?? ''})`)
  if (invalidated) {
    const reason = `${invalidated.message} (${invalidated.runId ?? ''}), and it waits to be sent`
    return invalidated.live ? live(reason) : notLive(reason)
  }
  if (desired) return notSent(desired.message)
  if (confirmed && withheld) return live(withheld.message)
  if (confirmed) {
    const until = confirmed.expiresAt === undefined ? '' : `, until ${confirmed.expiresAt}`
    return { ...live(`confirmed at ${confirmed.at}${until}`), isConfirmed: true }
  }
  return notLive('never confirmed, or removed: its row is missing, without consent, or on a do-not-reach list')
}
