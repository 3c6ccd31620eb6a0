import type { IdentifierType } from '../../model/record.ts'

/**
 * Returns the message for an email in a phone column, or a phone number in an email column; undefined for any other value. Many such
 * values show that the mapping is wrong (docs/inputs.md, case 112).
 */
export function misplaced(kind: IdentifierType, text: string): string | undefined {
  if (kind === 'phone_number' && text.includes('@')) return 'looks like an email'
  return kind === 'email' && /^\+?\d[\d\s().-]{6,22}$/.test(text) ? 'looks like a phone number' : undefined
}
