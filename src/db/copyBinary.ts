/**
 * Writes rows by COPY … WITH (FORMAT binary), directly into one buffer, without a string, object or promise per row. For 1,000,000 rows
 * with `bytea`, it takes half the time of the text format and a fifth of that of multi-row INSERT (Postgres 18).
 */
import { from as copyFrom, type CopyStreamQuery } from 'pg-copy-streams'
import type pg from 'pg'

const signature = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1')
const byteaOid = 17
const int4Oid = 23
const textOid = 25
/** Number of bytes of the header of an array with one dimension: five integers (`#arrayHead`). */
const arrayHeadBytes = 20
/** Microseconds between 1970 and 2000, the origin of Postgres' timestamps. */
const epoch2000Micro = 946_684_800_000_000n
/** Number of bytes passed to the socket at a time. */
const chunkBytes = 256 * 1024
/** Size of the buffers that are reused. A buffer may be filled beyond `chunkBytes` before it is passed on. */
const largeBytes = chunkBytes * 2
/**
 * Size of the first buffer in bytes. Most COPYs of a small run fit into it. Larger buffers outside of the heap cause full garbage
 * collections.
 */
const initialBytes = 16 * 1024
/** Maximum number of buffers in `spares`: 12 MB, somewhat more than the records of a step of a first load. */
const maxSpares = 24

/** Large buffers that ended COPYs no longer use. New ones would fragment memory and cause full garbage collections. */
const spares: Buffer[] = []

/** COPY that starts when other statements of the connection have ended. */
export interface LaterCopy {
  readonly after: Promise<unknown>
  /** Maximum number of bytes that may wait for `after` before `flush` waits. */
  readonly maxWaitingBytes: number
}

/** Keeps a buffer for other COPYs, unless it has another size or there are enough. */
function keepSpare(buffer: Buffer): void {
  if (buffer.length === largeBytes && spares.length < maxSpares) spares.push(buffer)
}

/** Writes the rows of one COPY. `row` starts a row; the other methods write its fields in order. A missing value is written as null. */
export class CopyWriter {
  readonly #stream: CopyStreamQuery
  #buffer: Buffer
  #at: number
  #failure: Error | undefined

