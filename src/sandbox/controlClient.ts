/** Typed client of the control API (docs/sandbox.md#the-control-api). Uses HTTP, so the sandbox may run in another process. */
import type { ACCOUNT_ROLES } from './auth/users.ts'
import type { AppliedPart } from './appliedPart.ts'
import type { Stage } from './faults/faultKinds.ts'
import type { FaultMatch } from './faults/faultRule.ts'
import type { EndpointStats, LedgerEntry, Violation } from './ledger/ledger.ts'
import { recordOf } from '../unknownValue.ts'

/** Common kinds of faults, for completion in editors. docs/sandbox.md#faults describes all kinds. */
export const commonFaultKinds = [
  'status',
  'delay',
  'reset',
  'commit_then_reset',
  'truncate',
  'slow',
  'counts',
  'short',
  'long',
  'reorder',
  'duplicate_results',
  'html',
  'empty',
  'rate_limit',
  'expire_token',
  'partial_apply',
  'hold',
  'stall',
] as const

/** Fault to arm (docs/sandbox.md#faults). */
export interface FaultInput {
  /** Requests that the fault can hit. Default: all. */
  readonly match?: FaultMatch
  /** Number of requests that the fault hits. Default: 1. Null, 0 and -1 mean no limit, as `always` does. */
  readonly times?: number | 'always' | null
  /** Kind and settings, such as `{ kind: 'status', status: 503 }`. */
  readonly fault: {
    readonly kind: (typeof commonFaultKinds)[number] | (string & {})
    readonly stage?: Stage
    readonly apply?: AppliedPart
    readonly [setting: string]: unknown
  }
}

/** Armed fault, with its counts. */
export interface ArmedFault extends FaultInput {
  /** Null for no limit. */
  readonly times: number | null
  readonly id: string
  /**
   * Number of requests that satisfied `match`, not considering its `nth`, `every` and `probability`. Counts no further request once the
   * fault has hit `times` requests.
   */
  readonly matched: number
  /** Number of requests that the fault has hit. */
  readonly fired: number
}

/**
 * Content of a custom audience or do-not-reach list. Includes only identifiers in force: `effective_at` has passed by the sandbox's clock,
 * and `expires_at` has not.
 */
export interface AudienceSummary {
  /** Number of users with an identifier in force. */
  readonly members: number
  /** Number of identifiers in force, by type. */
  readonly identifiers: Readonly<Record<string, number>>
  /** One SHA-256, in lower-case hex, over the lines `type TAB value LF` of all identifiers in force. The lines are sorted bytewise. */
  readonly digest: string
}

/** Content of a catalog. */
export interface CatalogSummary {
  /** Number of products, variants included. */
  readonly products: number
  /**
   * One SHA-256, in lower-case hex, over the lines `id TAB JSON LF` of all products. The lines are sorted bytewise by id. The JSON has the
   * fields that callers set, sorted by name.
   */
  readonly digest: string
}

/** User to add. */
export interface UserInput {
  /** Handle without `@`: 1 to 15 letters, digits and `_`. Default: `user` and the last 11 digits of the id. */
  readonly screen_name?: string
  /** Default: the handle. */
  readonly name?: string
  /** Whole number as text. Default: the lowest free id from 1002. */
  readonly id?: string
  /** True for a user with a premium subscription. Default: false. */
  readonly premium?: boolean
  /** Accounts that the user can access, as an id or an id with a role. Default: no accounts. Default role: ACCOUNT_ADMIN. */
  readonly accounts?: readonly (string | { readonly id: string; readonly role?: (typeof ACCOUNT_ROLES)[number] })[]
}

/** User of the sandbox, with the accounts that the user can access. */
export interface UserSummary {
  readonly user_id: string
  readonly screen_name: string
  readonly name: string
  readonly premium: boolean
  readonly accounts: readonly { readonly id: string; readonly role: string }[]
}

/** Added user, with an access token. */
export interface AddedUser extends UserSummary {
  readonly oauth_token: string
  readonly oauth_token_secret: string
}

