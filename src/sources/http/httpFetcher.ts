import { setTimeout as delay } from 'node:timers/promises'
import { Agent, request, type Dispatcher } from 'undici'
import { RunError } from '../../errors.ts'
import { readLimits, type ReadLimits } from '../../formats/limits.ts'
import type { SourceFacts } from '../../formats/rows.ts'
import { requestedWaitMs } from '../../http/retryAfter.ts'
import { connectorSkippingInterim } from '../../http/interimAnswers.ts'
import type { SourceDefinition } from '../../model/pipeline.ts'
import { maxBesideBytes, type BesideFile } from '../byteStream.ts'
import { tooLongError } from '../timeouts.ts'
import { credentialHeaders } from './credentialHeaders.ts'
import { checkedLookup, checkUrl, namesThisMachine, safeLabel } from '../../http/addressPolicy.ts'
import { firstHeaders, header, isReadableCoding, isAnotherVersion, hasAnotherLength, isPageInstead } from './httpAnswer.ts'
import type { Fetcher } from './httpBody.ts'
import { codingError, findRunError, isCertificateError, hasExtraBytes, statusError, unavailableError } from './httpErrors.ts'
import { longestWaitMs, maxAttempts, retryWaitMs, type SourceRetryLimit } from '../../http/sourceRetryLimit.ts'
import { bufferOf } from '../../unknownValue.ts'

/** Part of `SourceContext` that HTTP sources use. */
export interface HttpContext {
  readonly env: Readonly<Record<string, string | undefined>>
  readonly signal?: AbortSignal
  readonly previous?: SourceFacts
  readonly backoffMs?: number
  readonly limits?: Pick<ReadLimits, 'idleMs' | 'totalMs'>
}

const maxRedirects = 5

/** Requests one feed: adds credentials, follows redirects, retries, and checks every address before use. */
export class HttpFetcher implements Fetcher {
  readonly label: string
  readonly #definition: SourceDefinition
  readonly #context: HttpContext
  readonly #agent: Agent
  readonly #signal: AbortSignal
  readonly #credentials: Record<string, string>
  readonly #backoffMs: number
  /** Origin of the source if its address names this machine; else undefined. */
  readonly #ownOrigin: string | undefined
  readonly #start: URL
  /** Address of the current request, after the redirects so far. */
  #url: URL
  #sentExtraBytes = false

