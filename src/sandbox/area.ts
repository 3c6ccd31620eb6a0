/**
 * Types of an area (its state, handlers, calls and replies), and of the world that all areas share.
 *
 * Handlers run after routing, authentication, rate limits and validation. A replay of the journal runs them again and must restore the same
 * state. So a handler takes time from `call.now`, ids from `world.newId()`, and random numbers from `world.random()`. Effects outside the
 * process go through `call.runEffect()`.
 */
import type { ServerResponse } from 'node:http'
import type { Endpoint } from '../service/contract/endpoint.ts'
import type { Logger } from '../log.ts'
import type { StoredRecord } from './storedRecord.ts'
import type { Names } from './names.ts'
import type { SwitchName, SwitchValue } from './state/switches.ts'
import { joinLines } from './text.ts'

/**
 * Decoded parameters by their name in the contract. Includes path parameters and defaults. Any other absent parameter is undefined. A
 * parameter that can be unset is null if its value is empty (`end_time=`) or null in a JSON body.
 *
 * Types in the contract, and of the decoded value:
 * - `integer`: number; `long`: bigint; `boolean`: boolean
 * - `timestamp`, `hour`: ISO text (`2027-01-15T12:00:00Z`)
 * - `csv`, `csv-enum`: string[]
 * - `object`, `array`: parsed JSON
 * - all others: text
 */
export type Params = Readonly<Record<string, unknown>>

/** Validated request that a handler gets. `S`: state of the handler's area. */
export interface Call<S> {
  readonly endpoint: Endpoint
  readonly world: World
  /** State of the area. Handlers change it in place. */
  readonly state: S
  /** Time of the sandbox's clock, milliseconds since 1970. Constant for the call. */
  readonly now: number
  readonly params: Params
  /** Names of the parameters that the caller sent, path parameters included. */
  readonly givenNames: ReadonlySet<string>
  /** Parsed JSON body; undefined if the endpoint takes none, or the request has none. */
  readonly body: unknown
  readonly rawBody: Buffer
  /** Decoded query. The query of a browser page may have fields that the contract lacks (`PAGE_FIELDS`). */
  readonly query: ReadonlyMap<string, string>
  /** Value of `request.params` in the answer (docs/spec-notes.md#echoes-and-cursors). Handlers may change it. */
  readonly echo: Record<string, unknown>
  /**
   * User of the access token; undefined without one. With the switch `ads_auth: bearer`, every call of the advertising host has the first
   * user.
   */
  readonly user: SandboxUser | undefined
  /** Account of `:account_id`, to which the user has access; undefined on paths without an account. */
  readonly account: SandboxAccount | undefined
  /** OAuth parameters of the header (`oauth_token`, `oauth_verifier`, `oauth_callback` …). */
  readonly oauth: ReadonlyMap<string, string>
  /**
   * Returns false if a fault omits an entry of the request (a product, product key or user). The handler must then not apply the entry, but
   * answer as if it had. `index`: position of the entry. `key`: its product id, product key or first identifier.
   */
  readonly appliesEntry: (index: number, key: string) => boolean
  /**
   * Runs work outside the process, such as a webhook check, and returns its result. Does not run it in these cases:
   * - A replay of the journal returns the recorded result.
   * - If a fault omits the call, `unapplied` is returned.
   *
   * Rejects with `DroppedRequest` if a reset or restore replaced the state during the work.
   */
  readonly runEffect: <T>(run: () => Promise<T>, unapplied: T) => Promise<T>
}

/** Answer that a handler returns. Values may contain bigint, which is written with all digits (docs/spec-notes.md#echoes-and-cursors). */
export type Reply =
  /** Answer of the advertising host: `request` and `data`, for lists also `next_cursor` and `total_count`. */
  | {
      readonly kind: 'ads'
      readonly data: unknown
      readonly nextCursor?: string | null
      readonly totalCount?: number
      /** Further top-level keys, such as `time_series_length` of statistics. */
      readonly extraKeys?: Readonly<Record<string, unknown>>
      /** Default: `{ params: call.echo }`. */
      readonly request?: unknown
      readonly status?: number
    }
  /** Answer of the core host, v2 included: `body` as JSON. */
  | { readonly kind: 'json'; readonly body: unknown; readonly status?: number; readonly headers?: Readonly<Record<string, string>> }
  /** Form-encoded answer, page or file. */
  | {
      readonly kind: 'text'
      readonly body: string | Buffer
      readonly type: string
      readonly status?: number
      readonly headers?: Readonly<Record<string, string>>
    }
  /** Connection that stays open. `open` writes the status, and headers besides those of every answer. */
  | { readonly kind: 'stream'; readonly open: (response: ServerResponse) => void }

/** Handler of an endpoint. Throws `Refusal`, or rejects with it, to refuse the call. */
export type Handler<S> = (call: Call<S>) => Reply | Promise<Reply>

/**
 * Answer of the control API in plain text. Consists of pieces of about 64 KiB, because all lines of an audience may exceed the maximum
 * length of a string.
 */
export class ControlText {
  readonly pieces: readonly Buffer[]
  constructor(lines: Iterable<string>) {
    this.pieces = Array.from(joinLines(lines), (piece) => Buffer.from(piece))
  }
}

