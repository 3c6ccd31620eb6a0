import { identifierTypes } from '../model/record.ts'

/**
 * Returns the type of a packed identifier and the first 12 hex digits of its digest. Only the type for `partner_user_id`, which is not a
 * digest.
 */
export function maskedIdentifier(packed: Buffer): string {
  const type = identifierTypes[(packed[0] ?? 1) - 1] ?? 'identifier'
  return type === 'partner_user_id' ? type : `${type} ${packed.toString('hex', 1, 7)}…`
}
