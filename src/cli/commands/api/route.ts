import { endpoints } from '../../../service/contract/index.ts'
import type { Auth, Endpoint, Host } from '../../../service/contract/endpoint.ts'

/** Host and authentication of a call. `endpoint` is undefined for a path that the specification does not have. */
export interface Route {
  readonly endpoint: Endpoint | undefined
  readonly host: Host
  readonly auth: Auth
}

/**
 * Finds the endpoint of a method and path, aliases included. An undocumented path also has a route, because the service may have more
 * endpoints than the specification. Such a call is signed as the user. A path that begins with a version other than `/2/` belongs to the
 * advertising host, any other to the core host.
 */
export function routeOf(method: string, path: string): Route {
  const endpoint = endpoints.find(
    (candidate) =>
      candidate.method === method && [candidate.path, ...(candidate.aliases ?? [])].some((pattern) => matchesPattern(pattern, path)),
  )
  if (endpoint) return { endpoint, host: endpoint.host, auth: endpoint.auth }
  return { endpoint: undefined, host: /^\/(?!2\/)\d+\//.test(path) ? 'ads' : 'core', auth: 'user' }
}

/**
 * Returns true if the path has the segments of the pattern. `:name` matches any text that is not empty. A version at the beginning of the
 * pattern, other than `/2/`, matches any number. Any other segment matches only itself.
 */
function matchesPattern(pattern: string, path: string): boolean {
  const expected = pattern.split('/')
  const given = path.split('/')
  return (
    expected.length === given.length &&
    expected.every((segment, i) =>
      segment.startsWith(':')
        ? given[i] !== ''
        : i === 1 && /^\d+$/.test(segment) && segment !== '2'
          ? /^\d+$/.test(given[i] ?? '')
          : segment === given[i],
    )
  )
}
