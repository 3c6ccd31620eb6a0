import type { MappedRecord, Reject } from '../../model/record.ts'

/** Returns the reject of a member whose membership has already ended at `nowMs`; undefined for any other record. */
export function rejectIfEnded(record: MappedRecord, nowMs: number): (Reject & { readonly key: Uint8Array }) | undefined {
  if (record.kind !== 'member' || record.expiresAtMs === undefined || record.expiresAtMs > nowMs) return undefined
  return {
    line: record.line,
    code: 'EXPIRES_AT_INVALID',
    field: 'expires_at',
    message: 'the membership has already ended',
    hint: 'give a later expires_at, or leave the row out',
    key: record.key,
  }
}
