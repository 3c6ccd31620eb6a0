/**
 * Working buffer of a cutter: the rest of the last chunk, followed by the next chunk. One buffer is reused, to save garbage
 * collection. It grows to the longest record.
 */
export class CarryBuffer {
  /** May be larger than its content: see `length`. */
  bytes: Buffer = Buffer.alloc(0)
  #from = 0
  #to = 0

  /** Length of the content of `bytes`. */
  get length(): number {
    return this.#to
  }

  /** Number of bytes left from earlier chunks. */
  get carried(): number {
    return this.#to - this.#from
  }

  /** Moves the rest to the start and appends the chunk. Earlier views of `bytes` become invalid. */
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

  /** Releases the bytes before `from`. */
  release(from: number): void {
    this.#from = from
  }

  /** Takes the rest. */
  takeRest(): Buffer {
    const rest = this.bytes.subarray(this.#from, this.#to)
    this.#from = this.#to
    return rest
  }
}
