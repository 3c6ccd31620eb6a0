/** Handles the endpoints of product sets (spec 2.2, 4.2; docs/spec-notes.md#product-sets). */
import { filterAttributes, filterOperators } from '../../service/contract/catalogResources.ts'
import type { Call, Handler, Reply } from '../area.ts'
import { listReply } from '../lists.ts'
import { recordOfParam, textParam } from '../params.ts'
import { isProcessed } from '../processing.ts'
import { adsRefusals, invalidParameter, ok, okDeleted, type AdsError } from '../refusal.ts'
import { catalogOf, echoAsId } from './catalogs.ts'
import type { Catalog, CatalogState, Product, ProductSet } from './state.ts'
import { textOf } from '../text.ts'
import { listOf, recordOf } from '../../unknownValue.ts'

type CatalogCall = Call<CatalogState>

const ATTRIBUTES: readonly string[] = filterAttributes
const OPERATORS: readonly string[] = filterOperators
/** Attributes that `EQUAL_TO` compares as numbers: the filter value `12` matches the price `12.00 EUR`. */
const NUMERIC_ATTRIBUTES = ['price', 'sale_price', 'inventory']
/** Number or price, in lower case: the amount, then the currency. */
const NUMBER_OR_PRICE = /^\s*([+-]?(?:\d+(?:\.\d*)?|\.\d+))(?:\s+([a-z]{3}))?\s*$/

export const setHandlers: Readonly<Record<string, Handler<CatalogState>>> = {
  'productSets.list': (call) => {
    const catalog = catalogOf(call)
    return listReply(call, catalog.sets.values(), { render: (set) => setWire(catalog, set, processingStatus(call, set)) })
  },
  'productSets.get': (call) => {
    const catalog = catalogOf(call)
    const set = productSetOf(call, catalog)
    echoAsId(call, 'product_set_id')
    return ok(setWire(catalog, set, processingStatus(call, set)))
  },
  'productSets.create': createSet,
  'productSets.update': updateSet,
  'productSets.delete': (call) => {
    const catalog = catalogOf(call)
    const set = productSetOf(call, catalog)
    catalog.sets.delete(set.id)
    echoAsId(call, 'product_set_id')
    return okDeleted(setWire(catalog, set, 'PROCESSING'))
  },
}

/** Creates a product set. @throws {Refusal} for wrong filters or product keys, or a catalog that the caller cannot access */
function createSet(call: CatalogCall): Reply {
  const catalog = catalogOf(call)
  const { params } = call
  const type = params['type'] === 'FILTERED' ? 'FILTERED' : 'MANUAL'
  const errors: AdsError[] = []
  if (type === 'MANUAL' && call.givenNames.has('filters') && listOf(params['filters']).length > 0)
    errors.push(invalidParameter('filters', 'no filters for a MANUAL set', ''))
  if (type === 'FILTERED' && call.givenNames.has('product_keys'))
    errors.push(invalidParameter('product_keys', 'no product_keys for a FILTERED set', ''))
  const filters = type === 'FILTERED' ? readFilters(params['filters'], errors) : []
  const productKeys = type === 'MANUAL' ? readKeys(catalog, params['product_keys'], errors) : []
  if (errors.length > 0) throw adsRefusals(errors)
  const set: ProductSet = {
    id: call.world.newId(),
    name: String(params['name']),
    description: textParam(call, 'description'),
    type,
    filters,
    productKeys,
    changedAt: call.now,
  }
  catalog.sets.set(set.id, set)
  return ok(setWire(catalog, set, 'PROCESSING'))
}

/**
 * Changes the name, description or product keys of a product set.
 *
 * @throws {Refusal} for an unknown catalog or set, for product keys of a filtered set, or for unknown product keys
 */
function updateSet(call: CatalogCall): Reply {
  const catalog = catalogOf(call)
  const set = productSetOf(call, catalog)
  const errors: AdsError[] = []
  let { productKeys } = set
  if (call.givenNames.has('product_keys')) {
    if (set.type === 'FILTERED') errors.push(invalidParameter('product_keys', 'no product_keys for a FILTERED set', ''))
    else productKeys = readKeys(catalog, call.params['product_keys'], errors)
  }
  if (errors.length > 0) throw adsRefusals(errors)
  set.productKeys = productKeys
  if (typeof call.params['name'] === 'string') set.name = call.params['name']
  if (call.givenNames.has('description')) set.description = textParam(call, 'description')
  set.changedAt = call.now
  echoAsId(call, 'product_set_id')
  return ok(setWire(catalog, set, 'PROCESSING'))
}

