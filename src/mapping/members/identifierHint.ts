import { toFlowYaml } from '../consent/consentText.ts'
import { columnCalled } from '../headerWords.ts'
import type { MemberBinding } from './memberBinding.ts'
import type { MemberHeader } from './memberHeader.ts'
import type { IdentifierColumn } from './unreadColumns.ts'

/**
 * Returns the `map:` that also reads the unmapped identifier columns, and the `ignore:` that declares them irrelevant. Adds the recognized
 * preset as `preset:`, because no preset is recognized for a pipeline with a `map:`.
 */
export function identifierHint(
  { pipeline, preset, columns }: MemberHeader,
  binding: MemberBinding,
  found: readonly IdentifierColumn[],
): string {
  const fields = (['email', 'phone_number'] as const).flatMap((kind) => {
    const more = found.flatMap((one) => (one.kind === kind ? [one.column] : []))
    if (more.length === 0) return []
    const bound = binding.identifiers.find((one) => one.kind === kind)
    // A configured list may name columns of other sources too.
    const names = [...(pipeline.map[kind]?.columns ?? bound?.indexes.map((index) => columns[index] ?? '') ?? []), ...more]
    const country =
      bound === undefined && kind === 'phone_number' ? columnCalled('default_country', columns) : bound?.mapping.defaultCountry
    const value = country === undefined ? (names.length === 1 ? names[0] : names) : { columns: names, default_country: country }
    return [`${kind}: ${toFlowYaml(value)}`]
  })
  const known =
    preset !== undefined && pipeline.preset === undefined && Object.keys(pipeline.map).length === 0 ? `preset: ${preset.name} and ` : ''
  return `${known}map: { ${fields.join(', ')} }; or, for columns that are not the customer's: ignore: ${toFlowYaml(found.map(({ column }) => column))}`
}
