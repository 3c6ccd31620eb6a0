import { missingColumnWarning } from '../boundColumns.ts'
import { findColumn } from '../fields.ts'
import { countryCode } from '../identifiers/country.ts'
import { hasNumberingPlan } from '../identifiers/phoneFast.ts'
import { redactPersonalData } from '../redactPersonalData.ts'
import type { IdentifierType } from '../../model/record.ts'
import { isColleagueColumn } from './identifierColumns.ts'
import type { BoundIdentifier } from './memberBinding.ts'
import type { MemberHeader } from './memberHeader.ts'

/**
 * Binds the columns of each mapped identifier type, and the country of phone numbers. Warns about columns that, by their name, contain
 * addresses of colleagues.
 */
export function bindIdentifiers(header: MemberHeader, types: readonly IdentifierType[]): readonly BoundIdentifier[] {
  return types.flatMap((type) => {
    const bound = header.bindField(type)
    if (bound === undefined) return []
    const country = bindCountry(header, type, bound.mapping.defaultCountry)
    for (const index of bound.indexes) warnOfColleagueColumn(header, type, header.columns[index] ?? '')
    return [{ ...bound, type, hashed: bound.mapping.hashed ?? false, country }]
  })
}

/** Returns the index of the country column, or the code of a fixed country. Warns about any other text, and returns undefined. */
function bindCountry(
  { columns, usedIndexes, warnings }: MemberHeader,
  type: IdentifierType,
  columnOrCountry: string | undefined,
): string | number | undefined {
  if (columnOrCountry === undefined) return undefined
  const index = findColumn(columns, columnOrCountry)
  if (index >= 0) {
    usedIndexes.add(index)
    return index
  }
  const code = countryCode(columnOrCountry)
  if (hasNumberingPlan(code)) return code
  warnings.push(missingColumnWarning(`${type}.default_country`, columnOrCountry, columns))
  return undefined
}

function warnOfColleagueColumn({ warnings }: MemberHeader, type: IdentifierType, column: string): void {
  if (!isColleagueColumn(column)) return
  const message = `${type}: "${redactPersonalData(column)}" seems to contain a colleague's address`
  warnings.push({ line: 1, code: 'OWNER_COLUMN', field: type, message })
}
