/**
 * Bytes that a cutter works on: what is left of the last chunk, and behind it the next one. One buffer that is used again
 * and again, because joined ones of a whole file would have to be collected. Grows to the longest record.
 */
export class CarryBuffer {
  /** Holds more than belongs to it: see `length`. */
  bytes: Buffer = Buffer.alloc(0)
  #from = 0
  #to = 0

  /** End of what belongs to it, in `bytes`. */
  get length(): number {
    return this.#to
  }

  /** How much is left of the chunks before. */
  get carried(): number {
    return this.#to - this.#from
  }

  /** Moves what is left to the start and puts the chunk behind it. What was read from `bytes` before is not valid any more. */
  append(chunk: Buffer): Buffer {
    const { carried } = this
    const length = carried + chunk.length
    if (this.bytes.length < length) {
      const larger = Buffer.allocUnsafeSlow(length * 2)
      this.bytes.copy(larger, 0, this.#from, this.#to)
      this.bytes = larger
    } else this.bytes.copyWithin(0, this.#from, this.#to)
    this.bytes.set(chunk, carried)
    this.#from = 0
    this.#to = length
    return this.bytes
  }

  /** What stands before `from` is done with. */
  release(from: number): void {
    this.#from = from
  }

  /** Takes what is left. */
  takeRest(): Buffer {
    const rest = this.bytes.subarray(this.#from, this.#to)
    this.#from = this.#to
    return rest
  }
}
