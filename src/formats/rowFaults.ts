import type { RecordCode } from '../mapping/rejectCodes.ts'

/** Reject codes of rows that the readers of formats reject. */
export type RowFaultCode = Extract<RecordCode, `ROW_${string}` | 'HEADER_REPEATED' | 'TEXT_BROKEN'>
