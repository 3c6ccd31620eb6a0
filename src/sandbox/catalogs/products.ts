/** Handles the endpoints of products: upsert, delete and list (spec 4.2, 2.2; docs/spec-notes.md#catalogs). */
import { hash } from 'node:crypto'
import type { Call, Handler, Reply } from '../area.ts'
import { reportOtherListing, isListCursor, listingDigest } from '../lists.ts'
import { isPlainRecord, listOf } from '../../unknownValue.ts'
import { textParam } from '../params.ts'
import { adsRefusal, adsRefusals, invalidParameter } from '../refusal.ts'
import { catalogOf } from './catalogs.ts'
import { checkProduct, hasHtml, isGtin, isHttps, LINK_FIELDS, PRODUCT_FIELDS, REQUIRED_FIELDS, type StoredProduct } from './productRules.ts'
import { shuffled } from '../shuffled.ts'
import type { Catalog, CatalogState, Product } from './state.ts'
import { textOf } from '../text.ts'

type CatalogCall = Call<CatalogState>

export const productHandlers: Readonly<Record<string, Handler<CatalogState>>> = {
  'products.list': listProducts,
  'products.put': putProducts,
  'products.delete': deleteProducts,
}

interface ProductResult {
  readonly warnings: readonly string[]
  readonly errors: readonly string[]
  readonly product_key: string | null
  readonly id: string | null
  readonly status: 'CREATE_SUCCESS' | 'UPDATE_SUCCESS' | 'ERROR' | 'NO_CHANGE'
}

/**
 * Creates or updates the products of the request, and returns their results (spec 4.2). If an id occurs more than once in the request,
 * stores none of its products. The switch `duplicate_ids` determines their results.
 *
 * @throws {Refusal} for a catalog that the caller cannot access, or a wrong list
 */
function putProducts(call: CatalogCall): Reply {
  const catalog = catalogOf(call)
  const list = listOf(call.params['products'])
  delete call.echo['products']
  const products = list.filter(isPlainRecord)
  const firstNonObject = list.findIndex((product) => !isPlainRecord(product))
  if (firstNonObject !== -1) throw adsRefusals([invalidParameter('products', 'array of objects', '', `products[${firstNonObject}]`)])
  if (list.length === 0) throw adsRefusals([invalidParameter('products', 'at least one product', '')])
  const repeated = repeatedIds(call, products)
  const repeatedResult = call.world.switchValue('duplicate_ids')
  const results: ProductResult[] = []
  products.forEach((product, index) => {
    const id = typeof product['id'] === 'string' ? product['id'] : null
    const stored = id === null ? undefined : catalog.products.get(comparableId(call, id))
    const keptFields = call.world.switchValue('product_put') === 'merge' ? stored?.fields : undefined
    reportViolations(call, product, keptFields)
    if (id !== null && repeated.has(comparableId(call, id))) {
      if (repeatedResult === 'absent') return
      if (repeatedResult === 'no_change')
        results.push({ warnings: [], errors: [], product_key: stored?.key ?? null, id, status: 'NO_CHANGE' })
      else results.push(failedResult(call, id, stored, ['id: occurs several times in this request; all its instances are ignored']))
      return
    }
    results.push(putProduct(call, catalog, { product, id, stored, keptFields, index }))
  })
  return {
    kind: 'ads',
    data: { products_response: call.world.switchValue('product_order') === 'random' ? shuffled(results, call.world.random) : results },
  }
}

interface SentProduct {
  readonly product: Readonly<Record<string, unknown>>
  /** Null if the id is missing or not a text. */
  readonly id: string | null
  readonly stored: Product | undefined
  /** Stored fields that stay if the request lacks them. Undefined without the switch `product_put: merge`, and for a new product. */
  readonly keptFields: StoredProduct | undefined
  /** Position in the request. */
  readonly index: number
}

/** Checks a product, and creates or updates it. Returns its result. */
function putProduct(call: CatalogCall, catalog: Catalog, { product, id, stored, keptFields, index }: SentProduct): ProductResult {
  const { world } = call
  const { fields, errors } = checkProduct(product, keptFields, world.switchValue('length_unit'))
  const warnings = gtinWarnings(fields)
  if (stored !== undefined && world.switchValue('product_key_on_write') === 'required' && product['product_key'] !== stored.key)
    return failedResult(call, id, stored, ['product_key: is required for a known product'])
  if (errors.length > 0 || id === null) return failedResult(call, id, stored, errors)
  const success = (status: ProductResult['status'], key: string): ProductResult => ({ warnings, errors: [], product_key: key, id, status })
  if (stored !== undefined && hasSameFields(stored.fields, fields)) return success('NO_CHANGE', stored.key)
  const isApplied = call.appliesEntry(index, id)
  if (stored !== undefined && !isApplied) return success('UPDATE_SUCCESS', stored.key)
  const comparable = comparableId(call, id)
  const formerKey = world.switchValue('readd_key') === 'same' ? catalog.formerKeys.get(comparable) : undefined
  if (!isApplied) return success('CREATE_SUCCESS', formerKey ?? unstoredKey(catalog, comparable))
  const groupKey = findOrCreateGroupKey(call, catalog, fields['item_group_id'])
  if (stored !== undefined) {
    stored.fields = fields
    stored.groupKey = groupKey
    return success('UPDATE_SUCCESS', stored.key)
  }
  const key = formerKey ?? world.newId()
  catalog.products.set(comparable, { key, fields, groupKey, order: catalog.nextOrder++ })
  catalog.idByKey.set(key, comparable)
  return success('CREATE_SUCCESS', key)
}

