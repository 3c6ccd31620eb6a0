import type { Row } from '../../model/record.ts'
import { isChild } from '../members/age.ts'
import type { MemberBinding } from '../members/memberBinding.ts'
import { passesTest } from './consentTest.ts'

/** Returns false for a row without consent, and for a child. */
export function mayBeSent(row: Row, { consent, ages }: Pick<MemberBinding, 'consent' | 'ages'>): boolean {
  return consent.every((test) => passesTest(row, test)) && !ages.some((age) => isChild(row, age))
}
