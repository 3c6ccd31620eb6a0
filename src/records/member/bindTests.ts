/** What of a header says who may be sent: consent, removal, age. */
import type { ValueTest } from '../../pipeline/definition.ts'
import { ageColumnsOf } from '../age.ts'
import { missingColumn, type MissingColumn } from '../boundColumns.ts'
import { nearest } from '../closeness.ts'
import { findColumn } from '../fields.ts'
import type { Preset } from '../presets/index.ts'
import type { Warning } from '../record.ts'
import { testValues, type BoundTest, type MemberBinding } from './memberBinding.ts'
import type { MemberHeader } from './memberHeader.ts'

/** Which rows are wanted, by the settings or else by what the preset knows of its export. */
export function bindTests(header: MemberHeader, today: Date): Pick<MemberBinding, 'consent' | 'ages' | 'remove'> {
  const { columns, preset, used } = header
  const { consent, remove, destination } = header.pipeline
  const onList = destination.kind === 'do-not-reach'
  const saysWho = presetTests(preset, columns)
  // A child on a do-not-reach list stays on it.
  const ages = destination.kind === 'audience' ? ageColumnsOf(columns, today) : []
  for (const { index } of [...saysWho, ...ages]) used.add(index)
  return {
    consent: onList
      ? []
      : consent === undefined
        ? saysWho
        : [consent, ...(consent.also ?? [])].map((one) => bindTest(header, 'consent', one)),
    ages,
    // Whom the export itself calls reachable has no place on a list of people who are not.
    remove: !onList ? [] : remove === undefined ? saysWho : [bindTest(header, 'remove', remove)],
  }
}

function bindTest({ columns, missing, used }: MemberHeader, field: 'consent' | 'remove', given: ValueTest): BoundTest {
  const index = findColumn(columns, given.column)
  if (index < 0) missing.push(missingTest(field, given, columns))
  used.add(index)
  return { index, values: testValues(given) }
}

/** The preset's tests whose columns are there. */
function presetTests(preset: Preset | undefined, columns: readonly string[]): BoundTest[] {
  return (preset?.consent ?? []).flatMap((test) => {
    const index = test.columns.map((name) => findColumn(columns, name)).find((found) => found >= 0)
    return index === undefined ? [] : [{ index, values: testValues(test) }]
  })
}

/** Some exports of a kind leave the column out: then the owner has to say what consent is, and is told so. */
export function consentUnknown(preset: Preset | undefined, columns: readonly string[]): Warning[] {
  return (preset?.consent ?? []).flatMap(({ expected, columns: names }) =>
    expected !== true || names.some((name) => findColumn(columns, name) >= 0)
      ? []
      : [
          {
            line: 1,
            code: 'CONSENT_UNKNOWN',
            field: 'consent',
            message: `the export has no column "${names[0]}": every row counts as consenting`,
          },
        ],
  )
}

/** A test reads one column: the mend is the whole setting, with the nearest name where there is one. */
function missingTest(field: 'consent' | 'remove', { column, values }: ValueTest, columns: readonly string[]): MissingColumn {
  const setting = `{ column: ${JSON.stringify(nearest(column, columns) ?? '<column>')}, values: ${JSON.stringify(values)} }`
  const { message } = missingColumn(field, [column], columns)
  return {
    field,
    message,
    mend: field === 'consent' ? `consent: ${setting}` : `map: { remove: ${setting} }`,
  }
}
