import { packKey, packDigest, packHash, packPlain } from './identifiers/digest.ts'
import { keyText, normalizeIdentifier } from './mapMember.ts'
import type { IdentifierType, PackedIdentifier } from './record.ts'
import { trimText } from './text.ts'

/** The packed identifier of a raw value or of a SHA-256 in hex, as a row would give it; undefined where it is not usable. */
export function packedOf(kind: IdentifierType, text: string, country?: string): PackedIdentifier | undefined {
  const trimmed = trimText(text)
  if (kind !== 'partner_user_id' && /^[0-9a-f]{64}$/i.test(trimmed)) return packDigest(kind, trimmed.toLowerCase())
  const result = normalizeIdentifier(kind, trimmed, country)
  if ('code' in result) return undefined
  return kind === 'partner_user_id' ? packPlain(result.text) : packHash(kind, result.text)
}

/** The 32 bytes of the digest (for `partner_user_id` the value's bytes): for `explain` and `forget`. */
export function digestOf(kind: IdentifierType, text: string, country?: string): Buffer | undefined {
  return packedOf(kind, text, country)?.subarray(1)
}

/**
 * The member keys that a person may mean by a text: the plain key, and the keys that a row gets whose key column is the
 * email or phone column. Most specific last; look all of them up.
 */
export function memberKeysOf(text: string, country?: string): readonly Buffer[] {
  const keys = [packKey(keyText(text, undefined))]
  for (const kind of ['email', 'phone_number'] as const) {
    const result = normalizeIdentifier(kind, text, country)
    if ('code' in result) continue
    // With a key column of its own, and without any (do-not-reach lists).
    keys.push(packKey(result.text), packKey(packHash(kind, result.text).toString('latin1')))
  }
  return keys
}
