/** Creates the typed client. Lists and streams are async iterables. */
import { systemClock } from '../../clock.ts'
import { type Logger, silentLogger } from '../../log.ts'
import { hasPages, type Endpoint } from '../contract/endpoint.ts'
import { endpoints, findEndpoint } from '../contract/index.ts'
import { type CallResult, type Caller, createCaller } from './caller.ts'
import type { ClientConfig, ServiceConfig } from './config.ts'
import { encodePairs } from './encode.ts'
import { List } from './list.ts'
import { createSpelling } from './spelling.ts'
import { buildRequest, type Params } from './request.ts'
import { listOf } from '../../unknownValue.ts'
import { CallError } from './serviceErrors.ts'
import { openStream } from './stream.ts'
import { createSender, type TransportOptions } from './transport.ts'
import type { CallableName, CallOptions, EndpointOf, Methods, ParamsOf } from './typed.ts'

export interface ClientOptions extends TransportOptions {
  /** Logs retries and deprecated calls. Default: no log. */
  readonly log?: Logger
  /** Returns a number from 0 to below 1, for the jitter of waits. Default: `Math.random`. */
  readonly random?: () => number
}

/** Functions of the client that are not methods of an endpoint. */
interface General {
  /** Calls an endpoint by name, and also returns status, headers, cursor and the whole body. For a list, reads only one page. */
  readonly call: <Name extends CallableName>(name: Name, params: ParamsOf<EndpointOf<Name>>, options?: CallOptions) => Promise<CallResult>
  /** Same as `call`, for names that are known only at run time. @throws {CallError} for an unknown name, and for a page for a browser */
  readonly callByName: (name: string, params: Params, options?: CallOptions) => Promise<CallResult>
  /**
   * Returns the address at which a user authorizes the application. `page`: `authorize` (default) requires approval each time.
   * `authenticate` skips the approval for a user who has approved before, if the app's settings enable sign-in.
   */
  readonly authorizeUrl: (
    query: { readonly oauth_token: string; readonly force_login?: boolean; readonly screen_name?: string },
    page?: 'authorize' | 'authenticate',
  ) => string
  /** Returns the cached app-only token, or fetches a token (`Bearer.get`). The token must not be logged. */
  readonly bearerToken: (options?: CallOptions) => Promise<string>
  /** Ends the waits of calls, waits for the requests in flight, then closes the connections. Does not close open streams. */
  readonly close: () => Promise<void>
}

/** Typed client of the service: a method for each endpoint that a program can call, and general functions. */
export type Client = Methods & General

/**
 * Creates a client of the service or of a sandbox. Only the addresses differ.
 *
 * The client waits and retries if that is safe (`Endpoint.repeatable`, docs/client.md#retries). A failed call throws a `ServiceError`, a
 * call that does not match the contract a `CallError`. Compare the class or `code`.
 *
 * ```ts
 * const client = createClient({ baseUrl, consumerKey, consumerSecret, accessToken, accessTokenSecret })
 * for await (const product of client.products.list({ product_catalog_id: '4001' })) …
 * ```
 */
export function createClient(given: ClientConfig, options: ClientOptions = {}): Client {
  throwIfNoKeys(given)
  const config: ServiceConfig = { ...given, adsBaseUrl: given.adsBaseUrl ?? given.baseUrl, adsVersion: given.adsVersion ?? '12' }
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
  const callByName = async (name: string, params: Params, callOptions?: CallOptions) =>
    caller.call(endpointNamed(name), params, callOptions)
  const general: General = {
    // Only the types of the parameters differ.
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
  const invoke = (endpoint: Endpoint, params: Params, options: CallOptions): unknown => {
    if (endpoint.stream === true) {
      const built = buildRequest(endpoint, params, config.adsVersion)
      const findCredentials = () => caller.findCredentials(endpoint, built, options)
      return openStream({ endpoint, built, options, sender, spelling, clock, findCredentials, bearer: caller.bearer })
    }
    if (hasPages(endpoint)) return createList(endpoint, params, options, caller)
    return caller.call(endpoint, params, options).then(({ data, body }) => (endpoint.path.startsWith('/2/') ? body : data))
  }
  // The type `Methods` and the methods are derived from the same contract.
  return { ...createMethods(invoke), ...general } as Client
}

/** Checks the keys of the application, which may be unset variables in a program that is not type-checked. @throws {CallError} */
function throwIfNoKeys(given: { readonly consumerKey?: unknown; readonly consumerSecret?: unknown }): void {
  for (const name of ['consumerKey', 'consumerSecret'] as const)
    if (typeof given[name] !== 'string')
      throw new CallError(`${name} is not a text`, { where: name, hint: 'Check the variable that it is read from.' })
}

type Method = (params?: Params, options?: CallOptions) => unknown

/** Endpoints that a program can call: all except the pages for a browser. */
const callable = endpoints.filter(({ answer }) => answer.resource !== 'page')

/** Creates the methods of all groups. `invoke`: calls an endpoint. */
function createMethods(
  invoke: (endpoint: Endpoint, params: Params, options: CallOptions) => unknown,
): Record<string, Record<string, Method>> {
  const groups: Record<string, Record<string, Method>> = {}
  for (const endpoint of callable) {
    const [group = '', method = ''] = endpoint.name.split('.')
    const groupMethods = (groups[group] ??= {})
    groupMethods[method] = (params = {}, options = {}) => invoke(endpoint, params, options)
  }
  return groups
}

function createList(endpoint: Endpoint, params: Params, options: CallOptions, caller: Caller): List<unknown> {
  return new List(async (cursor) => {
    // The service accepts with_total_count only without a cursor, so only the first page has the total (spec Conventions).
    const { with_total_count: _, ...rest } = params
    const page = await caller.call(endpoint, cursor === undefined ? params : { ...rest, cursor }, options)
    return { items: listOf(page.data), nextCursor: page.nextCursor, totalCount: page.totalCount }
  }, `${endpoint.method} ${endpoint.path}`)
}

/** Returns the endpoint with the name. @throws {CallError} for an unknown name, and for a page for a browser */
function endpointNamed(name: string): Endpoint {
  const endpoint = findEndpoint(name)
  if (endpoint?.answer.resource === 'page')
    throw new CallError(`${name} is a page for a browser`, {
      where: name,
      hint: 'Open the address that authorizeUrl returns in a browser.',
    })
  if (endpoint !== undefined) return endpoint
  const group = `${name.split('.')[0] ?? ''}.`
  const namesOfGroup = callable.filter((endpoint) => endpoint.name.startsWith(group)).map((endpoint) => endpoint.name)
  throw new CallError(`there is no endpoint ${name}`, {
    where: name,
    hint: namesOfGroup.length > 0 ? `There are ${namesOfGroup.join(', ')}.` : 'docs/coverage.md lists all endpoints.',
  })
}
