/**
 * Defines the form of the entries in `implied_key` (docs/decisions/implied-keys.md). An entry has the first bytes of an implied
 * identifier's digest, and the first bytes of its record's key. It may be outdated, or match another identifier by chance, so the caller
 * checks the record.
 */
import type { DbRow } from './row.ts'

/** Number of leading bytes of a digest in an entry. */
export const prefixBytes = 4
/** Number of leading bytes of a record key in an entry. */
export const shortKeyBytes = 6
/** Number of chunks of a destination. Digests with the same first 12 bits are in one chunk. */
export const chunkCount = 4_096
/** Number of bits of an entry's digest after the first 12. */
export const otherBits = prefixBytes * 8 - 12

/**
 * Identifiers to find, by chunk and by the other bits of their digest. Leaves out identifiers of at most `prefixBytes` bytes, which have no
 * entry.
 */
export type SearchedIdentifiers = ReadonlyMap<number, ReadonlyMap<number, readonly Buffer[]>>

/** Returns the identifiers by chunk and by the other bits of their digest. */
export function byChunk(identifiers: readonly Buffer[]): SearchedIdentifiers {
  const searched = new Map<number, Map<number, Buffer[]>>()
  for (const identifier of identifiers) {
    if (identifier.length <= prefixBytes) continue
    const digest = identifier.readUInt32BE(1)
    const chunk = searched.get(digest >>> otherBits) ?? new Map<number, Buffer[]>()
    searched.set(digest >>> otherBits, chunk)
    const bits = digest & (2 ** otherBits - 1)
    chunk.set(bits, [...(chunk.get(bits) ?? []), identifier])
  }
  return searched
}

/** Place of an entry whose digest begins like the digest of an identifier. */
export interface EntryPlace {
  readonly chunk: number
  /** Number of the part: a load may write a chunk in several parts. */
  readonly part: number
  /** Index of the entry in its part of the chunk, from 0. */
  readonly place: number
  readonly identifier: Buffer
}

/**
 * Returns the entries of one part of a chunk that may be of a searched identifier. `searched`: identifiers of the chunk, by the other bits.
 * `mayMatch`: returns false for digests that no searched identifier has.
 */
export function placesOf(
  { chunk, part, digests }: DbRow<'implied_key', 'chunk' | 'part' | 'digests'>,
  searched: ReadonlyMap<number, readonly Buffer[]> | undefined,
  mayMatch?: (digest: number) => boolean,
): EntryPlace[] {
  const places: EntryPlace[] = []
  if (searched === undefined) return places
  const mask = 2 ** otherBits - 1
  for (let at = 0; at < digests.length; at += prefixBytes) {
    const digest = digests.readUInt32BE(at)
    if (mayMatch?.(digest) === false) continue
    const identifiers = searched.get(digest & mask)
    if (identifiers !== undefined) for (const identifier of identifiers) places.push({ chunk, part, place: at / prefixBytes, identifier })
  }
  return places
}
