/** Implements `Sender` and `Transport`: signs each request and sends it once. */
import { type Clock, systemClock } from '../../clock.ts'
import { createClockOffset } from './clockOffset.ts'
import type { ServiceConfig } from './config.ts'
import { encodePairs } from './encode.ts'
import type { NotSent, Transport } from './exchange.ts'
import { type Sender, type AuthenticatedRequest, userCredentials } from './sender.ts'
import { createSpelling, type Spelling } from './spelling.ts'
import { CallError } from './serviceErrors.ts'
import { sign } from './signing.ts'
import type { Wire, WireRequest } from './wire.ts'
import { withoutUndefined } from '../../withoutUndefined.ts'

export interface TransportOptions {
  readonly clock?: Clock
  /** Maximum number of connections to one host; streams do not count. Default: 64. */
  readonly connections?: number
  /** Maximum size of an answer. A larger answer counts as lost. Default: 8 MiB; 100 products with the longest texts have about 3 MB. */
  readonly maxAnswerBytes?: number
}

/** Creates a transport that signs every request for the configured user; without an access token, for the consumer alone. */
export function createTransport(config: ServiceConfig, options: TransportOptions = {}): Transport {
  const sender = createSender(config, options)
  const credentials = userCredentials(config)
  return {
    exchange: (request) => sender.send({ ...request, credentials }),
    refusedCredentials: async () => (await import('./refusedCredentials.ts')).refusedCredentials(sender, config),
    load: () => sender.load(),
    close: () => sender.close(),
  }
}

/** Creates a sender for all types of credentials. */
export function createSender(config: ServiceConfig, options: TransportOptions = {}): Sender {
  const clock = options.clock ?? systemClock
  const maxAnswerBytes = options.maxAnswerBytes ?? 8 * 1024 * 1024
  // undici is loaded with the first request. A run without requests does not need its 100 files, 10 MB and 40 ms.
  let wire: Promise<Wire> | undefined
  const loadWire = () =>
    (wire ??= import('./wire.ts').then(({ createWire }) => createWire({ clock, connections: options.connections ?? 64, maxAnswerBytes })))
  const spelling = createSpelling(config.names)
  const baseOf = createBaseLookup(config)
  const clockOffset = createClockOffset(clock)
  const closing = new AbortController()

  return {
    async send(request) {
      const base = baseOf(request)
      if (closing.signal.aborted) return closedClientOutcome()
      const { send } = await loadWire()
      const exchange = await send(toWireRequest({ spelling, base, request, config, nowMs: clockOffset.now() }))
      if (exchange.kind === 'answer') clockOffset.update(exchange.status, exchange.headers['date'])
      return exchange.kind !== 'not-sent' && exchange.headers !== undefined && spelling.changesNames
        ? { ...exchange, headers: renameHeaders(exchange.headers, spelling) }
        : exchange
    },
    async open(request) {
      const base = baseOf(request)
      if (closing.signal.aborted) return closedClientOutcome()
      const { openWire } = await import('./wireStream.ts')
      return openWire(toWireRequest({ spelling, base, request, config, nowMs: clockOffset.now() }), maxAnswerBytes)
    },
    clockCorrections: () => clockOffset.corrections(),
    load: async () => void (await loadWire()),
    closing: closing.signal,
    close: async () => {
      closing.abort()
      await (await wire)?.close()
    },
  }
}

/** Returns the outcome of a request after `close`. Nothing is sent, because nothing would close the new connection. */
function closedClientOutcome(): NotSent {
  return { kind: 'not-sent', error: Object.assign(new Error('the client is closed'), { code: 'CLOSED' }), durationMs: 0 }
}

/**
 * Returns a function that returns the address of a request's host. For the service's own sandbox without an address, the function throws a
 * `CallError` (`ServiceConfig.adsSandboxBaseUrl`).
 */
