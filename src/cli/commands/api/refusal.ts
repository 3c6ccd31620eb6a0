import type { Exchange } from '../../../service/client/exchange.ts'
import { toServiceError } from '../../../service/client/toServiceError.ts'
import type { Auth, Endpoint } from '../../../service/contract/endpoint.ts'
import { RunError } from '../../../errors.ts'
import { routeOf } from './route.ts'

/** As much of a call as its error names. */
export interface FailedCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly auth?: Auth
}

/** Returns the client's typed error of a failed call: it names the parameter, the rule and the hint. */
export function serviceError(exchange: Exchange, call: FailedCall, nowMs: number): Error {
  const where = `${call.method} ${call.path}`
  const endpoint = routeOf(call.method, call.path).endpoint ?? unknownEndpoint(call)
  const asApplication = call.auth === 'bearer' && endpoint.auth === 'user'
  const error = toServiceError(exchange, { endpoint, where, nowMs, asApplication })
  return (
    error ??
    new RunError('SERVICE_REFUSED', 'the answer is not from the API of the service: a proxy or gateway may have answered', {
      where,
      hint: 'sluice doctor',
    })
  )
}

/** Returns an endpoint for a path outside the contract, so that its refusal is explained too. */
function unknownEndpoint({ method, path }: FailedCall): Endpoint {
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
