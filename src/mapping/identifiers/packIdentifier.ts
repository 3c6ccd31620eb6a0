/**
 * Packs identifiers: a type byte, then the SHA-256 or the plain `partner_user_id`. Allocates little, because this runs for every row.
 */
import { hash } from 'node:crypto'
import { identifierBytes, identifierTypes, type IdentifierType, type PackedIdentifier } from '../../model/record.ts'

/** Identifier type → its byte: index in `identifierTypes` + 1. The cast holds because the list has every type. */
export const typeByte: Readonly<Record<IdentifierType, number>> = Object.fromEntries(
  identifierTypes.map((type, index) => [type, index + 1]),
) as Record<IdentifierType, number>

/** Hashes and packs a normalized identifier of any type but `partner_user_id`. */
export function hashIdentifier(type: IdentifierType, normalized: string): PackedIdentifier {
  // With `binary`: 3.3 million hashes per second. With a Buffer: 0.7 million (Node 24.21).
  const packed = Buffer.allocUnsafe(identifierBytes)
  packed[0] = typeByte[type]
  packed.latin1Write(hash('sha256', normalized, 'binary'), 1, 32)
  return packed
}

/**
 * Packs a digest from the source. `hex`: 64 hex digits, not checked. A shorter text or other characters leave uninitialized bytes in the
 * result.
 */
export function packDigest(type: IdentifierType, hex: string): PackedIdentifier {
  const packed = Buffer.allocUnsafe(identifierBytes)
  packed[0] = typeByte[type]
  packed.hexWrite(hex, 1, 32)
  return packed
}

/** Packs a `partner_user_id` in clear. */
export function packPlain(value: string): PackedIdentifier {
  return Buffer.concat([Buffer.of(typeByte.partner_user_id), Buffer.from(value)])
}

declare global {
  interface Buffer {
    /** Like `hexWrite`, undocumented and missing in `@types/node`. Both are faster than the documented methods. */
    latin1Write: (text: string, offset: number, length: number) => number
    hexWrite: (text: string, offset: number, length: number) => number
  }
}
