/**
 * Writes request bodies of updates with one user each. Their bytes equal those of `renderUserOperation` and `Packer`, but no object or
 * string is created per user. Every identifier must be a digest.
 */
import { hash } from 'node:crypto'
import { identifierBytes } from '../model/record.ts'
import type { BatchLimits } from './destination.ts'
import { OversizedOperationError } from './requestBodies.ts'
import { listOpenings, plainType, textAroundUser, type UserOperation } from './renderUserOperation.ts'

export const recordKeyBytes = 16
const comma = 0x2c
const quote = 0x22
const bracket = 0x5d
const digits = Buffer.from('0123456789abcdef')
const highDigits = Uint8Array.from({ length: 256 }, (_, byte) => digits[byte >>> 4] ?? 0)
const lowDigits = Uint8Array.from({ length: 256 }, (_, byte) => digits[byte & 15] ?? 0)
const openings = listOpenings.map((text) => Buffer.from(text))

function openingOf(type: number): Buffer {
  const open = openings[type]
  if (open === undefined) throw new Error(`no list of identifiers has the type ${type}`)
  return open
}

/** Number of bytes of a digest in the body, with its quotes. */
const valueBytes = 2 + 64
/** Maximum number of bytes of an identifier in the body, with a comma between users and the brackets of its list. */
const maxIdentifierBytes = valueBytes + Math.max(...openings.map((open) => open.length)) + 3
const initialBodyBytes = 32 * 1024

/** Packed user in a buffer. */
export interface PackedUser {
  source: Buffer
  /** Position of the record key, `recordKeyBytes` long. */
  keyAt: number
  /** Position of the first identifier, `identifierBytes` long. The identifiers are ordered by type. */
  identifiersAt: number
  /** Distance between two identifiers in bytes. */
  stride: number
  /** Number of identifiers. Must be above 0 for `add`. */
  count: number
}

/** Body of one request, and its operations in order. */
export interface WrittenUpdates {
  /** Valid until the next user is added. */
  readonly body: Buffer
  readonly sha256: Buffer
  /** The body with a byte 0 in place of each digest. Valid until the next user is added. */
  readonly template: Buffer
  readonly users: number
  /** Record keys of all users, one after the other. */
  readonly recordKeys: Buffer
  /** Packed identifiers of all users, one after the other. */
  readonly keys: Buffer
  /** Number of bytes of each user in `keys`. */
  readonly keyLengths: Int32Array
  /** Position of the first operation in the body. Operations are separated by one comma. */
  readonly firstOffset: number
  /** Number of bytes of each operation in the body. */
  readonly lengths: Int32Array
  /** Gives the arrays back to the writer, which reuses them. */
  readonly release: () => void
}

/** Arrays for the users of one body. They are reused, because new ones for each body cause full garbage collections. */
interface UserArrays {
  readonly recordKeys: Buffer
  keys: Buffer
  readonly keyLengths: Int32Array
  readonly lengths: Int32Array
}

/** Writes one body after the other. Call `fits` before each `add`; call `finish` if the user does not fit, and after the last one. */
export class UpdateWriter {
  readonly #limits: BatchLimits
  readonly #frameOpen: Buffer
  readonly #frameClose: Buffer
  readonly #open: Buffer
  readonly #close: Buffer
  /** Grows from `initialBodyBytes`. Buffers of the maximum size caused full garbage collections in small runs. */
  #body: Buffer
  /** As long as `#body`. */
  #template: Buffer
  #bodyEnd = 0
  #templateEnd = 0
  #users = 0
  #arrays: UserArrays
  #keysEnd = 0
  readonly #released: UserArrays[] = []

  constructor(frame: { readonly open: string; readonly close: string }, limits: BatchLimits, operation: Omit<UserOperation, 'users'>) {
    const { open, close } = textAroundUser(operation)
    this.#limits = limits
    this.#frameOpen = Buffer.from(frame.open)
    this.#frameClose = Buffer.from(frame.close)
    this.#open = Buffer.from(open)
    this.#close = Buffer.from(close)
    this.#body = Buffer.allocUnsafeSlow(initialBodyBytes)
    this.#template = Buffer.allocUnsafeSlow(initialBodyBytes)
    this.#arrays = this.#newArrays()
  }

