/** State of the catalogs area: catalogs with their products, sets and feeds. */
import type { StoredRecord } from '../storedRecord.ts'
import { FIRST_DAY, FIXED_CATALOG, FIXED_USER } from '../firstIds.ts'
import type { StoredProduct } from './productRules.ts'

export interface Product {
  /** Generated key (`product_key`). */
  readonly key: string
  /** Fields that callers have set. Has neither unset fields nor the two generated keys. */
  fields: StoredProduct
  /** Generated key of the item group (`item_group_key`); null without a group. */
  groupKey: string | null
  /**
   * Position in the order of creation. With the switch `group_reads: first`, a listing of a catalog shows only the oldest product of each
   * group.
   */
  readonly order: number
}

/** Product set (spec 2.2). */
export interface ProductSet {
  readonly id: string
  name: string
  description: string | null
  readonly type: 'MANUAL' | 'FILTERED'
  /** A product is in the set if it passes all filters. Empty for a manual set. */
  readonly filters: readonly { readonly attribute: string; readonly operator: string; readonly value: string }[]
  /** Keys of the products of a manual set. Empty for a filtered set. */
  productKeys: string[]
  /** Time of the last change, in milliseconds since 1970. The processing of the set begins at this time. */
  changedAt: number
}

export type ScheduledFeed = StoredRecord<'scheduledFeed'>

export interface Catalog {
  readonly id: string
  readonly userId: string
  name: string
  /** Products by id. The id has the form that the switch `id_comparison` required when the product was created. */
  readonly products: Map<string, Product>
  /** Product key → id, in the form of the ids in `products`. */
  readonly idByKey: Map<string, string>
  /** Generated keys of groups, by `item_group_id`. */
  readonly groupKeys: Map<string, string>
  readonly sets: Map<string, ProductSet>
  readonly feeds: Map<string, ScheduledFeed>
  /** Id → key of a deleted product. The ids have the form of those in `products`. For the switch `readd_key: same`. */
  readonly formerKeys: Map<string, string>
  nextOrder: number
}

export interface CatalogState {
  /** For each cursor of a product listing, the digests (`listingDigest`) of the listings for which it is valid, separated by spaces. */
  readonly cursors: Map<string, string>
  readonly catalogs: Map<string, Catalog>
}

/** Creates the first state: one catalog, with a filtered set and no products. */
export function createCatalogState(): CatalogState {
  const catalog = newCatalog(FIXED_CATALOG, FIXED_USER, 'Sandbox catalog')
  catalog.sets.set('4101', {
    id: '4101',
    name: 'Sandbox set',
    description: 'Set of the first state',
    type: 'FILTERED',
    filters: [{ attribute: 'product_type', operator: 'MATCH', value: 'Sandbox' }],
    productKeys: [],
    changedAt: Date.parse(FIRST_DAY),
  })
  return { cursors: new Map(), catalogs: new Map([[FIXED_CATALOG, catalog]]) }
}

/** Returns a new, empty catalog. Does not store it. */
export function newCatalog(id: string, userId: string, name: string): Catalog {
  return {
    id,
    userId,
    name,
    products: new Map(),
    idByKey: new Map(),
    groupKeys: new Map(),
    sets: new Map(),
    feeds: new Map(),
    formerKeys: new Map(),
    nextOrder: 1,
  }
}
