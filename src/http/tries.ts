import { longestBackoffMs } from './waitPolicy.ts'

/** Limits of attempts of one step, and of connections in a row without any bytes. */
export const maxTries = 4

/** A server that asks for a longer wait is left alone until the next run. */
export const longestWaitMs = 60_000

/** Returns the wait after `failures` failed tries in a row: `firstMs`, doubled each time. */
export function retryWaitMs(failures: number, firstMs: number): number {
  return longestBackoffMs(failures, { backoffMinMs: firstMs, backoffMaxMs: longestWaitMs })
}

/** A connection that brought less does not count as progress, so that the tries end. */
const fruitfulBytes = 65_536

/** Counts the connections of one reading: as many as it takes while each brings something, else `maxTries`. */
export class Tries {
  #fruitless = 0

  /** Returns true if another attempt is worth it after one that broke off after `bytes`. */
  another(bytes: number): boolean {
    this.#fruitless = bytes >= fruitfulBytes ? 0 : this.#fruitless + 1
    return this.#fruitless < maxTries
  }

  /** Wait before it: `firstMs`, doubled with each one in a row that brought nothing. */
  waitMs(firstMs: number): number {
    return retryWaitMs(this.#fruitless, firstMs)
  }
}