  /**
   * Returns false if `user` needs a new body: call `finish` before `add`.
   *
   * @throws {OversizedOperationError} if the user is too large for any body
   * @throws {Error} if an identifier is not a digest, or the types are out of order
   */
  fits(user: PackedUser): boolean {
    const length = this.#lengthOf(user)
    const lengthAlone = this.#frameOpen.length + length + this.#frameClose.length
    if (lengthAlone > this.#limits.bytes) throw new OversizedOperationError(lengthAlone, this.#limits.bytes)
    if (this.#users === 0) return true
    return this.#users < this.#limits.entries && this.#bodyEnd + 1 + length + this.#frameClose.length <= this.#limits.bytes
  }

  /** Adds a user for whom `fits` returned true. */
  add(user: PackedUser): void {
    this.#makeRoom(user.count)
    if (this.#users === 0) this.#begin()
    else {
      this.#body[this.#bodyEnd++] = comma
      this.#template[this.#templateEnd++] = comma
    }
    const from = this.#bodyEnd
    this.#write(this.#open)
    this.#writeIdentifiers(user)
    this.#write(this.#close)
    const { recordKeys, keyLengths, lengths } = this.#arrays
    lengths[this.#users] = this.#bodyEnd - from
    keyLengths[this.#users] = user.count * identifierBytes
    copyBytes(user.source, user.keyAt, recordKeyBytes, recordKeys, this.#users * recordKeyBytes)
    this.#users++
  }

  /** Ends the body; returns undefined if it has no user. */
  finish(): WrittenUpdates | undefined {
    if (this.#users === 0) return undefined
    this.#write(this.#frameClose)
    const users = this.#users
    this.#users = 0
    const arrays = this.#arrays
    const { recordKeys, keys, keyLengths, lengths } = arrays
    this.#arrays = this.#released.pop() ?? this.#newArrays()
    const body = this.#body.subarray(0, this.#bodyEnd)
    return {
      body,
      sha256: hash('sha256', body, 'buffer'),
      template: this.#template.subarray(0, this.#templateEnd),
      users,
      recordKeys: recordKeys.subarray(0, users * recordKeyBytes),
      keys: keys.subarray(0, this.#keysEnd),
      keyLengths: keyLengths.subarray(0, users),
      firstOffset: this.#frameOpen.length,
      lengths: lengths.subarray(0, users),
      release: () => this.#released.push(arrays),
    }
  }

  #begin(): void {
    this.#bodyEnd = 0
    this.#templateEnd = 0
    this.#write(this.#frameOpen)
    this.#keysEnd = 0
  }

  /** Makes room in the body for the frame, and for a user with this number of identifiers. */
  #makeRoom(identifierCount: number): void {
    const frame = this.#frameOpen.length + this.#frameClose.length
    const needed = this.#bodyEnd + frame + this.#open.length + this.#close.length + identifierCount * maxIdentifierBytes
    if (needed <= this.#body.length) return
    this.#body = Buffer.concat([this.#body], needed * 2)
    this.#template = Buffer.concat([this.#template], needed * 2)
  }

  #newArrays(): UserArrays {
    const { entries } = this.#limits
    return {
      recordKeys: Buffer.allocUnsafe(entries * recordKeyBytes),
      keys: Buffer.allocUnsafe(initialBodyBytes),
      keyLengths: new Int32Array(entries),
      lengths: new Int32Array(entries),
    }
  }

  /** Returns the number of bytes that `add` will write to the body, without a comma. */
  #lengthOf({ source, identifiersAt, stride, count }: PackedUser): number {
    let length = this.#open.length + this.#close.length
    let previousType = 0
    for (let i = 0, at = identifiersAt; i < count; i++, at += stride) {
      const type = source[at] ?? 0
      if (type < previousType || type === 0 || type >= plainType)
        throw new Error(`an identifier of type ${type} behind one of type ${previousType}`)
      // A comma; or the beginning of a list, after the end of the previous list and a comma.
      length += valueBytes + (type === previousType ? 1 : openingOf(type).length + (previousType === 0 ? 0 : 2))
      previousType = type
    }
    // A bracket ends the last list.
    return length + 1
  }

  /** Writes the lists of identifiers of a user, and copies the identifiers to `#keys`. */
  #writeIdentifiers({ source, identifiersAt, stride, count }: PackedUser): void {
    const arrays = this.#arrays
    if (this.#keysEnd + count * identifierBytes > arrays.keys.length)
      arrays.keys = Buffer.concat([arrays.keys], arrays.keys.length * 2 + count * identifierBytes)
    let previousType = 0
    for (let i = 0, at = identifiersAt; i < count; i++, at += stride) {
      const type = source[at] ?? 0
      if (type === previousType) this.#writeByte(comma)
      else {
        if (previousType !== 0) {
          this.#writeByte(bracket)
          this.#writeByte(comma)
        }
        this.#write(openingOf(type))
      }
      this.#writeByte(quote)
      let end = this.#bodyEnd
      const body = this.#body
      for (let digit = at + 1; digit < at + identifierBytes; digit++) {
        const byte = source[digit] as number
        body[end++] = highDigits[byte] as number
        body[end++] = lowDigits[byte] as number
      }
      this.#bodyEnd = end
      this.#template[this.#templateEnd++] = 0
      this.#writeByte(quote)
      copyBytes(source, at, identifierBytes, arrays.keys, this.#keysEnd)
      this.#keysEnd += identifierBytes
      previousType = type
    }
    this.#writeByte(bracket)
  }

  #write(bytes: Buffer): void {
    copyBytes(bytes, 0, bytes.length, this.#body, this.#bodyEnd)
    this.#bodyEnd += bytes.length
    copyBytes(bytes, 0, bytes.length, this.#template, this.#templateEnd)
    this.#templateEnd += bytes.length
  }

  #writeByte(byte: number): void {
    this.#body[this.#bodyEnd++] = byte
    this.#template[this.#templateEnd++] = byte
  }
}

/** Copies bytes, faster than `Buffer.copy` does for up to 48 bytes. */
function copyBytes(source: Buffer, from: number, length: number, target: Buffer, at: number): void {
  if (length > 48) source.copy(target, at, from, from + length)
  else for (let i = 0; i < length; i++) target[at + i] = source[from + i] as number
}
