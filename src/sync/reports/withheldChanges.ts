/** Names the changes that guards withhold: deletes, or missing products that would be set out of stock (`missing: out-of-stock`). */
import { plural } from '../../format.ts'
import type { GuardResult } from '../../model/report.ts'

/**
 * Returns how many of the withheld changes only set a missing product out of stock. Several guards withhold the same changes, so the result
 * is the largest number.
 */
export function outOfStockOf(guards: readonly Pick<GuardResult, 'outOfStock'>[]): number {
  return Math.max(0, ...guards.map(({ outOfStock = 0 }) => outOfStock))
}

/** Returns `12 deletes`, `12 out-of-stock updates`, or `12 changes` if both are withheld. */
export function withheldChanges(withheld: number, outOfStock: number): string {
  if (outOfStock === 0) return plural(withheld, 'delete')
  return plural(withheld, outOfStock < withheld ? 'change' : 'out-of-stock update')
}