/** Calls of the control API (docs/sandbox.md#the-control-api). */
export interface SandboxControl {
  readonly faults: {
    /** Arms a fault and returns it with its id. */
    readonly arm: (fault: FaultInput) => Promise<ArmedFault>
    /** Returns all armed faults. Includes faults that have hit `times` requests. */
    readonly list: () => Promise<readonly ArmedFault[]>
    /** Clears the fault with this id, or all faults without an id. Rejects for an unknown id. */
    readonly clear: (id?: string) => Promise<void>
  }
  readonly clock: {
    /** Returns the time of the sandbox's clock. */
    readonly now: () => Promise<Date>
    /** Sets the clock. Resolves when the work that became due is done. */
    readonly set: (now: Date | string) => Promise<void>
    /** Advances the clock. Resolves as `set` does. Does not affect signatures and rate limits, which use the clock of the machine. */
    readonly advance: (seconds: number) => Promise<void>
  }
  /** Returns the requests with a `seq` above `after`, in order. Default: all requests. */
  readonly ledger: (after?: number) => Promise<readonly LedgerEntry[]>
  /** Returns the counts of requests, by endpoint name. */
  readonly stats: () => Promise<Readonly<Record<string, EndpointStats>>>
  /** Returns the rules that callers broke. */
  readonly violations: () => Promise<readonly Violation[]>
  /** Returns the counts and the digest of a custom audience or do-not-reach list. */
  readonly audience: (id: string) => Promise<AudienceSummary>
  /** Returns the number of products and the digest of a catalog. */
  readonly catalog: (id: string) => Promise<CatalogSummary>
  /** Returns the products of a catalog, variants included, sorted by id. Each has the fields that callers set, and the generated keys. */
  readonly products: (catalogId: string) => Promise<readonly Readonly<Record<string, unknown>>[]>
  /** Sets the switches in `values`, if given; null restores a default. Returns all switches (docs/sandbox.md#switches). */
  readonly switches: (values?: Readonly<Record<string, string | number | boolean | null>>) => Promise<Readonly<Record<string, unknown>>>
  /** Emits an activity event (docs/sandbox.md#events). Resolves when the first attempt of each delivery of the event has ended. */
  readonly event: (event: Readonly<Record<string, unknown>>) => Promise<unknown>
  readonly users: {
    /** Adds a user who can sign in. Returns the user with an access token. */
    readonly add: (user?: UserInput) => Promise<AddedUser>
    /** Returns all users. */
    readonly list: () => Promise<readonly UserSummary[]>
  }
  /** Adds and removes the features in `change`, if given. Returns the features of the account. */
  readonly features: (
    accountId: string,
    change?: { readonly add?: readonly string[]; readonly remove?: readonly string[] },
  ) => Promise<readonly string[]>
  /**
   * Restores the first state, clock and switches. Clears faults, TLS listeners, ledger, violations and rates. Default seed: the current
   * one.
   */
  readonly reset: (options?: { readonly seed?: number }) => Promise<void>
}

/** Error answer of the control API, for example for an unknown fault, switch or id. */
export class SandboxControlError extends Error {
  override readonly name = 'SandboxControlError'
  readonly status: number
  constructor(status: number, message: string) {
    super(message)
    this.status = status
  }
}

/** Creates a client of the control API of the sandbox at `url`. A call rejects with {@link SandboxControlError} for an error answer. */
export function sandboxControl(url: string): SandboxControl {
  const fetchText = async (method: string, path: string, body?: unknown): Promise<string> => {
    const response = await fetch(`${url}/_sandbox/${path}`, {
      method,
      ...(body === undefined ? {} : { body: JSON.stringify(body), headers: { 'content-type': 'application/json' } }),
    })
    const content = await response.text()
    if (!response.ok)
      throw new SandboxControlError(response.status, `${method} /_sandbox/${path}: ${response.status} ${content.slice(0, 500)}`)
    return content
  }
  // The answer is not checked, because client and sandbox are of the same package.
  const call = async <Result>(method: string, path: string, body?: unknown) => JSON.parse(await fetchText(method, path, body)) as Result
  const send = async (method: string, path: string, body?: unknown) => void (await fetchText(method, path, body))
  return {
    faults: {
      arm: (fault) => call('POST', 'faults', fault),
      list: () => call('GET', 'faults'),
      clear: (id) => send('DELETE', id === undefined ? 'faults' : `faults/${encodeURIComponent(id)}`),
    },
    clock: {
      now: async () => new Date((await call<{ now: string }>('GET', 'clock')).now),
      set: (now) => send('PUT', 'clock', { now: typeof now === 'string' ? now : now.toISOString() }),
      advance: (seconds) => send('PUT', 'clock', { advance_s: seconds }),
    },
    ledger: (after = 0) => call('GET', `ledger?after=${after}`),
    stats: () => call('GET', 'stats'),
    violations: () => call('GET', 'violations'),
    audience: (id) => call('GET', `audiences/${encodeURIComponent(id)}`),
    catalog: (id) => call('GET', `catalogs/${encodeURIComponent(id)}`),
    products: async (id) =>
      (await fetchText('GET', `catalogs/${encodeURIComponent(id)}/products`))
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => recordOf(JSON.parse(line))),
    switches: (values) => (values === undefined ? call('GET', 'switches') : call('PUT', 'switches', values)),
    event: (event) => call('POST', 'events', event),
    users: { add: (user = {}) => call('POST', 'users', user), list: () => call('GET', 'users') },
    features: (accountId, change) =>
      change === undefined
        ? call('GET', `features/${encodeURIComponent(accountId)}`)
        : call('PUT', 'features', { account_id: accountId, ...change }),
    reset: (options = {}) => send('POST', 'reset', options),
  }
}

/**
 * Rejects if the sandbox recorded a violation. The message lists the first 20 violations. Example:
 * `afterEach(() => expectNoViolations(sandbox))`.
 */
export async function expectNoViolations(sandbox: Pick<SandboxControl, 'violations'>): Promise<void> {
  const violations = await sandbox.violations()
  if (violations.length === 0) return
  const lines = violations.slice(0, 20).map(({ seq, rule, method, path, detail }) => `  #${seq} ${method} ${path}: ${rule}: ${detail}`)
  const more = violations.length > 20 ? [`  and ${violations.length - 20} more`] : []
  throw new Error([`${violations.length} API rule violations:`, ...lines, ...more].join('\n'))
}
