/** Groups rendered operations into request bodies: the frozen bytes of every attempt. */
import { hash } from 'node:crypto'
import { SluiceError } from '../errors.ts'
import type { BatchLimits } from './destination.ts'

export interface PackedBatch<T> {
  /** UTF-8, frame and commas included. */
  readonly body: Buffer
  readonly sha256: Buffer
  /** In the order of the body. */
  readonly items: readonly T[]
  /** Offset of each item's bytes in the body. */
  readonly offsets: Int32Array
  readonly lengths: Int32Array
}

/** Text around the items of a body, in ASCII. */
export interface Frame {
  readonly open: string
  readonly close: string
}

/** Error for one operation that is larger than a request may be. Nothing was sent; drop the operation and report it. */
export class OversizedOperationError extends SluiceError {
  readonly code = 'OPERATION_TOO_LARGE'
  readonly recovery = 'skip-record'
  constructor(sizeBytes: number, limitBytes: number) {
    super(`one operation of ${sizeBytes} bytes does not fit a request of ${limitBytes} bytes`, {
      hint: 'send fewer users in an operation (users_per_operation), or shorten the record',
    })
  }
}

/**
 * Takes items one by one, and returns a finished batch if the next item does not fit. Keeps one batch in memory. Items keep their
 * order, and each is in exactly one batch. The same items make the same bodies, byte for byte
 * (docs/guarantees.md#idempotent-resend). `limits.bytes` counts UTF-8, with frame and commas. Source: spec 8 (25 products, 2,500
 * operations, 5,000,000 bytes).
 */
export class Packer<T extends { readonly text: string }> {
  readonly #frame: Frame
  readonly #frameBytes: number
  readonly #limits: BatchLimits
  /** Body so far. Reused, because a buffer for each item takes twice as long and more memory. */
  #body = Buffer.allocUnsafe(65_536)
  #size: number
  #items: T[] = []
  #lengths: number[] = []

  constructor(frame: Frame, limits: BatchLimits) {
    this.#frame = frame
    this.#frameBytes = frame.open.length + frame.close.length
    this.#limits = limits
    this.#size = this.#body.write(frame.open)
  }

  /**
   * Adds an item; returns the batch that it completes.
   *
   * @throws {OversizedOperationError} if the item alone is too large; the packer is unchanged
   */
  add(item: T): PackedBatch<T> | undefined {
    const { text } = item
    const length = Buffer.byteLength(text)
    const alone = this.#frameBytes + length
    if (alone > this.#limits.bytes) throw new OversizedOperationError(alone, this.#limits.bytes)
    const isFull = this.#items.length >= this.#limits.entries || this.#size + 1 + length + this.#frame.close.length > this.#limits.bytes
    const finished = isFull ? this.flush() : undefined
    if (this.#items.length > 0) this.#write(',', 1)
    this.#write(text, length)
    this.#items.push(item)
    this.#lengths.push(length)
    return finished
  }

  /** Returns the current batch, if any; the packer is empty afterwards. */
  flush(): PackedBatch<T> | undefined {
    const items = this.#items
    if (items.length === 0) return undefined
    this.#write(this.#frame.close, this.#frame.close.length)
    const body = Buffer.from(this.#body.subarray(0, this.#size))
    const lengths = Int32Array.from(this.#lengths)
    this.#items = []
    this.#lengths = []
    this.#size = this.#frame.open.length
    return { body, sha256: hash('sha256', body, 'buffer'), items, offsets: offsetsOf(this.#frame, lengths), lengths }
  }

  #write(text: string, bytes: number): void {
    if (this.#size + bytes > this.#body.length) {
      const larger = Buffer.allocUnsafe((this.#size + bytes) * 2)
      this.#body.copy(larger, 0, 0, this.#size)
      this.#body = larger
    }
    this.#size += this.#body.write(text, this.#size)
  }
}

function offsetsOf(frame: Frame, lengths: Int32Array): Int32Array {
  let at = Buffer.byteLength(frame.open)
  return lengths.map((length) => {
    const offset = at
    at += length + 1
    return offset
  })
}

/** Builds a body of exactly these items, for a split batch. The caller checks the limits; a part of a batch always fits. */
export function pack<T extends { readonly bytes: Buffer }>(items: readonly T[], frame: Frame): PackedBatch<T> {
  const lengths = Int32Array.from(items, ({ bytes }) => bytes.length)
  const comma = Buffer.from(',')
  const separated = items.flatMap(({ bytes }, i) => (i === 0 ? [bytes] : [comma, bytes]))
  const body = Buffer.concat([Buffer.from(frame.open), ...separated, Buffer.from(frame.close)])
  return { body, sha256: hash('sha256', body, 'buffer'), items, offsets: offsetsOf(frame, lengths), lengths }
}