/** Returns the `processing_status` in the answer to a read. Answers to writes always contain `PROCESSING`. */
function processingStatus(call: CatalogCall, set: ProductSet): string {
  return isProcessed(call.world, 'productSet', set.changedAt) ? 'DONE' : 'PROCESSING'
}

function setWire(catalog: Catalog, set: ProductSet, status: string): Record<string, unknown> {
  const ids =
    set.type === 'MANUAL'
      ? set.productKeys.map((key) => idOf(catalog, key)).filter((id) => id !== undefined)
      : [...catalog.products.values()].filter((product) => matchesAll(product, set)).map((product) => String(product.fields['id']))
  return {
    id: set.id,
    name: set.name,
    description: set.description,
    type: set.type,
    filters: set.filters,
    product_ids: ids,
    processing_status: status,
  }
}

function idOf(catalog: Catalog, key: string): string | undefined {
  const product = catalog.products.get(catalog.idByKey.get(key) ?? '')
  return product === undefined ? undefined : String(product.fields['id'])
}

/** Returns true if the product passes every filter of the set. An unset field passes only `NOT_CONTAINS`. */
function matchesAll(product: Product, set: ProductSet): boolean {
  return set.filters.every(({ attribute, operator, value }) => {
    const field = product.fields[attribute]
    if (field === undefined) return operator === 'NOT_CONTAINS'
    const text = String(field).toLowerCase()
    const expected = value.toLowerCase()
    switch (operator) {
      case 'GREATER_THAN':
        return subtract(text, expected) > 0
      case 'LESS_THAN':
        return subtract(text, expected) < 0
      case 'EQUAL_TO':
        return text === expected || (NUMERIC_ATTRIBUTES.includes(attribute) && subtract(text, expected) === 0)
      case 'MATCH':
        return text === expected
      case 'CONTAINS':
        return text.includes(expected)
      default:
        return !text.includes(expected)
    }
  })
}

/** Returns `a` minus `b`, two numbers or prices. Returns NaN for any other text, and if `b` has another currency than `a`. */
function subtract(a: string, b: string): number {
  const [, minuend, currency] = NUMBER_OR_PRICE.exec(a) ?? []
  const [, subtrahend, expectedCurrency = currency] = NUMBER_OR_PRICE.exec(b) ?? []
  return currency === expectedCurrency ? Number(minuend) - Number(subtrahend) : Number.NaN
}

/** Reads the filters of a set. Adds an error for each mistake. */
function readFilters(input: unknown, errors: AdsError[]): ProductSet['filters'] {
  const list = listOf(input)
  if (list.length === 0) errors.push(invalidParameter('filters', 'at least one filter', ''))
  return list.map((one, index) => {
    const { attribute, operator, value, ...rest } = recordOf(one)
    const place = `filters[${index}]`
    if (!ATTRIBUTES.includes(textOf(attribute)))
      errors.push(invalidParameter('filters', `attribute of ${ATTRIBUTES.join(', ')}`, attribute, place))
    if (!OPERATORS.includes(textOf(operator)))
      errors.push(invalidParameter('filters', `operator of ${OPERATORS.join(', ')}`, operator, place))
    if (typeof value !== 'string') errors.push(invalidParameter('filters', 'value as string', value, place))
    if (Object.keys(rest).length > 0) errors.push(invalidParameter('filters', 'attribute, operator and value', Object.keys(rest)[0], place))
    return { attribute: textOf(attribute), operator: textOf(operator), value: textOf(value) }
  })
}

/** Reads the product keys of a set, each once. Adds an error for the first one that is not a key of the catalog. */
function readKeys(catalog: Catalog, input: unknown, errors: AdsError[]): string[] {
  const keys = listOf(input)
  const unknown = keys.find((key) => typeof key !== 'string' || !catalog.idByKey.has(key))
  if (unknown !== undefined) errors.push(invalidParameter('product_keys', 'keys of products of this catalog', unknown))
  return [...new Set(keys.filter((key) => typeof key === 'string'))]
}

/** Returns the product set that the path names. @throws {Refusal} 404 */
function productSetOf(call: CatalogCall, catalog: Catalog): ProductSet {
  return recordOfParam(call, 'product_set_id', catalog.sets)
}
