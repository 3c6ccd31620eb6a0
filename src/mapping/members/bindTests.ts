/** Binds the columns that decide who may be sent: consent, removal, age. */
import type { ConsentTest, ValueTest } from '../../model/pipeline.ts'
import { ageColumnsOf } from '../age.ts'
import { missingColumn, type MissingColumn } from '../boundColumns.ts'
import { suggestName } from '../../suggestName.ts'
import { boundConsent, testValues, type BoundConsent } from '../consent/consentTest.ts'
import { asWritten, toFlowYaml } from '../consent/consentText.ts'
import { findColumn } from '../fields.ts'
import type { Preset } from '../presets/index.ts'
import type { IdentifierType, Warning } from '../../model/record.ts'
import type { BoundTest, MemberBinding } from './memberBinding.ts'
import type { MemberHeader } from './memberHeader.ts'

/**
 * Binds the tests of the pipeline, or else those of the preset, and the columns of ages. Marks the columns of these as used, and also the
 * preset's columns if no test applies (`consent: none`). Adds the missing columns of the pipeline's tests to `header.missing`.
 */
export function bindTests(
  header: MemberHeader,
  kinds: readonly IdentifierType[],
  { asksConsent, hasRemovals, today }: { readonly asksConsent: boolean; readonly hasRemovals: boolean; readonly today: Date },
): Pick<MemberBinding, 'consent' | 'consentByType' | 'ages' | 'remove'> {
  const { columns, preset, used } = header
  const { consent, remove } = header.pipeline
  const known = presetTests(preset, columns)
  // A child on a do-not-reach list stays on it.
  const ages = asksConsent ? ageColumnsOf(columns, today) : []
  // If `consent:` replaces the tests of the preset, a column of theirs that it does not repeat is reported as unmapped.
  for (const { index } of [...(Array.isArray(consent) ? [] : known), ...ages]) used.add(index)
  const all =
    hasRemovals || consent === 'none'
      ? []
      : consent === undefined
        ? known.map(({ test }) => boundConsent(test, columns))
        : consent.map((test) => bindConsent(header, test))
  const othersMapped = kinds.some((kind) => kind !== 'phone_number')
  // A test for one type applies to the identifiers of that type. If only phone numbers are mapped, a test for them applies to the whole
  // row. A test for a type that is not mapped does not apply.
  const ofKind = all.flatMap((one) =>
    one.test.appliesTo === undefined || !(othersMapped && kinds.includes(one.test.appliesTo)) ? [] : [{ ...one, kind: one.test.appliesTo }],
  )
  return {
    consent: all.filter(({ test }) => test.appliesTo === undefined || (!othersMapped && kinds.includes(test.appliesTo))),
    consentByType: ofKind,
    ages,
    // The consent tests of a preset become removal tests on a do-not-reach list: a person who may be reached does not belong on it.
    // If an expected column is missing, no test applies, because the other tests would remove people who opted out.
    remove: !hasRemovals
      ? []
      : remove !== undefined
        ? [bindRemoval(header, remove)]
        : missingConsent(preset, columns).length > 0
          ? []
          : known.filter(({ test }) => test.appliesTo === undefined),
  }
}

/** Returns the consent tests of the pipeline, or else those of the preset, in the form of the pipeline; none for `consent: none`. */
export function writtenTests({ pipeline, preset, columns }: MemberHeader): readonly ConsentTest[] {
  if (pipeline.consent === 'none') return []
  return pipeline.consent ?? presetTests(preset, columns).map(({ test }) => test)
}

function bindConsent(header: MemberHeader, test: ConsentTest): BoundConsent {
  const { columns, missing, used } = header
  const made = boundConsent(test, columns)
  if (made.index < 0) {
    const near = { ...test, column: suggestName(test.column, columns) ?? '<column>' }
    missing.push({
      field: 'consent',
      message: missingColumn('consent', [test.column], columns).message,
      hint: `consent: ${toFlowYaml(asWritten(near))}`,
    })
  }
  used.add(made.index)
  return made
}

function bindRemoval({ columns, missing, used }: MemberHeader, given: ValueTest): BoundTest {
  const index = findColumn(columns, given.column)
  if (index < 0) missing.push(missingRemoval(given, columns))
  used.add(index)
  return { index, values: testValues(given) }
}

/** Returns the preset's consent tests that have a column in the header. */
export function presetTests(preset: Preset | undefined, columns: readonly string[]): (BoundTest & { readonly test: ConsentTest })[] {
  return (preset?.consent ?? []).flatMap((test) => {
    const index = test.columns.map((name) => findColumn(columns, name)).find((found) => found >= 0)
    if (index === undefined) return []
    const { values, appliesTo } = test
    return [
      {
        index,
        values: testValues(test),
        test: { column: columns[index] ?? '', values, ...(appliesTo === undefined ? {} : { appliesTo }) },
      },
    ]
  })
}

/**
 * Returns a warning for each expected consent column of the preset that the header lacks. `field`: the setting that the user must write
 * instead, `consent` for an audience and `remove` for a do-not-reach list.
 */
export function consentUnknown(preset: Preset | undefined, columns: readonly string[], field: 'consent' | 'remove'): Warning[] {
  return missingConsent(preset, columns).map((name) => ({
    line: 1,
    code: 'CONSENT_UNKNOWN',
    field,
    message: `the export has no column "${name}", which says who may be reached`,
  }))
}

/** Returns the consent columns that the preset marks as `expected` and the header lacks, each by its first name. */
function missingConsent(preset: Preset | undefined, columns: readonly string[]): string[] {
  return (preset?.consent ?? []).flatMap(({ expected, columns: names }) =>
    expected !== true || names.some((name) => findColumn(columns, name) >= 0) ? [] : names.slice(0, 1),
  )
}

/** Describes the missing column of a removal test. The hint is the whole setting, with the most similar column name if there is one. */
function missingRemoval({ column, values }: ValueTest, columns: readonly string[]): MissingColumn {
  const setting = `{ column: ${JSON.stringify(suggestName(column, columns) ?? '<column>')}, values: ${JSON.stringify(values)} }`
  const { message } = missingColumn('remove', [column], columns)
  return { field: 'remove', message, hint: `map: { remove: ${setting} }` }
}
