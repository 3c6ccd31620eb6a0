/**
 * The one shape of every area of the sandbox: its state, and a handler for each endpoint of the contract by name.
 *
 * Handlers are called after routing, authentication, rate limits and validation, so they hold only what the area itself
 * knows. They must be deterministic: time from `call.now`, ids from `world.newId()`, chance from `world.random()`, and
 * whatever touches the outside world through `call.effect()`. Then a journal of the calls rebuilds the state exactly.
 */
import type { ServerResponse } from 'node:http'
import type { Endpoint } from '../service/contract/endpoint.ts'
import type { Logger } from '../log.ts'
import type { Names } from './names.ts'

/**
 * Decoded parameters by wire name, path parameters included; absent is undefined, unset by an empty value (`end_time=`)
 * is null. `integer` number, `long` bigint, `boolean` boolean, `timestamp` and `hour` ISO text (`2027-01-15T12:00:00Z`),
 * `csv` and `csv-enum` string[], `object` and `array` as parsed. Defaults of the contract are filled in.
 */
export type Params = Readonly<Record<string, unknown>>

export interface Call<S> {
  readonly endpoint: Endpoint
  readonly world: World
  /** The area's own state; change it in place. */
  readonly state: S
  /** The sandbox's time, milliseconds since 1970; constant for the call. */
  readonly now: number
  readonly params: Params
  /** Names that the caller sent, path parameters included. */
  readonly given: ReadonlySet<string>
  /** The JSON body as parsed; undefined when the endpoint takes none. */
  readonly body: unknown
  readonly rawBody: Buffer
  /** The query as sent, decoded, for what the contract does not describe (browser pages). */
  readonly query: ReadonlyMap<string, string>
  /** `request.params` of the answer (docs/spec-notes.md#echoes-and-cursors); a handler may change it. */
  readonly echo: Record<string, unknown>
  /** The signing user; undefined with a bearer token, basic or a browser. */
  readonly user: SandboxUser | undefined
  /** The account of `:account_id`, already checked to be the user's. */
  readonly account: SandboxAccount | undefined
  /** OAuth parameters of the header (`oauth_token`, `oauth_verifier`, `oauth_callback` …). */
  readonly oauth: ReadonlyMap<string, string>
  /** False leaves that entry of a batch unapplied though it is answered (faults `apply`, `partial_apply`). */
  readonly applies: (index: number, key: string) => boolean
  /** Runs what touches the outside world, once: a replay of the journal gets the recorded value instead. */
  readonly effect: <T>(run: () => Promise<T>) => Promise<T>
}

/** Anything in `data` or `body` may hold bigint: it is printed with exact digits (docs/spec-notes.md#echoes-and-cursors 'int64'). */
export type Reply =
  /** The envelope of the advertising interface: `request`, `data`, on lists `next_cursor` and `total_count`. */
  | {
      readonly kind: 'ads'
      readonly data: unknown
      readonly nextCursor?: string | null
      readonly totalCount?: number
      /** Further top-level keys (`time_series_length` of statistics). */
      readonly more?: Readonly<Record<string, unknown>>
      /** Replaces `{ params: call.echo }`. */
      readonly request?: unknown
      readonly status?: number
    }
  /** A whole JSON body (core and v2). */
  | { readonly kind: 'json'; readonly body: unknown; readonly status?: number; readonly headers?: Readonly<Record<string, string>> }
  /** Form-encoded answers and pages. */
  | {
      readonly kind: 'text'
      readonly body: string | Buffer
      readonly type: string
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
    }
  /** A connection that stays open; the head is written by `open`. */
  | { readonly kind: 'stream'; readonly open: (response: ServerResponse) => void }

export type Handler<S> = (call: Call<S>) => Reply | Promise<Reply>

/** A control API's answer that is not JSON. */
export class ControlText {
  readonly body: string
  constructor(body: string) {
    this.body = body
  }
}

