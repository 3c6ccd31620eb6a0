/** Finds the endpoint of a method and path. A trailing slash makes no difference. */
import type { Endpoint } from '../../service/contract/endpoint.ts'
import { CURRENT_VERSION, OLDER_VERSION } from '../paths.ts'
import { decodeOrKeep } from '../../decodeOrKeep.ts'

export type Route =
  /** `path`: decoded path parameters. Their names are those in the called path, which may be an alias. */
  | { readonly kind: 'found'; readonly endpoint: Endpoint; readonly path: Readonly<Record<string, string>> }
  /** The path exists, but not with this method. */
  | { readonly kind: 'wrong_method'; readonly allowed: readonly string[] }
  | { readonly kind: 'unknown' }

interface Node {
  /** Next nodes by the text of the next segment. */
  readonly literals: Map<string, Node>
  /** Next node if the next segment is a parameter, whatever its name. */
  parameter: Node | undefined
  /** Endpoints whose path ends at this node, by method. `names`: names of the path parameters, in order. */
  readonly endpoints: Map<string, { endpoint: Endpoint; names: readonly string[] }>
}

/** Index of the paths of endpoints, aliases included. */
export class Router {
  readonly #root: Node = emptyNode()

  constructor(endpoints: readonly Endpoint[]) {
    for (const endpoint of endpoints) for (const path of [endpoint.path, ...(endpoint.aliases ?? [])]) this.#add(endpoint, path)
  }

  /**
   * Finds the endpoint. `rawPath`: as sent, not decoded, without the query. Treats a path of the older version as a path of the current
   * version.
   */
  match(method: string, rawPath: string): Route {
    const segments = rawPath.split('/').slice(1)
    if (segments[0] === OLDER_VERSION) segments[0] = CURRENT_VERSION
    if (segments.at(-1) === '' && segments.length > 1) segments.pop()
    const values: string[] = []
    const node =
      findNode(this.#root, segments, 0, values, (found) => found.endpoints.has(method)) ??
      findNode(this.#root, segments, 0, values, (found) => found.endpoints.size > 0)
    if (node === undefined) return { kind: 'unknown' }
    const found = node.endpoints.get(method)
    if (found === undefined) return { kind: 'wrong_method', allowed: [...node.endpoints.keys()] }
    const path: Record<string, string> = {}
    found.names.forEach((name, index) => (path[name] = values[index] ?? ''))
    return { kind: 'found', endpoint: found.endpoint, path }
  }

  #add(endpoint: Endpoint, path: string): void {
    const names: string[] = []
    let node = this.#root
    for (const segment of path.split('/').slice(1)) {
      if (segment.startsWith(':')) {
        names.push(segment.slice(1))
        node = node.parameter ??= emptyNode()
        continue
      }
      let next = node.literals.get(segment)
      if (next === undefined) node.literals.set(segment, (next = emptyNode()))
      node = next
    }
    const existing = node.endpoints.get(endpoint.method)
    if (existing !== undefined) throw new Error(`${endpoint.method} ${path} is both ${existing.endpoint.name} and ${endpoint.name}`)
    node.endpoints.set(endpoint.method, { endpoint, names })
  }
}

/**
 * Finds a node that `accept` accepts, and adds the values of the path parameters to `values`. Returns undefined without such a node. At
 * each segment, tries the literal first, then the parameter: `cards/poll/:id` before `cards/:type/:id`.
 */
function findNode(
  node: Node,
  segments: readonly string[],
  at: number,
  values: string[],
  accept: (node: Node) => boolean,
): Node | undefined {
  const segment = segments[at]
  if (segment === undefined) return accept(node) ? node : undefined
  const literal = node.literals.get(segment)
  const valueCount = values.length
  if (literal !== undefined) {
    const found = findNode(literal, segments, at + 1, values, accept)
    if (found !== undefined) return found
    values.length = valueCount
  }
  if (node.parameter === undefined || segment === '') return undefined
  values.push(decodeOrKeep(segment))
  const found = findNode(node.parameter, segments, at + 1, values, accept)
  if (found === undefined) values.length = valueCount
  return found
}

function emptyNode(): Node {
  return { literals: new Map(), parameter: undefined, endpoints: new Map() }
}
