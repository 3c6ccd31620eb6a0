/** Types of calls and answers, derived from the contract. */
import type { accountFeatures, listedFeatures } from '../contract/campaignResources.ts'
import type { contract, EndpointName } from '../contract/index.ts'
import type { resources, ResourceName } from '../contract/resources.ts'
import type {
  ActivityEvent,
  ActivityFilter,
  BatchOperation,
  CardComponent,
  DoNotReachOperation,
  ProductInput,
  ProductSetFilter,
  TargetingCriterion,
  UserOperation,
} from './bodies.ts'
import type { List } from './list.ts'

export type EndpointOf<Name extends EndpointName> = Extract<(typeof contract)[number], { readonly name: Name }>

type Params<Name extends EndpointName> = ParamsOf<EndpointOf<Name>>

/** Types of JSON parameters by endpoint, more precise than those of the contract. `body`: the endpoint takes a bare array. */
interface JsonBodies {
  readonly 'products.put': { readonly products: readonly ProductInput[] }
  readonly 'products.delete': { readonly product_keys: readonly string[] }
  readonly 'productSets.create': { readonly filters: readonly ProductSetFilter[]; readonly product_keys: readonly string[] }
  readonly 'productSets.update': { readonly product_keys: readonly string[] }
  readonly 'audiences.users': { readonly body: readonly UserOperation[] }
  readonly 'doNotReachLists.users': { readonly body: readonly DoNotReachOperation[] }
  readonly 'audiences.estimate': { readonly targeting_criteria: readonly TargetingCriterion[] }
  readonly 'cards.create': { readonly components: readonly CardComponent[]; readonly slides: readonly (readonly CardComponent[])[] }
  readonly 'cards.update': { readonly components: readonly CardComponent[]; readonly slides: readonly (readonly CardComponent[])[] }
  readonly 'campaigns.batch': {
    readonly body: readonly BatchOperation<Params<'campaigns.create'>, Params<'campaigns.update'>, 'campaign_id'>[]
  }
  readonly 'lineItems.batch': {
    readonly body: readonly BatchOperation<Params<'lineItems.create'>, Params<'lineItems.update'>, 'line_item_id'>[]
  }
  readonly 'targetingCriteria.batch': {
    readonly body: readonly BatchOperation<Params<'targetingCriteria.create'>, never, 'targeting_criterion_id'>[]
  }
  readonly 'posts.create': {
    readonly edit_options: { readonly previous_post_id: string }
    readonly reply: { readonly in_reply_to_tweet_id: string; readonly exclude_reply_user_ids?: readonly string[] }
    readonly media: { readonly media_ids: readonly string[] }
  }
  readonly 'activity.subscribe': { readonly event_type: ActivityEvent; readonly filter: ActivityFilter }
}

/** Fails the type check if `JsonBodies` names an unknown endpoint. */
export const namesEndpoints: keyof JsonBodies extends EndpointName ? true : never = true

/** Type of a parameter's value by the contract. A `long` is a text, number or bigint. A time is an ISO 8601 text or a Date. */
type ValueOf<P> = P extends { readonly type: 'enum'; readonly values: readonly (infer V)[] }
  ? V
  : P extends { readonly type: 'csv-enum'; readonly values: readonly (infer V)[] }
    ? readonly V[]
    : P extends { readonly type: keyof ValueByType }
      ? ValueByType[P['type']]
      : unknown

interface ValueByType {
  readonly string: string
  readonly url: string
  readonly enum: string
  readonly integer: number
  readonly long: string | number | bigint
  readonly boolean: boolean
  readonly timestamp: string | Date
  readonly hour: string | Date
  readonly csv: readonly (string | number | bigint)[]
  readonly 'csv-enum': readonly string[]
  readonly object: object
  readonly array: readonly unknown[]
}

type ContractParameters<E> = E extends { readonly parameters: readonly (infer P)[] } ? P : never
/** Parameters of the contract that a call takes. The fields of the entries of a bare array are left out. */
type CallParameters<E> = E extends { readonly bodyIs: 'array' }
  ? Exclude<ContractParameters<E>, { readonly in: 'body' }>
  : ContractParameters<E>
type Named = { readonly name: string }
type RequiredOf<E> = Extract<CallParameters<E>, { readonly required: true } & Named>
type OptionalOf<E> = Extract<Exclude<CallParameters<E>, { readonly required: true }>, Named>
/** `null` for an `unsettable` parameter, else `never`. */
type Unset<P> = P extends { readonly unsettable: true } ? null : never

