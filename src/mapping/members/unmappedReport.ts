/** Reports the unmapped columns of consent, emails and phone numbers, each with the setting to write. */
import { toFlowYaml } from '../consent/consentText.ts'
import { columnCalled } from '../headerWords.ts'
import { redactPersonalData } from '../mask.ts'
import { writtenTests } from './bindTests.ts'
import type { MemberBinding } from './memberBinding.ts'
import type { MemberHeader } from './memberHeader.ts'
import type { IdentifierColumn, UnmappedColumns, UnmappedReport } from './unmappedColumns.ts'

/** Returns the report on the unmapped columns, from the rows so far. */
export function unmappedReport(unmapped: UnmappedColumns, header: MemberHeader, binding: MemberBinding): UnmappedReport {
  const found = unmapped.identifierColumns()
  return {
    identifiers: found.map(({ column, type, count, lines }) => ({
      column,
      count,
      lines,
      message: `the column "${redactPersonalData(column)}" contains ${type === 'email' ? 'email addresses' : 'phone numbers'} and is not mapped`,
    })),
    identifierHint: found.length === 0 ? undefined : identifierHint(header, binding, found),
    consentHint: unmapped.consentHint(writtenTests(header)),
    shownValues: (column) => unmapped.shownValues(column),
    consentColumns: unmapped.consentColumns(),
  }
}

/**
 * Returns the `map:` that also reads the unmapped identifier columns, and the `ignore:` that declares them irrelevant. Adds the recognized
 * preset as `preset:`, because no preset is recognized for a pipeline with a `map:`.
 */
function identifierHint({ pipeline, preset, columns }: MemberHeader, binding: MemberBinding, found: readonly IdentifierColumn[]): string {
  const fields = (['email', 'phone_number'] as const).flatMap((type) => {
    const more = found.flatMap((one) => (one.type === type ? [one.column] : []))
    if (more.length === 0) return []
    const bound = binding.identifiers.find((one) => one.type === type)
    // A configured list may name columns of other sources too.
    const names = [...(pipeline.map[type]?.columns ?? bound?.indexes.map((index) => columns[index] ?? '') ?? []), ...more]
    const country =
      bound === undefined && type === 'phone_number' ? columnCalled('default_country', columns) : bound?.mapping.defaultCountry
    const value = country === undefined ? (names.length === 1 ? names[0] : names) : { columns: names, default_country: country }
    return [`${type}: ${toFlowYaml(value)}`]
  })
  const known = preset !== undefined && pipeline.preset === undefined ? `preset: ${preset.name} and ` : ''
  return `${known}map: { ${fields.join(', ')} }; or, for columns that are not the customer's: ignore: ${toFlowYaml(found.map(({ column }) => column))}`
}
