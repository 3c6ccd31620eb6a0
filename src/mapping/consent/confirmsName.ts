import { trimText } from '../text.ts'
import type { ConsentName } from './columnName.ts'
import { isPlaceholderDate, looksLikeDate } from './columnValues.ts'
import { partsOf } from './consentTest.ts'
import { consentMeaning, isDeletedState, isDoubtfulYes, isOptOutInList, isPermission, isRequestState, isYesOrNo } from './words.ts'

/** Returns true if a cell confirms a name that is not certain. */
export function confirmsName(name: ConsentName, text: string): boolean {
  const date = trimText(text)
  if (name.needsYes === true) {
    const isRealDate = looksLikeDate(date) && !isPlaceholderDate(date)
    return consentMeaning(text) === 'yes' || isRealDate || isDeletedState(text) || isRequestState(text)
  }
  if (name.needsFlags === true) return /\D/.test(text) && (isYesOrNo(text) || isDoubtfulYes(text) || isPermission(text))
  const isKnownWord = consentMeaning(text) !== undefined || isDoubtfulYes(text)
  const isDateOfOptOut = (name.polarity === 'out' || name.mayBeOptOut === true) && looksLikeDate(date)
  return isKnownWord || partsOf(text).some(isOptOutInList) || isDateOfOptOut
}
