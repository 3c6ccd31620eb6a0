/** Computes the desired content of product sets: the filters of a rule, or the products of its brand. */
import { maxSetProducts } from '../../destinations/productSets.ts'
import type { Queryable } from '../../db/database.ts'
import { confirmedOfBrand, productsOfBrand, type StoredContent } from '../../db/productSets.ts'
import type { ProductSetRule } from '../../model/pipeline.ts'

/** Reason why a set cannot have its desired content. */
export interface SetProblem {
  readonly code: 'PRODUCT_SET_TOO_LARGE' | 'PRODUCT_SET_EMPTY'
  readonly message: string
}

/** Desired content of a set, or the reason why there is none. */
export type DesiredSet = StoredContent | SetProblem

export function isProblem(desired: DesiredSet): desired is SetProblem {
  return 'code' in desired
}

/** One product more than a set may have, so that a query shows if there are too many. */
const maxLoadedProducts = maxSetProducts + 1

/** Returns the content that a run sends: filters, or the confirmed products of the brand with their keys. */
export async function confirmedContent(db: Queryable, destinationId: number, rule: ProductSetRule): Promise<DesiredSet> {
  if (rule.brand === undefined) return filteredContent(rule)
  const products = await confirmedOfBrand(db, destinationId, rule.brand, maxLoadedProducts)
  const ids = products.map(({ id }) => id)
  const keys = products.map(({ productKey }) => productKey)
  return manualContent(rule, ids, keys, 'the catalog has no confirmed product')
}

/** Returns the content that a plan shows: filters, or the desired products of the brand without keys. */
export async function desiredContent(db: Queryable, destinationId: number, rule: ProductSetRule): Promise<DesiredSet> {
  if (rule.brand === undefined) return filteredContent(rule)
  return manualContent(rule, await productsOfBrand(db, destinationId, rule.brand, maxLoadedProducts), [], 'the source has no product')
}

function filteredContent(rule: ProductSetRule): StoredContent {
  return { ...nameAndDescription(rule), type: 'FILTERED', filters: rule.filters, productKeys: [], productIds: [] }
}

/** Returns the content of a set that lists its products. `noProduct`: start of the message if there are none. */
function manualContent(rule: ProductSetRule, productIds: readonly string[], productKeys: readonly string[], noProduct: string): DesiredSet {
  if (productIds.length > maxSetProducts)
    return {
      code: 'PRODUCT_SET_TOO_LARGE',
      message: `brand "${rule.brand ?? ''}" has more than ${maxSetProducts} products, the maximum of a set without filters; map the brand to a custom label and write the rule for that label`,
    }
  if (productIds.length === 0) return { code: 'PRODUCT_SET_EMPTY', message: `${noProduct} of brand "${rule.brand ?? ''}"` }
  return { ...nameAndDescription(rule), type: 'MANUAL', filters: [], productKeys, productIds }
}

function nameAndDescription({ name, description }: ProductSetRule): { readonly name: string; readonly description: string | null } {
  return { name, description: description ?? null }
}
