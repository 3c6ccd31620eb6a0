import type { KnownService } from '../../../config/config.ts'
import type { Context } from '../../context.ts'
import type { FailedCall } from './refusal.ts'
import { waiting } from '../../terminal/waiting.ts'
import type { Auth, Host } from '../../../service/contract/endpoint.ts'
import { userProof, type Proof } from '../../../service/client/sender.ts'
import { createSender } from '../../../service/client/transport.ts'
import type { Answer, Exchange } from '../../../service/client/exchange.ts'

/** One call of the service, independent of its endpoint contract. */
export interface Call extends FailedCall {
  readonly host: Host
  readonly auth: Auth
  readonly query?: Readonly<Record<string, string>>
  readonly form?: Readonly<Record<string, string>>
  readonly json?: string
  /** Protocol parameters of the sign-in (`oauth_callback`, `oauth_verifier`). */
  readonly oauth?: Readonly<Record<string, string>>
  /** Signs with this token instead of the configured one. */
  readonly token?: { readonly token: string; readonly secret: string }
}

/** Sends calls one at a time, each signed as its endpoint requires. Keeps the app-only token until the command ends. */
export interface Caller {
  readonly send: (call: Call) => Promise<Exchange>
  /** Like `send`, but throws if there was no answer. */
  readonly answer: (call: Call) => Promise<Answer>
  readonly bearer: () => Promise<string>
  readonly close: () => Promise<void>
}

const timeoutMs = 60_000

export function createCaller(service: KnownService, context: Pick<Context, 'signal' | 'stderr'>): Caller {
  const sender = createSender(service)
  let token: Promise<string> | undefined
  const basic = `Basic ${Buffer.from(`${encodeURIComponent(service.consumerKey)}:${encodeURIComponent(service.consumerSecret)}`).toString('base64')}`

  const proofOf = async (call: Call): Promise<Proof> => {
    switch (call.auth) {
      case 'browser':
        return { kind: 'none' }
      case 'basic':
        return { kind: 'header', authorization: basic }
      case 'bearer':
        return { kind: 'header', authorization: `Bearer ${await bearer()}` }
      case 'consumer':
        return { kind: 'oauth', ...(call.oauth ? { extra: call.oauth } : {}) }
      default:
        if (call.token)
          return { kind: 'oauth', token: call.token.token, tokenSecret: call.token.secret, ...(call.oauth ? { extra: call.oauth } : {}) }
        return userProof(service)
    }
  }
  const send = async (call: Call): Promise<Exchange> => {
    const { method, host, path, query, form, json } = call
    const request = {
      method,
      host,
      path,
      timeoutMs,
      signal: context.signal,
      proof: await proofOf(call),
      ...(query && Object.keys(query).length > 0 ? { query } : {}),
      ...(form ? { form } : {}),
      ...(json === undefined ? {} : { body: Buffer.from(json) }),
    }
    return waiting(context, 'waiting for the service', () => sender.send(request))
  }
  const answer = async (call: Call): Promise<Answer> => {
    const exchange = await send(call)
    if (exchange.kind === 'answer') return exchange
    throw await refusal(exchange, call)
  }
  const bearer = (): Promise<string> =>
    (token ??= (async () => {
      const reply = await answer({
        method: 'POST',
        host: 'core',
        path: '/oauth2/token',
        auth: 'basic',
        form: { grant_type: 'client_credentials' },
      })
      const body: unknown = reply.status === 200 ? JSON.parse(reply.body.toString('utf8')) : undefined
      if (typeof body === 'object' && body !== null && 'access_token' in body && typeof body.access_token === 'string')
        return body.access_token
      throw await refusal(reply, { method: 'POST', path: '/oauth2/token' })
    })())
  return { send, answer, bearer, close: () => sender.close() }
}

/** Returns the typed error of a failed call: it names parameter, rule and hint. */
export async function refusal(exchange: Exchange, call: FailedCall): Promise<Error> {
  const { serviceError } = await import('./refusal.ts')
  return serviceError(exchange, call, Date.now())
}
