/**
 * Interface of a type of destination. The engine has no branch on `kind`: each difference between `catalog.ts`, `audience.ts` and
 * `doNotReach.ts` is a member of this interface.
 */
import type { Exchange, ExchangeRequest } from '../service/client/exchange.ts'
import type { Endpoint } from '../service/contract/endpoint.ts'
import type { LimitClass } from '../service/contract/rateLimits.ts'
import type { z } from 'zod'
import type { BoundHeader } from '../mapping/boundColumns.ts'
import type { DestinationDefinition, Duration, Pipeline, ProductSetRule } from '../model/pipeline.ts'
import type { JsonObject } from './json.ts'

/** One type of destination. `Definition`: the settings below `destination` of a pipeline file, with all defaults. */
export interface Destination<Definition extends DestinationDefinition = DestinationDefinition> extends RequestFormat {
  /** `destination.kind` of a pipeline file, and of the table `destination`. */
  readonly kind: Definition['kind']
  /** Schema of `destination` in a pipeline file. Parsing returns a `Definition`. */
  readonly settings: z.ZodType<Definition> & z.core.$ZodTypeDiscriminable
  /** Target fields that `map` may have. */
  readonly fields: readonly string[]
  /** Returns a problem for each broken rule between `map`, `preset` and `consent`; empty if there is none. */
  checkMap(given: GivenMap): readonly MapProblem[]
  /** Returns a function that binds the header of a source, so that its rows can be mapped. `today`: current day. */
  bind(pipeline: Pipeline & { readonly destination: Definition }, today: Date): (columns: readonly string[]) => BoundHeader
  /** Returns the ids of the destination at its service. Two pipelines with the same ids conflict. */
  identity(definition: Definition): DestinationIdentity
  /** Returns the name for messages: `catalog 4001`. */
  name(definition: Definition): string
  readonly words: DestinationWords
  /** Returns the product sets that the pipeline keeps in sync; undefined if the type has no product sets. */
  productSets(definition: Definition): readonly ProductSetRule[] | undefined
  /**
   * Keys under which the content that the service confirmed is stored:
   * - `products`: each record has one key, its id.
   * - `identifiers`: a record has several keys, which are sent in one user object. Several records may share a key (reference count).
   */
  readonly keys: 'products' | 'identifiers'
  /** True if reports show its records by id and fields. People are never shown (docs/guarantees.md#no-raw-identifier-at-rest). */
  readonly showsRecords: boolean
  /** Field of `map` that identifies a row. */
  readonly keyField: string
  /** Returns the effect of a row that is missing from a complete read of the whole source. */
  missing(definition: Definition): Missing
  /** True if the delete guards apply. */
  readonly guardsDeletes: boolean
  /**
   * True if a record is kept until its delete is confirmed. A delete needs the product key, and only an accepted put returns it. So a
   * record with an unknown product key is sent once more before its delete.
   */
  readonly deletesNeedRecord: boolean
  /**
   * Search for the stored records of rows that opt out, or that `map.remove` removes. `key`: by the key of the row. `identifier`: by each
   * identifier of the row, because the rows have no stable key.
   */
  readonly removesBy: 'key' | 'identifier'
  /**
   * True if the service advertises to the members. Then opt-outs, do-not-reach lists and erasures apply. If an update was refused, but an
   * earlier attempt of it may have been applied, the service may have the member. So its delete is still sent.
   */
  readonly reachesPeople: boolean
  /** True for do-not-reach lists. Their members are not sent to destinations of the account for which `appliesSuppression` returns true. */
  readonly suppresses: boolean
  /** Returns true if members of the account's do-not-reach lists must not be sent to this destination. */
  appliesSuppression(definition: Definition): boolean
  /** Returns the settings of the memberships; undefined if the content of the destination does not expire. */
  membership(definition: Definition): MembershipSettings | undefined
  /** Time for which entries are stored after their whole plan is settled, as an SQL interval (docs/retention.md). */
  readonly keepsEntries: '12 months' | '30 days'
  /** Requests that read the content of the destination back; absent if no endpoint lists it. */
  readonly listing?: Listing
  /** Texts and settings for `sluice init`; absent if `init` does not offer the type. */
  readonly init?: InitTerms
  /** Returns the request that shows that the destination exists. */
  probe(definition: Definition, version: string): Probe
}

