/** Product catalogs: products are put by id and deleted by product_key (spec 4.2). */
import { z } from 'zod'
import { catalogBinder } from '../mapping/bindCatalog.ts'
import { productFields } from '../mapping/products/vocabulary.ts'
import type { DestinationDefinition, ProductSetRule } from '../model/pipeline.ts'
import { id, oneOf, strict } from '../settings/values.ts'
import { productSetsSchema, toProductSets } from './productSetRules.ts'
import { redactServiceText } from '../redactServiceText.ts'
import type { Exchange } from '../service/client/exchange.ts'
import { ambiguous, classifyEnvelope, readErrors } from './answer.ts'
import type { Destination, EntryOutcome, RequestOutcome, Operation, SentEntry } from './destination.ts'
import { catalogEndpoints } from '../service/contract/catalogs.ts'
import { batchLimits } from '../service/contract/limits.ts'
import { endpointIn, requestOf } from './endpoints.ts'
import { isObject, readId, type Json, type JsonObject } from './json.ts'
import { productListing } from './productListing.ts'

const put = endpointIn(catalogEndpoints, 'products.put')
const remove = endpointIn(catalogEndpoints, 'products.delete')
const endpointFor = (op: Operation) => (op === 'upsert' ? put : remove)

/** Settings of a catalog, with all defaults. */
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

/** Type `catalog`. */
export const catalog: Destination<CatalogDefinition> & { readonly settings: typeof settings } = {
  kind: 'catalog',
  settings,
  fields: productFields,
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
  heedsSuppression: () => false,
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
  refusedDeleteIsGone: true,
  idOf: (keys, bytes, op) => (op === 'upsert' ? Buffer.from(keys[0] ?? []).toString() : parseKey(bytes)),
  classify,
}

/**
 * Renders one element of `products` from the JSON of a record. `productKey`: key of a product that the service already has, else null. The
 * specification lists the key as a required field (docs/spec-notes.md#catalogs).
 */
export function renderProduct(json: string, productKey: string | null): Buffer {
  return Buffer.from(productKey === null ? json : `${json.slice(0, -1)},"product_key":${JSON.stringify(productKey)}}`)
}

/** Renders one element of `product_keys`. */
export function renderProductKey(productKey: string): Buffer {
  return Buffer.from(JSON.stringify(productKey))
}

/** Classifies a response to a put or a delete of products. */
function classify(exchange: Exchange, sent: readonly SentEntry[], op: Operation): RequestOutcome {
  const envelope = classifyEnvelope(exchange, sent.length)
  if (op === 'delete' && envelope.kind === 'pause' && exchange.kind === 'answer' && exchange.status === 404 && sent.length > 1) {
    // The 404 may be about a key and not about the catalog (docs/faults.md, C4). So the batch is split, and the destination is not paused.
    return { kind: 'refused', code: envelope.code, message: envelope.message, failing: [] }
  }
  if (envelope.kind !== 'success') return envelope
  const data = envelope.body['data']
  const results = isObject(data) ? data[op === 'upsert' ? 'products_response' : 'delete_products'] : undefined
  if (!Array.isArray(results)) return ambiguous('wrong-shape')
  return { kind: 'entries', entries: op === 'upsert' ? classifyProducts(results, sent) : classifyDeletes(results, sent) }
}

/**
 * Returns the outcome of each product, found by its id and never by position. Ambiguous unless the id occurs once, with a known status
 * (docs/guarantees.md#match-by-identity).
 */
function classifyProducts(results: readonly Json[], sent: readonly SentEntry[]): EntryOutcome[] {
  const byId = indexBy(results, (result) => [result['id']])
  return sent.map(({ id }) => {
    const [result, ...others] = byId.get(id ?? '') ?? []
    if (result === undefined) return { outcome: 'ambiguous', code: 'id-missing' }
    if (others.length > 0) return { outcome: 'ambiguous', code: 'id-doubled' }
    return classifyProduct(result)
  })
}

function classifyProduct(result: JsonObject): EntryOutcome {
  const errors = readErrors(result['errors'])
  const status = result['status']
  if (errors === undefined) return { outcome: 'ambiguous', code: 'wrong-shape' }
  const key = readId(result['product_key'])
  const remoteKey = key === undefined ? {} : { remoteKey: key }
  if (status === 'ERROR') {
    const [first] = errors
    return {
      outcome: 'refused',
      ...remoteKey,
      code: first?.code ?? 'ERROR',
      message:
        errors
          .map((error) => error.message)
          .join('; ')
          .slice(0, 300) || 'refused without a reason',
    }
  }
  if (status !== 'CREATE_SUCCESS' && status !== 'UPDATE_SUCCESS' && status !== 'NO_CHANGE')
    return { outcome: 'ambiguous', code: 'unknown-status' }
  if (errors.length > 0) return { outcome: 'ambiguous', code: 'success-with-errors' }
  const warnings = readErrors(result['warnings'])?.map((warning) => warning.message) ?? []
  return { outcome: 'confirmed', ...remoteKey, ...(warnings.length === 0 ? {} : { warnings }) }
}

/**
 * Returns the outcome of each product key. Ambiguous unless the key occurs once in the response, as `product_key` or
 * `failed_product_key` (docs/guarantees.md#match-by-identity).
 */
function classifyDeletes(results: readonly Json[], sent: readonly SentEntry[]): EntryOutcome[] {
  const byKey = indexBy(results, (result) => [result['product_key'], result['failed_product_key']])
  return sent.map(({ id }) => {
    const [result, ...others] = byKey.get(id ?? '') ?? []
    if (result === undefined) return { outcome: 'ambiguous', code: 'key-missing' }
    if (others.length > 0) return { outcome: 'ambiguous', code: 'key-doubled' }
    const { failed_product_key: failed, product_key: deleted, message } = result
    if (failed === undefined || failed === null) return { outcome: 'confirmed' }
    if (readId(failed) !== id || readId(deleted) !== undefined) return { outcome: 'ambiguous', code: 'key-contradicted' }
    return {
      outcome: 'refused',
      code: 'DELETE_FAILED',
      message: typeof message === 'string' ? redactServiceText(message) : 'the key was not deleted',
    }
  })
}

/** Indexes results by their ids. A result that has one id in two fields is listed once. A result without id is omitted. */
function indexBy(results: readonly Json[], idsOf: (result: JsonObject) => readonly (Json | undefined)[]): Map<string, JsonObject[]> {
  const byId = new Map<string, JsonObject[]>()
  for (const result of results) {
    if (!isObject(result)) continue
    for (const id of new Set(idsOf(result).map(readId))) {
      if (id === undefined) continue
      const list = byId.get(id)
      if (list === undefined) byId.set(id, [result])
      else list.push(result)
    }
  }
  return byId
}

/** Returns the product key in a slice of a request body. @throws {TypeError} if the slice is not a JSON string */
function parseKey(bytes: Uint8Array): string {
  const key: unknown = JSON.parse(Buffer.from(bytes).toString())
  if (typeof key !== 'string') throw new TypeError('a frozen entry of a delete is not a key')
  return key
}
