/**
 * The form in which the service's interface is written down: one value an endpoint. The client builds requests from it,
 * the sandbox routes and validates by it, docs/coverage.md is printed from it. Data only: no classification, no I/O.
 */

/** Which of the three hosts of the specification (page 1) serves the path. The sandbox serves all three on one port. */
export type Host = 'core' | 'ads' | 'ads-sandbox'

/**
 * Authentication of a call. `user`: OAuth 1.0a, consumer and access token. `consumer`: OAuth 1.0a without an access
 * token. `request-token`: OAuth 1.0a signed with the request token. `bearer`: app-only token. `basic`: consumer key and
 * secret as HTTP Basic. `bearer-or-user`: either. `browser`: a person's browser, no header.
 */
export type Auth = 'user' | 'consumer' | 'request-token' | 'bearer' | 'bearer-or-user' | 'basic' | 'basic-or-user' | 'browser'

/** `csv` values are comma-separated on the wire and arrays in the echo and in the typed client. */
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
  /** The wire name, neutral words included (`svc_auth_access_type`). */
  readonly name: string
  /**
   * `query`: in the query string or, on POST and PUT, the form body (docs/spec-notes.md#signing 'Parameters'). `body`: top-level JSON field, or
   * a field of each entry where the body is an array (`Endpoint.bodyIs`). `oauth`: a protocol parameter, taken from the
   * Authorization header, the query or the form body.
   */
  readonly in: 'path' | 'query' | 'body' | 'oauth'
  readonly type: ParameterType
  readonly required?: boolean
  readonly default?: string | number | boolean
  /** Bounds of a number, or of the length in characters of a string (`maxLength`), or of the items of a list (`maxItems`). */
  readonly min?: number
  readonly max?: number
  readonly minLength?: number
  readonly maxLength?: number
  readonly maxItems?: number
  /** Allowed values of `enum` and `csv-enum`. */
  readonly values?: readonly string[]
  /** An empty value (`end_time=`) unsets the field (docs/spec-notes.md#signing 'Parameters'). */
  readonly unsettable?: boolean
  /** Not named by the specification: official SDKs send it. Refused where `unknown_parameters` is `strict`. */
  readonly outsideSpec?: true
  /** `spec 4.3 rule 2`, or the row of docs/spec-notes.md that fills a silence. */
  readonly source?: string
}

/**
 * A condition across parameters. `exclusive`: at most one of them. `together`: all or none. `one-of`: at least one.
 * `exactly-one`: just one. `required-if`: `names` are required when `when` holds. Anything a row says that does not fit
 * here stays in the area's own code and is named by `other`.
 */
export type Rule =
  | { readonly kind: 'exclusive' | 'together' | 'one-of' | 'exactly-one'; readonly names: readonly string[]; readonly source: string }
  | {
      readonly kind: 'required-if'
      readonly names: readonly string[]
      readonly when: { readonly name: string; readonly is?: readonly string[]; readonly absent?: boolean; readonly present?: boolean }
      readonly source: string
    }
  | { readonly kind: 'other'; readonly text: string; readonly source: string }

/** Requests in a window, by key of the limit table in contract/rateLimits.ts. */
export type LimitClass = string

export interface Endpoint {
  /** `area.verb`, unique, and the method's place in the typed client: `catalogs.list` is `client.catalogs.list()`. */
  readonly name: string
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  readonly host: Host
  /** Path below the host, version included, parameters with a colon: `/12/accounts/:account_id`. */
  readonly path: string
  /** Other spellings that serve the same (`/1.1/oauth/invalidate_token.json`, `/12/…/custom_audiences/:id/permissions`). */
  readonly aliases?: readonly string[]
  /** Other names of its parameters, as an alias of the path and its callers spell them: `{ custom_audience_id: 'tailored_audience_id' }`. */
  readonly alsoNamed?: Readonly<Record<string, string>>
  /** Served beyond the specification, because official SDKs call it. */
  readonly outsideSpec?: true
  readonly auth: Auth
  /** Type of the body. `form`: urlencoded, taken as parameters. `json`: an object or array, never signed. */
  readonly body: 'none' | 'form' | 'json'
  /** Shape of a JSON body; absent: an object. `object-or-array`: the array alone stands for the object's one field. */
  readonly bodyIs?: 'object' | 'array' | 'object-or-array'
  /** Most entries of a bare array, most bytes of a body (spec 8). */
  readonly bodyLimit?: { readonly entries?: number; readonly bytes?: number }
  readonly parameters: readonly Parameter[]
  readonly rules?: readonly Rule[]
  /** A list with `count`/`cursor`: its `next_cursor` is in the answer. */
  readonly list?: { readonly countDefault?: number; readonly countMin?: number; readonly countMax?: number }
  /** Content of `data` (or of the whole body, on core): the resource's name in contract/resources.ts and whether it is a list. */
  readonly answer: { readonly resource: string; readonly many: boolean }
  readonly limit: LimitClass
  /** May the client send it twice without harm? Otherwise an unknown outcome is ambiguous and left to reconciling. */
  readonly repeatable: boolean
  /** A connection that stays open, one JSON object a line. */
  readonly stream?: true
  /** `spec 4.2`, or the row of docs/spec-notes.md behind spec 4.8. */
  readonly source: string
}
