/**
 * Interface of every area of the sandbox: its state, and a handler for each of its endpoints.
 *
 * Handlers are called after routing, authentication, rate limits and validation. They must be deterministic, so that a journal of their
 * calls restores the state exactly: time from `call.now`, ids from `world.newId()`, random numbers from `world.random()`, and everything
 * outside the process through `call.effect()`.
 */
import type { ServerResponse } from 'node:http'
import type { Endpoint } from '../service/contract/endpoint.ts'
import type { Logger } from '../log.ts'
import type { Names } from './names.ts'
import type { SwitchName, SwitchValue } from './state/switches.ts'
import { joinLines } from './text.ts'

/**
 * Decoded parameters by their name in the contract, with path parameters and defaults. An absent parameter is undefined. Null is the empty
 * value of an unsettable parameter (`end_time=`), or null in a JSON body. Types of the contract become: `integer` number, `long` bigint,
 * `boolean` boolean, `timestamp` and `hour` ISO text (`2027-01-15T12:00:00Z`), `csv` and `csv-enum` string[], `object` and `array` parsed
 * JSON, all others text.
 */
export type Params = Readonly<Record<string, unknown>>

/** Validated request, as handlers of an area with the state `S` get it. */
export interface Call<S> {
  readonly endpoint: Endpoint
  readonly world: World
  /** State of the area. Handlers change it in place. */
  readonly state: S
  /** Time of the sandbox's clock, milliseconds since 1970. Constant for the call. */
  readonly now: number
  readonly params: Params
  /** Names of the parameters that the caller sent, path parameters included. */
  readonly given: ReadonlySet<string>
  /** Parsed JSON body; undefined if the endpoint takes none, or the request has none. */
  readonly body: unknown
  /** Body as sent. */
  readonly rawBody: Buffer
  /** Decoded query, for fields of browser pages, which the contract does not describe. */
  readonly query: ReadonlyMap<string, string>
  /** `request.params` of the answer (docs/spec-notes.md#echoes-and-cursors). Handlers may change it. */
  readonly echo: Record<string, unknown>
  /**
   * User of the access token; undefined without an access token. With the switch `ads_auth: bearer`, all calls of the advertising host have
   * the first user.
   */
  readonly user: SandboxUser | undefined
  /** Account of `:account_id`, to which the user has access; undefined on paths without an account. */
  readonly account: SandboxAccount | undefined
  /** OAuth parameters of the header (`oauth_token`, `oauth_verifier`, `oauth_callback` …). */
  readonly oauth: ReadonlyMap<string, string>
  /**
   * Returns true if the handler must apply the entry. Returns false if a fault omits the entry: the handler then answers as if it were
   * applied. `index`: position of the product, product key or user in the request. `key`: product id, product key, or first identifier of
   * the user.
   */
  readonly applies: (index: number, key: string) => boolean
  /** True in a replay of the journal. Handlers must not refuse a replayed call that an earlier version accepted. */
  readonly isReplay: boolean
  /**
   * Runs something outside the process, such as a webhook check. A replay of the journal returns the recorded value instead. If a fault
   * does not apply the call, returns `unapplied` and runs nothing. Rejects with `DroppedRequest` if a reset or restore replaced the state
   * meanwhile.
   */
  readonly effect: <T>(run: () => Promise<T>, unapplied: T) => Promise<T>
}

/**
 * Answer that a handler returns. Values may contain bigint, which is written with exact digits
 * (docs/spec-notes.md#echoes-and-cursors).
 */
export type Reply =
  /** Answer of the advertising host: `request` and `data`, for lists also `next_cursor` and `total_count`. */
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
  /** Whole JSON body, for the core host and v2. */
  | { readonly kind: 'json'; readonly body: unknown; readonly status?: number; readonly headers?: Readonly<Record<string, string>> }
  /** Form-encoded answer, page or file. */
  | {
      readonly kind: 'text'
      readonly body: string | Buffer
      readonly type: string
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
    }
  /** Connection that stays open. `open` writes the headers too. */
  | { readonly kind: 'stream'; readonly open: (response: ServerResponse) => void }

/** Handler of an endpoint. Throws `Refusal`, or rejects with it, to refuse the call. */
export type Handler<S> = (call: Call<S>) => Reply | Promise<Reply>

/** Answer of the control API that is plain text, in pieces of about 64 KiB. */
export class ControlText {
  readonly pieces: readonly Buffer[]
  constructor(lines: Iterable<string>) {
    this.pieces = Array.from(joinLines(lines), (piece) => Buffer.from(piece))
  }
}

/**
 * Handler of the control API. Returns a value for JSON, a `ControlText`, a promise of either, or undefined for 404. Throws `ControlError`
 * for 400.
 */
export type ControlHandler<S> = (input: {
  readonly world: World
  readonly state: S
  /** Path segments after the registered path. */
  readonly rest: readonly string[]
  /** Parsed JSON; undefined without a body. */
  readonly body: unknown
  readonly query: URLSearchParams
}) => unknown

/** Name of an area, with the types of its state and its events for the compiler. `state` and `event` are never set. */
export interface AreaRef<State, Event = never> {
  readonly name: string
  readonly state?: State
  readonly event?: Event
}

