/**
 * Verifies OAuth 1.0a signatures (RFC 5849, docs/spec-notes.md#signing). Shares no code with the client, so that tests of one find mistakes
 * of the other (docs/decisions/independent-implementations.md). Pure: no clock, no state.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'
import { decodeOrKeep } from '../../decodeOrKeep.ts'

export type Pair = readonly [name: string, value: string]

/** Part of a request that the signature covers, and the signature. */
export interface SignedRequest {
  readonly method: string
  /** `http` or `https`. */
  readonly scheme: string
  /** The Host header as sent. */
  readonly host: string
  /** Path as sent, still percent-encoded, without the query. */
  readonly rawPath: string
  /** Decoded pairs of the query, in order. */
  readonly query: readonly Pair[]
  /** Decoded pairs of a form body; empty for any other content type. */
  readonly form: readonly Pair[]
  /** Decoded pairs of the Authorization header, `realm` and `oauth_signature` included. */
  readonly oauth: readonly Pair[]
}

/** Secrets of the signature. `tokenSecret`: `''` for a request that is signed without one. */
export interface Secrets {
  readonly consumerSecret: string
  readonly tokenSecret: string
}

/**
 * Rule for `oauth_*` pairs with the same name and value:
 * - `rfc`: the signature must cover each of them.
 * - `both`: the signature may also cover only the first of them. A widely used client signs so.
 */
export type DuplicateOauth = 'both' | 'rfc'

/** Returns true if the `oauth_signature` of the request is valid. */
export function verifySignature(request: SignedRequest, secrets: Secrets, duplicates: DuplicateOauth = 'both'): boolean {
  const sent = request.oauth.find(([name]) => name === 'oauth_signature')?.[1] ?? ''
  const pairs: Pair[] = [
    ...request.query,
    ...request.form,
    ...request.oauth.filter(([name]) => name !== 'oauth_signature' && name !== 'realm'),
  ]
  if (isSameText(sent, sign(request, pairs, secrets))) return true
  if (duplicates === 'rfc') return false
  const collapsed = collapseOauth(pairs)
  return collapsed.length !== pairs.length && isSameText(sent, sign(request, collapsed, secrets))
}

/** Returns the signature base string: method, base URI and normalized parameters (RFC 5849 3.4.1). */
function signatureBase(request: SignedRequest, pairs: readonly Pair[]): string {
  const encoded = pairs.map(([name, value]): Pair => [percentEncode(name), percentEncode(value)])
  encoded.sort((a, b) => compareText(a[0], b[0]) || compareText(a[1], b[1]))
  let normalized = ''
  for (const [name, value] of encoded) normalized += (normalized === '' ? '' : '&') + name + '=' + value
  const uri = `${request.scheme}://${normalizeAuthority(request.scheme, request.host)}${request.rawPath}`
  return `${request.method.toUpperCase()}&${percentEncode(uri)}&${percentEncode(normalized)}`
}

/** Encodes everything but `A-Za-z0-9-._~` with upper-case hex (RFC 5849 3.6). */
export function percentEncode(text: string): string {
  if (/^[A-Za-z0-9\-._~]*$/.test(text)) return text
  return encodeURIComponent(text.toWellFormed()).replace(/[!*'()]/g, (char) => '%' + char.charCodeAt(0).toString(16).toUpperCase())
}

/** Decodes the pairs of a query or form. `+` and `%20` both mean a space. A name or value with an invalid escape keeps all its escapes. */
export function parsePairs(text: string): Pair[] {
  if (text === '') return []
  const pairs: Pair[] = []
  for (const part of text.split('&')) {
    if (part === '') continue
    const equals = part.indexOf('=')
    pairs.push(equals === -1 ? [decodeForm(part), ''] : [decodeForm(part.slice(0, equals)), decodeForm(part.slice(equals + 1))])
  }
  return pairs
}

/** Decodes the pairs of `OAuth k="v", k="v"`, with or without spaces after commas. Undefined for any other header. */
export function parseAuthorization(header: string): Pair[] | undefined {
  if (!/^oauth\s/i.test(header)) return undefined
  const pairs: Pair[] = []
  // The lookbehind keeps the time linear for a long text without `=`.
  for (const match of header.slice(6).matchAll(/(?<![^=\s,])([^=\s,]+)\s*=\s*"([^"]*)"\s*(?:,|$)/g))
    pairs.push([decodeOrKeep(match[1] ?? ''), decodeOrKeep(match[2] ?? '')])
  return pairs
}

function sign(request: SignedRequest, pairs: readonly Pair[], secrets: Secrets): string {
  const key = `${percentEncode(secrets.consumerSecret)}&${percentEncode(secrets.tokenSecret)}`
  return createHmac('sha1', key).update(signatureBase(request, pairs)).digest('base64')
}

/** Returns the pairs, with only the first of several equal `oauth_*` pairs. */
function collapseOauth(pairs: readonly Pair[]): Pair[] {
  const seen = new Set<string>()
  return pairs.filter(([name, value]) => {
    if (!name.startsWith('oauth_')) return true
    const key = JSON.stringify([name, value])
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

/** Returns the host in lower case, without the default port of the scheme (RFC 5849 3.4.1.2). */
function normalizeAuthority(scheme: string, host: string): string {
  const lower = host.toLowerCase()
  const standard = scheme === 'https' ? ':443' : ':80'
  return lower.endsWith(standard) ? lower.slice(0, -standard.length) : lower
}

function decodeForm(text: string): string {
  return decodeOrKeep(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

// Percent-encoded texts are ASCII, so this is the order of their bytes.
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

/** Returns true for equal texts. Compares texts of equal length in constant time. */
function isSameText(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}
