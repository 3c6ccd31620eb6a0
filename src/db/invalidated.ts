/**
 * Builds SQL that marks synced content as invalidated, and reads these marks. The mark is nine bytes in `synced_hash` instead of a content
 * hash: the kind, and the id of the run. Kinds:
 * - `changed`, `notListed`, `hidden`: an audit found the product changed, not listed or hidden (docs/guarantees.md#confirmed-only)
 * - `unsure`: an update was refused or given up, but may have been applied
 *
 * A marked key is out of sync, and is sent again. The service may still have some content, so the key is deleted when it is no longer
 * desired (docs/guarantees.md#nothing-lost).
 */

/** Kinds of invalidation. The order must not change, because the first stored byte is the position of the kind. */
export const invalidatedKinds = ['changed', 'notListed', 'hidden', 'unsure'] as const
export type InvalidatedKind = (typeof invalidatedKinds)[number]

const markerBytes = 9

/** Returns SQL of the nine bytes. `kind`: SQL of one of the kinds as text. `runId`: run that invalidates the content. */
export const invalidatedBy = (kind: string, runId: number): string =>
  `set_byte('\\x00'::bytea, 0, array_position(array[${invalidatedKinds.map((name) => `'${name}'`).join(', ')}], ${kind}) - 1) || int8send(${runId})`

/**
 * Returns the SQL condition that `hash` marks invalidated content. A content hash has 16 bytes, or one byte for identifiers without times
 * of their own. SQL null if `hash` is null.
 */
export const isInvalidated = (hash: string): string => `(length(${hash}) = ${markerBytes})`

/**
 * Returns the SQL condition that an audit did not find the product in the listing. Then its product_key may not exist any more. SQL null if
 * `hash` is null.
 */
export const isNotListed = (hash: string): string =>
  `(${isInvalidated(hash)} and get_byte(${hash}, 0) = ${invalidatedKinds.indexOf('notListed')})`

/** Returns the SQL condition that nothing is synced, or that an audit did not find the product. Then a put counts as a create. */
export const countsAsCreate = (hash: string): string => `(${hash} is null or ${isNotListed(hash)})`

/** Returns SQL of the id of the run that invalidated the content; null for a content hash. */
export const invalidatingRun = (hash: string): string =>
  `case when ${isInvalidated(hash)} then ('x' || encode(substring(${hash} from 2), 'hex'))::bit(64)::bigint end`

/** Decodes the nine bytes; undefined for a content hash, null, or an unknown kind. */
export function readInvalidated(hash: Buffer | null): { readonly kind: InvalidatedKind; readonly runId: number } | undefined {
  if (hash?.length !== markerBytes) return undefined
  const kind = invalidatedKinds[hash.readUInt8(0)]
  return kind === undefined ? undefined : { kind, runId: Number(hash.readBigInt64BE(1)) }
}
