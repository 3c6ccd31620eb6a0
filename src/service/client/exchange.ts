/** Types of one request and its result. */

/** Complete answer. Header names are in lower case. */
export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly durationMs: number
}

/** No byte of the request was sent (DNS, refused connection, TLS), so the service cannot have applied it. */
export interface NotSent {
  readonly kind: 'not-sent'
  readonly error: Error
  readonly durationMs: number
}

/**
 * Bytes of the request may have been sent, and no complete answer arrived (reset, timeout, truncated body). `status` is set if the headers
 * arrived. Then the service has handled the request and cannot apply it later, except with 408 and 5xx.
 */
export interface Lost {
  readonly kind: 'lost'
  readonly error: Error
  readonly status?: number
  readonly durationMs: number
}

export type Exchange = Answer | NotSent | Lost

/** Request to send. A resend has the same body and a new signature (docs/guarantees.md#idempotent-resend). */
export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly host: 'core' | 'ads' | 'ads-sandbox'
  /** Path without the query. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** JSON body, which is never signed. */
  readonly body?: Uint8Array
  /** Maximum time to the last byte of the answer, by the monotonic clock. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Extra headers (`x-test-worker` in tests). */
  readonly headers?: Readonly<Record<string, string>>
}

/** Signs and sends requests, once each: no retry, no redirect. Returns failures as an `Exchange`. */
export interface Transport {
  readonly exchange: (request: ExchangeRequest) => Promise<Exchange>
  /**
   * Sends test requests. Returns the names of the variables whose values may be wrong, all of them without an answer; undefined if the
   * service answers with another status than 401. The function is missing if the credentials cannot be tested.
   */
  readonly refusedCredentials?: () => Promise<string | undefined>
  /** Loads the code that sends requests, so that the first one need not wait for it. Missing if it is loaded already. */
  readonly load?: () => Promise<void>
  readonly close: () => Promise<void>
}