/**
 * Returns the key that the answer has for a new product that a fault omits. `id`: as in `Catalog.products`. Does not call `World.newId`,
 * because the product is not stored. A repeated call has the same key in its answer.
 */
function unstoredKey(catalog: Catalog, id: string): string {
  return String(10n ** 18n + BigInt(`0x${hash('sha256', `${catalog.id} ${id}`).slice(0, 14)}`))
}

/**
 * Deletes the products with the keys of the request, and returns a result for each key (spec 4.2).
 *
 * @throws {Refusal} for a catalog that the caller cannot access, or a wrong list
 * @throws {Refusal} 404 for an unknown key, with the switch `delete_unknown_key: not_found`
 */
function deleteProducts(call: CatalogCall): Reply {
  const catalog = catalogOf(call)
  const { world } = call
  // Keys may exceed 2^53. As a JSON number, such a key would lose digits and could name another product.
  if (!areTexts(call.params['product_keys'])) throw adsRefusals([invalidParameter('product_keys', 'array of strings', '')])
  const keys = call.params['product_keys']
  if (keys.length === 0) throw adsRefusals([invalidParameter('product_keys', 'at least one key', '')])
  const maxKeys = world.switchValue('delete_keys_max')
  if (maxKeys !== 'none' && keys.length > Number(maxKeys))
    throw adsRefusals([invalidParameter('product_keys', `at most ${maxKeys} items`, `${keys.length} items`)])
  const onUnknownKey = world.switchValue('delete_unknown_key')
  if (onUnknownKey === 'not_found') {
    const unknown = keys.find((key) => !catalog.idByKey.has(key))
    if (unknown !== undefined) throw adsRefusal('NOT_FOUND', `Product ${unknown} was not found`, { parameter: 'product_keys' })
  }
  const results = keys.map((key, index) => {
    const id = catalog.idByKey.get(key)
    if (id === undefined && onUnknownKey === 'failed')
      return { product_key: null, failed_product_key: key, message: `Product ${key} was not found` }
    if (id !== undefined && call.appliesEntry(index, key)) removeProduct(catalog, id, key)
    return { product_key: key, failed_product_key: null, message: null }
  })
  // Unlike `call.echo`, this echo does not contain the id of the catalog.
  return { kind: 'ads', data: { delete_products: results }, request: { params: { product_keys: keys } } }
}

/** Removes a product from the catalog and from its manual sets. Stores the key in `formerKeys`. `id`: as in `Catalog.products`. */
function removeProduct(catalog: Catalog, id: string, key: string): void {
  catalog.idByKey.delete(key)
  catalog.products.delete(id)
  catalog.formerKeys.set(id, key)
  for (const set of catalog.sets.values()) set.productKeys = set.productKeys.filter((one) => one !== key)
}

function areTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && value.every((one) => typeof one === 'string')
}

/**
 * Lists products in ascending order of their keys. With `item_group_key`, lists the products of that group. Without it, lists the products
 * without a group, and only the oldest product of each group (spec 2.2). The switch `group_reads: all` adds the other products of each group.
 *
 * @throws {Refusal} for a catalog that the caller cannot access, or a wrong cursor
 */
function listProducts(call: CatalogCall): Reply {
  const catalog = catalogOf(call)
  const groupKey = textParam(call, 'item_group_key')
  const allProducts = [...catalog.products.values()]
  const inGroup = groupKey === null ? allProducts : allProducts.filter((product) => product.groupKey === groupKey)
  const shown = groupKey === null && call.world.switchValue('group_reads') === 'first' ? oldestOfGroups(inGroup) : inGroup
  const sorted = shown.sort((a, b) => (BigInt(a.key) < BigInt(b.key) ? -1 : 1))
  const count = Number(call.params['count'])
  const cursor = call.params['cursor']
  const listing = listingDigest(call)
  if (typeof cursor === 'string') {
    if (isListCursor(cursor)) throw reportOtherListing(call, cursor)
    if (!/^\d{1,19}$/.test(cursor)) throw adsRefusals([invalidParameter('cursor', 'a cursor of an earlier answer', cursor)])
    if (call.state.cursors.get(cursor)?.includes(listing) === false) throw reportOtherListing(call, cursor)
  }
  // Cursors of the service look like product keys. Here the cursor is the last key of the page plus 1.
  const from = cursor === undefined ? 0 : sorted.findIndex((product) => BigInt(product.key) >= BigInt(textOf(cursor)))
  const page = from === -1 ? [] : sorted.slice(from, from + count)
  const last = page.at(-1)
  const hasMore = last !== undefined && from + count < sorted.length
  const nextCursor = hasMore ? String(BigInt(last.key) + 1n) : null
  if (nextCursor !== null) storeCursor(call.state.cursors, nextCursor, listing)
  return { kind: 'ads', data: page.map(productWire), nextCursor }
}

