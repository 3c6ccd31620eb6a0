/** Shared parts of audiences and do-not-reach lists (spec 4.3). */
import { batchLimits } from '../service/contract/limits.ts'
import type { Destination } from './destination.ts'
import { classifyUsers } from './userAnswer.ts'

/** Members of `Destination` that both types share. */
export const userList = {
  words: { record: 'person', records: 'people', exampleKey: 'jane@example.com' },
  productSets: () => undefined,
  keys: 'identifiers',
  showsRecords: false,
  keyField: 'key',
  deletesNeedRecord: false,
  keepsEntries: '30 days',
  limits: batchLimits.userOperations,
  frame: () => ({ open: '[', close: ']' }),
  idOf: () => null,
  evidence: 'counts',
  refusedDeleteProvesRemoval: false,
  classify: classifyUsers,
} as const satisfies Partial<Destination>