/** The control API refuses: 400 or 404 with the sentence. */
export class ControlError extends Error {
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** A call of the control API: JSON in, JSON out (or a `ControlText`); may answer a promise. */
export type ControlHandler<S> = (input: {
  readonly world: World
  readonly state: S
  /** Path segments after the registered ones. */
  readonly rest: readonly string[]
  readonly body: unknown
  readonly query: URLSearchParams
}) => unknown

export interface Area<S> {
  readonly name: string
  /**
   * The first state; called at start and on reset. Plain data only (objects, arrays, Map, Set, typed arrays, bigint):
   * snapshots are made by structuredClone unless `cloneState` says otherwise.
   */
  readonly createState: (world: World) => S
  readonly cloneState?: (state: S) => S
  /** The state for the journal's file, where v8.serialize cannot take it whole: what it can, and bytes beside it. */
  readonly saveState?: (state: S) => { readonly plain: unknown; readonly bytes: readonly Uint8Array[] }
  /** The state of that; also where something of another process must not come back. */
  readonly loadState?: (world: World, plain: unknown, bytes: readonly Buffer[]) => S
  /** By the endpoint's name in the contract. */
  readonly handlers: Readonly<Record<string, Handler<S>>>
  /** Calls of the control API, by `METHOD /_sandbox/<segment>` (`POST /_sandbox/events`). */
  readonly control?: Readonly<Record<string, ControlHandler<S>>>
  /** Called after the sandbox's clock was moved by the control API, and about once a second. Answers when all due work is done. */
  readonly onClock?: (world: World, state: S) => void | Promise<void>
  /** Change without a request (a check that failed): journalled by `world.record`, applied here, also on replay. */
  readonly applyEvent?: (world: World, state: S, event: unknown) => void
  /** Ends timers and open connections. */
  readonly stop?: (state: S) => void
}

/** Returns the account of a call; endpoints with `:account_id` have one, because the verifier checked it. */
export function accountOf({ account }: { readonly account: SandboxAccount | undefined }): SandboxAccount {
  if (account === undefined) throw new Error('the endpoint has no account')
  return account
}

/** Forgets the state's type, so that areas of all kinds stand in one list. */
export function defineArea<S>(area: Area<S>): Area<unknown> {
  // The list hands each area only its own state back, which createState of the same area made.
  return area as unknown as Area<unknown>
}

export interface SandboxUser {
  readonly id: string
  name: string
  /** Without `@`. */
  screenName: string
  /** Has a premium subscription. */
  premium: boolean
}

/** The wire form of spec 2.5, plus `userIds`: who may reach it. */
export interface SandboxAccount {
  readonly id: string
  name: string
  business_name: string | null
  business_id: string | null
  timezone: string
  timezone_switch_at: string
  approval_status: string
  industry_type: string
  created_at: string
  updated_at: string
  deleted: boolean
  userIds: string[]
  /** Role of a user on the account, by user id; an administrator where none is given. */
  roles: Record<string, string>
  /** Currency of its funding instrument. */
  currency: string
}

export interface SandboxCredentials {
  readonly consumerKey: string
  readonly consumerSecret: string
  readonly accessToken: string
  readonly accessTokenSecret: string
}

/** Context that all areas share. */
export interface World {
  readonly credentials: SandboxCredentials
  /** `http://127.0.0.1:PORT`, known once listening. */
  readonly url: string
  readonly users: Map<string, SandboxUser>
  readonly accounts: Map<string, SandboxAccount>
  readonly log: Logger
  readonly names: Names
  /** The sandbox's own time (control API `clock`), milliseconds. */
  readonly now: () => number
  /** The machine's time: signatures, rate limits. */
  readonly machineNow: () => number
  /** Ascending 64-bit decimal ids, the same after a replay. */
  readonly newId: () => string
  /** Short ids as the advertising interface has them (`8x2fg`), the same after a replay. */
  readonly newShortId: () => string
  /** 0 up to 1, from the seed. */
  readonly random: () => number
  /** Value of a named switch (`PUT /_sandbox/switches`), the default when not set. */
  readonly switch: (name: string) => string
  /** Another area's state, to read. */
  readonly stateOf: (area: string) => unknown
  /** Journals and applies an event through the area's `applyEvent`. */
  readonly record: (area: string, event: unknown) => void
  /** Notes a rule that a caller broke. `detail` never holds the raw value. */
  readonly violation: (rule: string, detail: string) => void
}
