/** Sends calls without the typed client. `sluice api` also sends paths and parameters that the specification does not have. */
import type { CompleteServiceSettings } from '../../../config/config.ts'
import { RunError } from '../../../errors.ts'
import { basicAuthorization } from '../../../service/client/bearer.ts'
import type { Answer, Exchange } from '../../../service/client/exchange.ts'
import { userCredentials, type Credentials } from '../../../service/client/sender.ts'
import { toServiceError } from '../../../service/client/toServiceError.ts'
import { createSender } from '../../../service/client/transport.ts'
import type { Auth, Endpoint, Host } from '../../../service/contract/endpoint.ts'
import type { Context } from '../../context.ts'
import { waiting } from '../../terminal/waiting.ts'
import { withClient } from '../../withClient.ts'
import { routeOf } from './route.ts'

/** Parts of a call that `serviceError` needs. */
interface CallLine {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly path: string
  readonly auth?: Auth
}

/** Call to the service as the user wrote it, documented or not. Without `form` and `json` it has no body. */
export interface Call extends CallLine {
  readonly host: Host
  readonly auth: Auth
  readonly query?: Readonly<Record<string, string>>
  readonly form?: Readonly<Record<string, string>>
  readonly json?: string
}

/** Sends calls, each with the authentication of `Call.auth`. */
export interface Caller {
  /** Returns the answer, of any status. Throws a ServiceError if no answer comes within 60 s, or if the app-only token is refused. */
  readonly answer: (call: Call) => Promise<Answer>
  readonly close: () => Promise<void>
}

const timeoutMs = 60_000

/** Creates the caller of a command. Requests an app-only token for the first call with `bearer`, and keeps it for further calls. */
export function createCaller(service: CompleteServiceSettings, context: Context): Caller {
  const sender = createSender(service)
  let token: Promise<string> | undefined
  const credentialsOf = async (auth: Auth): Promise<Credentials> => {
    switch (auth) {
      case 'browser':
        return { kind: 'none' }
      case 'basic':
        return { kind: 'header', authorization: basicAuthorization(service.consumerKey, service.consumerSecret) }
      case 'bearer':
        token ??= withClient(context, service, ({ bearerToken }) => bearerToken())
        return { kind: 'header', authorization: `Bearer ${await token}` }
      case 'consumer':
        return { kind: 'oauth' }
      default:
        return userCredentials(service)
    }
  }
  return {
    async answer(call) {
      const { method, host, path, query, form, json } = call
      const request = {
        method,
        host,
        path,
        timeoutMs,
        signal: context.signal,
        credentials: await credentialsOf(call.auth),
        ...(query && Object.keys(query).length > 0 ? { query } : {}),
        ...(form ? { form } : {}),
        ...(json === undefined ? {} : { body: Buffer.from(json) }),
      }
      const exchange = await waiting(context, 'waiting for the service', () => sender.send(request))
      if (exchange.kind === 'answer') return exchange
      throw serviceError(exchange, call, context.clock.now())
    },
    close: () => sender.close(),
  }
}

/**
 * Returns the error of a failed call: no answer, a status outside of 2xx, or a page of a gateway. Message and hint are the same as in the
 * typed client. The path of `call` decides which endpoint the hint is about. `nowMs`: time in epoch milliseconds.
 */
export function serviceError(exchange: Exchange, call: CallLine, nowMs: number): Error {
  const where = `${call.method} ${call.path}`
  const endpoint = routeOf(call.method, call.path).endpoint ?? unknownEndpoint(call)
  const asApplication = call.auth === 'bearer'
  const error = toServiceError(exchange, { endpoint, where, nowMs, asApplication })
  return (
    error ??
    new RunError('SERVICE_REFUSED', 'the answer is not from the API of the service: a proxy or gateway may have answered', {
      where,
      hint: 'sluice doctor',
    })
  )
}

/** Returns a placeholder for an undocumented path, because `toServiceError` needs an endpoint. */
function unknownEndpoint({ method, path }: CallLine): Endpoint {
  return {
    name: 'unknown',
    method,
    host: 'core',
    path,
    auth: 'user',
    body: 'none',
    parameters: [],
    answer: { resource: 'unknown', many: false },
    limit: 'core_reads',
    repeatable: false,
    source: 'none',
  }
}
