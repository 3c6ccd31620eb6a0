/** Stream of bytes with lookahead. A reader can put bytes back. Only one reader at a time may use the queue. */
export class ByteQueue implements AsyncIterable<Buffer> {
  readonly #source: AsyncIterator<Buffer>
  #ahead: Buffer[] = []
  #ended = false

  constructor(source: AsyncIterable<Buffer>) {
    this.#source = source[Symbol.asyncIterator]()
  }

  /** Returns the next bytes, never empty; undefined at the end. */
  async next(): Promise<Buffer | undefined> {
    const ahead = this.#ahead.shift()
    if (ahead !== undefined) return ahead
    while (!this.#ended) {
      const result = await this.#source.next()
      if (result.done === true) this.#ended = true
      else if (result.value.length > 0) return result.value
    }
    return undefined
  }

  /** Returns the next `size` bytes without taking them; fewer only at the end. Does not change the chunks that `next` returns. */
  async peek(size: number): Promise<Buffer> {
    const parts: Buffer[] = []
    let length = 0
    while (length < size) {
      const part = await this.next()
      if (part === undefined) break
      parts.push(part)
      length += part.length
    }
    this.#ahead = [...parts, ...this.#ahead]
    const [first = Buffer.alloc(0)] = parts
    return (parts.length > 1 ? Buffer.concat(parts) : first).subarray(0, size)
  }

  /** Takes exactly `size` bytes. If the stream ends before, takes nothing and returns undefined. */
  async take(size: number): Promise<Buffer | undefined> {
    if (size === 0) return Buffer.alloc(0)
    const head = await this.peek(size)
    if (head.length < size) return undefined
    let left = size
    while (left > 0) {
      const part = (await this.next()) as Buffer // `peek` has loaded it
      if (part.length > left) this.giveBack(part.subarray(left))
      left -= Math.min(left, part.length)
    }
    return head
  }

  /** Puts bytes back to the front of the queue. */
  giveBack(bytes: Buffer): void {
    if (bytes.length > 0) this.#ahead.unshift(bytes)
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Buffer> {
    for (let part = await this.next(); part !== undefined; part = await this.next()) yield part
  }
}
