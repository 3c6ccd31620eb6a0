/**
 * Parses and formats consent tests in flags and answers. A test is one of:
 * - values separated by commas, which mean consent; `empty` stands for an empty cell
 * - `not:` before such values, which then mean no consent
 * - `after:` or `before:` with a date
 */
import type { ConsentTest } from '../../../model/pipeline.ts'

/**
 * Returns a test as the value of a flag: `yes,true`, `not:empty` or `after:2025-01-01`. Undefined for a test that a flag cannot express: a
 * value contains a comma, or there are both dates, or no condition. Leaves out `appliesTo`.
 */
export function formatConsentAnswer({ values, notValues, after, before }: ConsentTest): string | undefined {
  const list = values ?? notValues
  if (after !== undefined && before !== undefined) return undefined
  if (list === undefined) return after === undefined ? (before === undefined ? undefined : `before:${before}`) : `after:${after}`
  if (list.some((value) => value.includes(','))) return undefined
  return `${notValues === undefined ? '' : 'not:'}${list.map((value) => (value === '' ? 'empty' : value)).join(',')}`
}

/** Parses the value of a `--consent` flag, or an answer. Accepts any text; `draftPipeline` rejects invalid tests. */
export function parseConsentAnswer(column: string, text: string): ConsentTest {
  const [, word, rest = ''] = /^(not|after|before):\s*(.*)$/is.exec(text) ?? []
  if (word?.toLowerCase() === 'after') return { column, after: rest }
  if (word?.toLowerCase() === 'before') return { column, before: rest }
  const values = (word === undefined ? text : rest).split(',').map((value) => (value.trim().toLowerCase() === 'empty' ? '' : value.trim()))
  return word === undefined ? { column, values } : { column, notValues: values }
}
