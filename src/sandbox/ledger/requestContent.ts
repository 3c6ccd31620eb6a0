/** Reads which products and users a request contains, for the ledger and for the rules on keys. */
import { hash } from 'node:crypto'
import { listOf, recordOf } from '../../unknownValue.ts'

/** Products or users in a request. */
export interface RequestContent {
  /** Number of products, product keys or users. */
  readonly items: number
  /**
   * Key of each product or identifier that is a text, for the comparison of requests:
   * - `p CATALOG ID` for a product
   * - `k CATALOG PRODUCT_KEY` for an unknown product
   * - `a AUDIENCE TYPE VALUE` or `d LIST TYPE VALUE` for an identifier
   */
  readonly keys: readonly string[]
}

/** Key of a product or identifier, with the value that a request sends for the key. */
export interface KeyValue {
  readonly key: string
  /** SHA-256 of the entry that contains the product or identifier, in hex. */
  readonly value: string
  /** True if the entry deletes the key. */
  readonly removes: boolean
  /** Index of the operation that contains the entry. Each product or product key counts as one operation. */
  readonly operation: number
  /** `expires_at` of the entry, as sent. */
  readonly expiresAt: string | undefined
}

const NOTHING: RequestContent = { items: 0, keys: [] }

/** Returns the id of the product with a product key; undefined for an unknown key. */
export type ProductIdOf = (catalogId: string, productKey: string) => string | undefined

/** Returns the content of a request; empty for an endpoint without products and users. `path`: path parameters. `body`: parsed JSON. */
export function contentOf(
  endpoint: string,
  path: Readonly<Record<string, string>>,
  body: unknown,
  productIdOf: ProductIdOf,
): RequestContent {
  if (endpoint === 'products.put') return productsContent(path, fieldOf(body, 'products'))
  if (endpoint === 'products.delete') return productKeysContent(path, fieldOf(body, 'product_keys'), productIdOf)
  if (endpoint === 'audiences.users') return usersContent(`a ${path['custom_audience_id'] ?? ''}`, body)
  if (endpoint === 'doNotReachLists.users') return usersContent(`d ${path['do_not_reach_list_id'] ?? ''}`, body)
  return NOTHING
}

/**
 * Returns every key with its value. The value of a user covers the type and times of the operation, but not the other users in it.
 * `isNeeded` selects entries by their keys, because it takes time to hash all entries.
 */
export function keyValues(
  endpoint: string,
  path: Readonly<Record<string, string>>,
  body: unknown,
  productIdOf: ProductIdOf,
  isNeeded: (keys: readonly string[]) => boolean = () => true,
): KeyValue[] {
  return entriesOf(endpoint, body).flatMap(({ bodyOfEntry, text, removes, operation, expiresAt }) => {
    const { keys } = contentOf(endpoint, path, bodyOfEntry, productIdOf)
    if (!isNeeded(keys)) return []
    const value = hash('sha256', text())
    return keys.map((key) => ({ key, value, removes, operation, expiresAt }))
  })
}

interface Entry {
  /** Body of a request that contains only this entry. */
  readonly bodyOfEntry: unknown
  readonly text: () => string
  readonly removes: boolean
  readonly operation: number
  readonly expiresAt: string | undefined
}

/** Returns the products, product keys or users of a request. Entries of other endpoints have no keys, so `keyValues` ignores them. */
function entriesOf(endpoint: string, body: unknown): Entry[] {
  if (endpoint === 'products.put')
    return listOf(fieldOf(body, 'products')).map((one, operation) => ({
      bodyOfEntry: { products: [one] },
      text: () => JSON.stringify(one),
      removes: false,
      operation,
      expiresAt: undefined,
    }))
  if (endpoint === 'products.delete')
    return listOf(fieldOf(body, 'product_keys')).map((one, operation) => ({
      bodyOfEntry: { product_keys: [one] },
      text: () => JSON.stringify(one),
      removes: true,
      operation,
      expiresAt: undefined,
    }))
  return listOf(body).flatMap((one, operation) => {
    const params = fieldOf(one, 'params')
    const type = fieldOf(one, 'operation_type')
    const expiresAt = fieldOf(params, 'expires_at')
    return listOf(fieldOf(params, 'users')).map((user) => ({
      bodyOfEntry: [{ params: { users: [user] } }],
      text: () => JSON.stringify({ type, params: { ...recordOf(params), users: [user] } }),
      removes: type === 'Delete',
      operation,
      expiresAt: typeof expiresAt === 'string' ? expiresAt : undefined,
    }))
  })
}

function productsContent(path: Readonly<Record<string, string>>, list: unknown): RequestContent {
  if (!Array.isArray(list)) return NOTHING
  const keys: string[] = []
  for (const product of list) {
    const id = fieldOf(product, 'id')
    if (typeof id === 'string') keys.push(`p ${path['product_catalog_id'] ?? ''} ${id}`)
  }
  return { items: list.length, keys }
}

function productKeysContent(path: Readonly<Record<string, string>>, list: unknown, productIdOf: ProductIdOf): RequestContent {
  if (!Array.isArray(list)) return NOTHING
  const catalog = path['product_catalog_id'] ?? ''
  const keys = list
    .filter((key) => typeof key === 'string')
    .map((key) => {
      const id = productIdOf(catalog, key)
      return id === undefined ? `k ${catalog} ${key}` : `p ${catalog} ${id}`
    })
  return { items: list.length, keys }
}

function usersContent(scope: string, body: unknown): RequestContent {
  if (!Array.isArray(body)) return NOTHING
  let items = 0
  const keys: string[] = []
  for (const operation of body) {
    const list = listOf(fieldOf(fieldOf(operation, 'params'), 'users'))
    items += list.length
    for (const user of list.map(recordOf))
      for (const type in user) for (const value of listOf(user[type])) if (typeof value === 'string') keys.push(`${scope} ${type} ${value}`)
  }
  return { items, keys }
}

function fieldOf(value: unknown, name: string): unknown {
  return recordOf(value)[name]
}
