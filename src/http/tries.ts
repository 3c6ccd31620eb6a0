import { longestBackoffMs } from './retryAfter.ts'

/** Maximum number of attempts of one step, and of consecutive connections without progress. */
export const maxTries = 4

/** Longest wait in milliseconds that a run accepts. If a server requests a longer one, the next run tries again. */
export const longestWaitMs = 60_000

/** Returns the wait in milliseconds after `failures` consecutive failures: `firstMs`, doubled each time. */
export function retryWaitMs(failures: number, firstMs: number): number {
  return longestBackoffMs(failures, { backoffMinMs: firstMs, backoffMaxMs: longestWaitMs })
}

/** Minimum number of bytes for a connection to count as progress. Without a minimum, the tries might never end. */
const fruitfulBytes = 65_536

/** Counts the connections of one read. There is no limit while they make progress, else `maxTries`. */
export class Tries {
  #fruitless = 0

  /** Returns true if another connection may be tried after one that delivered `bytes`. */
  another(bytes: number): boolean {
    this.#fruitless = bytes >= fruitfulBytes ? 0 : this.#fruitless + 1
    return this.#fruitless < maxTries
  }

  /** Returns the wait before it in milliseconds: `firstMs`, doubled with each consecutive connection without progress. */
  waitMs(firstMs: number): number {
    return retryWaitMs(this.#fruitless, firstMs)
  }
}