/** Type of a parameter: from `JsonBodies`, else from the contract. */
type ParameterValue<E, P extends Named> = E extends { readonly name: infer N extends keyof JsonBodies }
  ? P['name'] extends keyof JsonBodies[N]
    ? JsonBodies[N][P['name']]
    : ValueOf<P>
  : ValueOf<P>
type ArrayBody<E> = E extends { readonly bodyIs: 'array' }
  ? E extends { readonly name: infer N extends keyof JsonBodies }
    ? JsonBodies[N]
    : { readonly body: readonly object[] }
  : unknown

/** Parameters of a call by their name in the contract. `body`: the bare array, for endpoints that take an array. */
export type ParamsOf<E> = { readonly [P in RequiredOf<E> as P['name']]: ParameterValue<E, P> } & {
  readonly [P in OptionalOf<E> as P['name']]?: ParameterValue<E, P> | Unset<P> | undefined
} & ArrayBody<E>

type FieldValue<F> = F extends { readonly type: 'enum'; readonly values: readonly (infer V)[] }
  ? V | (string & {})
  : F extends { readonly type: keyof FieldValueByType }
    ? FieldValueByType[F['type']]
    : unknown

interface FieldValueByType {
  readonly string: string
  readonly enum: string
  readonly timestamp: string
  readonly integer: number
  readonly long: number | bigint
  readonly boolean: boolean
  readonly strings: readonly string[]
  readonly integers: readonly number[]
  readonly object: Readonly<Record<string, unknown>>
  readonly objects: readonly Readonly<Record<string, unknown>>[]
  readonly any: unknown
}

type Null<F> = F extends { readonly nullable: true } ? null : never
type FieldsOf<R extends ResourceName> = (typeof resources)[R]['fields'][number]

/** Record as the contract describes it. */
type ContractRecord<R extends ResourceName> = {
  readonly [F in FieldsOf<R> as F extends Named & { readonly optional: true } ? never : F extends Named ? F['name'] : never]:
    | FieldValue<F>
    | Null<F>
} & {
  readonly [F in FieldsOf<R> as F extends Named & { readonly optional: true } ? F['name'] : never]?: FieldValue<F> | Null<F> | undefined
}

/**
 * Record of the service; for a feature its key. An enumeration also allows other values, because a read may return values that the
 * specification does not list.
 */
export type RecordOf<R extends ResourceName> = R extends 'feature'
  ? (typeof accountFeatures | typeof listedFeatures)[number] | (string & {})
  : R extends keyof ObjectFields
    ? Omit<ContractRecord<R>, keyof ObjectFields[R]> & ObjectFields[R]
    : ContractRecord<R>

/** Fields that the contract does not list. */
type Unlisted = Readonly<Record<string, unknown>>

/** Types of fields that contain objects, more precise than those of the contract. */
interface ObjectFields {
  readonly productsResponse: { readonly products_response: readonly RecordOf<'productResult'>[] }
  readonly deleteProducts: { readonly delete_products: readonly RecordOf<'deletedProduct'>[] }
  readonly productSet: { readonly filters: readonly RecordOf<'productFilter'>[] }
  readonly targetedCampaign: { readonly line_items: readonly RecordOf<'targetedLineItem'>[] }
  /** A message is a text or an object (docs/spec-notes.md#catalogs). */
  readonly productResult: { readonly warnings: readonly (string | Unlisted)[]; readonly errors: readonly (string | Unlisted)[] }
  readonly audienceEstimate: { readonly audience_size: { readonly min: number; readonly max: number } & Unlisted }
  readonly card: { readonly slides?: readonly (readonly Unlisted[])[] }
  readonly advertiserPost: { readonly user: { readonly id: number | bigint; readonly id_str: string } & Unlisted }
  readonly lineItemPlacement: { readonly placements: readonly (readonly string[])[] }
  readonly accountHistoryEntry: { readonly change_by: { readonly user_id: string; readonly platform: string } & Unlisted }
  readonly post: {
    readonly attachments?: { readonly media_keys?: readonly string[] } & Unlisted
    readonly public_metrics?: {
      readonly retweet_count: number
      readonly reply_count: number
      readonly like_count: number
      readonly quote_count: number
    } & Unlisted
    readonly entities?: {
      readonly urls?: readonly Unlisted[]
      readonly mentions?: readonly Unlisted[]
      readonly hashtags?: readonly Unlisted[]
      readonly annotations?: readonly Unlisted[]
    } & Unlisted
    readonly referenced_tweets?: readonly { readonly type: string; readonly id: string }[]
  }
  readonly postUser: {
    readonly public_metrics?: {
      readonly followers_count: number
      readonly following_count: number
      readonly tweet_count: number
      readonly listed_count: number
    } & Unlisted
    readonly affiliation?: { readonly user_id?: readonly string[] } & Unlisted
  }
  readonly postMedia: { readonly public_metrics?: { readonly view_count?: number } & Unlisted }
}

