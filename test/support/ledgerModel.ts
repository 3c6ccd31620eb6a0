/**
 * A minimal model of the service: a pure function of the ledger and its request bodies (docs/sandbox.md#switches). It is independent of
 * the sandbox's storage, so that the two check each other.
 */
import type { Identifier } from './digests.ts'
import type { LedgerLine } from './engine.ts'

/** A line with the switch `ledger_keys` on. */
export interface ReplayedLine extends LedgerLine {
  readonly applied_at: string | null
  readonly keys?: readonly { readonly key: string }[]
}

export interface LedgerState {
  /** Identifiers that are members of the audience or list at this time, in seconds since 1970. */
  readonly members: (listId: string, atS: number) => Identifier[]
  readonly products: (catalogId: string) => readonly Readonly<Record<string, unknown>>[]
  /** Returns true if this request wrote this key. `key`: `type value` of an identifier of a list, or a product id. */
  readonly wrote: (seq: number, scope: string, key: string) => boolean
}

interface Member {
  readonly identifier: Identifier
  effectiveS: number
  expiresS: number
  /** Users that were ever sent with this identifier, in one shared object. */
  user: Set<string>
}

interface UserOperation {
  readonly operation_type: 'Update' | 'Delete'
  readonly params: {
    readonly users: readonly Readonly<Record<string, readonly string[]>>[]
    readonly effective_at?: string
    readonly expires_at?: string
  }
}

/** Expiry of an operation without one: longer than any test. */
const noEndS = 4_000_000_000

/**
 * Replays the lines in the order of their application. `bodies`: text of each body by its SHA-256 in hex.
 *
 * @throws {Error} if the ledger names a body that was not sent
 */
export function replayLedger(
  lines: readonly ReplayedLine[],
  bodies: ReadonlyMap<string, string>,
  options: { readonly deleteReach: 'user' | 'identifier' },
): LedgerState {
  const lists = new Map<string, Map<string, Member>>()
  const catalogs = new Map<string, Map<string, Readonly<Record<string, unknown>>>>()
  const deadKeys = new Set<string>()
  const written = new Set<string>()
  const applied = lines
    .filter((line) => line.applied && line.method !== 'GET')
    .toSorted((a, b) => (a.applied_at ?? '').localeCompare(b.applied_at ?? '') || a.seq - b.seq)

  for (const line of applied) {
    const text = bodies.get(line.body_sha256)
    if (text === undefined) throw new Error(`request ${line.seq} has a body that was not sent`)
    const body: unknown = JSON.parse(text)
    // Only the part that the fault applied.
    const most = line.fault === 'partial_apply' ? Math.floor(line.items / 2) : Number.POSITIVE_INFINITY
    const list = /\/(?:custom_audiences|do_not_reach_lists)\/([^/]+)\/users$/.exec(line.path)?.[1]
    const catalog = /\/product_catalogs\/([^/]+)\/products$/.exec(line.path)?.[1]
    if (list !== undefined) applyUsers(line, list, body as readonly UserOperation[], most)
    else if (catalog !== undefined && line.method === 'PUT') putProducts(line, catalog, body as ProductsBody, most)
    else if (catalog !== undefined && line.method === 'DELETE') deleteProducts(line, catalog, body as KeysBody, most)
  }

  function applyUsers(line: ReplayedLine, listId: string, operations: readonly UserOperation[], most: number): void {
    const members = lists.get(listId) ?? new Map<string, Member>()
    lists.set(listId, members)
    let user = 0
    for (const { operation_type: type, params } of operations) {
      for (const object of params.users) {
        if (user++ >= most) return
        const names = Object.entries(object).flatMap(([kind, values]) => values.map((value): Identifier => [kind, value]))
        if (type === 'Delete') deleteUser(members, names)
        else updateUser(line, listId, members, names, params)
      }
    }
  }

  function updateUser(
    line: ReplayedLine,
    listId: string,
    members: Map<string, Member>,
    names: readonly Identifier[],
    params: UserOperation['params'],
  ): void {
    const user = new Set(names.flatMap((name) => [keyOf(name), ...(members.get(keyOf(name))?.user ?? [])]))
    for (const identifier of names) {
      members.set(keyOf(identifier), {
        identifier,
        effectiveS: params.effective_at === undefined ? 0 : Date.parse(params.effective_at) / 1000,
        expiresS: params.expires_at === undefined ? noEndS : Date.parse(params.expires_at) / 1000,
        user,
      })
      written.add(`${line.seq} ${listId} ${keyOf(identifier)}`)
    }
    for (const key of user) {
      const member = members.get(key)
      if (member !== undefined) member.user = user
    }
  }

  /** Deletes by one identifier: the whole user, or only that identifier, depending on the dialect. */
  function deleteUser(members: Map<string, Member>, names: readonly Identifier[]): void {
    for (const name of names) {
      const member = members.get(keyOf(name))
      if (member === undefined) continue
      for (const key of options.deleteReach === 'user' ? member.user : [keyOf(name)]) members.delete(key)
      member.user.delete(keyOf(name))
    }
  }

  function putProducts(line: ReplayedLine, catalogId: string, body: ProductsBody, most: number): void {
    const products = catalogs.get(catalogId) ?? new Map<string, Readonly<Record<string, unknown>>>()
    catalogs.set(catalogId, products)
    for (const product of body.products.slice(0, most)) {
      products.set(String(product['id']), product)
      written.add(`${line.seq} ${catalogId} ${String(product['id'])}`)
    }
  }

  /** Deletes products by key. The ledger has the product of a key, and a deleted key never belongs to a product again. */
  function deleteProducts(line: ReplayedLine, catalogId: string, body: KeysBody, most: number): void {
    for (const [i, productKey] of body.product_keys.slice(0, most).entries()) {
      const named = line.keys?.[i]?.key.split(' ') ?? []
      if (named[0] !== 'p' || deadKeys.has(productKey)) continue
      deadKeys.add(productKey)
      catalogs.get(catalogId)?.delete(named.slice(2).join(' '))
    }
  }

  return {
    members: (listId, atS) =>
      [...(lists.get(listId)?.values() ?? [])]
        .filter(({ effectiveS, expiresS }) => effectiveS <= atS && expiresS > atS)
        .map(({ identifier }) => identifier),
    products: (catalogId) => [...(catalogs.get(catalogId)?.values() ?? [])],
    wrote: (seq, scope, key) => written.has(`${seq} ${scope} ${key}`),
  }
}

interface ProductsBody {
  readonly products: readonly Readonly<Record<string, unknown>>[]
}

interface KeysBody {
  readonly product_keys: readonly string[]
}

function keyOf([type, value]: Identifier): string {
  return `${type} ${value}`
}