  constructor(definition: SourceDefinition, context: HttpContext) {
    this.#definition = definition
    this.#context = context
    this.#ownOrigin = namesThisMachine(definition.uri) ? new URL(definition.uri).origin : undefined
    this.#start = this.#url = checkUrl(definition.uri, this.#allowsPrivate(definition.uri))
    this.label = safeLabel(this.#start)
    this.#backoffMs = context.backoffMs ?? 500
    const limits = context.limits ?? readLimits
    this.#credentials = credentialHeaders(definition, context.env)
    this.#agent = new Agent({
      connect: connectorSkippingInterim({
        lookup: checkedLookup(definition.allowPrivate || this.#ownOrigin !== undefined),
        timeout: 15_000,
        minVersion: 'TLSv1.2',
      }),
      headersTimeout: limits.idleMs,
      bodyTimeout: limits.idleMs,
      pipelining: 1,
    })
    this.#agent.on('disconnect', (_origin, _targets, error) => {
      if (hasExtraBytes(error)) this.#sentExtraBytes = true
    })
    const total = AbortSignal.timeout(limits.totalMs)
    this.#signal = context.signal === undefined ? total : AbortSignal.any([context.signal, total])
  }

  get sentExtraBytes(): boolean {
    return this.#sentExtraBytes
  }

  /**
   * Requests the feed from byte `from`, with redirects and retries. `validator`: for If-Range, if `from` is not 0. Returns `unchanged` for
   * a 304 to a conditional request.
   *
   * @throws RunError SOURCE_UNAVAILABLE, SOURCE_DENIED, SOURCE_MISSING, SOURCE_REFUSED; the caller's reason to cancel
   */
  async fetch(from: number, validator: string | undefined): Promise<Dispatcher.ResponseData | 'unchanged'> {
    for (let attempt = 1; ; attempt++) {
      try {
        const answer = await this.#follow(this.#start, this.#headers(from, validator))
        if (answer.statusCode === 304 && from === 0 && this.#isConditional()) {
          await answer.body.dump()
          return 'unchanged'
        }
        // A 206 without a requested range is not the whole feed.
        if (answer.statusCode === 200 || (answer.statusCode === 206 && from > 0)) {
          const coding = header(answer, 'content-encoding') ?? ''
          if (isReadableCoding(coding)) return answer
          await answer.body.dump().catch(() => undefined)
          throw codingError(coding, this.label)
        }
        await answer.body.dump().catch(() => undefined)
        const requestedMs = requestedWaitMs({ status: answer.statusCode, headers: firstHeaders(answer) }, Date.now())
        const isTooLong = requestedMs !== undefined && requestedMs > longestWaitMs
        if ((answer.statusCode === 429 || answer.statusCode >= 500) && attempt < maxAttempts && !isTooLong) {
          await delay(requestedMs ?? retryWaitMs(attempt, this.#backoffMs), undefined, { signal: this.#signal })
          continue
        }
        throw statusError(answer.statusCode, this.label, isTooLong ? requestedMs : undefined)
      } catch (error) {
        if (error instanceof RunError) throw error
        this.throwIfEnded()
        const rejection = findRunError(error)
        if (rejection !== undefined) throw rejection
        if (attempt >= maxAttempts || isCertificateError(error)) throw unavailableError(error, this.label)
        await delay(retryWaitMs(attempt, this.#backoffMs), undefined, { signal: this.#signal }).catch(() => undefined)
      }
    }
  }

  async pause(retryLimit: SourceRetryLimit): Promise<void> {
    await delay(retryLimit.waitMs(this.#backoffMs), undefined, { signal: this.#signal }).catch(() => undefined)
  }

  throwIfEnded(): void {
    this.#context.signal?.throwIfAborted()
    if (this.#signal.aborted) throw tooLongError(this.label)
  }

  async close(): Promise<void> {
    await this.#agent.destroy()
  }

  /**
   * Fetches the file at the feed's path plus `suffix`. Returns undefined for any status but 200. Also returns undefined if the content
   * seems to be a web page, because many servers send a page for a missing file.
   */
  async fetchBeside(suffix: string, feedLastModified: string | undefined): Promise<BesideFile | undefined> {
    const url = new URL(this.#start)
    url.pathname += suffix
    const answer = await this.#follow(url, this.#unconditionalHeaders())
    const parts: Buffer[] = []
    let size = 0
    for await (const chunk of answer.body) {
      const bytes = bufferOf(chunk)
      size += bytes.length
      if (size > maxBesideBytes) break
      parts.push(bytes)
    }
    const content = size > maxBesideBytes ? Buffer.alloc(0) : Buffer.concat(parts)
    const isPage = /html/i.test(header(answer, 'content-type') ?? '') || /^\s*</.test(content.toString('utf8'))
    if (answer.statusCode !== 200 || isPage) return undefined
    // If one of the two times is missing, it is NaN, and the comparison is false.
    return { content, older: Date.parse(header(answer, 'last-modified') ?? '') < Date.parse(feedLastModified ?? '') }
  }

  /**
   * Returns true if the server now has another feed than the one that was read. If an export overwrites the file during the read, the
   * server may send a mix of both files. The length of this mix may be right. Returns false if the server sends no time of change, or if
   * the check gets no usable response.
   */
  async hasChanged(firstAnswer: Dispatcher.ResponseData): Promise<boolean> {
    if (header(firstAnswer, 'last-modified') === undefined) return false
    const current = await this.#requestHead(firstAnswer)
    if (current === undefined || current === 'same' || !isAnotherVersion(firstAnswer, current)) return false
    // Some servers send a new time or ETag with every response, so the head is requested twice.
    const again = await this.#requestHead(current)
    if (again === undefined) return false
    return again === 'same' || !isAnotherVersion(current, again) || hasAnotherLength(current, again)
  }

  /** Requests the current head of the feed. Returns `same` for a 304 to the validators of `known`; undefined without a usable response. */
  async #requestHead(known: Dispatcher.ResponseData): Promise<Dispatcher.ResponseData | 'same' | undefined> {
    const headers = this.#unconditionalHeaders()
    const [etag, lastModified] = [header(known, 'etag'), header(known, 'last-modified')]
    if (etag !== undefined) headers['if-none-match'] = etag
    if (lastModified !== undefined) headers['if-modified-since'] = lastModified
    try {
      const answer = await this.#follow(this.#start, headers, 'HEAD')
      await answer.body.dump()
      if (answer.statusCode === 304) return 'same'
      // A login page in place of the feed proves nothing.
      return answer.statusCode === 200 && !isPageInstead(known, answer) ? answer : undefined
    } catch {
      this.#context.signal?.throwIfAborted()
      return undefined
    }
  }

  /** Sends a request and follows its redirects. @throws RunError SOURCE_REFUSED for a redirect that is not allowed */
  async #follow(start: URL, headers: Readonly<Record<string, string>>, method: 'GET' | 'HEAD' = 'GET'): Promise<Dispatcher.ResponseData> {
    // Each request starts at the first address, because the target of a redirect may have expired.
    this.#url = start
    this.#sentExtraBytes = false
    let hasCookie = false
    for (let hops = 0; ; hops++) {
      const answer = await request(this.#url.href, {
        method,
        dispatcher: this.#agent,
        signal: this.#signal,
        headers,
      })
      if (![301, 302, 303, 307, 308].includes(answer.statusCode)) return answer
      await answer.body.dump().catch(() => undefined)
      hasCookie ||= answer.headers['set-cookie'] !== undefined
      this.#url = this.#redirectUrl(header(answer, 'location'), { hops, hasCookie })
    }
  }

  #redirectUrl(location: string | undefined, { hops, hasCookie }: { readonly hops: number; readonly hasCookie: boolean }): URL {
    const rejectionError = (message: string, hint = 'Set `source.url` to the final address of the feed.') =>
      new RunError('SOURCE_REFUSED', message, { where: this.label, hint })
    if (hops >= maxRedirects)
      throw hasCookie
        ? rejectionError(
            `more than ${maxRedirects} redirects, with cookies as for a login`,
            'Use an address of the feed that needs no login page.',
          )
        : rejectionError(`more than ${maxRedirects} redirects`)
    if (location === undefined || !URL.canParse(location, this.#url.href)) throw rejectionError('a redirect without a usable address')
    const target = new URL(location, this.#url).href
    const next = checkUrl(target, this.#allowsPrivate(target))
    // For a source on this machine, the name lookup accepts private addresses. So it would also accept a redirect to another private
    // address.
    if (this.#ownOrigin !== undefined && next.origin !== this.#ownOrigin && !this.#definition.allowPrivate)
      throw rejectionError('a redirect from this machine to another address')
    if (this.#url.protocol === 'https:' && next.protocol !== 'https:') throw rejectionError('a redirect from https to http')
    if (next.origin !== this.#url.origin && Object.keys(this.#credentials).length > 0)
      throw rejectionError('a redirect to another host, with credentials')
    return next
  }

  /** Returns true if private addresses are allowed for this address: by a setting, or because the pipeline names this machine. */
  #allowsPrivate(address: string): boolean {
    return this.#definition.allowPrivate || (this.#ownOrigin !== undefined && new URL(address).origin === this.#ownOrigin)
  }

  /** Returns true if requests from byte 0 are conditional. Only then is a 304 a valid answer. */
  #isConditional(): boolean {
    const { previous } = this.#context
    return previous?.etag !== undefined || previous?.lastModified !== undefined
  }

  #unconditionalHeaders(): Record<string, string> {
    return { 'user-agent': 'sluice', ...this.#credentials, 'accept-encoding': 'identity' }
  }

  #headers(from: number, validator: string | undefined): Record<string, string> {
    const headers = this.#unconditionalHeaders()
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