/** Settings of a pipeline file that `checkMap` checks. `fields`: fields of `map`. */
export interface GivenMap {
  readonly fields: readonly string[]
  readonly hasPreset: boolean
  readonly hasConsent: boolean
}

/** Broken rule of `map` or `consent`. `message`: text after the name of the setting. */
export interface MapProblem {
  readonly setting: 'map' | 'consent'
  readonly message: string
  readonly hint?: string
}

/**
 * Effect of a missing row. `out-of-stock`: the product stays and becomes unavailable. `keep`: the product stays as it is. `ignore`: no
 * row counts as missing.
 */
export type Missing = 'delete' | 'out-of-stock' | 'keep' | 'ignore'

/** Ids of a destination at its service. */
export interface DestinationIdentity {
  /** Empty for destinations that belong to a user. */
  readonly accountId: string
  /** Catalog, audience or list id. */
  readonly targetId: string
}

export interface DestinationWords {
  readonly record: 'product' | 'person'
  readonly records: 'products' | 'people'
  /** Example of an argument of `sluice explain`. */
  readonly exampleKey: string
}

export interface InitTerms {
  /** Noun before the id of the destination: `catalog`. */
  readonly noun: string
  /** True if `init` needs the id of the account too. */
  readonly needsAccount: boolean
  /** Returns `destination` of the pipeline file, without its kind. */
  settings(targetId: string, accountId: string): Readonly<Record<string, string>>
  /** Optional settings, as comments of the file. */
  readonly comments: readonly string[]
}

export interface MembershipSettings {
  /** Duration of a membership without an end in its row. */
  readonly expiresIn: Duration
  /** Time before its end at which a membership is renewed. */
  readonly renewBefore: Duration
  /** Maximum number of users in one operation. */
  readonly usersPerOperation: number
  /** True if uploads have `effective_at` (docs/spec-notes.md#audience-uploads). */
  readonly takesEffectiveAt: boolean
  /**
   * True if a membership is deleted once the end in its rows has passed. At the service it may have a later end. False if it is left to
   * expire there.
   */
  readonly endsExactly: boolean
}

/** Listing of a destination's content, page by page. */
export interface Listing {
  readonly limitClass: LimitClass
  /** Returns the request of one page. `cursor`: undefined for the first page. */
  request(target: Target, cursor: string | undefined): Pick<ExchangeRequest, 'method' | 'host' | 'path' | 'query'>
  classify(exchange: Exchange): ListingAnswer
}

/** Classified response to the request of a page. */
export type ListingAnswer =
  /** `cursor`: cursor of the next page; undefined for the last page. */
  | { readonly kind: 'page'; readonly products: readonly ListedProduct[]; readonly cursor: string | undefined }
  /** No usable response. The request may be sent again, because it only reads. */
  | { readonly kind: 'again'; readonly reason: string; readonly status?: number }
  | { readonly kind: 'refused'; readonly code: string; readonly reason: string }

export interface ListedProduct {
  readonly id: string
  /** Null if the service returned no product key. */
  readonly productKey: string | null
  /** Fields as returned. A missing field may have a value at the service; a null field is unset. */
  readonly fields: JsonObject
}

/** Request that shows that a destination exists. */
export interface Probe {
  /** Path of a GET request that answers 200 if the destination exists. */
  readonly path: string
  /** Account that the credentials need access to. */
  readonly accountId?: string
  /** Set if the answer is a list of destinations. One of them must have this id. `setting`: key of the id in the pipeline file. */
  readonly listed?: { readonly id: string; readonly setting: string }
}

