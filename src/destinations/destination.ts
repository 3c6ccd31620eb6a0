/**
 * Interface of a type of destination. Each type is one object: `catalog.ts`, `audience.ts` and `doNotReach.ts`. The engine has no branch on
 * the type: what differs is a member of this interface.
 */
import type { Exchange, ExchangeRequest } from '../service/client/exchange.ts'
import type { Endpoint, LimitClass } from '../service/contract/endpoint.ts'
import type { z } from 'zod'
import type { Bound } from '../mapping/boundColumns.ts'
import type { DestinationDefinition, Duration, Pipeline, ProductSetRule } from '../model/pipeline.ts'
import type { JsonObject } from './json.ts'

/** `Definition`: settings below `destination` of a pipeline file, with every default filled in. */
export interface Destination<Definition extends DestinationDefinition = DestinationDefinition> extends RequestFormat {
  /** `destination.kind` of a pipeline file, and of the table `destination`. */
  readonly kind: Definition['kind']
  /** Schema of `destination` in a pipeline file; its output is the definition. */
  readonly settings: z.ZodType<Definition> & z.core.$ZodTypeDiscriminable
  /** Target fields that `map` may have. */
  readonly fields: readonly string[]
  /** Checks rules between `map`, `preset` and `consent`. `map` has a field at least. */
  checkMap(given: GivenMap): readonly MapProblem[]
  /** Binds the header of a source: returns functions that map its rows. */
  bind(pipeline: Pipeline & { readonly destination: Definition }, today: Date): (columns: readonly string[]) => Bound
  /** Identity at its service. Two pipelines with one identity conflict. */
  identity(definition: Definition): DestinationIdentity
  /** Name for messages: `catalog 4001`. */
  name(definition: Definition): string
  readonly words: DestinationWords
  /** Sets of products that the pipeline keeps; undefined if the type has none. */
  productSets(definition: Definition): readonly ProductSetRule[] | undefined
  /**
   * Unit of the synced state. `products`: one key a record, its id. `identifiers`: a record has several, shared identifiers have a
   * reference count, and user objects are groups of them.
   */
  readonly keys: 'products' | 'identifiers'
  /** Field of `map` that identifies a row. */
  readonly keyField: string
  /** Effect of a row that is missing from a complete read of the whole source. */
  missing(definition: Definition): Missing
  /** False: the delete guards do not apply. */
  readonly guardsDeletes: boolean
  /** Rows that leave are found by their key, or by each of their identifiers, because rows have no lasting key. */
  readonly leavesBy: 'key' | 'identifier'
  /**
   * True: the members are reached, so that consent columns, do-not-reach lists and erasures decide over them, and a member that may have
   * been applied has to be deleted.
   */
  readonly reachesPeople: boolean
  /** True: its members are not sent to the audiences of the account that `heedsSuppression`. */
  readonly suppresses: boolean
  heedsSuppression(definition: Definition): boolean
  /** Terms of its memberships; undefined if its content does not end. */
  membership(definition: Definition): Membership | undefined
  /** Time for which settled entries are stored, as an SQL interval (docs/retention.md). */
  readonly keepsEntries: '12 months' | '30 days'
  /** Reads the destination back; undefined if no endpoint lists its content. */
  readonly listing?: Listing
  /** Terms of `sluice init`; undefined if it does not offer the type. */
  readonly init?: InitTerms
  /** Request that shows that the destination exists. */
  probe(definition: Definition, version: string): Probe
}

/** Fields of `map`, and the settings beside it that its rules depend on. */
export interface GivenMap {
  readonly fields: readonly string[]
  readonly hasPreset: boolean
  readonly hasConsent: boolean
}

export interface MapProblem {
  readonly setting: 'map' | 'consent'
  readonly message: string
  readonly hint?: string
}

/** `out-of-stock` and `keep`: the product stays, unavailable or as it is. `ignore`: nothing is missing. */
export type Missing = 'delete' | 'out-of-stock' | 'keep' | 'ignore'

export interface DestinationIdentity {
  /** Empty for destinations that belong to a user. */
  readonly accountId: string
  /** Catalog, audience or list id. */
  readonly targetId: string
}

export interface DestinationWords {
  /** Content of the destination, in the plural. */
  readonly records: 'products' | 'people'
  /** Value that `sluice explain` takes. */
  readonly exampleKey: string
}

export interface InitTerms {
  /** Noun for its id: `catalog`. */
  readonly noun: string
  readonly needsAccount: boolean
  /** `destination` of the file, without its kind. */
  settings(targetId: string, accountId: string): Readonly<Record<string, string>>
  /** Optional settings, as comments of the file. */
  readonly comments: readonly string[]
}

export interface Membership {
  readonly expiresIn: Duration
  readonly renewBefore: Duration
  readonly usersPerOperation: number
  /** False: uploads have no `effective_at` (docs/spec-notes.md#audience-uploads). */
  readonly withEffectiveAt: boolean
  /** True: a membership that ended too early is deleted. False: one that lasts too long does no harm. */
  readonly endsExactly: boolean
}

/** Listing of a destination's content, page by page. */
export interface Listing {
  readonly limitClass: LimitClass
  request(target: Target, cursor: string | undefined): Pick<ExchangeRequest, 'method' | 'host' | 'path' | 'query'>
  classify(exchange: Exchange): ListingAnswer
}

export type ListingAnswer =
  | { readonly kind: 'page'; readonly products: readonly ListedProduct[]; readonly cursor: string | undefined }
  /** Response without evidence; a read may be repeated without harm. */
  | { readonly kind: 'again'; readonly reason: string; readonly status?: number }
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string }

export interface ListedProduct {
  readonly id: string
  /** Null if the service names none. */
  readonly productKey: string | null
  /** Fields as returned. A field that is not in it was not returned, which is not the same as null. */
  readonly fields: JsonObject
}

export interface Probe {
  /** Path of a GET request that answers 200 if the destination exists. */
  readonly path: string
  /** Account that the credentials need access to. */
  readonly accountId?: string
  /** The answer lists several destinations: one has this id. `setting`: key of the pipeline file that holds it. */
  readonly listed?: { readonly id: string; readonly setting: string }
}

/** Requests of a destination: how an operation is written, how operations form a body, which endpoint takes it, what a response proves. */
interface RequestFormat {
  readonly limits: (op: Operation) => BatchLimits
  /** Method and path below the advertising host, version included. */
  readonly request: (target: Target, op: Operation) => DestinationRequest
  /** Sends a request elsewhere than to the service. Like a transport it never throws: an error is an outcome. */
  exchange?(request: ExchangeRequest): Promise<Exchange>
  /** Bytes before, between and after the entries of a body: `{"products":[`, `,`, `]}`. Entries never change (docs/guarantees.md#idempotent-resend). */
  readonly frame: (op: Operation) => { readonly open: string; readonly close: string }
  /** Returns a text that two entries of one body must not share; undefined if any two may be in one body. */
  collisionOf?(recordKey: Buffer): string
  /**
   * Returns the name of this entry in the response: product id or product_key; null for users. `bytes` is its slice of the
   * body.
   */
  readonly idOf: (keys: readonly Uint8Array[], bytes: Uint8Array, op: Operation) => string | null
  /** Evidence in a response. `ids`: names each entry. `counts`: counts users, so that all entries of a body share one outcome. */
  readonly evidence: 'ids' | 'counts'
  /** True: a refused delete whose earlier attempt may have been applied proves that the key is gone. */
  readonly refusedDeleteIsGone: boolean
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