/** Maximum number of stored cursors. Every listing of products accepts a cursor that is not stored. */
const MAX_CURSORS = 10_000

/** Stores a cursor with the digest of its listing. Drops the oldest cursors above `MAX_CURSORS`. */
function storeCursor(cursors: Map<string, string>, cursor: string, listing: string): void {
  // A listing of a catalog and a listing of one of its groups can return the same cursor. The cursor is then valid for both.
  const listings = cursors.get(cursor)
  cursors.delete(cursor)
  cursors.set(cursor, listings === undefined ? listing : listings.includes(listing) ? listings : `${listings} ${listing}`)
  for (const oldest of cursors.keys()) {
    if (cursors.size <= MAX_CURSORS) return
    cursors.delete(oldest)
  }
}

/** Returns the product in wire form, with null for unset fields. */
function productWire(product: Product): Record<string, unknown> {
  const wire: Record<string, unknown> = {}
  for (const name of PRODUCT_FIELDS)
    wire[name] = name === 'product_key' ? product.key : name === 'item_group_key' ? product.groupKey : (product.fields[name] ?? null)
  return wire
}

/** Returns the oldest product of each group, and all products without a group. */
function oldestOfGroups(products: readonly Product[]): Product[] {
  const oldest = new Map<string, Product>()
  for (const product of products) {
    if (product.groupKey === null) continue
    const other = oldest.get(product.groupKey)
    if (other === undefined || product.order < other.order) oldest.set(product.groupKey, product)
  }
  return products.filter((product) => product.groupKey === null || oldest.get(product.groupKey) === product)
}

function failedResult(call: CatalogCall, id: string | null, stored: Product | undefined, errors: readonly string[]): ProductResult {
  return {
    warnings: [],
    errors,
    product_key: call.world.switchValue('error_product_key') === 'present' ? (stored?.key ?? null) : null,
    id,
    status: 'ERROR',
  }
}

/** Returns the ids that occur more than once, in the form of `comparableId`. */
function repeatedIds(call: CatalogCall, products: readonly Readonly<Record<string, unknown>>[]): ReadonlySet<string> {
  const seen = new Set<string>()
  const repeated = new Set<string>()
  for (const product of products) {
    if (typeof product['id'] !== 'string') continue
    const id = comparableId(call, product['id'])
    if (seen.has(id)) repeated.add(id)
    seen.add(id)
  }
  return repeated
}

/** Converts an id to the form in which ids are compared (the switch `id_comparison`). */
function comparableId(call: CatalogCall, id: string): string {
  const choice = call.world.switchValue('id_comparison')
  return choice === 'exact' ? id : choice === 'trimmed' ? id.trim() : id.trim().toLowerCase()
}

/** Returns the key of an item group; null without a group. Creates a key for a new group. */
function findOrCreateGroupKey(call: CatalogCall, catalog: Catalog, group: string | number | undefined): string | null {
  if (group === undefined) return null
  let key = catalog.groupKeys.get(String(group))
  if (key === undefined) catalog.groupKeys.set(String(group), (key = call.world.newId()))
  return key
}

function hasSameFields(a: StoredProduct, b: StoredProduct): boolean {
  let count = 0
  for (const name in a) {
    if (a[name] !== b[name]) return false
    count++
  }
  for (const _ in b) count--
  return count === 0
}

function gtinWarnings({ gtin }: StoredProduct): string[] {
  if (gtin === undefined || isGtin(String(gtin))) return []
  return ['gtin: is not a UPC, EAN, JAN or ISBN with a right check digit']
}

/**
 * Reports violations in links, description, GTIN and required fields of a product (docs/sandbox.md#violations). Does not change the answer.
 * `keptFields`: as in `SentProduct`.
 */
function reportViolations(call: CatalogCall, product: Readonly<Record<string, unknown>>, keptFields: StoredProduct | undefined): void {
  const { world } = call
  for (const name of LINK_FIELDS) {
    const link = product[name]
    if (typeof link === 'string' && link !== '' && !isHttps(link)) world.reportViolation('link_not_https', `${name} is not https`)
  }
  if (typeof product['description'] === 'string' && hasHtml(product['description']))
    world.reportViolation('html_in_description', 'description contains HTML')
  const { gtin } = product
  if (typeof gtin === 'string' && gtin !== '' && !isGtin(gtin))
    world.reportViolation('gtin_invalid', 'gtin has a wrong length or check digit')
  for (const name of REQUIRED_FIELDS) {
    const value = product[name] === undefined ? keptFields?.[name] : product[name]
    if (value === undefined || value === null || value === '') world.reportViolation('required_field_missing', `${name} is missing`)
  }
}
