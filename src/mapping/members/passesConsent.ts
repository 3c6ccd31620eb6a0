import { firstText } from '../fields.ts'
import type { Row } from '../../model/record.ts'
import { trimText } from '../text.ts'
import type { BoundConsent } from './memberBinding.ts'

/** Returns true if the row passes the test. An absent cell is an empty one: JSON and XML omit empty values that CSV writes. */
export function passesConsent(row: Row, { index, passes }: Pick<BoundConsent, 'index' | 'passes'>): boolean {
  return passes(trimText(firstText(row.cells[index]) ?? ''))
}
