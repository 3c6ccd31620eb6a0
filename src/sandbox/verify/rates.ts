/** Fixed windows by the machine's time, from the first request of each (docs/spec-notes.md#limits). */
import { rateLimits, type RateLimit } from '../../service/contract/rateLimits.ts'
import type { Endpoint } from '../../service/contract/endpoint.ts'

export interface RateState {
  readonly limit: number
  readonly remaining: number
  /** Epoch seconds, rounded up: a client that waits for it waits long enough. */
  readonly resetS: number
  readonly refused: boolean
  /** The budget is that of an ad account: its own header trio says so. */
  readonly account: boolean
}

interface Window {
  endsAt: number
  used: number
}

export interface RateInput {
  readonly endpoint: Endpoint
  readonly userId: string
  readonly accountId: string | undefined
  readonly totalCount: boolean
  /** Only limits that the specification itself names hold. */
  readonly namedOnly: boolean
  readonly globalReads: number
  /** Scope in which uploads of users are counted together (docs/spec-notes.md#limits: one guide says an account's). */
  readonly uploadsPer: 'user' | 'account'
}

const TABLE: Readonly<Record<string, RateLimit>> = rateLimits

/** Assumed: the budget of reads without an account. */
const UNROUTED = rateLimits.global_reads.limit
const UNROUTED_MS = rateLimits.global_reads.windowMs

export class Rates {
  readonly #windows = new Map<string, Window>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Counts the request against its budgets; `take: false` only looks. */
  check(input: RateInput, take: boolean): RateState {
    const states = classesOf(input).map((name) => this.#one(name, input, take))
    // The scarcer budget is the one shown; a refusal by any is a refusal.
    return states.reduce((scarce, state) =>
      state.refused && !scarce.refused ? state : !scarce.refused && state.remaining < scarce.remaining ? state : scarce,
    )
  }

  /** Returns the headers of an answer without a route: every answer has the trio (docs/spec-notes.md#limits), and nothing there uses it up. */
  unrouted(): RateState {
    return { limit: UNROUTED, remaining: UNROUTED, resetS: Math.ceil((this.#now() + UNROUTED_MS) / 1000), refused: false, account: false }
  }

  clear(): void {
    this.#windows.clear()
  }

  #one(name: string, input: RateInput, take: boolean): RateState {
    const rule = TABLE[name]
    const nowMs = this.#now()
    if (rule === undefined) return { limit: 1, remaining: 1, resetS: Math.ceil(nowMs / 1000), refused: false, account: false }
    const limit = name === 'global_reads' ? input.globalReads : rule.limit
    const per = name === 'user_lists' ? input.uploadsPer : rule.per
    const owner = per === 'user' ? input.userId : per === 'account' ? (input.accountId ?? input.userId) : 'app'
    const key = `${name} ${rule.shared || name === 'total_count' ? '' : input.endpoint.name} ${owner}`
    let window = this.#windows.get(key)
    if (window === undefined || window.endsAt <= nowMs) {
      window = { endsAt: nowMs + rule.windowMs, used: 0 }
      if (take) this.#windows.set(key, window)
    }
    const holds = rule.named || !input.namedOnly
    const refused = take && holds && window.used >= limit
    if (take && !refused) window.used++
    return {
      limit,
      remaining: Math.max(0, limit - window.used),
      resetS: Math.ceil(window.endsAt / 1000),
      refused,
      account: per === 'account',
    }
  }
}

function classesOf(input: RateInput): string[] {
  // A user's own budget for looking up posts is larger than the app's (docs/spec-notes.md#limits 'v2').
  const names = [input.endpoint.limit === 'v2_lookups' && input.userId !== 'app' ? 'v2_lookups_user' : input.endpoint.limit]
  if (input.totalCount) names.push('total_count')
  if (input.endpoint.limit === 'v2_posts') names.push('v2_posts_app')
  return names
}