function createBaseLookup(config: ServiceConfig): (request: AuthenticatedRequest) => Base {
  const core = splitBase('baseUrl', config.baseUrl)
  const ads = splitBase('adsBaseUrl', config.adsBaseUrl)
  const isOneAddress = core.origin === ads.origin && core.prefix === ads.prefix
  const sandboxUrl = config.adsSandboxBaseUrl
  const sandbox = sandboxUrl !== undefined ? splitBase('adsSandboxBaseUrl', sandboxUrl) : isOneAddress ? core : undefined
  return ({ host, method, path }) => {
    const base = host === 'core' ? core : host === 'ads' ? ads : sandbox
    if (base !== undefined) return base
    throw new CallError("no address of the service's own sandbox is configured; nothing was sent", {
      where: `${method} ${path}`,
      hint: 'Set SLUICE_ADS_SANDBOX_BASE_URL, or adsSandboxBaseUrl of createClient.',
    })
  }
}

/** Maximum delay of a timer in Node. A timer with a longer delay, such as `Infinity`, fires immediately. */
const maxTimerMs = 2 ** 31 - 1

interface Preparation {
  readonly spelling: Spelling
  readonly base: Base
  readonly request: AuthenticatedRequest
  readonly config: ServiceConfig
  readonly nowMs: number
}

/** Returns the request as it is sent: with the service's spelling of names, encoded, and with the header of its credentials. */
function toWireRequest({ spelling, base, request, config, nowMs }: Preparation): WireRequest {
  const { method, credentials } = request
  const query = encodePairs(spelledPairs(request.query, spelling))
  const path = `${base.prefix}${request.path}${query === '' ? '' : `?${query}`}`
  const form = request.form === undefined ? undefined : encodePairs(spelledPairs(request.form, spelling))
  const headers: Record<string, string> = { accept: '*/*', 'accept-encoding': 'identity', 'user-agent': 'sluice' }
  for (const [name, value] of Object.entries(request.headers ?? {})) headers[spelling.toService(name)] = value

  if (credentials.kind === 'header') headers['authorization'] = credentials.authorization
  if (credentials.kind === 'oauth') {
    const { consumerKey, consumerSecret } = config
    const token = credentials.token === undefined ? {} : { token: credentials.token, tokenSecret: credentials.tokenSecret ?? '' }
    const signed = form === undefined ? { method, url: base.origin + path } : { method, url: base.origin + path, form }
    headers['authorization'] = sign(signed, { consumerKey, consumerSecret, ...token }, nowMs, credentials.extra)
  }

  let body: Uint8Array | undefined
  if (form !== undefined) {
    headers['content-type'] = 'application/x-www-form-urlencoded'
    body = Buffer.from(form)
  } else if (request.body !== undefined) {
    headers['content-type'] = 'application/json'
    body = spelling.bodyToService(request.body)
  }
  const { timeoutMs, signal, maySend } = request
  return {
    method,
    origin: base.origin,
    path,
    headers,
    timeoutMs: Math.min(timeoutMs, maxTimerMs),
    ...withoutUndefined({ body, signal, maySend }),
  }
}

function spelledPairs(pairs: Readonly<Record<string, string>> | undefined, spelling: Spelling): [string, string][] {
  return Object.entries(pairs ?? {}).map(([name, value]) => [spelling.toService(name), value])
}

function renameHeaders(headers: Readonly<Record<string, string>>, spelling: Spelling): Record<string, string> {
  return Object.fromEntries(Object.entries(headers).map(([name, value]) => [spelling.toNeutral(name), value]))
}

/** Parts of a base address. */
interface Base {
  readonly origin: string
  /** Path of the base address, without a final slash. */
  readonly prefix: string
}

/** Splits the address of the option `name`. @throws {CallError} for an address that is not http or https */
function splitBase(name: string, url: string): Base {
  const { origin, pathname, protocol } = URL.canParse(url) ? new URL(url) : { origin: '', pathname: '', protocol: '' }
  if (protocol !== 'http:' && protocol !== 'https:')
    // The address is not shown, because it may contain a password.
    throw new CallError(`${name} is not an http(s) address`, { where: name, hint: 'Give an address such as https://api.example.com.' })
  return { origin, prefix: pathname.replace(/\/+$/, '') }
}