  /**
   * Starts `copy <target> from stdin`; with `later`, only when `later.after` has ended or failed. `target`: trusted SQL of a table with
   * columns, such as `stage (key, hash)`.
   */
  constructor(client: pg.PoolClient, target: string, later?: LaterCopy) {
    const options = later === undefined ? {} : { highWaterMark: later.maxWaitingBytes }
    this.#stream = copyFrom(`copy ${target} from stdin (format binary)`, options)
    const start = () => void client.query(this.#stream)
    if (later === undefined) start()
    // If the earlier statement failed, its transaction is aborted, so this COPY fails too.
    else later.after.then(start, start)
    this.#stream.on('error', (error: Error) => (this.#failure = error))
    this.#buffer = spares.pop() ?? Buffer.allocUnsafe(initialBytes)
    this.#at = signature.copy(this.#buffer)
  }

  /** Starts a row; `columns` fields must follow. */
  row(columns: number): void {
    this.#need(2)
    this.#at = put16(this.#buffer, this.#at, columns)
  }

  null(): void {
    this.#need(4)
    this.#at = put32(this.#buffer, this.#at, -1)
  }

  bytes(value: Uint8Array | null | undefined): void {
    if (value == null) return this.null()
    this.#need(4 + value.length)
    this.#at = putBytes(this.#buffer, this.#at, value)
  }

  /** Writes the field that has `length` bytes from `at` on in `source`. */
  slice(source: Uint8Array, at: number, length: number): void {
    this.#need(4 + length)
    this.#at = putSlice(this.#buffer, put32(this.#buffer, this.#at, length), source, at, length)
  }

  /** Writes the concatenated values as one `bytea`. */
  joined(values: readonly Uint8Array[]): void {
    let size = 0
    for (const value of values) size += value.length
    this.#need(4 + size)
    let at = put32(this.#buffer, this.#at, size)
    for (const value of values) at = putValue(this.#buffer, at, value)
    this.#at = at
  }

  text(value: string): void {
    // At most three bytes per UTF-16 unit.
    this.#need(4 + value.length * 3)
    const byteLength = this.#buffer.write(value, this.#at + 4, 'utf8')
    this.#buffer.writeInt32BE(byteLength, this.#at)
    this.#at += 4 + byteLength
  }

  boolean(value: boolean): void {
    this.#need(5)
    this.#at = put32(this.#buffer, this.#at, 1)
    this.#buffer[this.#at++] = value ? 1 : 0
  }

  int2(value: number): void {
    this.#need(6)
    this.#at = put16(this.#buffer, put32(this.#buffer, this.#at, 2), value)
  }

  int4(value: number): void {
    this.#need(8)
    this.#at = put32(this.#buffer, put32(this.#buffer, this.#at, 4), value)
  }

  /** Writes a safe integer. */
  int8(value: number | undefined): void {
    if (value === undefined) return this.null()
    this.#need(12)
    const at = put32(this.#buffer, put32(this.#buffer, this.#at, 8), Math.floor(value / 0x1_0000_0000))
    // `| 0` keeps the lower 32 bits.
    this.#at = put32(this.#buffer, at, value | 0)
  }

  /** Writes a time. `ms`: milliseconds since 1970, a whole number. */
  timestamp(ms: number | null | undefined): void {
    if (ms == null) return this.null()
    this.#need(12)
    this.#at = put32(this.#buffer, this.#at, 8)
    this.#at = this.#buffer.writeBigInt64BE(BigInt(ms) * 1000n - epoch2000Micro, this.#at)
  }

  /** Writes a `bytea[]` of one dimension. */
  byteaArray(values: readonly Uint8Array[] | undefined): void {
    if (values === undefined) return this.null()
    let size = arrayHeadBytes
    for (const value of values) size += 4 + value.length
    this.#need(4 + size)
    let at = this.#arrayHead(size, byteaOid, values.length)
    for (const value of values) at = putBytes(this.#buffer, at, value)
    this.#at = at
  }

  /**
   * Writes a `bytea[]` of the values that are concatenated in `bytes`. `length`: number of bytes of each value, or one number for all
   * values.
   */
  byteaSlices(bytes: Uint8Array, length: number | Int32Array): void {
    const count = typeof length === 'number' ? bytes.length / length : length.length
    const arrayBytes = arrayHeadBytes + count * 4 + bytes.length
    this.#need(4 + arrayBytes)
    let at = this.#arrayHead(arrayBytes, byteaOid, count)
    const buffer = this.#buffer
    for (let i = 0, from = 0; i < count; i++) {
      const size = typeof length === 'number' ? length : (length[i] ?? 0)
      at = put32(buffer, at, size)
      // The cast holds because the index is below the length.
      for (const to = from + size; from < to; from++) buffer[at++] = bytes[from] as number
    }
    this.#at = at
  }

  /** Writes a `bytea[]` of one dimension. `values`: in hex. */
  hexArray(values: readonly string[]): void {
    let size = arrayHeadBytes
    for (const value of values) size += 4 + value.length / 2
    this.#need(4 + size)
    const buffer = this.#buffer
    let at = this.#arrayHead(size, byteaOid, values.length)
    for (const value of values) {
      at = buffer.writeInt32BE(value.length / 2, at)
      at += buffer.write(value, at, 'hex')
    }
    this.#at = at
  }

  /** Writes an `integer[]` of one dimension. */
  int4Array(values: ArrayLike<number> & Iterable<number>): void {
    const arrayBytes = arrayHeadBytes + values.length * 8
    this.#need(4 + arrayBytes)
    let at = this.#arrayHead(arrayBytes, int4Oid, values.length)
    for (const value of values) at = put32(this.#buffer, put32(this.#buffer, at, 4), value)
    this.#at = at
  }

  /** Writes a `text[]` of one dimension. */
  textArray(values: readonly string[]): void {
    const encoded = values.map((value) => Buffer.from(value))
    const size = encoded.reduce((sum, value) => sum + 4 + value.length, arrayHeadBytes)
    this.#need(4 + size)
    let at = this.#arrayHead(size, textOid, values.length)
    for (const value of encoded) at = putBytes(this.#buffer, at, value)
    this.#at = at
  }

  /**
   * Writes the header of an array. Returns the position of its first element. `size`: bytes of the array without its own length. `length`:
   * number of its elements.
   */
  #arrayHead(size: number, oid: number, length: number): number {
    let at = put32(this.#buffer, this.#at, size)
    // Number of dimensions, no nulls, type of the elements, their number, and the index of the first one.
    for (const field of [1, 0, oid, length, 1]) at = put32(this.#buffer, at, field)
    return at
  }

  /** True if `flush` should be awaited before more rows are added. */
  get full(): boolean {
    return this.#at >= chunkBytes
  }

  /** Passes the buffered rows to the connection, and waits if the connection is slow (back-pressure). Throws errors of the COPY. */
  async flush(): Promise<void> {
    if (this.#at === 0) return
    const flushed = this.#buffer
    const length = this.#at
    this.#buffer = spares.pop() ?? Buffer.allocUnsafe(length < chunkBytes ? initialBytes : largeBytes)
    this.#at = 0
    // A small write may resolve while its bytes are still in use, so only the buffers of large writes are reused.
    await this.#write(flushed.subarray(0, length), (error) => {
      if (length >= chunkBytes && !error) keepSpare(flushed)
    })
  }

  /** Writes the remaining rows and ends the COPY. Throws errors of the COPY. */
  async end(): Promise<void> {
    this.#need(2)
    this.#at = this.#buffer.writeInt16BE(-1, this.#at)
    await this.#write(this.#buffer.subarray(0, this.#at))
    await new Promise<void>((resolve, reject) => {
      if (this.#failure) return reject(this.#failure)
      this.#stream.once('error', reject)
      this.#stream.once('finish', () => resolve())
      this.#stream.end()
    })
    // The server has received all bytes.
    keepSpare(this.#buffer)
  }

  /** Aborts the COPY: no row is stored, and the connection's transaction is aborted. */
  abort(): void {
    this.#stream.destroy(new Error('COPY aborted'))
  }

  /** Writes bytes to the connection. `written`: called when they are written, or with an error. */
  async #write(bytes: Buffer, written?: (error: Error | null | undefined) => void): Promise<void> {
    if (this.#failure) throw this.#failure
    if (this.#stream.write(bytes, written)) return
    await new Promise<void>((resolve, reject) => {
      const stream = this.#stream
      const drained = () => {
        stream.off('error', failed)
        resolve()
      }
      const failed = (error: Error) => {
        stream.off('drain', drained)
        reject(error)
      }
      stream.once('drain', drained)
      stream.once('error', failed)
    })
  }

  /** Enlarges the buffer if it has fewer than `bytes` free bytes. */
  #need(bytes: number): void {
    if (this.#at + bytes <= this.#buffer.length) return
    const larger = Buffer.allocUnsafe(Math.max(this.#buffer.length * 2, this.#at + bytes))
    this.#buffer.copy(larger, 0, 0, this.#at)
    this.#buffer = larger
  }
}

// Single bytes are written directly, because Node's functions check bounds and `set` is slow for short arrays. A million rows of
// nine fields take 0.15 s instead of 0.28.

function put16(buffer: Buffer, at: number, value: number): number {
  buffer[at] = value >> 8
  buffer[at + 1] = value
  return at + 2
}

function put32(buffer: Buffer, at: number, value: number): number {
  buffer[at] = value >> 24
  buffer[at + 1] = value >> 16
  buffer[at + 2] = value >> 8
  buffer[at + 3] = value
  return at + 4
}

/** Writes length and bytes. Returns the position after them. */
function putBytes(buffer: Buffer, at: number, value: Uint8Array): number {
  return putValue(buffer, put32(buffer, at, value.length), value)
}

/** Writes bytes. Returns the position after them. */
function putValue(buffer: Buffer, from: number, value: Uint8Array): number {
  if (value.length > 64) buffer.set(value, from)
  // The cast holds because the index is below the length.
  else for (let i = 0; i < value.length; i++) buffer[from + i] = value[i] as number
  return from + value.length
}

/** Writes `length` bytes of `source`. Returns the position after them. */
function putSlice(buffer: Buffer, to: number, source: Uint8Array, at: number, length: number): number {
  // The cast holds because the index is within the source.
  for (let i = 0; i < length; i++) buffer[to + i] = source[at + i] as number
  return to + length
}
