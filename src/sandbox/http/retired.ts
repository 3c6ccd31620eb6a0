/** Refuses paths that official SDKs call and that the sandbox does not serve. A path with a successor gets 410, other paths 404. */
import type { Endpoint } from '../../service/contract/endpoint.ts'
import { endpoints } from '../../service/contract/index.ts'
import { retiredPaths, type RetiredPath } from '../../service/contract/retiredPaths.ts'
import { adsRefusal, coreRefusal, v2Problem, type Refusal } from '../refusal.ts'
import { CURRENT_VERSION, isCorePath, OLDER_VERSION } from '../paths.ts'

const PATTERNS = retiredPaths.map((retired) => ({ retired, pattern: patternOf(retired.path) }))

/**
 * Endpoints whose path also matches a retired path. Example: `/cards/:card_id` matches `/cards/website`. Contains no endpoint with DELETE,
 * because `DELETE /cards/:card_type/:card_id` deletes legacy cards (spec 4.4).
 */
const MATCHING_RETIRED: ReadonlySet<Endpoint> = new Set(
  endpoints.filter(
    (endpoint) =>
      endpoint.method !== 'DELETE' && retiredPaths.some(({ path }) => patternOf(endpoint.path).test(path.replaceAll(/:\w+/g, 'x'))),
  ),
)

/** Returns true if the path of the endpoint also matches a retired path. Returns false for endpoints with DELETE. */
export function matchesRetiredPath(endpoint: Endpoint): boolean {
  return MATCHING_RETIRED.has(endpoint)
}

/** Returns the refusal for a path of `retiredPaths`. Returns undefined for other paths, and for methods that no endpoint has. */
export function retiredRefusal(method: string, rawPath: string): Refusal | undefined {
  if (!['GET', 'POST', 'PUT', 'DELETE'].includes(method)) return undefined
  const path = rawPath
    .replace(new RegExp(`^/${OLDER_VERSION}/`), `/${CURRENT_VERSION}/`)
    .replace(/\.json$/, '')
    .replace(/\/$/, '')
  for (const { retired, pattern } of PATTERNS) {
    const match = pattern.exec(path)
    if (match !== null) return refusalFor(rawPath, retired, match.groups ?? {})
  }
  return undefined
}

function refusalFor(rawPath: string, { successor, reason }: RetiredPath, values: Readonly<Record<string, string>>): Refusal {
  const message =
    successor === undefined
      ? `The route ${rawPath} is not served: it is outside the specification${reason === undefined ? '' : `, and ${reason}`}`
      : `The route ${rawPath} is deprecated: call ${successor.replaceAll(/:(\w+)/g, (name, key: string) => values[key] ?? name)}`
  const status = successor === undefined ? 404 : 410
  if (!isCorePath(rawPath)) return adsRefusal('ROUTE_NOT_FOUND', message, { status })
  if (rawPath.startsWith('/2/')) return v2Problem(status, status === 410 ? 'Gone' : 'Not Found', message, 'about:blank')
  return coreRefusal(status, status === 410 ? 251 : 34, message)
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', String.raw`\.`).replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')}$`)
}
