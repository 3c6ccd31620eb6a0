import type { Exchange } from '../service/client/exchange.ts'
import type { Endpoint, LimitClass } from '../service/contract/endpoint.ts'

/**
 * Parts of a destination: how an operation is written, how operations form a body, which endpoint takes it, and what a
 * response proves. catalog.ts, audience.ts and doNotReach.ts are three values of this shape; sync/ uses nothing else of the
 * service.
 */
export interface Destination {
  readonly kind: 'catalog' | 'audience' | 'do-not-reach'
  readonly limits: (op: Operation) => BatchLimits
  /** Method and path below the advertising host, version included. */
  readonly request: (target: Target, op: Operation) => DestinationRequest
  /** Bytes before, between and after the entries of a body: `{"products":[`, `,`, `]}`. Entries never change (docs/guarantees.md#idempotent-resend). */
  readonly frame: (op: Operation) => { readonly open: string; readonly close: string }
  /**
   * Returns the name of this entry in the response: product id or product_key; null for users. `bytes` is its slice of the
   * body.
   */
  readonly idOf: (keys: readonly Uint8Array[], bytes: Uint8Array, op: Operation) => string | null
  /** Classifies an exchange over exactly these entries, in the order of the body. Pure. */
  readonly classify: (exchange: Exchange, sent: readonly SentEntry[], op: Operation) => RequestOutcome
}

/** Operation of a batch, which has one type: Delete and Update of one key never share a request (docs/guarantees.md#key-order). */
export type Operation = 'upsert' | 'delete'

export interface DestinationRequest {
  readonly method: Endpoint['method']
  readonly path: string
  readonly limitClass: LimitClass
}

export interface Target {
  /** Account id; null for catalogs. */
  readonly accountId: string | null
  /** Catalog, audience or list id. */
  readonly targetId: string
  readonly version: string
}

export interface BatchLimits {
  /** Products, keys or operations of a request. */
  readonly entries: number
  /** UTF-8 bytes of the whole body. */
  readonly bytes: number
}

/** Frozen entry, as classification needs it. `id`: product id or product_key as text; null for users. */
export interface SentEntry {
  readonly id: string | null
  /** Number of user objects: 1, except in batched operations. */
  readonly users: number
}

export type EntryOutcome =
  | { readonly outcome: 'confirmed'; readonly remoteKey?: string; readonly warnings?: readonly string[] }
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string }
  | { readonly outcome: 'ambiguous'; readonly reason: string }

/**
 * Outcome of one request (docs/guarantees.md#confirmed-only). A response that matches no other outcome is ambiguous, never
 * confirmed.
 */
export type RequestOutcome =
  /** Readable response about the entries, each on its own (products), or all alike (users). */
  | { readonly kind: 'entries'; readonly entries: readonly EntryOutcome[] }
  /**
   * Not applied; the same bytes are sent again before anything newer. The headers of the response give the wait
   * (http/waitPolicy.ts).
   */
  | { readonly kind: 'retry'; readonly reason: string; readonly status?: number }
  /** Not applied, and not because of the records: the destination pauses. */
  | { readonly kind: 'pause'; readonly code: string; readonly reason: string }
  /** The service refused the whole request. `failing`: indexes of entries that the response names. */
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string; readonly failing: readonly number[] }
  /**
   * May or may not be applied. `miscounted`: a complete response with wrong counts (split after three,
   * docs/guarantees.md#isolation-of-a-failing-record). `mayLandLater`: no head of a response arrived, so the bytes may still
   * arrive.
   */
  | {
      readonly kind: 'ambiguous'
      readonly reason: string
      readonly miscounted: boolean
      readonly mayLandLater: boolean
      readonly failing: readonly number[]
    }