type ResourceOf<E> = E extends { readonly answer: { readonly resource: infer R extends ResourceName } } ? RecordOf<R> : unknown
type DataOf<E> = E extends { readonly answer: { readonly many: true } } ? readonly ResourceOf<E>[] : ResourceOf<E>

/** Objects of the requested expansions (spec 2.6). `posts`: newer name of `tweets`. */
export interface V2Includes {
  readonly users?: readonly RecordOf<'postUser'>[]
  readonly tweets?: readonly RecordOf<'post'>[]
  readonly posts?: readonly RecordOf<'post'>[]
  readonly media?: readonly RecordOf<'postMedia'>[]
  readonly places?: readonly RecordOf<'postPlace'>[]
  readonly polls?: readonly RecordOf<'postPoll'>[]
}

export interface V2Answer<Data> {
  readonly data?: Data
  readonly includes?: V2Includes
  /** Errors of single ids. Without `data`, none of the ids was found (docs/spec-notes.md#posts). */
  readonly errors?: readonly Readonly<Record<string, unknown>>[]
  readonly meta?: Readonly<Record<string, unknown>>
}

/** Result of a call: the whole body on v2, else `data`, or a body without `data`. */
export type AnswerOf<E> = E extends { readonly path: `/2/${string}` } ? V2Answer<DataOf<E>> : DataOf<E>

/** Result of a method: an iterable of events for a stream, a `List` for a list with pages, else a promise. */
type ResultOf<E> = E extends { readonly stream: true }
  ? AsyncIterable<Readonly<Record<string, unknown>>>
  : 'cursor' extends Extract<ContractParameters<E>, Named>['name']
    ? List<ResourceOf<E>>
    : Promise<AnswerOf<E>>

export interface CallOptions {
  /** Aborts the call, its waits and its stream. A token request that calls share ends only if all of them are aborted (`Bearer.get`). */
  readonly signal?: AbortSignal
  /**
   * Maximum time of each attempt in milliseconds, from the wait for a connection to the last byte. Default: 30,000. For a stream, limits
   * the connect and the wait for the headers, each alone. Does not limit waits between attempts, or a request for an app-only token that
   * concurrent calls share.
   */
  readonly timeoutMs?: number
  /** Credentials for an endpoint that accepts both the user and the application. Default: `app`. */
  readonly context?: 'user' | 'app'
  /** Secret of the request token, for `oauth.accessToken`. */
  readonly tokenSecret?: string
  /**
   * If false, the call has one attempt and never waits. While a wait that an earlier answer requested is not over, the call fails without
   * an attempt. Default: true. A stream is opened a second time only with a new app-only token.
   */
  readonly retry?: boolean
}

/** Names of the endpoints that a program can call: all except the pages for a browser. */
export type CallableName = Exclude<
  EndpointName,
  Extract<(typeof contract)[number], { readonly answer: { readonly resource: 'page' } }>['name']
>

type MethodOf<E> =
  Partial<ParamsOf<E>> extends ParamsOf<E>
    ? (params?: ParamsOf<E>, options?: CallOptions) => ResultOf<E>
    : (params: ParamsOf<E>, options?: CallOptions) => ResultOf<E>

type GroupOf<Name> = Name extends `${infer Group}.${string}` ? Group : never

/** Methods of all endpoints that a program can call, such as `client.catalogs.list()`. */
export type Methods = {
  readonly [Group in GroupOf<CallableName>]: {
    readonly [Name in Extract<CallableName, `${Group}.${string}`> as Name extends `${Group}.${infer Method}` ? Method : never]: MethodOf<
      EndpointOf<Name>
    >
  }
}
