import { findColumn, firstText } from '../../../mapping/fields.ts'
import { columnForField } from '../../../mapping/headerWords.ts'
import { UnmappedColumns } from '../../../mapping/members/unmappedColumns.ts'
import { presetByName } from '../../../mapping/presets/index.ts'
import { trimText } from '../../../mapping/text.ts'
import type { Inspection } from './inspection.ts'

/** Names of the columns with emails, and with phone numbers. Columns of the preset come first, then columns found by their values. */
export interface PeopleColumns {
  readonly email: readonly string[]
  readonly phone_number: readonly string[]
}

/**
 * Finds the columns of emails and phone numbers in the inspected rows. Columns of `preset` come first. Leaves out other columns that mostly
 * repeat identifiers of the preset's columns.
 */
export function peopleColumns(inspection: Inspection, preset?: string): PeopleColumns {
  const ofPreset = presetColumns(inspection, preset)
  const unmapped = new UnmappedColumns({
    searchesConsent: true,
    types: ['email', 'phone_number'],
    today: inspection.inspectedAt,
    isIgnored: () => false,
  })
  const checkByColumns = new Map<readonly string[], ReturnType<UnmappedColumns['bind']>['checkRow']>()
  for (const row of inspection.rows) {
    let checkRow = checkByColumns.get(row.columns)
    if (checkRow === undefined) {
      const indexes = (names: readonly string[]) => names.map((name) => row.columns.indexOf(name)).filter((index) => index >= 0)
      const [email, phone] = [indexes(ofPreset.email), indexes(ofPreset.phone_number)]
      const identifiers = [
        { type: 'email' as const, indexes: email },
        { type: 'phone_number' as const, indexes: phone },
      ]
      checkRow = unmapped.bind({ columns: row.columns, usedIndexes: new Set([...email, ...phone]), identifiers }).checkRow
      checkByColumns.set(row.columns, checkRow)
    }
    checkRow(row)
  }
  const identifierColumns = unmapped.identifierColumns()
  const columnsOf = (type: 'email' | 'phone_number') => {
    const columns = identifierColumns.filter((identifiers) => identifiers.type === type).map(({ column }) => column)
    // A column with a usual name comes first, because the first column becomes the key.
    const named = columnForField(type, columns)
    return [...ofPreset[type], ...(named === undefined ? columns : [named, ...columns.filter((column) => column !== named)])]
  }
  return { email: columnsOf('email'), phone_number: columnsOf('phone_number') }
}

/** Returns the columns of the source that the preset maps to emails and phone numbers. */
function presetColumns(inspection: Inspection, preset: string | undefined): PeopleColumns {
  const map = preset === undefined ? undefined : presetByName(preset)?.map
  const present = (field: 'email' | 'phone_number') =>
    (map?.[field]?.columns ?? []).flatMap((name) => inspection.columns[findColumn(inspection.columns, name)] ?? [])
  return { email: [...new Set(present('email'))], phone_number: [...new Set(present('phone_number'))] }
}

/** Returns true if every row has a value in the column and no two values are equal. */
export function isUnique(inspection: Inspection, column: string): boolean {
  const seen = new Set<string>()
  for (const row of inspection.rows) {
    const text = trimText(firstText(row.cells[row.columns.indexOf(column)]) ?? '')
    if (text === '' || seen.has(text)) return false
    seen.add(text)
  }
  return true
}