/**
 * Handler of the control API. Returns a value for a JSON answer, or a `ControlText`, or a promise of one of these. Undefined is answered
 * with 404, a thrown `ControlError` with 400.
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

/** Name of an area. `state` and `event` are never set: they only give the compiler the types of the area's state and events. */
export interface AreaRef<State, Event = never> {
  readonly name: string
  readonly state?: State
  readonly event?: Event
}

/** Area of the sandbox. `S`: its state. `Event`: its events in the journal. `Saved`: plain part of its state in the journal. */
export interface Area<S, Event = unknown, Saved = unknown> {
  readonly ref: AreaRef<S, Event>
  /**
   * Creates the first state, at the start and on a reset. Without `cloneState`, the state must be plain data: objects, arrays, Map, Set,
   * typed arrays, bigint.
   */
  readonly createState: (world: World) => S
  /** Copies the state for a snapshot. Default: structuredClone. */
  readonly cloneState?: (state: S) => S
  /** Splits the state into bytes, and a plain value that v8.serialize accepts. Default: the plain value is the state. */
  readonly saveState?: (state: S) => { readonly plain: Saved; readonly bytes: readonly Uint8Array[] }
  /** Restores the state from the result of `saveState`. Default: returns `plain`. */
  readonly loadState?: (world: World, plain: Saved, bytes: readonly Buffer[]) => S
  /** Handlers by the name of their endpoint in the contract. */
  readonly handlers: Readonly<Record<string, Handler<S>>>
  /** Handlers of the control API by `METHOD /_sandbox/<segment>`, such as `POST /_sandbox/events`. */
  readonly control?: Readonly<Record<string, ControlHandler<S>>>
  /** Does the work that is due. Called every second, and when the control API sets the clock. Resolves when the work is done. */
  readonly onClock?: (world: World, state: S) => void | Promise<void>
  /** Applies an event: a change that no call in the journal describes. `World.recordEvent` and a replay of the journal call it. */
  readonly applyEvent?: (world: World, state: S, event: Event) => void
  /**
   * Returns true for an event that changes the answer of no read endpoint. The fault `stale` then needs no copy of the state before the
   * event. Default: false.
   */
  readonly isHiddenFromReads?: (event: Event) => boolean
  /** Cancels running work, before a restore replaces the state. Connections stay open. */
  readonly cancelWork?: (world: World) => void
  /** Cancels running work and ends open connections, before a reset, and when the sandbox closes. */
  readonly stop?: (world: World) => void
}

/** Returns the account of the call. @throws {Error} if the endpoint has no `:account_id` */
export function accountOf({ account }: { readonly account: SandboxAccount | undefined }): SandboxAccount {
  if (account === undefined) throw new Error('the endpoint has no account')
  return account
}

/** Drops the types of an area, so that all areas fit into one list. */
export function defineArea<S, Event, Saved>(area: Area<S, Event, Saved>): Area<unknown> {
  // Safe, because the world passes an area only its own state, its own events, and the result of its own saveState.
  return area as unknown as Area<unknown>
}

/** User who can sign in to the sandbox. */
export interface SandboxUser {
  readonly id: string
  name: string
  /** Without `@`. */
  screenName: string
  premium: boolean
  /** Time at which the user was added, ISO 8601. Absent for the first user. */
  readonly createdAt?: string
}

/** Account. Answers contain all fields except those listed here (spec 2.5). */
export interface SandboxAccount extends StoredRecord<'account'> {
  readonly id: string
  /** Users with access to the account. */
  userIds: string[]
  /** Roles by user id. Default of a user: `ACCOUNT_ADMIN`. */
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

/** Default credentials of a sandbox. */
export const fixedCredentials: SandboxCredentials = {
  consumerKey: 'sandbox-consumer-key',
  consumerSecret: 'sandbox-consumer-secret',
  accessToken: '1001-sandbox-access-token',
  accessTokenSecret: 'sandbox-access-token-secret',
}

/** State, clock, ids and switches that all areas share. */
export interface World {
  readonly credentials: SandboxCredentials
  /** Address of the sandbox, `http://127.0.0.1:PORT`. Empty until it listens. */
  readonly url: string
  readonly users: Map<string, SandboxUser>
  readonly accounts: Map<string, SandboxAccount>
  readonly log: Logger
  readonly names: Names
  /** Returns the time of the sandbox's clock, which the control API can set. Milliseconds since 1970. */
  readonly now: () => number
  /** Returns the time of the machine's clock, for signatures, rate limits, faults and the ledger. Milliseconds since 1970. */
  readonly machineNow: () => number
  /** Returns the next 64-bit decimal id. Ids are the same in a replay. */
  readonly newId: () => string
  /** Returns the next short id of the advertising host (`8x2fg0`). Ids are the same in a replay. */
  readonly newShortId: () => string
  /** Returns the next random number, from 0 to below 1. Numbers are the same in a replay. */
  readonly random: () => number
  /** Returns the value of a switch (`PUT /_sandbox/switches`), or its default. */
  readonly switchValue: <N extends SwitchName>(name: N) => SwitchValue<N>
  /** Returns the state of an area. Other areas only read it. Exception: the posts area sets `tweeted` of media. */
  readonly stateOf: <S>(area: AreaRef<S, unknown>) => S
  /** Writes an event to the journal, then applies it with the area's `applyEvent`. */
  readonly recordEvent: <Event>(area: AreaRef<unknown, Event>, event: NoInfer<Event>) => void
  /** Records that the current request broke a rule. `detail` must not contain a value of the request, which may be personal. */
  readonly reportViolation: (rule: string, detail: string) => void
}
