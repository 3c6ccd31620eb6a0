/** How often one step is tried, and how many connections in a row may bring nothing. */
export const maxTries = 4

/** A connection that brought less does not count as progress, so that the tries end. */
const fruitfulBytes = 65_536

/** Counts the connections of one reading: as many as it takes while each brings something, else `maxTries`. */
export class Tries {
  #fruitless = 0

  /** Whether another one is worth it after one that broke and had brought `bytes`. */
  another(bytes: number): boolean {
    this.#fruitless = bytes >= fruitfulBytes ? 0 : this.#fruitless + 1
    return this.#fruitless < maxTries
  }

  /** Wait before it: `firstMs`, doubled with each one in a row that brought nothing. */
  waitMs(firstMs: number): number {
    return firstMs * 2 ** Math.max(0, this.#fruitless - 1)
  }
}
