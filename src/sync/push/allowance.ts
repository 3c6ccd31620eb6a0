/** The shared budget as one process uses it: grants in turn, limits learned from answers. */
import type { Clock } from '../../clock.ts'
import pLimit from 'p-limit'
import { rateLimits, type RateLimitClass } from '../../service/contract/limits.ts'
import { blockBudget, openBudget, setBudgetLimit, takeGrant } from '../../store/budget.ts'
import type { Database } from '../../store/database.ts'
import { statedLimit } from './waitAdvice.ts'

/** A grant's moment is not the wire's: windows are a second longer, and a grant older than this is thrown away (scale 3). */
const slackMs = 1_000
const grantLivesMs = 500
/** So often the budget is asked again while it is exhausted: limits may have been raised or blocks added meanwhile. */
const askAgainMs = 5_000

export class Allowance {
  readonly name: string
  readonly limit: number
  readonly windowMs: number
  readonly #db: Database
  readonly #clock: Clock
  readonly #named: boolean
  readonly #turn = pLimit(1)
  #known: number

  private constructor(
    db: Database,
    clock: Clock,
    name: string,
    rate: { readonly limit: number; readonly windowMs: number; readonly named: boolean },
  ) {
    this.name = name
    this.limit = rate.limit
    this.windowMs = rate.windowMs
    this.#db = db
    this.#clock = clock
    this.#named = rate.named
    this.#known = rate.limit
  }

  /** The allowance of one class of limit at one service, whichever process asks. */
  static async open(db: Database, clock: Clock, origin: string, limitClass: string): Promise<Allowance> {
    const rate = rateLimits[limitClass as RateLimitClass]
    if (rate === undefined) throw new Error(`no such class of limit: ${limitClass}`)
    const allowance = new Allowance(db, clock, `${origin} ${limitClass}`, rate)
    await openBudget(db, { name: allowance.name, limit: rate.limit, windowMs: rate.windowMs + slackMs })
    return allowance
  }

  /**
   * Waits for a grant; undefined when `signal` was aborted first. One of this process asks at a time, in order.
   * `onWait` hears how long it will be, whenever that is worth telling.
   */
  take(options: { readonly signal?: AbortSignal | undefined; readonly onWait?: (ms: number) => void }): Promise<Grant | undefined> {
    return this.#turn(async () => {
      for (;;) {
        if (options.signal?.aborted) return undefined
        const waitMs = await takeGrant(this.#db, this.name)
        if (waitMs <= 0) return new Grant(this.#clock)
        if (waitMs > 1_000) options.onWait?.(waitMs)
        await this.#clock.sleep(Math.min(askAgainMs, waitMs + Math.random() * Math.min(250, waitMs * 0.2)), options.signal)
      }
    })
  }

  /** Nobody sends anything of this class for so long. */
  async block(ms: number): Promise<void> {
    await blockBudget(this.#db, this.name, ms)
  }

  /**
   * Takes over what an answer says of its limits: a lower or, where the specification names none, another limit, and a
   * window that is used up.
   */
  async learn(headers: Readonly<Record<string, string>>, capMs: number): Promise<void> {
    const stated = statedLimit(headers, this.#clock.now())
    if (stated.limit !== undefined && stated.limit > 0) {
      const limit = this.#named ? Math.min(this.limit, stated.limit) : stated.limit
      if (limit !== this.#known) {
        this.#known = limit
        await setBudgetLimit(this.#db, this.name, limit)
      }
    }
    if (stated.remaining === 0 && stated.resetMs !== undefined && stated.resetMs > 0) await this.block(Math.min(stated.resetMs, capMs))
  }
}

/** Leave to send one request, now. */
export class Grant {
  readonly #clock: Clock
  readonly #at: number

  constructor(clock: Clock) {
    this.#clock = clock
    this.#at = clock.monotonic()
  }

  get stale(): boolean {
    return this.#clock.monotonic() - this.#at > grantLivesMs
  }
}
