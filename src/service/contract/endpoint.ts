/**
 * Types of the contract: the API of the service as data, one value for each endpoint. The client builds requests from it, the sandbox
 * routes and validates by it, and docs/coverage.md is generated from it.
 */
import type { LimitClass } from './rateLimits.ts'

/** Host of an endpoint (spec 1). The sandbox serves all three on one port. */
export type Host = 'core' | 'ads' | 'ads-sandbox'

/**
 * Authentication of a call:
 * - `user`: OAuth 1.0a, consumer and access token
 * - `consumer`: OAuth 1.0a without an access token
 * - `request-token`: OAuth 1.0a signed with the request token
 * - `bearer`: app-only token
 * - `basic`: consumer key and secret as HTTP Basic
 * - `bearer-or-user`, `basic-or-user`: either of the two
 * - `browser`: without a header, as a person's browser sends it
 */
export type Auth = 'user' | 'consumer' | 'request-token' | 'bearer' | 'bearer-or-user' | 'basic' | 'basic-or-user' | 'browser'

/**
 * Type of a parameter:
 * - `long`: whole number that may exceed 2^53
 * - `timestamp`: ISO 8601 text
 * - `hour`: timestamp at a whole hour
 * - `csv`, `csv-enum`: comma-separated in requests, and arrays in the echo and in the typed client
 * - `url`: absolute URL
 * - `object`, `array`: JSON
 */
export type ParameterType =
  | 'string'
  | 'integer'
  | 'long'
  | 'boolean'
  | 'enum'
  | 'timestamp'
  | 'hour'
  | 'csv'
  | 'csv-enum'
  | 'url'
  | 'object'
  | 'array'

export interface Parameter {
  /** Name in requests, in the neutral words of the specification (`svc_auth_access_type`). */
  readonly name: string
  /**
   * Place in the request:
   * - `query`: query string or form body; the client writes form bodies only on the core host
   * - `body`: top-level JSON field, or a field of each entry if the body is an array (`Endpoint.bodyIs`)
   * - `oauth`: OAuth parameter, in the Authorization header, the query or the form body
   */
  readonly in: 'path' | 'query' | 'body' | 'oauth'
  readonly type: ParameterType
  readonly required?: boolean
  /** Value that the service uses if the parameter is missing. */
  readonly default?: string | number | boolean
  /** Bounds: `min` and `max` of a number, lengths of a text in characters, `maxItems` of a list. */
  readonly min?: number
  readonly max?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
  /** Allowed values of `enum`, `csv-enum` and `integer`. */
  readonly values?: readonly string[]
  /** True if an empty value (`end_time=`) unsets the field. */
  readonly unsettable?: boolean
  /**
   * True for a parameter that official SDKs send and the specification does not name. The switch `unknown_parameters: strict` refuses it.
   */
  readonly outsideSpec?: true
  /**
   * Origin of the rule: a section of the specification (`spec 4.3 rule 2`). If the specification is silent, a section of
   * docs/spec-notes.md, or a text that says that the rule is outside the specification.
   */
  readonly source?: string
}

/**
 * Rule across several parameters:
 * - `exclusive`: at most one of them
 * - `at-least-one`: at least one of them
 * - `exactly-one`: exactly one of them
 * - `required-if`: if the parameter `when.name` has one of the values `is`, `names` are required. Without `is`, any value counts.
 * - `other`: a rule as text. The handler of the sandbox checks it. The text has parameter names in backticks, because the hint about a
 *   parameter shows each rule that contains its name in backticks.
 */
export type Rule =
  | { readonly kind: 'exclusive' | 'at-least-one' | 'exactly-one'; readonly names: readonly string[]; readonly source: string }
  | {
      readonly kind: 'required-if'
      readonly names: readonly string[]
      readonly when: { readonly name: string; readonly is?: readonly string[] }
      readonly source: string
    }
  | { readonly kind: 'other'; readonly text: string; readonly source: string }

export interface Endpoint {
  /** Unique name `group.method`: `catalogs.list` is `client.catalogs.list()`. */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly host: Host
  /** Path below the host, version included, parameters with a colon: `/12/accounts/:account_id`. */
  readonly path: string
  /** Other paths of the same endpoint, such as `/1.1/oauth/invalidate_token.json`. */
  readonly aliases?: readonly string[]
  /** Names that parameters have on `aliases`, each with its name in `parameters`: `{ custom_audience_id: 'tailored_audience_id' }`. */
  readonly namesOnAliases?: Readonly<Record<string, string>>
  /** True for an endpoint outside the specification, which the sandbox serves because official SDKs or common clients call it. */
  readonly outsideSpec?: true
  readonly auth: Auth
  /** Type of the body. `form`: urlencoded parameters, in the body or the query. `json`: an object or array. */
  readonly body: 'none' | 'form' | 'json'
  /** Shape of a JSON body. Default: an object. `object-or-array`: an object, or the array of its only field. */
  readonly bodyIs?: 'object' | 'array' | 'object-or-array'
  /** Maximum number of entries of a bare array, and of bytes (spec 8). */
  readonly bodyLimit?: { readonly entries?: number; readonly bytes?: number }
  /** A list with pages has the parameter `cursor`. */
  readonly parameters: readonly Parameter[]
  readonly rules?: readonly Rule[]
  /** Content of `data`, or of a body without `data`: the resource's name in `resources.ts`; `many`: a list of such records. */
  readonly answer: { readonly resource: string; readonly many: boolean }
  /** Name of the rate limit that the requests count against. */
  readonly limit: LimitClass
  /** True if a repetition of a request has no further effect. Then the client may retry a request with an unknown outcome. */
  readonly repeatable: boolean
  /** True if the answer is a gzip file with the JSON. */
  readonly gzipped?: true
  /** True for a stream: one JSON object per line, on a connection that stays open. */
  readonly stream?: true
  /** As in `Parameter`. */
  readonly source: string
}

/** Returns the parameter of an endpoint with the name; undefined if the endpoint has none. */
export function parameterOf({ parameters }: Endpoint, name: string): Parameter | undefined {
  return parameters.find((parameter) => parameter.name === name)
}

/** Returns true for a list with pages. */
export function hasPages(endpoint: Endpoint): boolean {
  return parameterOf(endpoint, 'cursor') !== undefined
}

/** Path of an account, below which its records are. */
export const accountPath = '/12/accounts/:account_id'

const signed = { host: 'ads', auth: 'user' } as const

/** Properties of most endpoints that read records of an account. An endpoint may replace some. */
export const readRequest = { ...signed, method: 'GET', body: 'none', limit: 'account_reads', repeatable: true } as const
/** Properties of most endpoints that create records of an account. An endpoint may replace some. */
export const createRequest = { ...signed, method: 'POST', body: 'form', limit: 'ads_writes', repeatable: false } as const
/** Properties of most endpoints that update records of an account. An endpoint may replace some. */
export const updateRequest = { ...signed, method: 'PUT', body: 'form', limit: 'ads_writes', repeatable: true } as const
/** Properties of most endpoints that delete records of an account. An endpoint may replace some. */
export const deleteRequest = { ...signed, method: 'DELETE', body: 'none', limit: 'ads_writes', repeatable: true } as const
/** Properties of endpoints that only the service's own sandbox has. They replace some of `createRequest` or `deleteRequest`. */
export const sandboxOnly = { host: 'ads-sandbox', limit: 'sandbox_only' } as const
