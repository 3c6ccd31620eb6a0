import { identifierTypes } from '../model/record.ts'

/** Returns the type of a packed identifier and the beginning of its digest; the type alone if it is not a digest. */
export function maskedIdentifier(packed: Buffer): string {
  const type = identifierTypes[(packed[0] ?? 1) - 1] ?? 'identifier'
  return type === 'partner_user_id' ? type : `${type} ${packed.toString('hex', 1, 7)}…`
}
