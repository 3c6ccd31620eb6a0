/** Corrupts the counts in the answer to an upload of users (faults `counts` and `partial_apply`, docs/sandbox.md#faults). */
import { listOf, recordOf } from '../../unknownValue.ts'
import type { Fault } from './faultKinds.ts'

/** Object of parsed JSON. */
export type JsonObject = Readonly<Record<string, unknown>>

/** Values of the setting `shape`. */
export const COUNT_SHAPES = ['object', 'one', 'empty', 'short', 'long', 'missing'] as const

type Counts = Record<string, unknown>

/**
 * Changes the counts of the results so that they add up to the fault's `success` and `total`, starting with the last result. `n` is the sum
 * of `total_count`; `n-1` and `n+2` are relative to this sum. Default: `n`, but `n-1` for `success` if neither `total` nor `shape` is set.
 * A value that is not a whole number is written into the last result.
 *
 * `shape` changes the form: `object`, `one` (array of one), `empty`, `short`, `long`, `missing`. In `object` and `one`, `n` replaces a
 * value that is not a number.
 *
 * Returns an answer without counts unchanged.
 */
export function corruptCounts(body: JsonObject, fault: Fault): JsonObject {
  const { data } = body
  const results = countsOf(data)
  if (results === undefined) return body
  const n = sumOf(results, 'total_count')
  const byDefault = fault['total'] === undefined && fault['shape'] === undefined ? 'n-1' : 'n'
  const success = resolveCount(fault['success'] === undefined ? byDefault : fault['success'], n)
  const total = resolveCount(fault['total'], n)
  changeSum(results, 'success_count', success)
  changeSum(results, 'total_count', total)
  const sums = { success_count: typeof success === 'number' ? success : n, total_count: typeof total === 'number' ? total : n }
  switch (fault['shape']) {
    case 'object':
      return { ...body, data: sums }
    case 'one':
      return { ...body, data: [sums] }
    case 'empty':
      return { ...body, data: [] }
    case 'short':
      return { ...body, data: results.slice(0, -1) }
    case 'long':
      return { ...body, data: [...results, { success_count: 0, total_count: 0 }] }
    case 'missing':
      return { ...body, data: results.map(() => ({})) }
    default:
      return { ...body, data: Array.isArray(data) ? results : results[0] }
  }
}

/**
 * Changes the counts of successes so that `applied` of `items` users succeeded, starting with the last result. Scales them if the answer
 * counts operations or identifiers (the switch `count_basis`). Returns an answer without counts unchanged.
 */
export function withAppliedCount(body: JsonObject, applied: number, items: number): JsonObject {
  const { data } = body
  const results = countsOf(data)
  if (results === undefined || items === 0) return body
  changeSum(results, 'success_count', Math.floor((sumOf(results, 'total_count') * applied) / items))
  return { ...body, data: Array.isArray(data) ? results : results[0] }
}

/** Returns copies of the results with counts, from an array or a single object; undefined if none has counts. */
function countsOf(data: unknown): Counts[] | undefined {
  const results = (Array.isArray(data) ? listOf(data) : [data]).map((one) => ({ ...recordOf(one) }))
  return results.some((one) => 'total_count' in one) ? results : undefined
}

function sumOf(results: readonly Counts[], name: string): number {
  return results.reduce((sum, one) => sum + Number(one[name]), 0)
}

/** Resolves a setting: undefined and `n` become the sum `n`, `n-2` becomes the sum less 2. Returns other values unchanged. */
function resolveCount(value: unknown, n: number): unknown {
  if (value === undefined || value === 'n') return n
  const relative = typeof value === 'string' ? /^n([+-]\d+)$/.exec(value) : null
  return relative === null ? value : n + Number(relative[1])
}

/**
 * Changes the field `name` of the results so that its values add up to `sum`. Starts with the last result, and lowers no value below 0. If
 * `sum` is negative, subtracts the whole difference from the last result. If `sum` is not a whole number, writes it into the last result.
 */
function changeSum(results: Counts[], name: string, sum: unknown): void {
  const last = results.at(-1)
  if (last === undefined) return
  if (typeof sum !== 'number' || !Number.isInteger(sum)) {
    last[name] = sum
    return
  }
  let difference = sum - sumOf(results, name)
  for (const one of results.toReversed()) {
    if (difference === 0) return
    const count = Number(one[name])
    const change = difference > 0 || sum < 0 ? difference : Math.max(difference, -count)
    one[name] = count + change
    difference -= change
  }
}
