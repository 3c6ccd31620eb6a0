import { endpoints } from '../../../service/contract/index.ts'
import type { Auth, Endpoint, Host } from '../../../service/contract/endpoint.ts'

/** Host and signature of a call. `endpoint` is undefined for a path that the specification does not have. */
export interface Route {
  readonly endpoint: Endpoint | undefined
  readonly host: Host
  readonly auth: Auth
}

/**
 * Finds the endpoint of a method and path, aliases included. The service may have more endpoints than the specification, so an
 * undocumented path is called too, in user context: on the advertising host if it begins with a version other than `/2/`, else on the core host.
 */
export function routeOf(method: string, path: string): Route {
  const endpoint = endpoints.find(
    (candidate) => candidate.method === method && [candidate.path, ...(candidate.aliases ?? [])].some((pattern) => matches(pattern, path)),
  )
  if (endpoint) return { endpoint, host: endpoint.host, auth: endpoint.auth }
  return { endpoint: undefined, host: /^\/(?!2\/)\d+\//.test(path) ? 'ads' : 'core', auth: 'user' }
}

/**
 * Returns true if the path has the segments of the pattern: `:name` matches any text, a leading version other than `/2/` any number, and
 * any other segment only itself.
 */
function matches(pattern: string, path: string): boolean {
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
