/** Desired content of product sets: filters from the rule, products of a brand from the current state. */
import { mostSetProducts } from '../../destinations/productSets.ts'
import type { Queryable } from '../../db/database.ts'
import { confirmedOfBrand, productsOfBrand, type StoredContent } from '../../db/productSets.ts'
import type { ProductSetRule } from '../../model/pipeline.ts'

/** Reason why a set is not changed. */
export interface SetProblem {
  readonly code: 'PRODUCT_SET_TOO_LARGE' | 'PRODUCT_SET_EMPTY'
  readonly message: string
}

type Desired = StoredContent | SetProblem

export function isProblem(desired: Desired): desired is SetProblem {
  return 'code' in desired
}

/** Returns the content to send, with the products that the service has confirmed. */
export async function desiredContent(db: Queryable, destinationId: number, rule: ProductSetRule): Promise<Desired> {
  if (rule.brand === undefined) return filtered(rule)
  const products = await confirmedOfBrand(db, destinationId, rule.brand, mostSetProducts + 1)
  return listed(
    rule,
    products.map(({ id }) => id),
    products.map(({ productKey }) => productKey),
  )
}

/** Returns the content for a plan: the desired products, without their keys. */
export async function plannedContent(db: Queryable, destinationId: number, rule: ProductSetRule): Promise<Desired> {
  if (rule.brand === undefined) return filtered(rule)
  return listed(rule, await productsOfBrand(db, destinationId, rule.brand, mostSetProducts + 1), [])
}

function filtered(rule: ProductSetRule): StoredContent {
  return { ...headOf(rule), type: 'FILTERED', filters: rule.filters, productKeys: [], productIds: [] }
}

function listed(rule: ProductSetRule, productIds: readonly string[], productKeys: readonly string[]): Desired {
  if (productIds.length > mostSetProducts)
    return {
      code: 'PRODUCT_SET_TOO_LARGE',
      message: `brand "${rule.brand ?? ''}" has more than ${mostSetProducts} products, the maximum of a set without filters; map the brand to a custom label and write the rule for that label`,
    }
  if (productIds.length === 0)
    return { code: 'PRODUCT_SET_EMPTY', message: `the catalog has no confirmed product of brand "${rule.brand ?? ''}"` }
  return { ...headOf(rule), type: 'MANUAL', filters: [], productKeys, productIds }
}

function headOf({ name, description }: ProductSetRule): { readonly name: string; readonly description: string | null } {
  return { name, description: description ?? null }
}
