import type { IdentifierType } from '../../model/record.ts'

/**
 * Returns the message for an email in a phone column, or a phone number in an email column; undefined for any other value. If many rows
 * have one, the mapping is wrong (docs/inputs.md, case 112).
 */
export function misplaced(kind: IdentifierType, text: string): string | undefined {
  if (kind === 'phone_number' && text.includes('@')) return looksLikeEmail
  return kind === 'email' && /^\+?\d[\d\s().-]{6,22}$/.test(text) ? looksLikePhone : undefined
}

export const looksLikeEmail = 'looks like an email'
export const looksLikePhone = 'looks like a phone number'
