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

/** One type of destination. `Definition`: the settings below `destination` of a pipeline file, with all defaults. */
export interface Destination<Definition extends DestinationDefinition = DestinationDefinition> extends RequestFormat {
  /** `destination.kind` of a pipeline file, and of the table `destination`. */
  readonly kind: Definition['kind']
  /** Schema of `destination` in a pipeline file; its output is the definition. */
  readonly settings: z.ZodType<Definition> & z.core.$ZodTypeDiscriminable
  /** Target fields that `map` may have. */
  readonly fields: readonly string[]
  /** Checks the rules between `map`, `preset` and `consent`. Called only if `map` has at least one field. */
  checkMap(given: GivenMap): readonly MapProblem[]
  /** Binds the header of a source: returns functions that map its rows. */
  bind(pipeline: Pipeline & { readonly destination: Definition }, today: Date): (columns: readonly string[]) => Bound
  /** Identity at its service. Two pipelines with one identity conflict. */
  identity(definition: Definition): DestinationIdentity
  /** Name for messages: `catalog 4001`. */
  name(definition: Definition): string
  readonly words: DestinationWords
  /** Product sets that the pipeline keeps in sync; undefined if the type has none. */
  productSets(definition: Definition): readonly ProductSetRule[] | undefined
  /**
   * Unit of the synced state. `products`: each record has one key, its id. `identifiers`: a record has several keys, which records
   * may share (reference count), and which are sent as groups in user objects.
   */
  readonly keys: 'products' | 'identifiers'
  /** True if reports show its records by id and fields. People are never shown (docs/guarantees.md#no-raw-identifier-at-rest). */
  readonly showsRecords: boolean
  /** Field of `map` that identifies a row. */
  readonly keyField: string
  /** Effect of a row that is missing from a complete read of the whole source. */
  missing(definition: Definition): Missing
  /** True if the delete guards apply. */
  readonly guardsDeletes: boolean
  /**
   * True if the record of a removed key is kept until its delete is confirmed: the delete names a key that only an accepted put
   * returns, so the record may have to be sent once more.
   */
  readonly deletesNeedRecord: boolean
  /**
   * Lookup of the stored records of opted-out or removed rows: by the key of the row, or by each of its identifiers if rows
   * have no stable key.
   */
  readonly removesBy: 'key' | 'identifier'
  /**
   * True if the service advertises to the members. Then consent columns, do-not-reach lists and erasures apply, and a member that
   * may have been applied must be deleted.
   */
  readonly reachesPeople: boolean
  /**
   * True for do-not-reach lists: their members are not sent to the audiences of the account for which `heedsSuppression` is true.
   */
  readonly suppresses: boolean
  heedsSuppression(definition: Definition): boolean
  /** Settings of its memberships; undefined if its content does not expire. */
  membership(definition: Definition): Membership | undefined
  /** Time for which settled entries are stored, as an SQL interval (docs/retention.md). */
  readonly keepsEntries: '12 months' | '30 days'
  /** Reads the destination back; undefined if no endpoint lists its content. */
  readonly listing?: Listing
  /** Texts and settings for `sluice init`; undefined if it does not offer the type. */
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

/**
 * Effect of a missing row. `out-of-stock`: the product stays and becomes unavailable. `keep`: it stays as it is. `ignore`: no row
 * counts as missing.
 */
export type Missing = 'delete' | 'out-of-stock' | 'keep' | 'ignore'

export interface DestinationIdentity {
  /** Empty for destinations that belong to a user. */
  readonly accountId: string
  /** Catalog, audience or list id. */
  readonly targetId: string
}

export interface DestinationWords {
  /** One record of its content. */
  readonly record: 'product' | 'person'
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
  /** True if uploads have `effective_at` (docs/spec-notes.md#audience-uploads). */
  readonly withEffectiveAt: boolean
  /** True if a membership that must end earlier is deleted. False if it may last longer without harm. */
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
  /** Response that proves nothing. The request may be repeated, because it only reads. */
  | { readonly kind: 'again'; readonly reason: string; readonly status?: number }
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string }

export interface ListedProduct {
  readonly id: string
  /** Null if the service names none. */
  readonly productKey: string | null
  /** Fields as returned. A missing field was not returned; that differs from null. */
  readonly fields: JsonObject
}

export interface Probe {
  /** Path of a GET request that answers 200 if the destination exists. */
  readonly path: string
  /** Account that the credentials need access to. */
  readonly accountId?: string
  /** Set if the answer lists several destinations: one of them must have this id. `setting`: key of the id in the pipeline file. */
  readonly listed?: { readonly id: string; readonly setting: string }
}

/** Requests of a destination: form of an operation, form of a body, endpoint, and classification of a response. */
interface RequestFormat {
  readonly limits: (op: Operation) => BatchLimits
  /** Method and path below the advertising host, version included. */
  readonly request: (target: Target, op: Operation) => DestinationRequest
  /** Sends a request to another place than the service. Never throws: an error is an outcome. */
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
  /**
   * Evidence in a response. `ids`: the response names each entry. `counts`: it only counts users, so all entries of a body share
   * one outcome.
   */
  readonly evidence: 'ids' | 'counts'
  /** True if a refused delete, after an earlier attempt that may have been applied, proves that the key no longer exists. */
  readonly refusedDeleteIsGone: boolean
  /** Classifies an exchange over exactly these entries, in the order of the body. Pure. */
  readonly classify: (exchange: Exchange, sent: readonly SentEntry[], op: Operation) => RequestOutcome
}

/** Operation of a whole batch. Delete and Update of one key are never in one request (docs/guarantees.md#key-order). */
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
  /** Readable response: products have an outcome each, users have one in common. */
  | { readonly kind: 'entries'; readonly entries: readonly EntryOutcome[] }
  /**
   * Not applied; the same bytes are sent again before anything newer. The headers of the response give the wait
   * (http/retryAfter.ts).
   */
  | { readonly kind: 'retry'; readonly reason: string; readonly status?: number }
  /** Not applied, for a reason that is not in the records. The destination is paused. */
  | { readonly kind: 'pause'; readonly code: string; readonly reason: string }
  /** The service refused the whole request. `failing`: indexes of entries that the response names. */
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string; readonly failing: readonly number[] }
  /**
   * May or may not be applied. `miscounted`: the response is complete, but its counts are wrong; the batch is split after three of
   * them (docs/guarantees.md#isolation-of-a-failing-record). `mayLandLater`: the bytes of the request may still reach the service.
   */
  | {
      readonly kind: 'ambiguous'
      readonly reason: string
      readonly miscounted: boolean
      readonly mayLandLater: boolean
      readonly failing: readonly number[]
    }
