/** Checks a few image links by HEAD requests, with the address policy of sources. */
import type { LookupFunction } from 'node:net'
import { Agent, request } from 'undici'
import { checkedLookup, checkUrl } from './addressPolicy.ts'
import { connectorSkippingInterim } from './interimAnswers.ts'
import { errorCode } from '../unknownValue.ts'

export interface ImageCheckOptions {
  readonly signal?: AbortSignal
  /** Time limit of the whole check; default 15 s. */
  readonly totalMs?: number
  /** Time limit of one request; default 5 s. */
  readonly requestMs?: number
  /** Maximum number of links per host; default 5. */
  readonly perHost?: number
  /** For tests: allows private addresses. */
  readonly allowPrivate?: boolean
  /** For tests: replaces the lookup of names. */
  readonly lookup?: LookupFunction
}

export interface ImageCheck {
  /** Number of links with a result: the image exists, or the link is broken. */
  readonly checked: number
  /** Broken links by their index in the list of links, in ascending order. */
  readonly broken: readonly { readonly index: number; readonly reason: string }[]
}

const parallelRequests = 4

/**
 * Requests each link once, up to the limits. A link is broken if the server answers 404 or 410, or if its host does not exist. An answer
 * below 300 means that the image exists. Any other answer, a rejected address or a timeout gives no result. Never rejects.
 */
export async function checkImages(links: readonly string[], options: ImageCheckOptions = {}): Promise<ImageCheck> {
  const { totalMs = 15_000, requestMs = 5_000, perHost = 5, allowPrivate = false } = options
  const timeout = AbortSignal.timeout(totalMs)
  const signal = options.signal === undefined ? timeout : AbortSignal.any([options.signal, timeout])
  const agent = new Agent({
    connect: connectorSkippingInterim({ lookup: options.lookup ?? checkedLookup(allowPrivate), timeout: requestMs, minVersion: 'TLSv1.2' }),
    headersTimeout: requestMs,
    pipelining: 1,
  })
  const remaining = chooseLinks(links, perHost, allowPrivate)
  const broken: { index: number; reason: string }[] = []
  let checked = 0
  const requestRemaining = async (): Promise<void> => {
    for (let next = remaining.shift(); next !== undefined && !signal.aborted; next = remaining.shift()) {
      const result = await requestImage(next.url, agent, AbortSignal.any([signal, AbortSignal.timeout(requestMs)]))
      if (result === 'unknown') continue
      checked++
      if (result !== 'exists') broken.push({ index: next.index, reason: result })
    }
  }
  try {
    await Promise.all(Array.from({ length: parallelRequests }, requestRemaining))
  } finally {
    await agent.destroy().catch(() => undefined)
  }
  return { checked, broken: broken.toSorted((a, b) => a.index - b.index) }
}

/** Returns the links that the policy allows, without repeats, at most `perHost` of one host. */
function chooseLinks(links: readonly string[], perHost: number, allowPrivate: boolean): { readonly index: number; readonly url: URL }[] {
  const hosts = new Map<string, number>()
  const seen = new Set<string>()
  return links.flatMap((link, index) => {
    const url = parseAllowed(link, allowPrivate)
    if (url === undefined || seen.has(url.href)) return []
    const count = hosts.get(url.host) ?? 0
    if (count >= perHost) return []
    hosts.set(url.host, count + 1)
    seen.add(url.href)
    return [{ index, url }]
  })
}

/** Returns the parsed link; undefined if the policy rejects it. */
function parseAllowed(link: string, allowPrivate: boolean): URL | undefined {
  try {
    return checkUrl(link, allowPrivate)
  } catch {
    return undefined
  }
}

/** Returns `exists`, `unknown`, or the reason why the image is broken. */
async function requestImage(url: URL, dispatcher: Agent, signal: AbortSignal): Promise<string> {
  try {
    const { statusCode, body } = await request(url, { method: 'HEAD', dispatcher, signal })
    await body.dump()
    if (statusCode === 404 || statusCode === 410) return `answer ${statusCode}`
    return statusCode < 300 ? 'exists' : 'unknown'
  } catch (error) {
    return errorCode(error) === 'ENOTFOUND' ? 'the host does not exist' : 'unknown'
  }
}
