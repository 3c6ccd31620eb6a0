import { endpoints } from '../../../service/contract/index.ts'
import type { Auth, Endpoint, Host } from '../../../service/contract/endpoint.ts'

/** Host and signature of a call. `endpoint` is undefined for a path outside the contract. */
export interface Route {
  readonly endpoint: Endpoint | undefined
  readonly host: Host
  readonly auth: Auth
}

/**
 * Finds the endpoint of a method and path, aliases included. An undocumented path is called in user context, because the
 * service may have more endpoints than the specification.
 */
export function routeOf(method: string, path: string): Route {
  const endpoint = endpoints.find(
    (candidate) => candidate.method === method && [candidate.path, ...(candidate.aliases ?? [])].some((pattern) => matches(pattern, path)),
  )
  if (endpoint) return { endpoint, host: endpoint.host, auth: endpoint.auth }
  return { endpoint: undefined, host: /^\/\d+\//.test(path) ? 'ads' : 'core', auth: 'user' }
}

/** Matches a path: literal segments must be equal, `:name` matches one segment, and the version in front (`/12/`) may differ. */
function matches(pattern: string, path: string): boolean {
  const wanted = pattern.split('/')
  const given = path.split('/')
  return (
    wanted.length === given.length &&
    wanted.every((segment, i) =>
      segment.startsWith(':')
        ? given[i] !== ''
        : i === 1 && /^\d+$/.test(segment) && segment !== '2'
          ? /^\d+$/.test(given[i] ?? '')
          : segment === given[i],
    )
  )
}
