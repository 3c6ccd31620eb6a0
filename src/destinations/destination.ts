import type { Exchange } from '../service/client/exchange.ts'
import type { Endpoint, LimitClass } from '../service/contract/endpoint.ts'

/**
 * What is particular to a kind of destination: how an operation is written, how operations make a body, where it goes,
 * and what an answer proves. catalog.ts, audience.ts and doNotReach.ts are three values of this one shape; the engine
 * (sync/) knows nothing else of the service.
 */
export interface Destination {
  readonly kind: 'catalog' | 'audience' | 'do-not-reach'
  readonly limits: (op: Operation) => BatchLimits
  /** Method and path below the advertising host, version included. */
  readonly request: (target: Target, op: Operation) => DestinationRequest
  /** Bytes before, between and after the entries of a body: `{"products":[`, `,`, `]}`. Entries never change (I5). */
  readonly frame: (op: Operation) => { readonly open: string; readonly close: string }
  /** What the answer will call this entry: product id or product_key; null for users. `bytes` is its slice of the body. */
  readonly idOf: (keys: readonly Uint8Array[], bytes: Uint8Array, op: Operation) => string | null
  /** Judges an exchange over exactly these entries, in the order of the body. Pure. */
  readonly judge: (exchange: Exchange, sent: readonly SentEntry[], op: Operation) => Judgement
}

/** A batch holds one kind of operation: Delete and Update of one key never share a request (I3). */
export type Operation = 'upsert' | 'delete'

export interface DestinationRequest {
  readonly method: Endpoint['method']
  readonly path: string
  readonly limitClass: LimitClass
}

export interface Target {
  /** Catalogs have none. */
  readonly accountId: string | null
  /** Catalog, audience or list id. */
  readonly targetId: string
  readonly version: string
}

export interface BatchLimits {
  /** Products, keys or operations a request. */
  readonly entries: number
  /** UTF-8 bytes of the whole body. */
  readonly bytes: number
}

/** A frozen entry as the judge needs it. `id`: product id or product_key as text; null for users. */
export interface SentEntry {
  readonly id: string | null
  /** User objects in it: 1, but for packed operations. */
  readonly users: number
}

export type EntryOutcome =
  | { readonly outcome: 'confirmed'; readonly remoteKey?: string; readonly warnings?: readonly string[] }
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string }
  | { readonly outcome: 'ambiguous'; readonly reason: string }

/** guarantees 1, 'Attempt outcome', as a closed set. What no row there names is ambiguous, never confirmed. */
export type Judgement =
  /** A readable answer about the entries, each on its own (products), or all alike (users). */
  | { readonly kind: 'entries'; readonly entries: readonly EntryOutcome[] }
  /** Not applied; the same bytes go again before anything newer. How long to wait stands in the answer's headers (sync/push/waitAdvice.ts). */
  | { readonly kind: 'retry'; readonly reason: string; readonly status?: number }
  /** Not applied, and not the records' fault: the destination pauses. */
  | { readonly kind: 'pause'; readonly code: string; readonly reason: string }
  /** The whole request was finally refused. `guilty`: indexes of entries that the answer points at. */
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string; readonly guilty: readonly number[] }
  /**
   * May or may not be applied. `miscounted`: a complete answer with wrong counts (three alike: halve, I14).
   * `mayLandLater`: no head of an answer was seen, so bytes may still arrive (horizon).
   */
  | {
      readonly kind: 'ambiguous'
      readonly reason: string
      readonly miscounted: boolean
      readonly mayLandLater: boolean
      readonly guilty: readonly number[]
    }
