/**
 * Marks synced content as invalidated: content that an audit found changed or not listed (docs/guarantees.md#confirmed-only), or
 * unknown content (`unsure`: an update was refused, but an earlier attempt, whose answer was lost, may have been applied).
 * `synced_hash` then has nine bytes instead of a content hash: the reason and the number of the run. So the key is out of sync and
 * is sent again. The service may still have some content, so the key is deleted when it is no longer desired
 * (docs/guarantees.md#nothing-lost).
 */

/** The stored bytes have the position of the kind, so the order stays. */
export const invalidatedKinds = ['changed', 'unlisted', 'hidden', 'unsure'] as const
export type InvalidatedKind = (typeof invalidatedKinds)[number]

const markerBytes = 9

/** SQL of the nine bytes; `kind` is SQL of one of the kinds as text. */
export const invalidatedBy = (kind: string, runId: number): string =>
  `set_byte('\\x00'::bytea, 0, array_position(array[${invalidatedKinds.map((name) => `'${name}'`).join(', ')}], ${kind}) - 1) || int8send(${runId})`

/** SQL condition: `hash` marks invalidated content. Products have 16 bytes of hash, members one byte or the hash of their times. */
export const isInvalidated = (hash: string): string => `(length(${hash}) = ${markerBytes})`

/** SQL condition: the service has no content of the key, as far as known, so the next put creates it. */
export const createsAgain = (hash: string): string =>
  `(${hash} is null or (${isInvalidated(hash)} and get_byte(${hash}, 0) = ${invalidatedKinds.indexOf('unlisted')}))`

/** SQL: number of the run that invalidated it; null for a content hash. */
export const invalidatingRun = (hash: string): string =>
  `case when ${isInvalidated(hash)} then ('x' || encode(substring(${hash} from 2), 'hex'))::bit(64)::bigint end`

/** Decodes the nine bytes; undefined for a content hash. */
export function readInvalidated(hash: Buffer | null): { readonly kind: InvalidatedKind; readonly runId: number } | undefined {
  if (hash?.length !== markerBytes) return undefined
  const kind = invalidatedKinds[hash.readUInt8(0)]
  return kind === undefined ? undefined : { kind, runId: Number(hash.readBigInt64BE(1)) }
}
