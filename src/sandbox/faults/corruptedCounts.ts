/** Changes the counts in the answer to an upload of users (faults `counts` and `partial_apply`, docs/sandbox.md#faults). */
import { listOf, recordOf } from '../../unknownValue.ts'
import type { Fault } from './faultKinds.ts'

export type JsonObject = Readonly<Record<string, unknown>>

/**
 * Values of the setting `shape`, the form of `data`:
 * - `object` and `one`: the sums, as an object or an array of one
 * - `empty`: an empty array
 * - `short` and `long`: one result too few or too many
 * - `missing`: results without counts
 */
export const COUNT_SHAPES = ['object', 'one', 'empty', 'short', 'long', 'missing'] as const

type Counts = Record<string, unknown>

/**
 * Changes the counts of the results so that their sums are the settings `success` and `total` of the fault. Then changes the form of the
 * results to `shape`. Returns an answer without counts unchanged.
 *
 * In a setting, `n` is the sum of `total_count`: `n-1`.
 * - Default of `total`: `n`.
 * - Default of `success`: `n` with `total` or `shape`, else `n-1`.
 * - A value that is not a whole number is written into the last result.
 * - The shapes `object` and `one` have `n` in place of a value that is not a number.
 */
export function corruptCounts(body: JsonObject, fault: Fault): JsonObject {
  const { data } = body
  const results = countsOf(data)
  if (results === undefined) return body
  const n = sumOf(results, 'total_count')
  const defaultSuccess = fault['total'] === undefined && fault['shape'] === undefined ? 'n-1' : 'n'
  const success = resolveCount(fault['success'] === undefined ? defaultSuccess : fault['success'], n)
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
 * Changes the success counts for an upload in which `applied` of `items` users were applied. Their sum becomes `applied / items` of the sum
 * of `total_count`, rounded down. A share is needed, because counts may be of operations or identifiers too (the switch `count_basis`).
 * Returns an answer without counts unchanged.
 */
export function withAppliedCount(body: JsonObject, applied: number, items: number): JsonObject {
  const { data } = body
  const results = countsOf(data)
  if (results === undefined || items === 0) return body
  changeSum(results, 'success_count', Math.floor((sumOf(results, 'total_count') * applied) / items))
  return { ...body, data: Array.isArray(data) ? results : results[0] }
}

/** Returns copies of the results in `data`, an array or a single result. Returns undefined if no result has counts. */
function countsOf(data: unknown): Counts[] | undefined {
  const results = (Array.isArray(data) ? listOf(data) : [data]).map((one) => ({ ...recordOf(one) }))
  return results.some((one) => 'total_count' in one) ? results : undefined
}

function sumOf(results: readonly Counts[], name: string): number {
  return results.reduce((sum, one) => sum + Number(one[name]), 0)
}

/** Resolves a setting. Undefined and `'n'` become `n`; `'n-2'` becomes `n - 2`. Returns other values unchanged. */
function resolveCount(value: unknown, n: number): unknown {
  if (value === undefined || value === 'n') return n
  const relative = typeof value === 'string' ? /^n([+-]\d+)$/.exec(value) : null
  return relative === null ? value : n + Number(relative[1])
}

/**
 * Changes the field `name` of the results so that the values add up to `sum`. A higher or negative `sum` changes only the last result. A
 * lower `sum` lowers the values to no less than 0, the last result first. Writes a `sum` that is not a whole number into the last result.
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
