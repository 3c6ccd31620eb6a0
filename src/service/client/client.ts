/** The typed client: every endpoint of the contract as a method, lists as async iterables. */
import { type Clock, systemClock } from '../../clock.ts'
import { type Logger, silentLogger } from '../../log.ts'
import type { Endpoint } from '../contract/endpoint.ts'
import { type EndpointName, endpoints, findEndpoint } from '../contract/index.ts'
import { type CallResult, type Caller, createCaller } from './caller.ts'
import type { ClientConfig, ServiceConfig } from './config.ts'
import { encodePairs } from './encode.ts'
import { List } from './list.ts'
import { createSpelling, type Spelling } from './names.ts'
import { buildRequest, type Params } from './request.ts'
import { CallError } from './serviceErrors.ts'
import { openStream } from './stream.ts'
import type { Sender } from './sender.ts'
import { createSender, type TransportOptions } from './transport.ts'
import type { CallOptions, EndpointOf, Methods, ParamsOf } from './typed.ts'

export interface ClientOptions extends TransportOptions {
  readonly log?: Logger
  /** From 0 to below 1, for the jitter of waits. */
  readonly random?: () => number
}

interface General {
  /** Any endpoint by name, with status, headers, cursor and whole body. Lists: one page. */
  readonly call: <Name extends EndpointName>(name: Name, params: ParamsOf<EndpointOf<Name>>, options?: CallOptions) => Promise<CallResult>
  /** The same where the name is known at run time only. */
  readonly callByName: (name: string, params: Params, options?: CallOptions) => Promise<CallResult>
  /** Address at which a person allows the application: `authorize` asks each time, `authenticate` only once. */
  readonly authorizeUrl: (
    query: { readonly oauth_token: string; readonly force_login?: boolean; readonly screen_name?: string },
    page?: 'authorize' | 'authenticate',
  ) => string
  /** Returns the app-only token in use, or a new one: cached, one request for concurrent callers. Never log it. */
  readonly bearerToken: (options?: CallOptions) => Promise<string>
  readonly close: () => Promise<void>
}

export type Client = Methods & General

/**
 * A client of the service, or of a sandbox: only the addresses differ.
 *
 * Waits and retries automatically where that is safe (`endpoint.repeatable`, docs/guarantees.md#bounded-retry). Errors are
 * `ServiceError`s: match on class or `code`. `close` ends its connections.
 *
 * ```ts
 * const client = createClient({ baseUrl, consumerKey, consumerSecret, accessToken, accessTokenSecret })
 * for await (const product of client.products.list({ product_catalog_id: '4001' })) …
 * ```
 */
export function createClient(given: ClientConfig, options: ClientOptions = {}): Client {
  // One address is enough for a sandbox, which serves all three hosts.
  const config: ServiceConfig = {
    adsBaseUrl: given.baseUrl,
    adsSandboxBaseUrl: given.adsBaseUrl ?? given.baseUrl,
    adsVersion: '12',
    ...given,
  }
  const sender = createSender(config, options)
  const spelling = createSpelling(config.names)
  const clock = options.clock ?? systemClock
  const caller = createCaller({
    config,
    sender,
    spelling,
    clock,
    log: options.log ?? silentLogger,
    random: options.random ?? Math.random,
  })
  const callByName = async (name: string, params: Params, callOptions?: CallOptions) => caller.call(known(name), params, callOptions)
  const general: General = {
    call: callByName as General['call'],
    callByName,
    authorizeUrl: ({ oauth_token: token, force_login: force, screen_name: name }, page = 'authorize') => {
      const query: [string, string][] = [['oauth_token', token]]
      if (force !== undefined) query.push(['force_login', String(force)])
      if (name !== undefined) query.push(['screen_name', name])
      return `${config.baseUrl.replace(/\/+$/, '')}/oauth/${page}?${encodePairs(query)}`
    },
    bearerToken: (options) => caller.bearer.get(options),
    close: () => sender.close(),
  }
  return { ...methods({ config, caller, sender, spelling, clock }), ...general } as Client
}

interface Parts {
  readonly config: ServiceConfig
  readonly caller: Caller
  readonly sender: Sender
  readonly spelling: Spelling
  readonly clock: Clock
}

type Method = (params?: Params, options?: CallOptions) => unknown

function methods(parts: Parts): Record<string, Record<string, Method>> {
  const groups: Record<string, Record<string, Method>> = {}
  for (const endpoint of endpoints) {
    const [group = '', method = ''] = endpoint.name.split('.')
    groups[group] ??= {}
    // Its group exists: made in the line above.
    ;(groups[group] as Record<string, Method>)[method] = (params = {}, options = {}) => invoke(endpoint, params, options, parts)
  }
  return groups
}

function invoke(endpoint: Endpoint, params: Params, options: CallOptions, { config, caller, sender, spelling, clock }: Parts): unknown {
  if (endpoint.stream === true) {
    const built = buildRequest(endpoint, params, config.adsVersion)
    return openStream({ endpoint, built, options, sender, spelling, clock, prove: () => caller.prove(endpoint, built, options) })
  }
  if (endpoint.list !== undefined) return listOf(endpoint, params, options, caller)
  return caller.call(endpoint, params, options).then(({ data, body }) => (endpoint.path.startsWith('/2/') ? body : data))
}

function listOf(endpoint: Endpoint, params: Params, options: CallOptions, caller: Caller): List<unknown> {
  return new List(async (cursor) => {
    // A cursor and with_total_count exclude each other: the total comes with the first page (spec Conventions).
    const { with_total_count: withTotal, ...rest } = params
    const page = await caller.call(
      endpoint,
      cursor === undefined ? (withTotal === undefined ? rest : params) : { ...rest, cursor },
      options,
    )
    return { items: Array.isArray(page.data) ? (page.data as unknown[]) : [], nextCursor: page.nextCursor, totalCount: page.totalCount }
  }, `${endpoint.method} ${endpoint.path}`)
}

function known(name: string): Endpoint {
  const endpoint = findEndpoint(name)
  if (endpoint !== undefined) return endpoint
  const group = `${name.split('.')[0] ?? ''}.`
  const near = endpoints.filter((one) => one.name.startsWith(group)).map((one) => one.name)
  throw new CallError(`there is no endpoint ${name}`, {
    where: name,
    hint: near.length > 0 ? `There are ${near.join(', ')}.` : 'docs/coverage.md lists all endpoints.',
  })
}
