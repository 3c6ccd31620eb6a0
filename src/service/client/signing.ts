/** OAuth 1.0a signatures, HMAC-SHA1, over the `oauth-1.0a` package (spec 5 rule 1; docs/spec-notes.md#signing). */
import { createHmac, randomBytes } from 'node:crypto'
import OAuth from 'oauth-1.0a'
import { decodePairs, percentEncode } from './encode.ts'

export interface OAuthKeys {
  readonly consumerKey: string
  readonly consumerSecret: string
  /** Absent: signed by the consumer alone (`oauth/request_token`). */
  readonly token?: string
  readonly tokenSecret?: string
}

export interface SignedRequest {
  readonly method: string
  /** Sent address: scheme, host with a non-default port, path, query. */
  readonly url: string
  /** Form body as it is sent. JSON and multipart bodies are never signed. */
  readonly form?: string
}

/** Protocol parameters; `oauth_version` may be left out, more (`oauth_callback`, `oauth_verifier`) may be put in. */
export type OAuthParameters = Readonly<Record<string, string>>

/** Signs with fixed protocol parameters. Pure: what the vectors of RFC 5849 call. */
export function signatureOf(request: SignedRequest, keys: OAuthKeys, parameters: OAuthParameters): string {
  const { origin, pathname, search } = splitUrl(request.url)
  const data = nameless<string | string[]>()
  // The library would lose a name that stands in query and form alike, so the pairs are gathered here (RFC 5849 3.4.1.3.1).
  for (const [name, value] of [...decodePairs(search), ...decodePairs(request.form ?? '')]) {
    const before = data[name]
    if (before === undefined) data[name] = value.toWellFormed()
    else data[name] = [...(Array.isArray(before) ? before : [before]), value.toWellFormed()]
  }
  // Where it sees a body hash among the protocol parameters it leaves the others out, so the hash goes in with them.
  const { oauth_body_hash: bodyHash, ...rest } = parameters
  if (bodyHash !== undefined) data['oauth_body_hash'] = bodyHash
  // Its type asks for all protocol parameters; it only ever enumerates what is there.
  return signer(keys).getSignature(
    { method: request.method, url: origin + pathname, data },
    keys.tokenSecret,
    rest as unknown as OAuth.Data,
  )
}

/** Value of the `Authorization` header, sorted by name. `realm` is neither needed nor signed. */
export function authorizationHeader(parameters: OAuthParameters): string {
  const parts = Object.keys(parameters).sort()
  return `OAuth ${parts.map((name) => `${percentEncode(name)}="${percentEncode(parameters[name] as string)}"`).join(', ')}`
}

/**
 * Signs one sending: a new nonce and `timestampMs` each time, so a resend is never a replay.
 * `extra`: `oauth_callback`, `oauth_verifier`.
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

function signer({ consumerKey, consumerSecret }: OAuthKeys): OAuth {
  return new OAuth({
    consumer: { key: consumerKey, secret: consumerSecret },
    signature_method: 'HMAC-SHA1',
    hash_function: (base, key) => createHmac('sha1', key).update(base).digest('base64'),
  })
}

/** Scheme and host in lower case, default port dropped; the path stays as it is sent (RFC 5849 3.4.1.2). */
function splitUrl(url: string): { readonly origin: string; readonly pathname: string; readonly search: string } {
  const [, start = '', pathname = '', search = ''] = /^([^/]*\/\/[^/?#]*)([^?#]*)(?:\?([^#]*))?/.exec(url) ?? []
  return { origin: new URL(start).origin, pathname: pathname === '' ? '/' : pathname, search }
}

function nameless<T>(): Record<string, T> {
  return Object.create(null) as Record<string, T>
}
