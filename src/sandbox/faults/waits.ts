/** Makes requests wait: until the control API releases them (the fault `hold`), or for a time. */
import type { LedgerEntry } from '../ledger/ledger.ts'
import type { ArmedRule } from './armedFaults.ts'

/** Maximum delay of a timer in Node, 24.8 days. A timer with a longer delay fires immediately. */
export const MAX_TIMER_MS = 2_147_483_647

/** Request that waits to be released, as `GET /_sandbox/holds` shows it. */
export interface Hold {
  /** `name` of the fault, or else the id of the rule. */
  readonly name: string
  readonly seq: number
  readonly method: string
  readonly path: string
  readonly stage: string
  /** Machine time, ISO 8601. */
  readonly since: string
}

/** Requests that wait because of a fault. */
export class Waits {
  readonly #holds = new Map<Hold, () => void>()
  readonly #pauses = new Set<() => void>()
  readonly #now: () => number

  constructor(now: () => number) {
    this.#now = now
  }

  /** Returns the requests that wait for `release`. */
  holds(): readonly Hold[] {
    return [...this.#holds.keys()]
  }

  /** Resolves when `release` is called with the name of the hold (`Hold.name`), or when `clear` is called. */
  hold(rule: ArmedRule, { seq, method, path }: LedgerEntry, stage: string): Promise<void> {
    const name = typeof rule.fault['name'] === 'string' ? rule.fault['name'] : rule.id
    return new Promise((resolve) =>
      this.#holds.set({ name, seq, method, path, stage, since: new Date(this.#now()).toISOString() }, resolve),
    )
  }

  /** Releases every request that waits under this name. Returns their number. */
  release(name: string): number {
    const released = [...this.#holds].filter(([hold]) => hold.name === name)
    for (const [hold, resolve] of released) {
      this.#holds.delete(hold)
      resolve()
    }
    return released.length
  }

  /** Resolves after `ms` (at most 24.8 days), or when `clear` is called. */
  pause(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const end = (): void => {
        clearTimeout(timer)
        this.#pauses.delete(end)
        resolve()
      }
      const timer = setTimeout(end, Math.min(ms, MAX_TIMER_MS))
      this.#pauses.add(end)
    })
  }

  /** Ends every wait immediately. */
  clear(): void {
    for (const name of new Set(this.holds().map((hold) => hold.name))) this.release(name)
    for (const end of this.#pauses) end()
  }
}
