/** Operations of a run by kind and result. */
import type { EndedRun } from '../db/metricRows.ts'

export interface OperationCount {
  readonly kind: string
  readonly result: string
  readonly count: number
}

const kinds = { creates: 'create', updates: 'update', deletes: 'delete', renewals: 'renewal' } as const
const openResults = ['refused', 'ambiguous', 'pending'] as const

/**
 * Returns the planned operations of each kind, and their results: of each kind the sum of its results is the planned number. Runs of
 * earlier versions did not store which kinds were not confirmed: where not everything was, their results have the kind `unknown`.
 */
export function operationsOf({ counts, unconfirmed }: Pick<EndedRun, 'counts' | 'unconfirmed'>): readonly OperationCount[] {
  const planned = Object.entries(kinds).map(([name, kind]) => ({ kind, result: 'planned', count: counts[name] ?? 0 }))
  const of = (name: string) => counts[name] ?? 0
  if (unconfirmed === null && of('confirmed') + of('refused') + of('ambiguous') === 0)
    return planned.flatMap((one) => [one, { ...one, result: 'pending' }])
  if (unconfirmed === null && openResults.some((result) => of(result) > 0))
    return [
      ...planned,
      ...(['confirmed', ...openResults] as const).map((result) => ({ kind: 'unknown', result, count: counts[result] ?? 0 })),
    ]
  return planned.flatMap((one) => {
    const open = openResults.map((result) => ({ kind: one.kind, result, count: unconfirmed?.[one.kind]?.[result] ?? 0 }))
    const confirmed = one.count - open.reduce((sum, { count }) => sum + count, 0)
    return [one, { kind: one.kind, result: 'confirmed', count: Math.max(0, confirmed) }, ...open]
  })
}
