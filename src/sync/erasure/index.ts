/** Public API of erasures, for the CLI. */
export { listReceipts } from '../../db/erasures.ts'
export { serviceIdentity } from '../serviceIdentity.ts'
export { copyErasures, missingErasures, readCopy } from './copy.ts'
export { forget } from './forget.ts'
export { erasedKeysOf, type Person } from './person.ts'
