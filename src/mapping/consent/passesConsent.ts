import type { Row } from '../../model/record.ts'
import { allTexts } from '../fields.ts'
import { trimText } from '../text.ts'
import type { BoundConsent } from './consentTest.ts'

/**
 * Returns true if the row passes the test. A missing cell counts as empty, because JSON and XML omit empty values. Of a cell with several
 * texts (repeated elements, lists of JSON) all must pass, because one of them may mean no.
 */
export function passesConsent(row: Row, { index, passes }: Pick<BoundConsent, 'index' | 'passes'>): boolean {
  return allTexts(row.cells[index]).every((text) => passes(trimText(text)))
}
