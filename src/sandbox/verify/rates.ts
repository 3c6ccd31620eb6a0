/** Counts requests against the rate limits. A window begins with its first request, by the machine's clock (docs/spec-notes.md#limits). */
import { limitOf, rateLimits, type LimitClass } from '../../service/contract/rateLimits.ts'
import type { Endpoint } from '../../service/contract/endpoint.ts'

/** State of a rate limit. `remaining`: requests that the window still allows; all of them if the limit is not enforced. */
export interface RateState {
  readonly limit: number
  readonly remaining: number
  /** End of the window in epoch seconds. Rounded up, so that a client that waits until then waits long enough. */
  readonly resetS: number
  /** True if the limit refuses the request. Always false for `peek`. */
  readonly refused: boolean
  /** True if the limit counts the requests for an ad account. The answer then also has the headers `x-account-rate-limit-…`. */
  readonly isOfAccount: boolean
}

interface Window {
  /** Machine time, milliseconds since 1970. */
  endsAt: number
  used: number
}

/** Values of a request, and values of switches, that decide its rate limits. */
export interface RateInput {
  readonly endpoint: Endpoint
  /** As `Caller.id`; `anonymous` before authentication. */
  readonly callerId: string
  readonly accountId: string | undefined
  /** True if the request has `with_total_count`, which has a limit of its own. */
  readonly hasTotalCount: boolean
  /** True to enforce only the limits whose numbers are in the specification (the switch `rate_limits` is `off`). */
  readonly specifiedLimitsOnly: boolean
  /** Limit of `global_reads` (the switch of this name). */
  readonly globalReads: number
  /** Scope of the limit `user_lists` of the uploads to user lists (the switch `upload_limit_per`). */
  readonly uploadsPer: 'user' | 'account'
}

/** Limit and window in the answer to a request without a route. Assumed: those of reads without an account. */
const { limit: UNROUTED_LIMIT, windowMs: UNROUTED_WINDOW_MS } = rateLimits.global_reads

/** Windows of all rate limits. */
export class Rates {
  readonly #windows = new Map<string, Window>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Returns the state of the request's limit with the fewest remaining requests. Counts nothing. */
  peek(input: RateInput): RateState {
    return mostRestrictive(limitNames(input).map((name) => this.#peekOrCount(name, input, false)))
  }

  /**
   * Counts the request against each of its enforced limits, except a limit that refuses it. Returns the state of the first limit that
   * refuses it, or else of the limit with the fewest remaining requests.
   */
  count(input: RateInput): RateState {
    return mostRestrictive(limitNames(input).map((name) => this.#peekOrCount(name, input, true)))
  }

  /** Returns the state for a request that no endpoint serves, for the headers of its answer. Such a request counts against no limit. */
  unrouted(): RateState {
    return {
      limit: UNROUTED_LIMIT,
      remaining: UNROUTED_LIMIT,
      resetS: Math.ceil((this.#now() + UNROUTED_WINDOW_MS) / 1000),
      refused: false,
      isOfAccount: false,
    }
  }

  clear(): void {
    this.#windows.clear()
  }

  #peekOrCount(name: LimitClass, input: RateInput, isCounted: boolean): RateState {
    const rule = limitOf(name)
    const nowMs = this.#now()
    const limit = name === 'global_reads' ? input.globalReads : rule.limit
    const per = name === 'user_lists' ? input.uploadsPer : rule.per
    const owner = per === 'user' ? input.callerId : per === 'account' ? (input.accountId ?? input.callerId) : 'app'
    const key = `${name} ${rule.shared ? '' : input.endpoint.name} ${owner}`
    let window = this.#windows.get(key)
    if (window === undefined || window.endsAt <= nowMs) {
      window = { endsAt: nowMs + rule.windowMs, used: 0 }
      if (isCounted) this.#windows.set(key, window)
    }
    const isEnforced = rule.isSpecified || !input.specifiedLimitsOnly
    const refused = isCounted && isEnforced && window.used >= limit
    if (isCounted && isEnforced && !refused) window.used++
    return {
      limit,
      // With 0 remaining requests, a client would wait for the end of a window that does not limit it.
      remaining: isEnforced ? Math.max(0, limit - window.used) : limit,
      resetS: Math.ceil(window.endsAt / 1000),
      refused,
      isOfAccount: per === 'account',
    }
  }
}

function mostRestrictive(states: readonly RateState[]): RateState {
  return states.find(({ refused }) => refused) ?? states.reduce((fewest, state) => (state.remaining < fewest.remaining ? state : fewest))
}

function limitNames(input: RateInput): LimitClass[] {
  // For lookups of posts and users, the caller decides: the app has one limit, and each user a larger one.
  const names: LimitClass[] = [input.endpoint.limit === 'v2_lookups' && input.callerId !== 'app' ? 'v2_lookups_user' : input.endpoint.limit]
  if (input.hasTotalCount) names.push('total_count')
  if (input.endpoint.limit === 'v2_posts') names.push('v2_posts_app')
  return names
}
