import type { Exchange } from '../service/client/exchange.ts'
import { toServiceError } from '../service/client/toServiceError.ts'
import type { Endpoint } from '../service/contract/endpoint.ts'
import { RunError } from '../errors.ts'
import type { Call } from './caller.ts'
import { routeOf } from './route.ts'

/** The client's typed error of a call that failed: names the parameter, the rule and the mend. */
export function serviceError(
  exchange: Exchange,
  call: Pick<Call, 'method' | 'path'> & { readonly auth?: Call['auth'] },
  nowMs: number,
): Error {
  const where = `${call.method} ${call.path}`
  const endpoint = routeOf(call.method, call.path).endpoint ?? unknownEndpoint(call)
  const asApplication = call.auth === 'bearer' && endpoint.auth === 'user'
  const error = toServiceError(exchange, { endpoint, where, nowMs, asApplication })
  return (
    error ??
    new RunError('SERVICE_REFUSED', 'the service answered in a way that is no refusal of its own', { where, mend: 'sluice doctor' })
  )
}

/** Stands for a path that the contract does not know, so that its refusal is explained all the same. */
function unknownEndpoint({ method, path }: Pick<Call, 'method' | 'path'>): Endpoint {
  return {
    name: 'unknown',
    method,
    host: 'core',
    path,
    auth: 'user',
    body: 'none',
    parameters: [],
    answer: { resource: 'unknown', many: false },
    limit: '',
    repeatable: false,
    source: 'none',
  }
}
