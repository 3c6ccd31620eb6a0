/** Wrong counts of a user-list upload, on purpose (docs/sandbox.md). */
import type { Fault } from './faultKinds.ts'

type Json = Record<string, unknown>

/**
 * `success` and `total` are the sums of the answer: the shortfall or surplus is taken from the last results. A text such
 * as `n-1` counts from what the true answer says; anything else that is no whole number goes into the last result as it
 * stands. `shape`: `object`, `one` (array of one), `empty`, `short`, `long`, `missing`.
 */
export function countsOf(body: Json, fault: Fault): Json {
  const list = (Array.isArray(body['data']) ? body['data'] : [body['data']]) as { success_count: number; total_count: number }[]
  const wasArray = Array.isArray(body['data'])
  const n = list.reduce((sum, one) => sum + one.total_count, 0)
  // Without a figure the answer is one short: as it was, it would be no fault at all.
  const success = target(fault['success'] ?? (fault['total'] === undefined && fault['shape'] === undefined ? 'n-1' : 'n'), n)
  const total = target(fault['total'], n)
  const results: Json[] = list.map((one) => ({ ...one }))
  spread(results, 'success_count', success)
  spread(results, 'total_count', total)
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
      return { ...body, data: wasArray ? results : results[0] }
  }
}

function target(value: unknown, n: number): unknown {
  if (value === undefined || value === 'n') return n
  const relative = typeof value === 'string' ? /^n([+-]\d+)$/.exec(value) : null
  return relative === null ? value : n + Number(relative[1])
}

function spread(results: Json[], name: string, wanted: unknown): void {
  const last = results.at(-1)
  if (last === undefined) return
  if (typeof wanted !== 'number' || !Number.isInteger(wanted)) {
    last[name] = wanted
    return
  }
  let off = wanted - results.reduce((sum, one) => sum + Number(one[name]), 0)
  for (const one of results.toReversed()) {
    if (off === 0) return
    const now = Number(one[name])
    const change = off > 0 ? off : wanted < 0 ? off : Math.max(off, -now)
    one[name] = now + change
    off -= change
  }
}
