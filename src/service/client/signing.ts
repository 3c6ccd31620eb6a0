/** Signs requests by OAuth 1.0a with HMAC-SHA1, with the package `oauth-1.0a` (spec 5 rule 1; docs/spec-notes.md#signing). */
import { createHmac, randomBytes } from 'node:crypto'
import OAuth from 'oauth-1.0a'
import { decodePairs, percentEncode } from './encode.ts'

/** Keys and secrets that sign a request. */
export interface OAuthKeys {
  readonly consumerKey: string
  readonly consumerSecret: string
  /** Access token or request token. Without it, the consumer alone signs (`oauth/request_token`). */
  readonly token?: string
  readonly tokenSecret?: string
}

export interface SignedRequest {
  readonly method: string
  /** Address as it is sent: scheme, host with a non-default port, path, query. */
  readonly url: string
  /** Form body as it is sent. JSON and multipart bodies are never signed. */
  readonly form?: string
}

/** OAuth parameters by name. `oauth_version` is optional; `oauth_callback` and `oauth_verifier` are possible. */
export type OAuthParameters = Readonly<Record<string, string>>

/** Returns the signature in Base64 for given OAuth parameters. Pure, so that tests can use the examples of RFC 5849. */
export function signatureOf(request: SignedRequest, keys: OAuthKeys, parameters: OAuthParameters): string {
  const { origin, pathname, search } = splitUrl(request.url)
  const valuesByName = withoutPrototype<string | string[]>()
  // The library loses a name that is in both query and form, so the pairs are collected here (RFC 5849 3.4.1.3.1).
  for (const [name, value] of [...decodePairs(search), ...decodePairs(request.form ?? '')]) {
    const earlier = valuesByName[name]
    if (earlier === undefined) valuesByName[name] = value.toWellFormed()
    else valuesByName[name] = [...(Array.isArray(earlier) ? earlier : [earlier]), value.toWellFormed()]
  }
  // The library omits the data if a body hash is among the OAuth parameters, so the hash is passed with the data.
  const { oauth_body_hash: bodyHash, ...rest } = parameters
  if (bodyHash !== undefined) valuesByName['oauth_body_hash'] = bodyHash
  return createSigner(keys).getSignature(
    { method: request.method, url: origin + pathname, data: valuesByName },
    keys.tokenSecret,
    rest as unknown as OAuth.Data, // requires all OAuth parameters, but the library only enumerates the given ones
  )
}

/** Returns the value of the `Authorization` header for OAuth parameters, sorted by name. */
export function authorizationHeader(parameters: OAuthParameters): string {
  const parts = Object.entries(parameters).sort(([a], [b]) => (a < b ? -1 : 1))
  return `OAuth ${parts.map(([name, value]) => `${percentEncode(name)}="${percentEncode(value)}"`).join(', ')}`
}

/**
 * Signs one attempt. Returns the value of its `Authorization` header. Each attempt has a new nonce, so the service does not refuse a resend
 * as a replay. `timestampMs`: the service's time in epoch milliseconds. `extra`: `oauth_callback`, `oauth_verifier`.
 */
export function sign(request: SignedRequest, keys: OAuthKeys, timestampMs: number, extra: OAuthParameters = {}): string {
  const parameters: Record<string, string> = {
    oauth_consumer_key: keys.consumerKey,
    oauth_nonce: randomBytes(16).toString('hex'),
    oauth_signature_method: 'HMAC-SHA1',
    oauth_timestamp: String(Math.floor(timestampMs / 1000)),
    oauth_version: '1.0',
    ...extra,
  }
  if (keys.token !== undefined) parameters['oauth_token'] = keys.token
  parameters['oauth_signature'] = signatureOf(request, keys, parameters)
  return authorizationHeader(parameters)
}

function createSigner({ consumerKey, consumerSecret }: OAuthKeys): OAuth {
  return new OAuth({
    consumer: { key: consumerKey, secret: consumerSecret },
    signature_method: 'HMAC-SHA1',
    hash_function: (base, key) => createHmac('sha1', key).update(base).digest('base64'),
  })
}

/** Splits an address. `origin`: scheme and host in lower case, without the default port. The path stays as it is (RFC 5849 3.4.1.2). */
function splitUrl(url: string): { readonly origin: string; readonly pathname: string; readonly search: string } {
  const [, start = '', pathname = '', search = ''] = /^([^/]*\/\/[^/?#]*)([^?#]*)(?:\?([^#]*))?/.exec(url) ?? []
  return { origin: new URL(start).origin, pathname: pathname === '' ? '/' : pathname, search }
}

/** Returns an object without a prototype, for names such as `__proto__`. */
function withoutPrototype<T>(): Record<string, T> {
  // Object.create returns any.
  return Object.create(null) as Record<string, T>
}
