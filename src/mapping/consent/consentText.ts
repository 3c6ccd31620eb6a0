/** Formats consent tests for pipeline files, and column values for messages. Pure. */
import { quoteSetting } from '../../format.ts'
import type { ConsentTest } from '../../model/pipeline.ts'
import type { CountedValue } from './columnValues.ts'

/** Returns the test with the keys of a pipeline file, such as `not_values` and `for`. */
export function inPipelineKeys({ column, values, notValues, before, after, appliesTo }: ConsentTest): Readonly<Record<string, unknown>> {
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
  const formatted = tests.map((test) => toFlowYaml(inPipelineKeys(test)))
  return `consent: ${formatted.length === 1 ? formatted[0] : `[${formatted.join(', ')}]`}`
}

/** Formats a value in YAML flow style: `{ columns: ["Notes"] }`. Quotes every text, except keys and the value of `for`. */
export function toFlowYaml(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(toFlowYaml).join(', ')}]`
  if (typeof value === 'string') return quoteSetting(value)
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const entries = Object.entries(value).map(([key, part]) => `${key}: ${key === 'for' ? String(part) : toFlowYaml(part)}`)
  return `{ ${entries.join(', ')} }`
}

/** Returns `"yes" 140, empty 60`: at most eight values with the number of their cells, and the number of further values. */
export function valuesText(values: readonly CountedValue[]): string {
  const shown = values.slice(0, 8).map(({ value, count }) => `${value === '' ? 'empty' : JSON.stringify(value)} ${count}`)
  return `${shown.join(', ')}${values.length > 8 ? ` and ${values.length - 8} more` : ''}`
}
