/** A transport that can sign in any of the ways of the service. `transport.ts` makes one. */
import type { ServiceConfig } from './config.ts'
import type { Exchange, ExchangeRequest } from './exchange.ts'
import type { OAuthParameters } from './signing.ts'
import type { Opened } from './wireStream.ts'

/** Credentials of one request. */
export type Proof =
  | { readonly kind: 'oauth'; readonly token?: string; readonly tokenSecret?: string; readonly extra?: OAuthParameters }
  | { readonly kind: 'header'; readonly authorization: string }
  | { readonly kind: 'none' }

export interface SentRequest extends ExchangeRequest {
  readonly proof: Proof
  /** Urlencoded body, signed; excludes `body`. */
  readonly form?: Readonly<Record<string, string>>
}

/** A transport that can prove itself in any of the service's ways: what the client is built on. */
export interface Sender {
  readonly send: (request: SentRequest) => Promise<Exchange>
  /** Opens an answer that is read while it arrives. */
  readonly open: (request: SentRequest) => Promise<Opened>
  /** True once after the service's `Date` showed our clock to be wrong and signatures were moved: worth one resend. */
  readonly clockWasCorrected: () => boolean
  readonly close: () => Promise<void>
}

/** The access token of the configuration; without one, requests are signed by the consumer alone. */
export function userProof(config: ServiceConfig): Proof {
  return config.accessToken === undefined
    ? { kind: 'oauth' }
    : { kind: 'oauth', token: config.accessToken, tokenSecret: config.accessTokenSecret ?? '' }
}
