/** Formats consent tests for pipeline files, and the values of a column for messages. Pure. */
import type { ConsentTest } from '../../model/pipeline.ts'
import type { CountedValue } from './columnValues.ts'

/** Returns the test with the keys of a pipeline file, such as `not_values` and `for`. */
export function asWritten({ column, values, notValues, before, after, appliesTo }: ConsentTest): Readonly<Record<string, unknown>> {
  return {
    column,
    ...(values === undefined ? {} : { values }),
    ...(notValues === undefined ? {} : { not_values: notValues }),
    ...(after === undefined ? {} : { after }),
    ...(before === undefined ? {} : { before }),
    ...(appliesTo === undefined ? {} : { for: appliesTo }),
  }
}

/** Returns `consent: { column: "Newsletter", values: ["yes"] }`, or a list for several tests. */
export function consentLine(tests: readonly ConsentTest[]): string {
  const written = tests.map((test) => toFlowYaml(asWritten(test)))
  return `consent: ${written.length === 1 ? written[0] : `[${written.join(', ')}]`}`
}

/** Formats a value in YAML flow style: `["Notes"]`. Quotes every text, except keys and the value of `for`. */
export function toFlowYaml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toFlowYaml).join(', ')}]`
  if (typeof value === 'object' && value !== null)
    return `{ ${Object.entries(value)
      .map(([key, part]) => `${key}: ${key === 'for' ? String(part) : toFlowYaml(part)}`)
      .join(', ')} }`
  return JSON.stringify(value)
}

/** Returns `"yes" 140, "no" 60`: at most eight values, and the number of the others. */
export function valuesText(values: readonly CountedValue[]): string {
  const shown = values.slice(0, 8).map(({ value, count }) => `${value === '' ? 'empty' : JSON.stringify(value)} ${count}`)
  return `${shown.join(', ')}${values.length > 8 ? ` and ${values.length - 8} more` : ''}`
}