/** Form of the requests, and classification of the responses. */
interface RequestFormat {
  readonly limits: BatchLimits
  readonly limitClass: (op: Operation) => LimitClass
  /** Returns method and path with the version. */
  readonly request: (target: Target, op: Operation) => DestinationRequest
  /** Sends a request to another server than the service; absent if all requests go to the service. Never throws: an error is a result. */
  exchange?(request: ExchangeRequest): Promise<Exchange>
  /**
   * Returns the text before and after the entries of a body, such as `{"products":[` and `]}`. The entries between them are separated by
   * commas.
   */
  readonly frame: (op: Operation) => { readonly open: string; readonly close: string }
  /** Returns a text that two entries of one body must not have in common. Absent if any two entries may be in one body. */
  collisionOf?(recordKey: Buffer): string
  /** Returns the id of an entry in the response: product id or product_key; null for users. `bytes`: slice of the body with the entry. */
  readonly idOf: (keys: readonly Uint8Array[], bytes: Uint8Array, op: Operation) => string | null
  /**
   * Evidence in a response. `ids`: the response names each entry. `counts`: the response only counts users, so all entries of a body
   * share one outcome.
   */
  readonly evidence: 'ids' | 'counts'
  /** True if a refused delete proves that the key no longer exists, provided that an earlier attempt may have been applied. */
  readonly refusedDeleteProvesRemoval: boolean
  /** Classifies an exchange over exactly these entries, in the order of the body. Pure. */
  readonly classify: (exchange: Exchange, sent: readonly SentEntry[], op: Operation) => RequestOutcome
}

/** Operation of a whole batch. A delete and an upsert are never in one request (docs/guarantees.md#key-order). */
export type Operation = 'upsert' | 'delete'

export interface DestinationRequest {
  readonly method: Endpoint['method']
  readonly path: string
}

/** Values in the path of a request. `version`: version of the API. */
export interface Target {
  /** Null for catalogs. */
  readonly accountId: string | null
  /** Catalog, audience or list id. */
  readonly targetId: string
  readonly version: string
}

/** Limits of one request. */
export interface BatchLimits {
  /** Maximum number of products, product keys or operations. */
  readonly entries: number
  /** Maximum number of bytes of the whole body. */
  readonly bytes: number
}

/** Entry of a sent body. `id`: as `idOf` returns. */
export interface SentEntry {
  readonly id: string | null
  /** Number of user objects: 1, except in batched operations. */
  readonly users: number
}

/**
 * Outcome of one entry. `code`: of the service, or of Sluice (`sync/reports/reasonMeanings.ts`). `remoteKey`: product key that a put
 * returned.
 */
export type EntryOutcome =
  | { readonly outcome: 'confirmed'; readonly remoteKey?: string; readonly warnings?: readonly string[] }
  | { readonly outcome: 'refused'; readonly code: string; readonly message: string; readonly remoteKey?: string }
  | { readonly outcome: 'ambiguous'; readonly code: string }

/** Outcome of one request (docs/guarantees.md#confirmed-only). `code`: as in `EntryOutcome`. */
export type RequestOutcome =
  /** Readable response with the outcome of each entry, in the order of the body. Users all have the same outcome. */
  | { readonly kind: 'entries'; readonly entries: readonly EntryOutcome[] }
  /**
   * Not applied. The same bytes are sent again before a newer request; the headers of the response may request a wait
   * (http/retryAfter.ts).
   */
  | { readonly kind: 'retry'; readonly code: string; readonly status?: number }
  /** The cause is not in the records. The destination is paused. `maybeApplied`: false if the response says that nothing was applied. */
  | { readonly kind: 'pause'; readonly code: string; readonly message: string; readonly maybeApplied: boolean }
  /** The service refused the whole request. `failing`: indexes of entries that the response names; may be empty. */
  | { readonly kind: 'refused'; readonly code: string; readonly message: string; readonly failing: readonly number[] }
  /**
   * May or may not be applied. Also the outcome of a response that matches no other outcome.
   * - `suspectsRecord`: the response is complete, but has wrong counts, no results, errors beside results, or unreadable errors. After
   *   three such responses in a row the batch is split, and a single entry is parked (docs/guarantees.md#isolation-of-a-failing-record).
   * - `mayLandLater`: the bytes of the request may still reach the service.
   * - `failing`: indexes of entries that the response shows as failing; may be empty.
   */
  | {
      readonly kind: 'ambiguous'
      readonly code: string
      readonly suspectsRecord: boolean
      readonly mayLandLater: boolean
      readonly failing: readonly number[]
    }
