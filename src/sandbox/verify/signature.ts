/**
 * Verification of OAuth 1.0a signatures, by our own reading of RFC 5849 and docs/spec-notes.md#signing; shares nothing with the
 * client, so that neither hides the other's mistake. Pure: no clock, no state.
 */
import { createHmac, timingSafeEqual } from 'node:crypto'

export type Pair = readonly [name: string, value: string]

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

export interface Secrets {
  readonly consumerSecret: string
  readonly tokenSecret: string
}

/** `both`: also with equal `oauth_*` pairs counted once, as one widely used client signs (docs/spec-notes.md#signing 'Duplicated oauth_token'). */
export type DuplicateOauth = 'both' | 'rfc'

export function verifySignature(request: SignedRequest, secrets: Secrets, duplicates: DuplicateOauth = 'both'): boolean {
  const given = request.oauth.find(([name]) => name === 'oauth_signature')?.[1] ?? ''
  const pairs: Pair[] = [
    ...request.query,
    ...request.form,
    ...request.oauth.filter(([name]) => name !== 'oauth_signature' && name !== 'realm'),
  ]
  if (sameText(given, sign(request, pairs, secrets))) return true
  if (duplicates === 'rfc') return false
  const collapsed = collapseOauth(pairs)
  return collapsed.length !== pairs.length && sameText(given, sign(request, collapsed, secrets))
}

/** RFC 5849 3.4.1: method, base URI, normalized parameters. */
export function signatureBase(request: SignedRequest, pairs: readonly Pair[]): string {
  const encoded = pairs.map(([name, value]): Pair => [percentEncode(name), percentEncode(value)])
  encoded.sort((a, b) => compareText(a[0], b[0]) || compareText(a[1], b[1]))
  let normalized = ''
  for (const [name, value] of encoded) normalized += (normalized === '' ? '' : '&') + name + '=' + value
  const uri = `${request.scheme}://${authority(request.scheme, request.host)}${request.rawPath}`
  return `${request.method.toUpperCase()}&${percentEncode(uri)}&${percentEncode(normalized)}`
}

/** RFC 3986 with upper-case hex; `!*'()` too are encoded (docs/spec-notes.md#signing 'Encoding'). */
export function percentEncode(text: string): string {
  if (/^[A-Za-z0-9\-._~]*$/.test(text)) return text
  return encodeURIComponent(text.toWellFormed()).replace(/[!*'()]/g, (char) => '%' + char.charCodeAt(0).toString(16).toUpperCase())
}

/** Pairs of a query or form: `+` and `%20` are both a space; a broken escape stays as it is. */
export function parseForm(text: string): Pair[] {
  if (text === '') return []
  const pairs: Pair[] = []
  for (const part of text.split('&')) {
    if (part === '') continue
    const equals = part.indexOf('=')
    pairs.push(equals === -1 ? [decodeForm(part), ''] : [decodeForm(part.slice(0, equals)), decodeForm(part.slice(equals + 1))])
  }
  return pairs
}

/** Pairs of `OAuth k="v", k="v"`, comma with or without space; undefined when it is no OAuth header. */
export function parseAuthorization(header: string): Pair[] | undefined {
  if (!/^oauth\s/i.test(header)) return undefined
  const pairs: Pair[] = []
  for (const match of header.slice(6).matchAll(/\s*([^=\s,]+)\s*=\s*"([^"]*)"\s*(?:,|$)/g))
    pairs.push([percentDecode(match[1] ?? ''), percentDecode(match[2] ?? '')])
  return pairs
}

function sign(request: SignedRequest, pairs: readonly Pair[], secrets: Secrets): string {
  const key = `${percentEncode(secrets.consumerSecret)}&${percentEncode(secrets.tokenSecret)}`
  return createHmac('sha1', key).update(signatureBase(request, pairs)).digest('base64')
}

function collapseOauth(pairs: readonly Pair[]): Pair[] {
  const seen = new Set<string>()
  return pairs.filter(([name, value]) => {
    if (!name.startsWith('oauth_')) return true
    const key = `${name}=${value}`
    if (seen.has(key)) return false
    seen.add(key)
    return true
  })
}

/** Host in lower case; the port only when it is not the scheme's own (RFC 5849 3.4.1.2). */
function authority(scheme: string, host: string): string {
  const lower = host.toLowerCase()
  const standard = scheme === 'https' ? ':443' : ':80'
  return lower.endsWith(standard) ? lower.slice(0, -standard.length) : lower
}

function decodeForm(text: string): string {
  return percentDecode(text.includes('+') ? text.replaceAll('+', ' ') : text)
}

function percentDecode(text: string): string {
  if (!text.includes('%')) return text
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

// By bytes of ASCII: everything is percent-encoded before it is compared.
function compareText(a: string, b: string): number {
  return a < b ? -1 : a > b ? 1 : 0
}

function sameText(a: string, b: string): boolean {
  const left = Buffer.from(a)
  const right = Buffer.from(b)
  return left.length === right.length && timingSafeEqual(left, right)
}
