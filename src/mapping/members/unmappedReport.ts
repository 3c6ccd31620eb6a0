/** Reports the unmapped columns of consent, emails and phone numbers. */
import { quoteSetting } from '../../format.ts'
import { toFlowYaml } from '../consent/consentText.ts'
import { takesCellsUnchanged } from '../fields.ts'
import { columnForField } from '../headerWords.ts'
import { redactPersonalData } from '../redactPersonalData.ts'
import { consentTestsOf } from './bindTests.ts'
import type { BoundIdentifier } from './memberBinding.ts'
import type { MemberHeader } from './memberHeader.ts'
import type { IdentifierColumn, UnmappedColumns, UnmappedReport } from './unmappedColumns.ts'

/** Header of a source with its mapped identifiers. */
export interface ReportedHeader {
  readonly header: MemberHeader
  readonly identifiers: readonly BoundIdentifier[]
}

/** Returns the report on the unmapped columns, from the rows so far. `firstHeaderOf`: returns the first header that has the column. */
export function unmappedReport(unmapped: UnmappedColumns, firstHeaderOf: (column: string) => ReportedHeader): UnmappedReport {
  const identifierColumns = unmapped.identifierColumns()
  const consentColumns = unmapped.consentColumns()
  const [firstConsent] = consentColumns
  return {
    identifiers: identifierColumns.map(({ column, type, count, lines }) => ({
      column,
      count,
      lines,
      message: `the column "${redactPersonalData(column)}" contains ${type === 'email' ? 'email addresses' : 'phone numbers'} and is not mapped`,
    })),
    identifierHint: identifierColumns.length === 0 ? undefined : identifierHint(identifierColumns, firstHeaderOf),
    consentHint: firstConsent === undefined ? undefined : unmapped.consentHint(consentTestsOf(firstHeaderOf(firstConsent.column).header)),
    shownValues: (column) => unmapped.shownValues(column),
    consentColumns,
  }
}

/**
 * Returns the `map:` that also reads the unmapped identifier columns, and the `ignore:` that declares them irrelevant. Adds a recognized
 * preset as `preset:`, because no preset is recognized once the pipeline has `map:`. If a new `map:` would drop other settings of a field,
 * such as `hashed`, only names the columns to add by hand.
 */
function identifierHint(identifierColumns: readonly IdentifierColumn[], firstHeaderOf: (column: string) => ReportedHeader): string {
  const mapEntries: string[] = []
  const manualSteps: string[] = []
  let presetPart = ''
  for (const type of ['email', 'phone_number'] as const) {
    const unmappedNames = identifierColumns.flatMap((one) => (one.type === type ? [one.column] : []))
    const [firstName] = unmappedNames
    if (firstName === undefined) continue
    const { header, identifiers } = firstHeaderOf(firstName)
    const { pipeline, columns, preset } = header
    const configured = pipeline.map[type]
    const bound = identifiers.find((one) => one.type === type)
    const mapping = configured ?? bound?.mapping
    const hasOtherSettings =
      mapping !== undefined && (!takesCellsUnchanged(mapping) || mapping.hashed === true || mapping.default !== undefined)
    if (hasOtherSettings) {
      manualSteps.push(`add ${unmappedNames.map(quoteSetting).join(', ')} to map.${type} by hand`)
      continue
    }
    // The configured names come first, because this header may lack a column of another source.
    const mappedNames = configured?.columns ?? bound?.indexes.map((index) => columns[index] ?? '') ?? []
    const names = [...mappedNames, ...unmappedNames]
    const isNewPhone = mapping === undefined && type === 'phone_number'
    const country = isNewPhone ? columnForField('default_country', columns) : mapping?.defaultCountry
    const nameOrNames = names.length === 1 ? names[0] : names
    mapEntries.push(`${type}: ${toFlowYaml(country === undefined ? nameOrNames : { columns: names, default_country: country })}`)
    if (presetPart === '' && preset !== undefined && pipeline.preset === undefined) presetPart = `preset: ${preset.name} and `
  }
  const settings = mapEntries.length === 0 ? manualSteps : [`${presetPart}map: { ${mapEntries.join(', ')} }`, ...manualSteps]
  const ignored = toFlowYaml(identifierColumns.map(({ column }) => column))
  return `${settings.join(', and ')}; or, for columns that are not the customer's: ignore: ${ignored}`
}
