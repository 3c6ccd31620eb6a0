/**
 * Working buffer of a splitter: the unused end of the earlier chunks, followed by the next chunk. The buffer is reused, which saves
 * garbage collection, and grows if its content does not fit.
 */
export class CarryBuffer {
  /** Buffer with the content. The content may be shorter: see `length`. */
  bytes: Buffer = Buffer.alloc(0)
  #from = 0
  #to = 0

  /** Length of the content of `bytes`, in bytes. */
  get length(): number {
    return this.#to
  }

  /** Number of bytes that are not released. The next `append` keeps them. */
  get carried(): number {
    return this.#to - this.#from
  }

  /** Moves the carried bytes to the start and appends the chunk. Returns `bytes`. Earlier views of `bytes` become invalid. */
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

  /** Releases the bytes before index `from` of `bytes`; the others are carried to the next `append`. */
  release(from: number): void {
    this.#from = from
  }

  /** Returns a view of the carried bytes, and releases them. */
  takeRest(): Buffer {
    const rest = this.bytes.subarray(this.#from, this.#to)
    this.#from = this.#to
    return rest
  }
}
