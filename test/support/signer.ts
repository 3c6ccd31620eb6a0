/**
 * Signs requests with OAuth 1.0a for tests, independent of client and sandbox: written from RFC 5849. Query and form parameters are
 * given decoded.
 */
import { createHmac, randomBytes } from 'node:crypto'
import { targetCredentials } from './target.ts'

export interface SignerCredentials {
  readonly consumerKey: string
  readonly consumerSecret: string
  readonly accessToken?: string
  readonly accessTokenSecret?: string
}

export const sandboxCredentials = targetCredentials satisfies SignerCredentials

export interface SignOptions {
  readonly method: string
  /** Full URL; its query is signed. */
  readonly url: string
  /** Pairs of a form body. */
  readonly form?: Readonly<Record<string, string>>
  /** More `oauth_*` parameters (`oauth_callback`, `oauth_verifier`). */
  readonly oauth?: Readonly<Record<string, string>>
  readonly credentials?: SignerCredentials
  /** Protocol parameters to leave out. */
  readonly omit?: readonly string[]
  readonly nonce?: string
  readonly timestamp?: number
}

/** Returns the Authorization header. */
export function authorization(options: SignOptions): string {
  const credentials = options.credentials ?? sandboxCredentials
  const url = new URL(options.url)
  const oauth: Record<string, string> = {
    oauth_consumer_key: credentials.consumerKey,
    oauth_nonce: options.nonce ?? randomBytes(12).toString('hex'),
    oauth_signature_method: 'HMAC-SHA1',
    oauth_timestamp: String(options.timestamp ?? Math.floor(Date.now() / 1000)),
    oauth_version: '1.0',
    ...(credentials.accessToken === undefined ? {} : { oauth_token: credentials.accessToken }),
    ...options.oauth,
  }
  for (const name of options.omit ?? []) delete oauth[name]
  const pairs = [...url.searchParams, ...Object.entries(options.form ?? {}), ...Object.entries(oauth)]
    .map(([name, value]) => [encode(name), encode(value)] as const)
    .sort(([a, x], [b, y]) => (a === b ? (x < y ? -1 : 1) : a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&')
  const base = [options.method.toUpperCase(), `${url.origin}${url.pathname}`, pairs].map(encode).join('&')
  const key = `${encode(credentials.consumerSecret)}&${encode(credentials.accessTokenSecret ?? '')}`
  const signature = createHmac('sha1', key).update(base).digest('base64')
  return `OAuth ${Object.entries({ ...oauth, oauth_signature: signature })
    .map(([name, value]) => `${encode(name)}="${encode(value)}"`)
    .join(', ')}`
}

export function encode(text: string): string {
  return encodeURIComponent(text).replace(/[!*'()]/g, (char) => `%${char.charCodeAt(0).toString(16).toUpperCase()}`)
}
