/** Packs rendered operations into request bodies. Every attempt of a batch sends the same bytes. */
import { hash } from 'node:crypto'
import { SluiceError } from '../errors.ts'
import type { BatchLimits } from './destination.ts'

/** Request body with its items. */
export interface PackedBatch<T> {
  readonly body: Buffer
  readonly sha256: Buffer
  /** Items in the order of the body. */
  readonly items: readonly T[]
  /** Offset of each item's bytes in the body. */
  readonly offsets: Int32Array
  /** Length of each item in bytes. */
  readonly lengths: Int32Array
}

/** Error for an operation that is too large for any request. */
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
 * Packs items, in order, into batches within the limits of a request (spec 8: 25 products, 2,500 operations, 5,000,000 bytes). The same
 * items make the same bodies, byte for byte (docs/guarantees.md#idempotent-resend).
 */
export class Packer<T extends { readonly bytes: Buffer }> {
  readonly #open: Buffer
  readonly #close: Buffer
  readonly #limits: BatchLimits
  #items: T[] = []
  #size: number

  constructor(frame: { readonly open: string; readonly close: string }, limits: BatchLimits) {
    this.#open = Buffer.from(frame.open)
    this.#close = Buffer.from(frame.close)
    this.#limits = limits
    this.#size = this.#open.length + this.#close.length
  }

  /**
   * Adds an item to the current batch. If the item does not fit, starts a new batch with the item and returns the finished one.
   *
   * @throws {OversizedOperationError} if the item alone is too large; the packer is unchanged
   */
  add(item: T): PackedBatch<T> | undefined {
    const length = item.bytes.length
    const lengthAlone = this.#open.length + this.#close.length + length
    if (lengthAlone > this.#limits.bytes) throw new OversizedOperationError(lengthAlone, this.#limits.bytes)
    const fits = this.#items.length === 0 || (this.#items.length < this.#limits.entries && this.#size + 1 + length <= this.#limits.bytes)
    const finished = fits ? undefined : this.flush()
    this.#size += this.#items.length === 0 ? length : length + 1
    this.#items.push(item)
    return finished
  }

  /** Returns the current batch, and starts a new one. Returns undefined if the current batch is empty. */
  flush(): PackedBatch<T> | undefined {
    if (this.#items.length === 0) return undefined
    const batch = joinEntries(this.#items, this.#open, this.#close, this.#size)
    this.#items = []
    this.#size = this.#open.length + this.#close.length
    return batch
  }
}

/** Returns one batch of these items. Does not check the limits: the items must be a part of a batch that is within them. */
export function pack<T extends { readonly bytes: Buffer }>(
  items: readonly T[],
  frame: { readonly open: string; readonly close: string },
): PackedBatch<T> {
  const open = Buffer.from(frame.open)
  const close = Buffer.from(frame.close)
  let size = open.length + close.length + Math.max(0, items.length - 1)
  for (const item of items) size += item.bytes.length
  return joinEntries(items, open, close, size)
}

const comma = 0x2c

function joinEntries<T extends { readonly bytes: Buffer }>(items: readonly T[], open: Buffer, close: Buffer, size: number): PackedBatch<T> {
  const body = Buffer.allocUnsafe(size)
  const offsets = new Int32Array(items.length)
  const lengths = new Int32Array(items.length)
  let at = open.copy(body)
  for (let i = 0; i < items.length; i++) {
    if (i > 0) body[at++] = comma
    const { bytes } = items[i]!
    offsets[i] = at
    lengths[i] = bytes.length
    at += bytes.copy(body, at)
  }
  close.copy(body, at)
  return { body, sha256: hash('sha256', body, 'buffer'), items, offsets, lengths }
}
