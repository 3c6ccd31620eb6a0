/**
 * Keeps the rate limit that all processes share: a budget in Postgres (`db/rateBudget.ts`). Takes grants from the budget for this process;
 * a grant is the permission to send one request now. Updates the limit and the waits of the budget from the service's answers.
 */
import type { Clock } from '../../clock.ts'
import { limitOf } from '../../service/contract/rateLimits.ts'
import { blockBudget, openBudget, setBudgetLimit, storableLimit, takeGrants } from '../../db/rateBudget.ts'
import type { Database } from '../../db/database.ts'
import { longestBackoffMs, requestedWaitMs, readLimit } from '../../http/retryAfter.ts'
import { headOf, type Exchange } from '../../service/client/exchange.ts'
import type { EngineDeps, EngineSettings } from '../engine.ts'
import { noteRateWait } from './rateWaits.ts'

/** Time that the budget adds to the service's window, because a request may be sent some time after its grant. */
const slackMs = 1_000
/** Time after which a grant is stale: its request must not be sent any more. */
const grantValidMs = 500
/** Maximum polling interval while the budget is exhausted, because another process may change limits or waits. */
const longestPollMs = 5_000
/** Minimum polling interval. Grants of an exhausted budget become free one by one; after this time one statement takes several. */
const shortestPollMs = 40
/** Maximum number of grants taken in one statement, because each must be used within `grantValidMs`. */
const maxGrantsAtOnce = 16

export interface TakeOptions {
  /** On abort, the caller gets no grant. */
  readonly signal?: AbortSignal | undefined
  /** Called with a text for each wait above one second while this caller is the first in the queue. */
  readonly onWait?: (why: string) => void
}

interface Waiter extends TakeOptions {
  /** True after a statement that gave no grant. */
  isDelayed: boolean
  readonly resolve: (grant: Grant | undefined) => void
  readonly reject: (error: unknown) => void
}

/**
 * Access of this process to a rate budget of one user of the service (docs/scale.md). There is a budget for each class of limit: the
 * requests that the service counts together.
 */
export class Allowance {
  /** Name of the budget in the database. */
  readonly name: string
  /** Maximum number of requests per window, until an answer states another one. */
  readonly limit: number
  /** Window of the service, without `slackMs`. */
  readonly windowMs: number
  readonly #db: Database
  readonly #clock: Clock
  readonly #settings: EngineSettings
  /** True if the specification has the limit. Then an answer may only lower it, otherwise also raise it. */
  readonly #isSpecified: boolean
  #waiting: Waiter[] = []
  #isServing = false
  /** Stored limit, as this process read or wrote it last. */
  #knownLimit: number
  /** End of the wait after an answer to this process, by the monotonic clock. Other processes find the wait in the database. */
  #blockedUntil = 0

  private constructor(
    { db, clock, settings }: AllowanceDeps,
    name: string,
    rate: { readonly limit: number; readonly windowMs: number; readonly isSpecified: boolean },
  ) {
    this.name = name
    this.limit = rate.limit
    this.windowMs = rate.windowMs
    this.#db = db
    this.#clock = clock
    this.#settings = settings
    this.#isSpecified = rate.isSpecified
    this.#knownLimit = rate.limit
  }

  /** Opens the allowance of one class of limit for the credentials of `deps`. Creates the budget if it does not exist. */
  static async open(deps: AllowanceDeps, limitClass: string): Promise<Allowance> {
    const rate = limitOf(limitClass)
    const allowance = new Allowance(deps, `${deps.service.origin} ${deps.service.credentials} ${limitClass}`, rate)
    allowance.#knownLimit = await openBudget(deps.db, { name: allowance.name, limit: rate.limit, windowMs: rate.windowMs + slackMs })
    return allowance
  }

