import { firstText } from '../fields.ts'
import type { Row } from '../../model/record.ts'
import { trimText } from '../text.ts'
import type { BoundConsent } from './consentTest.ts'

/** Returns true if the row passes the test. A missing cell counts as empty, because JSON and XML omit empty values. */
export function passesConsent(row: Row, { index, passes }: Pick<BoundConsent, 'index' | 'passes'>): boolean {
  return passes(trimText(firstText(row.cells[index]) ?? ''))
}
