import { missingColumnWarning } from '../boundColumns.ts'
import { findColumn } from '../fields.ts'
import { countryCode } from '../identifiers/country.ts'
import { isCountry } from '../identifiers/phoneFast.ts'
import { redactPersonalData } from '../mask.ts'
import type { IdentifierType } from '../../model/record.ts'
import type { BoundIdentifier } from './memberBinding.ts'
import type { MemberHeader } from './memberHeader.ts'

/**
 * Binds the columns of each identifier type, and the country of phone numbers. Warns about mapped columns that, by their name, contain
 * addresses of colleagues. Returns the types with a column, in the order of `kinds`.
 */
export function bindIdentifiers(header: MemberHeader, kinds: readonly IdentifierType[]): readonly BoundIdentifier[] {
  const { columns } = header
  const identifiers: BoundIdentifier[] = []
  for (const kind of kinds) {
    const made = header.field(kind)
    if (made === undefined) continue
    const { defaultCountry, hashed = false } = made.mapping
    let country: string | number | undefined
    if (defaultCountry !== undefined) {
      const index = findColumn(columns, defaultCountry)
      if (index >= 0) {
        country = index
        header.used.add(index)
      } else {
        const code = countryCode(defaultCountry)
        if (isCountry(code)) country = code
        else header.warnings.push(missingColumnWarning(`${kind}.default_country`, defaultCountry, columns))
      }
    }
    for (const index of made.indexes) {
      const name = columns[index] ?? ''
      if (/\b(?:owner|assigned|account manager|sales ?rep|created by|advisor)\b/i.test(name.replace(/_/g, ' ')))
        header.warnings.push({
          line: 1,
          code: 'OWNER_COLUMN',
          field: kind,
          message: `${kind}: "${redactPersonalData(name)}" seems to contain a colleague's address`,
        })
    }
    identifiers.push({ ...made, kind, hashed, country })
  }
  return identifiers
}
