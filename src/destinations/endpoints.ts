/** Derives requests and their limits from the contract of the service (`service/contract`). */
import { parameterOf, type Endpoint } from '../service/contract/endpoint.ts'
import type { DestinationRequest } from './destination.ts'

/**
 * Returns the endpoint of a group. Callers import one group and not the whole contract, which takes 25 ms to load.
 *
 * @throws {RangeError} if the group has no such endpoint
 */
export function endpointIn<Group extends Endpoint>(group: readonly Group[], name: Group['name']): Endpoint {
  const endpoint = group.find((each) => each.name === name)
  if (endpoint === undefined) throw new RangeError(`no endpoint ${name}`)
  return endpoint
}

/** Returns the request of an endpoint. `version`: replaces the `12` in the contract's path. `ids`: path parameters by name. */
export function requestOf({ method, path }: Endpoint, version: string, ids: Readonly<Record<string, string>>): DestinationRequest {
  const filledPath = path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(ids[name] ?? ''))
  return { method, path: filledPath.replace(/^\/12\//, `/${version}/`) }
}

/**
 * Returns the maximum number of items of a list parameter.
 *
 * @throws {RangeError} if the contract has no limit
 */
export function maxItemsOf(endpoint: Endpoint, parameter: string): number {
  const most = parameterOf(endpoint, parameter)?.maxItems
  if (most === undefined) throw new RangeError(`${endpoint.name}: ${parameter} has no limit in the contract`)
  return most
}
