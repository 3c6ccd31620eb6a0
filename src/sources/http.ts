import { createHash } from 'node:crypto'
import type { Hash } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import type { Dispatcher } from 'undici'
import { Agent, request } from 'undici'
import { RunError } from '../errors.ts'
import type { ReadLimits } from '../formats/limits.ts'
import { readLimits } from '../formats/limits.ts'
import type { SourceFacts } from '../formats/rows.ts'
import type { SourceDefinition } from '../pipeline/definition.ts'
import type { ByteStream, TransportEnd } from './byteStream.ts'
import { checkedLookup, checkUrl, namesThisMachine, safeLabel } from './httpAddress.ts'
import { readCredential } from './credentials.ts'

export interface HttpContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal?: AbortSignal
  readonly previous?: SourceFacts
  readonly backoffMs?: number
  readonly limits?: Pick<ReadLimits, 'idleMs' | 'totalMs'>
}

const maxRedirects = 5
const maxTries = 4

/**
 * Fetches a feed: conditional on what the last closed snapshot had (ETag, Last-Modified), resumed with If-Range when
 * the connection is cut, each redirect checked anew. Length, chunk end and digest headers are the proof of the end; a
 * body that ends by closing the connection proves nothing.
 *
 * @returns `unchanged` when the server answers 304
 * @throws RunError SOURCE_UNAVAILABLE, SOURCE_DENIED, SOURCE_MISSING, SOURCE_REFUSED, SOURCE_CHANGED, DIGEST_MISMATCH
 */
export async function openHttp(definition: SourceDefinition, context: HttpContext): Promise<ByteStream | 'unchanged'> {
  const fetcher = new HttpFetcher(definition, context)
  const first = await fetcher.fetch(0, undefined)
  if (first === 'unchanged') {
    await fetcher.close()
    return 'unchanged'
  }
  const charset = /charset\s*=\s*"?([\w.:-]+)/i.exec(header(first, 'content-type') ?? '')?.[1]
  const body = new ResumableBody(fetcher, first)
  return {
    label: fetcher.label,
    chunks: body.read(),
    ...(charset === undefined ? {} : { charset }),
    end: () => Promise.resolve(body.end()),
    close: () => fetcher.close(),
  }
}

class HttpFetcher {
  readonly label: string
  readonly #definition: SourceDefinition
  readonly #context: HttpContext
  readonly #agent: Agent
  readonly #signal: AbortSignal
  readonly #credentials: Record<string, string>
  readonly backoffMs: number
  /** Origin of a source on this machine, where its address says so plainly. */
  readonly #own: string | undefined
  #url: URL

