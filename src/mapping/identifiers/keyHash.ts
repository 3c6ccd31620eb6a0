/** Hashes the texts of record keys and contents. */
import { hash } from 'node:crypto'
import type { IdentifierType } from '../../model/record.ts'
import { trimText } from '../text.ts'

/** Returns the first 16 bytes of SHA-256 over a text: the key of a member, or the content hash of a product. */
export function shortHash(text: string): Buffer {
  const firstBytes = Buffer.allocUnsafe(16)
  // The digest as `binary`: faster, as in `hashIdentifier`.
  firstBytes.latin1Write(hash('sha256', text, 'binary'), 0, 16)
  return firstBytes
}

/**
 * Returns the text of a key cell in the form that is hashed: trimmed, in NFC, and an email in lower case. `type`: identifier type of the
 * column. A read calls this function for cells without a usable identifier, a look-up for any text.
 */
export function keyText(text: string, type: IdentifierType | undefined): string {
  const trimmed = trimText(text)
  const plain = isAscii(trimmed) ? trimmed : trimmed.normalize('NFC')
  return type === 'email' ? plain.toLowerCase().normalize('NFC') : plain
}

/** Returns true for ASCII text. A loop is faster than a pattern for short keys. */
function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false
  return true
}
