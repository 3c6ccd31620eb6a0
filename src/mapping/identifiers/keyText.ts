import type { IdentifierType } from '../../model/record.ts'
import { trimText } from '../text.ts'

/** Returns the text whose hash is the key: trimmed, in NFC, and in lower case if the key is an email. */
export function keyText(text: string, kind: IdentifierType | undefined): string {
  const trimmed = trimText(text)
  const plain = isAscii(trimmed) ? trimmed : trimmed.normalize('NFC')
  return kind === 'email' ? plain.toLowerCase().normalize('NFC') : plain
}

/** Loops instead of using a pattern: keys are short, and each row has one. */
function isAscii(text: string): boolean {
  for (let i = 0; i < text.length; i++) if (text.charCodeAt(i) > 127) return false
  return true
}
