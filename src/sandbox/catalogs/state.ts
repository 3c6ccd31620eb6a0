/** State of the catalogs area: catalogs with their products, sets and feeds. */
import type { World } from '../area.ts'
import { FIRST_DAY, FIXED_CATALOG, FIXED_USER } from '../firstIds.ts'
import type { StoredProduct } from './productRules.ts'

export interface Product {
  readonly key: string
  /** Written fields, without unset and generated ones. */
  fields: StoredProduct
  groupKey: string | null
  /** Rank by creation in the catalog. By default, a listing shows only the oldest product of each group (the switch `group_reads`). */
  readonly order: number
}

export interface ProductSet {
  readonly id: string
  name: string
  description: string | null
  readonly type: 'MANUAL' | 'FILTERED'
  readonly filters: readonly { readonly attribute: string; readonly operator: string; readonly value: string }[]
  productKeys: string[]
  /** Last change, milliseconds since 1970. It starts the processing of the set. */
  changedAt: number
}

export interface ScheduledFeed {
  readonly id: string
  feed_url: string
  feed_format: string | null
  frequency: string | null
  repeat: number | null
  start_time: string | null
  time_zone: string | null
}

export interface Catalog {
  readonly id: string
  readonly userId: string
  name: string
  /** Products by id, in the form in which the switch `id_comparison` compares ids. */
  readonly products: Map<string, Product>
  /** Product key → id as in `products`. */
  readonly idByKey: Map<string, string>
  /** `item_group_id` → generated key of the group. */
  readonly groupKeys: Map<string, string>
  readonly sets: Map<string, ProductSet>
  readonly feeds: Map<string, ScheduledFeed>
  /** Keys of deleted products by id, for the switch `readd_key: same`. */
  readonly formerKeys: Map<string, string>
  nextOrder: number
}

export interface CatalogState {
  /** Cursor of a product list → the listings that it belongs to (`listingOf`), separated by spaces. */
  readonly cursors: Map<string, string>
  readonly catalogs: Map<string, Catalog>
}

export function createCatalogState(_world: World): CatalogState {
  const catalog = newCatalog(FIXED_CATALOG, FIXED_USER, 'Sandbox catalog')
  // A set with a filter, because the first catalog has no products that a manual set could contain.
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