  /** Waits for a grant, in the order of the calls. Returns undefined if `signal` was aborted first. Throws errors of the database. */
  takeGrant(options: TakeOptions): Promise<Grant | undefined> {
    return new Promise((resolve, reject) => {
      this.#waiting.push({ ...options, isDelayed: false, resolve, reject })
      if (!this.#isServing) void this.#serve()
    })
  }

  /** Takes grants until no caller waits, each time for up to `maxGrantsAtOnce` callers. */
  async #serve(): Promise<void> {
    this.#isServing = true
    try {
      for (;;) {
        this.#dropAborted()
        if (this.#waiting.length === 0) return
        const { granted, waitMs, limit } = await takeGrants(this.#db, this.name, Math.min(this.#waiting.length, maxGrantsAtOnce))
        // Another process may have replaced the limit that this process stored. Then the next answer must store its limit again.
        this.#knownLimit = limit
        for (const waiter of this.#waiting.splice(0, granted)) waiter.resolve(new Grant(this.#clock, waiter.isDelayed))
        const [next] = this.#waiting
        if (waitMs <= 0 || next === undefined) continue
        if (waitMs > 1_000) {
          const until = new Date(this.#clock.now() + waitMs).toISOString().slice(0, 19)
          next.onWait?.(`waiting for the rate limit until ${until}Z`)
        }
        for (const waiter of this.#waiting) waiter.isDelayed = true
        // Random, so that the processes do not poll at the same time.
        const jitterMs = Math.random() * Math.min(250, waitMs * 0.2)
        const begunAt = this.#clock.monotonic()
        const waitingCount = this.#waiting.length
        await this.#clock.sleep(Math.min(longestPollMs, Math.max(shortestPollMs, waitMs + jitterMs)), next.signal)
        noteRateWait(this.name, waitingCount * (this.#clock.monotonic() - begunAt))
      }
    } catch (error) {
      for (const waiter of this.#waiting.splice(0)) waiter.reject(error)
    } finally {
      this.#isServing = false
    }
  }

  #dropAborted(): void {
    for (const waiter of this.#waiting.filter(({ signal }) => signal?.aborted)) waiter.resolve(undefined)
    this.#waiting = this.#waiting.filter(({ signal }) => !signal?.aborted)
  }

  /** True during a wait that an answer to this process requested, and during the wait after a 429 to this process. */
  get isBlocked(): boolean {
    return this.#clock.monotonic() < this.#blockedUntil
  }

  /**
   * Updates the budget of all processes from an answer, also if its body was lost. Changes nothing without an answer. `attempt`: number of
   * this attempt of the request, from 1.
   *
   * - A limit in the headers replaces the stored limit; a limit of the specification is the maximum.
   * - A requested wait delays the requests, at most for `retryAfterCapMs`.
   * - A 429 delays them too: at least for the longest backoff of `attempt`, at most for `retryAfterCapMs`.
   */
  async update(exchange: Exchange, attempt: number): Promise<void> {
    const head = headOf(exchange)
    if (head === undefined) return
    const backoff = head.status === 429 ? longestBackoffMs(attempt, this.#settings) : 0
    const waitMs = Math.min(this.#settings.retryAfterCapMs, Math.max(backoff, requestedWaitMs(head, this.#clock.now()) ?? 0))
    if (waitMs > 0) {
      this.#blockedUntil = Math.max(this.#blockedUntil, this.#clock.monotonic() + waitMs)
      await blockBudget(this.#db, this.name, waitMs)
    }
    const stated = readLimit(head.headers)
    if (stated !== undefined && stated > 0) {
      const limit = storableLimit(this.#isSpecified ? Math.min(this.limit, stated) : stated)
      if (limit !== this.#knownLimit) {
        this.#knownLimit = limit
        await setBudgetLimit(this.#db, this.name, limit)
      }
    }
  }
}

export type AllowanceDeps = Pick<EngineDeps, 'db' | 'clock' | 'service' | 'settings'>

/** Permission to send one request now. */
export class Grant {
  /** True if the rate limit delayed the grant. */
  readonly isDelayed: boolean
  readonly #clock: Clock
  readonly #at: number

  constructor(clock: Clock, isDelayed: boolean) {
    this.isDelayed = isDelayed
    this.#clock = clock
    this.#at = clock.monotonic()
  }

  /** True if no request may be sent with this grant any more. */
  get isStale(): boolean {
    return this.#clock.monotonic() - this.#at > grantValidMs
  }
}
