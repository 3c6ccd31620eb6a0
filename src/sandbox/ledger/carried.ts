/** Content of a request for the ledger and the checks on overlapping keys: products, product keys, users. */
import { hash } from 'node:crypto'
import { isRecord, recordOf } from '../../unknownValue.ts'

export interface Carried {
  readonly items: number
  /** One text per key, the same for two requests exactly when they touch the same thing. */
  readonly keys: readonly string[]
}

/** A key with the SHA-256 of the entry that carries it: a harness maps them to generations (docs/sandbox.md). */
export interface KeyValue {
  readonly key: string
  readonly value: string
  /** The entry takes the key away. */
  readonly removes: boolean
  /** The entry's own `expires_at`, as written. */
  readonly expiresAt: string | undefined
}

const NOTHING: Carried = { items: 0, keys: [] }

/** The product that a key stands for: a PUT names it by its id, a DELETE by its key. Undefined for a key never heard of. */
export type ProductIdOf = (catalogId: string, productKey: string) => string | undefined

export function carriedBy(endpoint: string, path: Readonly<Record<string, string>>, body: unknown, productIdOf: ProductIdOf): Carried {
  if (endpoint === 'products.put') return products(path, field(body, 'products'))
  if (endpoint === 'products.delete') return productKeys(path, field(body, 'product_keys'), productIdOf)
  if (endpoint === 'audiences.users') return users(`a ${path['custom_audience_id'] ?? ''}`, body)
  if (endpoint === 'doNotReachLists.users') return users(`d ${path['do_not_reach_list_id'] ?? ''}`, body)
  return NOTHING
}

/**
 * Every key with its value: the hash of the entry as the caller wrote it, an operation's times and type included, its other
 * users not. Costs a hash an entry, so only on demand (the switch ledger_keys) or for the keys that `wanted` names.
 */
export function keyValues(
  endpoint: string,
  path: Readonly<Record<string, string>>,
  body: unknown,
  productIdOf: ProductIdOf,
  wanted: (keys: readonly string[]) => boolean = () => true,
): KeyValue[] {
  return entriesOf(endpoint, body).flatMap(({ single, text, removes, expiresAt }) => {
    const { keys } = carriedBy(endpoint, path, single, productIdOf)
    if (!wanted(keys)) return []
    const value = hash('sha256', text())
    return keys.map((key) => ({ key, value, removes, expiresAt }))
  })
}

interface Entry {
  /** A body that holds this entry alone. */
  readonly single: unknown
  readonly text: () => string
  readonly removes: boolean
  readonly expiresAt: string | undefined
}

function entriesOf(endpoint: string, body: unknown): Entry[] {
  const products = arrayOf(field(body, 'products'))
  if (endpoint === 'products.put')
    return products.map((one) => ({
      single: { products: [one] },
      text: () => JSON.stringify(one),
      removes: false,
      expiresAt: undefined,
    }))
  if (endpoint === 'products.delete')
    return arrayOf(field(body, 'product_keys')).map((one) => ({
      single: { product_keys: [one] },
      text: () => JSON.stringify(one),
      removes: true,
      expiresAt: undefined,
    }))
  return arrayOf(body).flatMap((operation) => {
    const params = field(operation, 'params')
    const type = field(operation, 'operation_type')
    const expiresAt = field(params, 'expires_at')
    return arrayOf(field(params, 'users')).map((user) => ({
      single: [{ params: { users: [user] } }],
      text: () => JSON.stringify({ type, params: { ...(params as object), users: [user] } }),
      removes: type === 'Delete',
      expiresAt: typeof expiresAt === 'string' ? expiresAt : undefined,
    }))
  })
}

function arrayOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? (value as unknown[]) : []
}

function products(path: Readonly<Record<string, string>>, list: unknown): Carried {
  if (!Array.isArray(list)) return NOTHING
  const keys: string[] = []
  for (const product of list) {
    const id = field(product, 'id')
    if (typeof id === 'string') keys.push(`p ${path['product_catalog_id'] ?? ''} ${id}`)
  }
  return { items: list.length, keys }
}

function productKeys(path: Readonly<Record<string, string>>, list: unknown, productIdOf: ProductIdOf): Carried {
  if (!Array.isArray(list)) return NOTHING
  const catalog = path['product_catalog_id'] ?? ''
  const keys = list.map((key) => {
    const id = productIdOf(catalog, String(key))
    return id === undefined ? `k ${catalog} ${String(key)}` : `p ${catalog} ${id}`
  })
  return { items: list.length, keys }
}

function users(scope: string, body: unknown): Carried {
  if (!Array.isArray(body)) return NOTHING
  let items = 0
  const keys: string[] = []
  for (const operation of body) {
    const list = field(field(operation, 'params'), 'users')
    if (!Array.isArray(list)) continue
    items += list.length
    for (const user of list as unknown[]) {
      if (typeof user !== 'object' || user === null) continue
      for (const type in user) {
        const values = recordOf(user)[type]
        if (Array.isArray(values)) for (const value of values as unknown[]) keys.push(`${scope} ${type} ${String(value)}`)
      }
    }
  }
  return { items, keys }
}

function field(value: unknown, name: string): unknown {
  return isRecord(value) ? value[name] : undefined
}
