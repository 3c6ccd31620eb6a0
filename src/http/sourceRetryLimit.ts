/** Limits the attempts of a source, and the waits between them. */
import { longestBackoffMs } from './retryAfter.ts'

/** Maximum number of attempts of one request or step, and of consecutive connections without progress (`progressBytes`). */
export const maxAttempts = 4

/** Longest wait of a source in milliseconds. If its server requests a longer wait, the run fails and the next run tries again. */
export const longestWaitMs = 60_000

/** Returns the wait in milliseconds after `failures` consecutive failures: `firstMs`, doubled each time, at most `longestWaitMs`. */
export function retryWaitMs(failures: number, firstMs: number): number {
  return longestBackoffMs(failures, { backoffMinMs: firstMs, backoffMaxMs: longestWaitMs })
}

/** Number of bytes from which a connection counts as progress. Without such a minimum, the attempts might never end. */
const progressBytes = 65_536

/** Counts the connections of one read. Allows any number that make progress, but at most `maxAttempts` without progress in a row. */
export class SourceRetryLimit {
  #withoutProgress = 0

  /** Counts a broken connection that delivered `bytes`. Returns true if another connection may be tried. */
  takeRetry(bytes: number): boolean {
    this.#withoutProgress = bytes >= progressBytes ? 0 : this.#withoutProgress + 1
    return this.#withoutProgress < maxAttempts
  }

  /** Returns the wait in milliseconds before the next connection, as `retryWaitMs` for the consecutive connections without progress. */
  waitMs(firstMs: number): number {
    return retryWaitMs(this.#withoutProgress, firstMs)
  }
}
