/** Binds the columns that decide who may be sent: consent, removal, age. */
import type { ConsentTest, Pipeline } from '../../model/pipeline.ts'
import { ageColumnsOf } from './age.ts'
import { describeMissingColumn, presetOf, type MissingColumn } from '../boundColumns.ts'
import { suggestName } from '../../suggestName.ts'
import { bindTest, type BoundTest } from '../consent/consentTest.ts'
import { inPipelineKeys, toFlowYaml } from '../consent/consentText.ts'
import { findColumn } from '../fields.ts'
import { presets, recognizePreset, type Preset } from '../presets/index.ts'
import type { IdentifierType, Warning } from '../../model/record.ts'
import type { MemberBinding } from './memberBinding.ts'
import type { MemberHeader } from './memberHeader.ts'

/**
 * Binds the tests of the pipeline, or else those of the preset, and the columns of ages. Marks their columns as used. With `consent: none`,
 * also marks those of the preset's tests. If the header lacks the column of a test of the pipeline, adds it to `header.missing`. `types`:
 * the mapped identifier types.
 */
export function bindTests(
  header: MemberHeader,
  types: readonly IdentifierType[],
  { appliesConsent, isDoNotReach, today }: { readonly appliesConsent: boolean; readonly isDoNotReach: boolean; readonly today: Date },
): Pick<MemberBinding, 'consent' | 'consentByType' | 'ages' | 'remove'> {
  const { columns, preset, usedIndexes } = header
  const { consent } = header.pipeline
  const testsOfPreset = presetTests(preset, columns)
  // A child on a do-not-reach list stays on it.
  const ages = appliesConsent ? ageColumnsOf(columns, today) : []
  // Tests in `consent:` replace those of the preset. A column that only the preset names is then reported as unmapped.
  for (const { index } of [...(Array.isArray(consent) ? [] : testsOfPreset), ...ages]) usedIndexes.add(index)
  const tests =
    isDoNotReach || consent === 'none' ? [] : (consent?.map((test) => bindConfiguredTest(header, 'consent', test)) ?? testsOfPreset)
  const onlyPhones = types.every((type) => type === 'phone_number')
  // If only phone numbers are mapped, a test for them applies to the whole row. A test for a type that is not mapped does not apply.
  const isForMappedType = ({ test }: BoundTest) => test.appliesTo !== undefined && types.includes(test.appliesTo)
  return {
    consent: tests.filter((bound) => bound.test.appliesTo === undefined || (onlyPhones && isForMappedType(bound))),
    consentByType: onlyPhones ? [] : tests.filter(isForMappedType),
    ages,
    remove: isDoNotReach ? removalTests(header, testsOfPreset) : [],
  }
}

/**
 * Returns the tests that remove a person from a do-not-reach list. Without a test of the pipeline, these are the preset's tests for the
 * whole row. Returns none if the header lacks an expected column of the preset: people who opted out could pass the other tests.
 */
function removalTests(header: MemberHeader, testsOfPreset: readonly BoundTest[]): readonly BoundTest[] {
  const { remove } = header.pipeline
  if (remove !== undefined) return [bindConfiguredTest(header, 'remove', remove)]
  const mayMissOptOuts = missingConsentColumns(header.preset, header.columns).length > 0
  return mayMissOptOuts ? [] : testsOfPreset.filter(({ test }) => test.appliesTo === undefined)
}

/** Returns the consent tests of the pipeline, or else those of the preset; none for `consent: none`. */
export function consentTestsOf({ pipeline, preset, columns }: MemberHeader): readonly ConsentTest[] {
  if (pipeline.consent === 'none') return []
  return pipeline.consent ?? presetTests(preset, columns).map(({ test }) => test)
}

/** Binds a test of the pipeline, and marks its column as used. Adds a column that the header lacks to `header.missing`. */
function bindConfiguredTest({ columns, missing, usedIndexes }: MemberHeader, field: 'consent' | 'remove', test: ConsentTest): BoundTest {
  const bound = bindTest(test, columns)
  if (bound.index >= 0) {
    usedIndexes.add(bound.index)
    return bound
  }
  const { message } = describeMissingColumn(field, [test.column], columns)
  const setting = toFlowYaml(inPipelineKeys({ ...test, column: suggestName(test.column, columns) ?? '<column>' }))
  missing.push({ field, message, hint: field === 'consent' ? `consent: ${setting}` : `map: { remove: ${setting} }` })
  return bound
}

/** Returns the preset's consent tests whose column the header has. */
export function presetTests(preset: Preset | undefined, columns: readonly string[]): readonly BoundTest[] {
  return (preset?.consent ?? []).flatMap(({ columns: names, values, appliesTo }) => {
    const index = names.map((name) => findColumn(columns, name)).find((found) => found >= 0)
    const column = columns[index ?? -1]
    return column === undefined ? [] : [bindTest({ column, values, ...(appliesTo === undefined ? {} : { appliesTo }) }, columns)]
  })
}

/**
 * Returns a warning for each expected consent column of the preset that the header lacks. `field`: setting that can replace it; `consent`
 * for an audience, `remove` for a do-not-reach list.
 */
export function missingConsentWarnings(preset: Preset | undefined, columns: readonly string[], field: 'consent' | 'remove'): Warning[] {
  return missingConsentColumns(preset, columns).map((name) => ({
    line: 1,
    code: 'CONSENT_UNKNOWN',
    field,
    message: `the export has no column "${name}", which says who may be reached`,
  }))
}

/**
 * Returns a consent column that the header lacks, if a preset would be recognized with it. Undefined if there is none, and for a pipeline
 * with `map:` or `consent:`. Without this hint, a user would only add a `map:`, and people who opted out would be sent.
 */
export function missingConsentColumnOfPreset({ pipeline, preset, columns }: MemberHeader): MissingColumn | undefined {
  if (preset !== undefined || Object.keys(pipeline.map).length > 0 || pipeline.consent !== undefined) return undefined
  for (const candidate of presets) {
    const names = missingConsentColumns(candidate, columns)
    const [column] = names
    if (column === undefined || recognizePreset([...columns, ...names], 'members') !== candidate) continue
    return {
      field: 'consent',
      message: `no column "${column}", which says who may be reached`,
      hint: `if this is an export of ${candidate.name}, export it with "${column}", which says who may be reached`,
    }
  }
  return undefined
}

/**
 * Returns a warning if the name of the file says that its people did not agree (`Preset.unconsentedFile`). A pipeline with `consent:` has
 * no such warning. `file`: path or address of the source, or the name of the file in an archive.
 */
export function unconsentedFileWarnings(pipeline: Pipeline, columns: readonly string[], file: string): Warning[] {
  const name = file.split(/[/\\]/).at(-1) ?? ''
  // Also with a `map:`, because a `map:` does not change what the file is.
  if (pipeline.consent !== undefined || presetOf(pipeline, columns, 'members')?.unconsentedFile?.test(name) !== true) return []
  return [
    { line: 1, code: 'CONSENT_UNKNOWN', field: 'file', message: `the people in "${name}" did not subscribe, by the name of the file` },
  ]
}

/** Returns the consent columns that the preset marks as `expected` and the header lacks, each by its first name. */
function missingConsentColumns(preset: Preset | undefined, columns: readonly string[]): string[] {
  return (preset?.consent ?? []).flatMap(({ expected, columns: names }) =>
    expected !== true || names.some((name) => findColumn(columns, name) >= 0) ? [] : names.slice(0, 1),
  )
}
