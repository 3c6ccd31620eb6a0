/** Types of the layer that signs and sends requests. `transport.ts` implements it. */
import type { ServiceConfig } from './config.ts'
import type { Exchange, ExchangeRequest } from './exchange.ts'
import type { OAuthParameters } from './signing.ts'
import type { OpenResult } from './wireStream.ts'

/** Credentials of one request: an OAuth signature (without `token`, only of the consumer), a complete header, or none. */
export type Credentials =
  | { readonly kind: 'oauth'; readonly token?: string; readonly tokenSecret?: string; readonly extra?: OAuthParameters }
  | { readonly kind: 'header'; readonly authorization: string }
  | { readonly kind: 'none' }

export interface AuthenticatedRequest extends ExchangeRequest {
  readonly credentials: Credentials
  /** Form body, which is signed. A request with `form` has no `body`. */
  readonly form?: Readonly<Record<string, string>>
}

/** Layer that sends requests with any type of credentials, each once. */
export interface Sender {
  /** Sends a request. Returns a failure as an `Exchange`. */
  readonly send: (request: AuthenticatedRequest) => Promise<Exchange>
  /** Opens a stream: an answer that is read while it arrives. Returns an `Exchange` if no stream was opened. */
  readonly open: (request: AuthenticatedRequest) => Promise<OpenResult>
  /**
   * Returns the number of corrections of the clock of signatures. A refused request that was signed before the last correction may be sent
   * again.
   */
  readonly clockCorrections: () => number
  /** Signal that `close` aborts. A failed request must then not be sent again. */
  readonly closing: AbortSignal
  /** Loads the code that sends requests. */
  readonly load: () => Promise<void>
  /** Waits for the requests in flight, then closes their connections. Does not close open streams. */
  readonly close: () => Promise<void>
}

/** Returns the credentials of the configured user. Without an access token, returns the credentials of the consumer alone. */
export function userCredentials(config: ServiceConfig): Credentials {
  return config.accessToken === undefined
    ? { kind: 'oauth' }
    : { kind: 'oauth', token: config.accessToken, tokenSecret: config.accessTokenSecret ?? '' }
}
