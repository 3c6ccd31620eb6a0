/** Refuses what official SDKs still call and what is not served: 410 with the successor, or 404 that says why. */
import type { Endpoint } from '../../service/contract/endpoint.ts'
import { endpoints } from '../../service/contract/index.ts'
import { retiredPaths, type RetiredPath } from '../../service/contract/retiredPaths.ts'
import { isCorePath } from '../answer.ts'
import { adsRefusal, coreRefusal, problem, type Refusal } from '../refusal.ts'
import { CURRENT_VERSION, OLDER_VERSION } from '../versions.ts'

const PATTERNS = retiredPaths.map((retired) => ({ retired, pattern: patternOf(retired.path) }))

/** Endpoints whose path takes a retired one for an id: `/cards/:card_id` and `/cards/website`. */
const SHADOWING: ReadonlySet<Endpoint> = new Set(
  endpoints.filter(
    (endpoint) =>
      endpoint.method !== 'DELETE' && retiredPaths.some(({ path }) => patternOf(endpoint.path).test(path.replaceAll(/:\w+/g, 'x'))),
  ),
)

/** Returns true if a retired path may lead to the endpoint. */
export function isShadowing(endpoint: Endpoint): boolean {
  return SHADOWING.has(endpoint)
}

/** Undefined for a path that nothing is known of. */
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

function refusalFor(rawPath: string, { successor, why }: RetiredPath, values: Readonly<Record<string, string>>): Refusal {
  const message =
    successor === undefined
      ? `The route ${rawPath} is not served: it is outside the specification${why === undefined ? '' : `, and ${why}`}`
      : `The route ${rawPath} is deprecated: call ${successor.replaceAll(/:(\w+)/g, (name, key: string) => values[key] ?? name)}`
  const status = successor === undefined ? 404 : 410
  if (!isCorePath(rawPath)) return adsRefusal('ROUTE_NOT_FOUND', message, { status })
  if (rawPath.startsWith('/2/')) return problem(status, status === 410 ? 'Gone' : 'Not Found', message, 'about:blank')
  return coreRefusal(status, status === 410 ? 251 : 34, message)
}

function patternOf(path: string): RegExp {
  return new RegExp(`^${path.replaceAll('.', String.raw`\.`).replaceAll(/:(\w+)/g, '(?<$1>[^/]+)')}$`)
}