/** Area with the types of its state, of its journal events, and of the state's form in the journal. */
export interface Area<S, Event = unknown, Saved = unknown> {
  readonly ref: AreaRef<S, Event>
  /**
   * Creates the first state. Called at the start and on a reset. Returns plain data (objects, arrays, Map, Set, typed arrays, bigint),
   * unless `cloneState` copies it.
   */
  readonly createState: (world: World) => S
  /** Copies the state for a snapshot. Default: structuredClone. */
  readonly cloneState?: (state: S) => S
  /** Splits the state into a value that v8.serialize accepts, and bytes. Needed if v8.serialize does not accept the state. */
  readonly saveState?: (state: S) => { readonly plain: Saved; readonly bytes: readonly Uint8Array[] }
  /** Restores the state from `plain` and `bytes` of the journal. Default: `plain`. */
  readonly loadState?: (world: World, plain: Saved, bytes: readonly Buffer[]) => S
  /** Handlers by the name of their endpoint in the contract. */
  readonly handlers: Readonly<Record<string, Handler<S>>>
  /** Handlers of the control API by `METHOD /_sandbox/<segment>`, such as `POST /_sandbox/events`. */
  readonly control?: Readonly<Record<string, ControlHandler<S>>>
  /** Does the work that is due. Called every second, and when the control API moves the clock. Resolves when the work is done. */
  readonly onClock?: (world: World, state: S) => void | Promise<void>
  /** Applies an event of `world.record`: a change that no call in the journal describes. Also called when the journal is replayed. */
  readonly applyEvent?: (world: World, state: S, event: Event) => void
  /** Cancels running work. Called before a restore replaces the state. */
  readonly cancelWork?: (world: World) => void
  /** Ends running work and open connections. Called before a reset, and when the sandbox closes. */
  readonly stop?: (world: World) => void
}

/** Returns the account of the call, to which the user has access. Throws for an endpoint without `:account_id`. */
export function accountOf({ account }: { readonly account: SandboxAccount | undefined }): SandboxAccount {
  if (account === undefined) throw new Error('the endpoint has no account')
  return account
}

/** Drops the types of an area, so that all areas fit into one list. */
export function defineArea<S, Event, Saved>(area: Area<S, Event, Saved>): Area<unknown> {
  // The world passes each area only its own state, the events that were recorded for its ref, and what its own saveState wrote.
  return area as unknown as Area<unknown>
}

/** User of the sandbox. `SandboxAccount.userIds` lists the users of an account. */
export interface SandboxUser {
  readonly id: string
  name: string
  /** Without `@`. */
  screenName: string
  /** True with a premium subscription. */
  premium: boolean
  /** Time at which the user was added, ISO 8601. Absent for the first user. */
  readonly createdAt?: string
}

/** Account in the wire form of spec 2.5, with fields of the sandbox: `userIds` (users with access), `roles` and `currency`. */
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
  /** Roles on the account by user id. A user without a role is `ACCOUNT_ADMIN`. */
  roles: Record<string, string>
  /** Always `USD`. No endpoint uses it. */
  currency: string
}

/** Keys of the app, and the access token of the first user. */
export interface SandboxCredentials {
  readonly consumerKey: string
  readonly consumerSecret: string
  readonly accessToken: string
  readonly accessTokenSecret: string
}

/** Credentials that every sandbox accepts unless it is started with others. */
export const fixedCredentials: SandboxCredentials = {
  consumerKey: 'sandbox-consumer-key',
  consumerSecret: 'sandbox-consumer-secret',
  accessToken: '1001-sandbox-access-token',
  accessTokenSecret: 'sandbox-access-token-secret',
}

/** State, clock, ids and switches that all areas share. */
export interface World {
  readonly credentials: SandboxCredentials
  /** `http://127.0.0.1:PORT`; empty until the sandbox listens. */
  readonly url: string
  readonly users: Map<string, SandboxUser>
  readonly accounts: Map<string, SandboxAccount>
  readonly log: Logger
  readonly names: Names
  /** Time of the sandbox's clock (control API `clock`), milliseconds since 1970. */
  readonly now: () => number
  /** Time of the machine, for signatures and rate limits. */
  readonly machineNow: () => number
  /** Returns the next 64-bit decimal id. Ids are the same in a replay. */
  readonly newId: () => string
  /** Returns the next short id of the advertising host (`8x2fg`). Ids are the same in a replay. */
  readonly newShortId: () => string
  /** Returns a number from 0 to below 1, derived from the seed. */
  readonly random: () => number
  /** Returns the value of a switch (`PUT /_sandbox/switches`), or its default. */
  readonly switch: <N extends SwitchName>(name: N) => SwitchValue<N>
  /** Returns the state of an area. Other areas only read it, except that the posts area marks media as used (`tweeted`). */
  readonly stateOf: <S>(area: AreaRef<S, unknown>) => S
  /** Writes an event to the journal, then applies it with the area's `applyEvent`. */
  readonly record: <Event>(area: AreaRef<unknown, Event>, event: NoInfer<Event>) => void
  /** Records that the current request broke a rule. `detail` must not contain the value. */
  readonly reportViolation: (rule: string, detail: string) => void
}
