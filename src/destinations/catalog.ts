/** Product catalogs: products are put by id and deleted by product_key (spec 4.2). */
import { z } from 'zod'
import { catalogBinder } from '../mapping/bindCatalog.ts'
import { mappableFields } from '../mapping/products/vocabulary.ts'
import type { DestinationDefinition, ProductSetRule } from '../model/pipeline.ts'
import { id, oneOf, strict } from '../settings/values.ts'
import { productSetsSchema, toProductSets } from './productSetRules.ts'
import type { Destination, Operation } from './destination.ts'
import { catalogEndpoints } from '../service/contract/catalogs.ts'
import { batchLimits } from '../service/contract/limits.ts'
import { endpointIn, requestOf } from './endpoints.ts'
import { classifyProducts } from './productAnswer.ts'
import { productListing } from './productListing.ts'

const put = endpointIn(catalogEndpoints, 'products.put')
const remove = endpointIn(catalogEndpoints, 'products.delete')
const endpointFor = (op: Operation) => (op === 'upsert' ? put : remove)

/** Settings of a catalog, with defaults filled in. */
export interface CatalogDefinition extends DestinationDefinition {
  readonly kind: 'catalog'
  readonly catalogId: string
  readonly missing: 'delete' | 'out-of-stock' | 'keep'
  /** Product sets that the pipeline keeps in sync; absent if its file has no `product_sets`. */
  readonly productSets?: readonly ProductSetRule[]
}

const settings = strict({
  kind: z.literal('catalog'),
  catalog_id: id,
  missing: oneOf(['delete', 'out-of-stock', 'keep']).optional(),
  product_sets: productSetsSchema.optional(),
}).transform((given): CatalogDefinition => ({
  kind: 'catalog',
  catalogId: given.catalog_id,
  missing: given.missing ?? 'delete',
  ...(given.product_sets === undefined ? {} : { productSets: toProductSets(given.product_sets) }),
}))

export const catalog: Destination<CatalogDefinition> & { readonly settings: typeof settings } = {
  kind: 'catalog',
  settings,
  fields: mappableFields,
  checkMap: ({ hasConsent }) => (hasConsent ? [{ setting: 'consent', message: 'belongs to audiences, not to catalogs' }] : []),
  bind: catalogBinder,
  identity: ({ catalogId }) => ({ accountId: '', targetId: catalogId }),
  name: ({ catalogId }) => `catalog ${catalogId}`,
  words: { record: 'product', records: 'products', exampleKey: 'SKU-1' },
  productSets: ({ productSets }) => productSets ?? [],
  keys: 'products',
  showsRecords: true,
  keyField: 'id',
  missing: ({ missing }) => missing,
  guardsDeletes: true,
  deletesNeedRecord: true,
  removesBy: 'key',
  reachesPeople: false,
  suppresses: false,
  appliesSuppression: () => false,
  membership: () => undefined,
  keepsEntries: '12 months',
  listing: productListing,
  init: {
    noun: 'catalog',
    needsAccount: false,
    settings: (targetId) => ({ catalog_id: targetId }),
    comments: ['missing: delete   # products missing from the source: delete | out-of-stock | keep'],
  },
  probe: ({ catalogId }, version) => ({ path: `/${version}/product_catalogs/${catalogId}/products` }),
  limits: batchLimits.products,
  limitClass: (op) => endpointFor(op).limit,
  request: ({ targetId, version }, op) => requestOf(endpointFor(op), version, { product_catalog_id: targetId }),
  frame: (op) => ({ open: op === 'upsert' ? '{"products":[' : '{"product_keys":[', close: ']}' }),
  // Ids that differ only in case, outer spaces or Unicode form are not sent in one body (docs/inputs.md, 59).
  collisionOf: (recordKey) => recordKey.toString().normalize('NFC').trim().toLowerCase(),
  evidence: 'ids',
  refusedDeleteProvesRemoval: true,
  idOf: (keys, bytes, op) => (op === 'upsert' ? Buffer.from(keys[0] ?? []).toString() : parseKey(bytes)),
  classify: classifyProducts,
}

/**
 * Renders one element of `products` from the JSON of a record. `productKey`: key of a product that the service already has, else null
 * (docs/spec-notes.md#catalogs).
 */
export function renderProduct(json: string, productKey: string | null): Buffer {
  return Buffer.from(productKey === null ? json : `${json.slice(0, -1)},"product_key":${JSON.stringify(productKey)}}`)
}

/** Renders one element of `product_keys`. */
export function renderProductKey(productKey: string): Buffer {
  return Buffer.from(JSON.stringify(productKey))
}

/** Returns the product key in a slice of a request body. @throws {TypeError} if the slice is not a JSON string */
function parseKey(bytes: Uint8Array): string {
  const key: unknown = JSON.parse(Buffer.from(bytes).toString())
  if (typeof key !== 'string') throw new TypeError('a frozen entry of a delete is not a key')
  return key
}