  constructor(definition: SourceDefinition, context: HttpContext) {
    this.#definition = definition
    this.#context = context
    this.#own = namesThisMachine(definition.uri) ? new URL(definition.uri).origin : undefined
    this.#url = checkUrl(definition.uri, this.#allows(definition.uri))
    this.label = safeLabel(this.#url)
    this.backoffMs = context.backoffMs ?? 500
    const limits = context.limits ?? readLimits
    this.#credentials = credentialHeaders(definition, context.env)
    this.#agent = new Agent({
      connect: { lookup: checkedLookup(definition.allowPrivate || this.#own !== undefined), timeout: 15_000, minVersion: 'TLSv1.2' },
      headersTimeout: limits.idleMs,
      bodyTimeout: limits.idleMs,
      pipelining: 1,
    })
    const total = AbortSignal.timeout(limits.totalMs)
    this.#signal = context.signal === undefined ? total : AbortSignal.any([context.signal, total])
  }

  /** One answer with a body from byte `from` on, after redirects and retries. */
  async fetch(from: number, validator: string | undefined): Promise<Dispatcher.ResponseData | 'unchanged'> {
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await this.#follow(from, validator)
        if (answer.statusCode === 304 && from === 0 && this.#context.previous !== undefined) {
          await answer.body.dump()
          return 'unchanged'
        }
        // Part of a feed that nobody asked for in parts is not the feed.
        if (answer.statusCode === 200 || (answer.statusCode === 206 && from > 0)) return answer
        await answer.body.dump().catch(() => undefined)
        if ((answer.statusCode === 429 || answer.statusCode >= 500) && attempt < maxTries) {
          await delay(waitMs(answer, attempt, this.backoffMs), undefined, { signal: this.#signal })
          continue
        }
        throw statusError(answer.statusCode, this.label)
      } catch (error) {
        if (error instanceof RunError) throw error
        this.throwIfCancelled()
        if (this.#signal.aborted || attempt >= maxTries) throw unavailable(error, this.label)
        const refusal = findRunError(error)
        if (refusal !== undefined) throw refusal
        await delay(this.backoffMs * 2 ** (attempt - 1), undefined, { signal: this.#signal }).catch(() => undefined)
      }
    }
  }

  /** Whoever asked for the feed wants it no more: that is no failure of the source. */
  throwIfCancelled(): void {
    this.#context.signal?.throwIfAborted()
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  async #follow(from: number, validator: string | undefined): Promise<Dispatcher.ResponseData> {
    for (let hops = 0; ; hops++) {
      const answer = await request(this.#url.href, {
        dispatcher: this.#agent,
        signal: this.#signal,
        headers: this.#headers(from, validator),
      })
      if (![301, 302, 303, 307, 308].includes(answer.statusCode)) return answer
      await answer.body.dump().catch(() => undefined)
      this.#url = this.#redirected(header(answer, 'location'), hops)
    }
  }

  #redirected(location: string | undefined, hops: number): URL {
    const refuse = (what: string) =>
      new RunError('SOURCE_REFUSED', what, { where: this.label, mend: 'Name the final address of the feed in `source.url`.' })
    if (hops >= maxRedirects) throw refuse(`more than ${maxRedirects} redirects`)
    if (location === undefined || !URL.canParse(location, this.#url.href)) throw refuse('a redirect without a usable address')
    const target = new URL(location, this.#url).href
    const next = checkUrl(target, this.#allows(target))
    // Once this machine was named, nothing private but it: the look-up of a name would not tell any more.
    if (this.#own !== undefined && next.origin !== this.#own && !this.#definition.allowPrivate)
      throw refuse('a redirect from this machine to another address')
    if (this.#url.protocol === 'https:' && next.protocol !== 'https:') throw refuse('a redirect from https to http')
    if (next.origin !== this.#url.origin && Object.keys(this.#credentials).length > 0)
      throw refuse('a redirect to another host, with credentials')
    return next
  }

  /** Private addresses by setting, or this machine where the pipeline file names it in plain words. */
  #allows(address: string): boolean {
    return this.#definition.allowPrivate || (this.#own !== undefined && new URL(address).origin === this.#own)
  }

  #headers(from: number, validator: string | undefined): Record<string, string> {
    const headers: Record<string, string> = { ...this.#credentials, 'accept-encoding': 'identity', 'user-agent': 'sluice' }
    const { previous } = this.#context
    if (from > 0) {
      headers['range'] = `bytes=${from}-`
      if (validator !== undefined) headers['if-range'] = validator
    } else if (previous !== undefined) {
      if (previous.etag !== undefined) headers['if-none-match'] = previous.etag
      if (previous.lastModified !== undefined) headers['if-modified-since'] = previous.lastModified
    }
    return headers
  }
}

/** The body of one entity, over as many connections as it takes. */
class ResumableBody {
  readonly #fetcher: HttpFetcher
  readonly #first: Dispatcher.ResponseData
  readonly #digests: readonly { readonly algorithm: 'sha256' | 'sha512' | 'md5'; readonly expected: Buffer; readonly hash: Hash }[]
  readonly #validator: string | undefined
  readonly #length: number | undefined
  #received = 0

  constructor(fetcher: HttpFetcher, first: Dispatcher.ResponseData) {
    this.#fetcher = fetcher
    this.#first = first
    this.#digests = declaredDigests(first).map((digest) => ({ ...digest, hash: createHash(digest.algorithm) }))
    const etag = header(first, 'etag')
    // A weak tag does not promise the same bytes, so it cannot join two halves (RFC 9110 section 13.1.5).
    this.#validator = etag !== undefined && !etag.startsWith('W/') ? etag : header(first, 'last-modified')
    const length = header(first, 'content-length')
    this.#length = length !== undefined && /^\d+$/.test(length) ? Number(length) : undefined
  }

  async *read(): AsyncGenerator<Buffer> {
    let answer = this.#first
    for (let cuts = 0; ;) {
      const before = this.#received
      try {
        for await (const chunk of answer.body) {
          // undici hands bodies over as buffers.
          const bytes = chunk as Buffer
          this.#received += bytes.length
          for (const { hash } of this.#digests) hash.update(bytes)
          yield bytes
        }
        if (this.#length === undefined || this.#received >= this.#length) break
        throw new Error('the body is shorter than its declared length')
      } catch (error) {
        if (error instanceof RunError) throw error
        this.#fetcher.throwIfCancelled()
        cuts = this.#received > before ? 1 : cuts + 1
        if (cuts >= maxTries || this.#validator === undefined) throw this.#cut(error)
        answer = await this.#resume(error)
      }
    }
    this.#checkDigests()
  }

  end(): TransportEnd {
    const etag = header(this.#first, 'etag')
    const lastModified = header(this.#first, 'last-modified')
    const chunked = /chunked/i.test(header(this.#first, 'transfer-encoding') ?? '')
    const proof =
      this.#digests.length > 0 ? 'digest met' : this.#length !== undefined ? 'content-length met' : chunked ? 'chunked end' : undefined
    return {
      ...(proof === undefined ? { reason: 'the server ended the answer by closing the connection, without a length' } : { proof }),
      ...(etag === undefined ? {} : { etag }),
      ...(lastModified === undefined ? {} : { lastModified }),
    }
  }

  async #resume(cause: unknown): Promise<Dispatcher.ResponseData> {
    await delay(this.#fetcher.backoffMs)
    const answer = await this.#fetcher.fetch(this.#received, this.#validator)
    if (answer === 'unchanged') throw this.#cut(cause)
    if (answer.statusCode === 206 && header(answer, 'content-range')?.startsWith(`bytes ${this.#received}-`) === true) return answer
    await answer.body.dump().catch(() => undefined)
    if (answer.statusCode === 206) throw this.#cut(cause)
    throw new RunError('SOURCE_CHANGED', 'the feed changed, or the server cannot resume, after the connection was cut', {
      where: this.#fetcher.label,
      mend: 'Run again.',
      cause,
    })
  }

  #checkDigests(): void {
    for (const { hash, expected } of this.#digests) {
      if (hash.digest().equals(expected)) continue
      throw new RunError('DIGEST_MISMATCH', 'the bytes do not have the digest that the server declared', {
        where: this.#fetcher.label,
        mend: 'Run again; if it stays, ask whoever serves the feed.',
      })
    }
  }

  #cut(cause: unknown): RunError {
    return new RunError('FILE_TRUNCATED', `the connection was cut after ${this.#received} bytes`, {
      where: this.#fetcher.label,
      mend: 'Run again; the server should send a length and an ETag so that downloads can be resumed.',
      cause,
    })
  }
}

function header(answer: Dispatcher.ResponseData, name: string): string | undefined {
  const value = answer.headers[name]
  return Array.isArray(value) ? value[0] : value
}

/** Whole-entity digests: Repr-Digest (RFC 9530), Content-Digest on a whole answer, the older Digest, Content-MD5. */
function declaredDigests(
  answer: Dispatcher.ResponseData,
): readonly { readonly algorithm: 'sha256' | 'sha512' | 'md5'; readonly expected: Buffer }[] {
  const found: { algorithm: 'sha256' | 'sha512' | 'md5'; expected: Buffer }[] = []
  for (const name of ['repr-digest', 'content-digest']) {
    for (const match of (header(answer, name) ?? '').matchAll(/(sha-256|sha-512)=:([A-Za-z0-9+/=]+):/g)) {
      found.push({ algorithm: match[1] === 'sha-256' ? 'sha256' : 'sha512', expected: Buffer.from(match[2] ?? '', 'base64') })
    }
  }
  for (const match of (header(answer, 'digest') ?? '').matchAll(/(sha-256|sha-512)=([A-Za-z0-9+/=]+)/gi)) {
    found.push({ algorithm: match[1]?.toLowerCase() === 'sha-256' ? 'sha256' : 'sha512', expected: Buffer.from(match[2] ?? '', 'base64') })
  }
  const md5 = header(answer, 'content-md5')
  if (md5 !== undefined) found.push({ algorithm: 'md5', expected: Buffer.from(md5, 'base64') })
  return found
}

/** `username` and `password`: basic; `token`: bearer; `header:Name`: that header. */
function credentialHeaders(definition: SourceDefinition, env: Readonly<Record<string, string | undefined>>): Record<string, string> {
  const { credentials } = definition
  const headers: Record<string, string> = {}
  const username = readCredential('username', credentials, env)
  const password = readCredential('password', credentials, env)
  if (username !== undefined || password !== undefined)
    headers['authorization'] = `Basic ${Buffer.from(`${username ?? ''}:${password ?? ''}`).toString('base64')}`
  const token = readCredential('token', credentials, env)
  if (token !== undefined) headers['authorization'] = `Bearer ${token}`
  for (const key of Object.keys(credentials ?? {})) {
    if (!key.startsWith('header:')) continue
    const value = readCredential(key, credentials, env)
    if (value !== undefined) headers[key.slice('header:'.length).toLowerCase()] = value
  }
  return headers
}

/** Retry-After in seconds or as a date, at most a minute; else doubling from the base. */
function waitMs(answer: Dispatcher.ResponseData, attempt: number, backoffMs: number): number {
  const asked = header(answer, 'retry-after')
  const ms =
    asked === undefined
      ? Number.NaN
      : /^\d+$/.test(asked)
        ? Number(asked) * 1000
        : Date.parse(asked) - Date.parse(header(answer, 'date') ?? asked)
  return Number.isFinite(ms) && ms >= 0 ? Math.min(ms, 60_000) : backoffMs * 2 ** (attempt - 1)
}

function statusError(status: number, where: string): RunError {
  if (status === 401 || status === 403)
    return new RunError('SOURCE_DENIED', `the server answered ${status}`, { where, mend: 'Check the credentials of this source.' })
  if (status === 404 || status === 410)
    return new RunError('SOURCE_MISSING', `the server answered ${status}`, { where, mend: 'Check the address in `source.url`.' })
  return new RunError('SOURCE_UNAVAILABLE', `the server answered ${status}`, {
    where,
    mend: 'Try again later; if it stays, ask whoever serves the feed.',
  })
}

function unavailable(error: unknown, where: string): RunError {
  const code = error instanceof Error && 'code' in error && typeof error.code === 'string' ? ` (${error.code})` : ''
  return new RunError('SOURCE_UNAVAILABLE', `the source cannot be reached${code}`, {
    where,
    mend: 'Check the address, the certificate and the network; then run again.',
    cause: error,
  })
}

/** The lookup's refusal comes wrapped by the client. */
function findRunError(error: unknown): RunError | undefined {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (at instanceof RunError) return at
  return undefined
}
