/** Counts and names the changes that guards withhold: deletes, or updates to out of stock (`missing: out-of-stock`). */
import { plural } from '../../format.ts'
import type { GuardResult } from '../../model/report.ts'

/** Returns the number of withheld updates to out of stock: the largest of all guards, because several guards withhold the same changes. */
export function outOfStockOf(guards: readonly Pick<GuardResult, 'outOfStock'>[]): number {
  return Math.max(0, ...guards.map(({ outOfStock = 0 }) => outOfStock))
}

/** Returns `12 deletes`, `12 out-of-stock updates`, or `12 changes` if both are withheld. */
export function withheldChanges(withheld: number, outOfStock: number): string {
  if (outOfStock === 0) return plural(withheld, 'delete')
  return plural(withheld, outOfStock < withheld ? 'change' : 'out-of-stock update')
}
