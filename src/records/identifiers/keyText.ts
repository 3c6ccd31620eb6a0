import type { IdentifierType } from '../record.ts'
import { trimText } from '../text.ts'

/** The text that is hashed to a key: NFC, lower case where the key is an email. */
export function keyText(text: string, kind: IdentifierType | undefined): string {
  const trimmed = trimText(text)
  const plain = isAscii(trimmed) ? trimmed : trimmed.normalize('NFC')
  return kind === 'email' ? plain.toLowerCase().normalize('NFC') : plain
}

/** A loop rather than a pattern: keys are short and there is one a row. */
function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false
  return true
}
