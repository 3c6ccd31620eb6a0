/**
 * Withdrawn content: what an audit saw to be otherwise, or did not see, counts as confirmed no more (I1), and neither does what
 * stood before an update that was refused after a sending of it whose answer was lost (`unsure`: that one may have been applied).
 * `synced_hash` is then no hash of any content but nine bytes: why, and the number of the run. So the key is not as wanted and
 * is put again; something of ours may still stand there, so that it is deleted once nobody wants it, as any other (I2).
 */

export const withdrawnKinds = ['changed', 'gone', 'hidden', 'unsure'] as const
export type WithdrawnKind = (typeof withdrawnKinds)[number]

const markerBytes = 9

/** SQL of the nine bytes; `kind` is SQL of one of the kinds as text. */
export const withdrawnBy = (kind: string, runId: number): string =>
  `set_byte('\\x00'::bytea, 0, array_position(array[${withdrawnKinds.map((name) => `'${name}'`).join(', ')}], ${kind}) - 1) || int8send(${runId})`

/** Whether `hash` (SQL) stands for withdrawn content. Products have 16 bytes of hash, members one byte or the hash of their times. */
export const isWithdrawn = (hash: string): string => `(length(${hash}) = ${markerBytes})`

/** Nothing of it is known to be there: its next put creates it. */
export const createsAgain = (hash: string): string =>
  `(${hash} is null or (${isWithdrawn(hash)} and get_byte(${hash}, 0) = ${withdrawnKinds.indexOf('gone')}))`

/** SQL: number of the run that withdrew it; null for the hash of a content. */
export const withdrawingRun = (hash: string): string =>
  `case when ${isWithdrawn(hash)} then ('x' || encode(substring(${hash} from 2), 'hex'))::bit(64)::bigint end`

/** What the nine bytes say; undefined for the hash of a content. */
export function readWithdrawn(hash: Buffer | null): { readonly kind: WithdrawnKind; readonly runId: number } | undefined {
  if (hash?.length !== markerBytes) return undefined
  const kind = withdrawnKinds[hash.readUInt8(0)]
  return kind === undefined ? undefined : { kind, runId: Number(hash.readBigInt64BE(1)) }
}
