/** Types of one request and its outcome, and the head of an answer. */

/** Complete answer of any status. Header names are in lower case. */
export interface Answer {
  readonly kind: 'answer'
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
  readonly durationMs: number
}

/**
 * Request of which no byte was sent, so the service cannot have applied it. Causes:
 * - DNS or TLS failed, or the connection was refused.
 * - `timeoutMs` or `signal` ended the request before a connection was free, or `maySend` returned false.
 */
export interface NotSent {
  readonly kind: 'not-sent'
  readonly error: Error
  readonly durationMs: number
}

/**
 * Request of which bytes may have been sent, without a complete answer (reset, timeout, body truncated or too large). `status` and
 * `headers` are set if the headers arrived. With any status except 408 and 5xx, the service has handled the request and cannot apply it
 * later.
 */
export interface Lost {
  readonly kind: 'lost'
  readonly error: Error
  readonly status?: number
  /** Names are in lower case. */
  readonly headers?: Readonly<Record<string, string>>
  readonly durationMs: number
}

/** Outcome of one request. */
export type Exchange = Answer | NotSent | Lost

/** Returns status and headers of an answer, even if its body was lost. Undefined if no headers arrived. */
export function headOf(exchange: Exchange): Pick<Answer, 'status' | 'headers'> | undefined {
  if (exchange.kind === 'not-sent' || exchange.status === undefined) return undefined
  return { status: exchange.status, headers: exchange.headers ?? {} }
}

/** Request to send. A resend has the same body and a new signature (docs/guarantees.md#idempotent-resend). */
export interface ExchangeRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly host: 'core' | 'ads' | 'ads-sandbox'
  /** Path without the query. */
  readonly path: string
  readonly query?: Readonly<Record<string, string>>
  /** JSON as UTF-8. JSON is never signed. */
  readonly body?: Uint8Array
  /** Maximum time to the last byte of the answer, by the monotonic clock. */
  readonly timeoutMs: number
  readonly signal?: AbortSignal
  /** Called when a connection is free, before the first byte. If it returns false, nothing is sent (`WireError`, code `HELD_BACK`). */
  readonly maySend?: () => boolean
  /** Extra headers (`x-test-worker` in tests). */
  readonly headers?: Readonly<Record<string, string>>
}

/**
 * Signs and sends requests, once each: no retry, no redirect. Returns failures as an `Exchange`, except a `CallError` for a host without an
 * address.
 */
export interface Transport {
  /** Sends a request. Returns a failure as an `Exchange`. */
  readonly exchange: (request: ExchangeRequest) => Promise<Exchange>
  /**
   * Sends test requests. Returns the names of the variables whose values may be wrong. If the answers do not show which are wrong, returns
   * all four. Undefined if the service answers a signed read with another status than 401. The function is absent if the credentials
   * cannot be tested.
   */
  readonly refusedCredentials?: () => Promise<string | undefined>
  /** Loads the code that sends requests, so that the first request does not wait for it. Absent if there is nothing to load. */
  readonly load?: () => Promise<void>
  /** Waits for the requests in flight, then closes the connections. */
  readonly close: () => Promise<void>
}
