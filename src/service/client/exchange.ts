/** One request and its outcome. The client reports it, the caller classifies it. */

/** The complete answer. `body` holds every byte; header names are lower case. */
export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly durationMs: number
}

/** No byte of the request left this machine (DNS, refused, TLS): the service cannot have applied it. */
export interface NotSent {
  readonly kind: 'not-sent'
  readonly error: Error
  readonly durationMs: number
}

/**
 * Request bytes left and no complete answer came (reset, timeout, truncated body, EPIPE). `status` is set when a head
 * arrived: then the service had decided before the connection broke, and nothing of this request can land later.
 */
export interface Lost {
  readonly kind: 'lost'
  readonly error: Error
  readonly status?: number
  readonly durationMs: number
}

export type Exchange = Answer | NotSent | Lost

/** One request to send. The body is frozen; the signature is made again for each sending (docs/guarantees.md). */
export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly host: 'core' | 'ads' | 'ads-sandbox'
  /** Below the host, without a query. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** JSON bytes; sent with `Content-Type: application/json`, never signed. */
  readonly body?: Uint8Array
  /** Deadline from first byte to last, by the monotonic clock. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Extra headers (`x-test-worker` in tests). */
  readonly headers?: Readonly<Record<string, string>>
}

/** Signs and sends, once: no retry, no redirect, no classification. Never throws but for a programming error. */
export interface Transport {
  readonly exchange: (request: ExchangeRequest) => Promise<Exchange>
  /** Names the variables whose values the service refuses; undefined if it accepts them. Absent if they cannot be tested. */
  readonly refusedCredentials?: () => Promise<string | undefined>
  readonly close: () => Promise<void>
}
