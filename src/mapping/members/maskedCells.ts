/** Finds cells of a corrected rejects file that decide who is sent, and that the user did not fill in again. */
import { allTexts, firstText } from '../fields.ts'
import type { Cell, SourceRow } from '../../model/record.ts'
import { hasMask } from '../redactPersonalData.ts'
import { TransformError } from '../transforms.ts'
import type { MemberBinding } from './memberBinding.ts'

/**
 * Returns the first column of a test or of ages whose cell is masked, or else `key` for a masked key. Undefined if there is none. The
 * hidden value could fail a test of `not_values:`, or be the age of a child.
 */
export function maskedField(row: SourceRow, { key, consent, consentByType, ages }: MemberBinding): string | undefined {
  const decisive = [...consent, ...consentByType, ...ages].find(({ index }) => isMasked(row.cells[index]))
  if (decisive !== undefined) return row.columns[decisive.index]
  try {
    return hasMask(firstText(key?.read(row)) ?? '') ? 'key' : undefined
  } catch (error) {
    if (!(error instanceof TransformError)) throw error
    return undefined
  }
}

/** Returns true if a text of the cell is masked. */
export function isMasked(cell: Cell | undefined): boolean {
  return allTexts(cell).some(hasMask)
}
