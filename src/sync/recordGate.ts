/**
 * The record gate (performance.md, gate 2): a raw record whose digest the last closed snapshot knew is as it was, so it
 * is neither parsed, mapped nor staged. Digests are SHA-256 cut to 128 bits, tied to the shape of the file (header,
 * delimiter, prefixes): equal bytes under another header are another record.
 *
 * Memory: 29 bytes a known record. Digests and table are flat arrays, because objects of a million records would be
 * hundreds of megabytes.
 */
import { hash } from 'node:crypto'
import type { RecordGate } from '../formats/formatReader.ts'
import type { UnseenDigests } from '../store/digests.ts'

const words = 4
const digestBytes = words * 4

/** Digests of a snapshot, to be asked and ticked off. Filled by `add`, then `seal`ed. */
export class KnownDigests {
  readonly #digests: Uint32Array
  readonly #chunks: { readonly chunk: number; readonly first: number; readonly count: number }[] = []
  #count = 0
  #slots = new Int32Array(0)
  #mask = 0
  readonly #seen: Uint8Array

  constructor(capacity: number) {
    this.#digests = new Uint32Array(capacity * words)
    this.#seen = new Uint8Array((capacity >> 3) + 1)
  }

  /** Appends a stored chunk: digests of 16 bytes each, those at the positions `gone` not counting any more. */
  add(chunk: number, digests: Buffer, gone: readonly number[]): void {
    const first = this.#count
    for (let at = 0; at < digests.length; at += 4) this.#digests[first * words + at / 4] = digests.readUInt32LE(at)
    this.#count += digests.length / digestBytes
    this.#chunks.push({ chunk, first, count: this.#count - first })
    for (const position of gone) this.tick(first + position)
  }

  /** Builds the table: twice as many slots as digests, so that a look-up is one or two probes. */
  seal(): void {
    let size = 16
    while (size < this.#count * 2) size *= 2
    this.#slots = new Int32Array(size).fill(-1)
    this.#mask = size - 1
    for (let i = 0; i < this.#count; i++) {
      if (this.#isSeen(i)) continue
      let slot = this.#word(i, 0) & this.#mask
      while (this.#slots[slot] !== -1) slot = (slot + 1) & this.#mask
      this.#slots[slot] = i
    }
  }

  /** Index of the digest, or -1. */
  find(digest: Uint32Array): number {
    for (let slot = this.#at(digest, 0) & this.#mask; ; slot = (slot + 1) & this.#mask) {
      const i = this.#slots[slot] ?? -1
      if (i === -1) return -1
      if (
        this.#word(i, 0) === digest[0] &&
        this.#word(i, 1) === digest[1] &&
        this.#word(i, 2) === digest[2] &&
        this.#word(i, 3) === digest[3]
      )
        return i
    }
  }

  /** True the first time. */
  tick(i: number): boolean {
    const before = this.#seen[i >> 3] ?? 0
    const bit = 1 << (i & 7)
    if ((before & bit) !== 0) return false
    this.#seen[i >> 3] = before | bit
    return true
  }

  /** What was never ticked, by chunk and position. */
  unseen(): UnseenDigests[] {
    return this.#chunks.flatMap(({ chunk, first, count }) => {
      const positions: number[] = []
      for (let i = first; i < first + count; i++) if (!this.#isSeen(i)) positions.push(i - first)
      return positions.length === 0 ? [] : [{ chunk, positions }]
    })
  }

  #isSeen(i: number): boolean {
    return ((this.#seen[i >> 3] ?? 0) & (1 << (i & 7))) !== 0
  }

  #word(i: number, word: number): number {
    return this.#digests[i * words + word] ?? 0
  }

  #at(digest: Uint32Array, word: number): number {
    return digest[word] ?? 0
  }
}

/** Digests every record that passes; with known ones, lets those through in silence. */
export class DigestGate implements RecordGate {
  readonly #known: KnownDigests | undefined
  readonly #shape = new Uint32Array(words)
  readonly #digest = new Uint32Array(words)
  /** Records handed on to be parsed, in order, with their digests: the rows come back in the same order. */
  #pending: { readonly line: number; readonly digest: Buffer }[] = []
  #next = 0
  #unchanged = 0
  #repeated = 0

  constructor(known: KnownDigests | undefined) {
    this.#known = known
  }

  /** Known records, each counted once. */
  get unchanged(): number {
    return this.#unchanged
  }

  /** Known records that stood there once more. */
  get repeated(): number {
    return this.#repeated
  }

  begin(shape: string): void {
    wordsOf(hash('sha256', shape, 'binary'), this.#shape)
  }

  known(bytes: Buffer, start: number, end: number, line: number): boolean {
    const digest = this.#digest
    wordsOf(hash('sha256', bytes.subarray(start, end), 'binary'), digest)
    for (let i = 0; i < words; i++) digest[i] = (digest[i] ?? 0) ^ (this.#shape[i] ?? 0)
    const found = this.#known === undefined ? -1 : this.#known.find(digest)
    if (found === -1) {
      this.#pending.push({ line, digest: packed(digest) })
      return false
    }
    if (this.#known?.tick(found) === true) this.#unchanged++
    else this.#repeated++
    return true
  }

  /** Digest of a row that was parsed; undefined when the reader never asked (odd quoting, formats without raw records). */
  digestOf(line: number): Buffer | undefined {
    const entry = this.#pending[this.#next]
    if (entry === undefined || entry.line !== line) return undefined
    this.#next++
    if (this.#next === this.#pending.length) {
      this.#pending = []
      this.#next = 0
    }
    return entry.digest
  }
}

/** The first 16 of 32 characters, each a byte. A string is the cheapest form in which `hash` answers (0.3 µs). */
function wordsOf(latin1: string, out: Uint32Array): void {
  for (let i = 0; i < words; i++) {
    const at = i * 4
    out[i] =
      latin1.charCodeAt(at) | (latin1.charCodeAt(at + 1) << 8) | (latin1.charCodeAt(at + 2) << 16) | (latin1.charCodeAt(at + 3) << 24)
  }
}

function packed(digest: Uint32Array): Buffer {
  const bytes = Buffer.allocUnsafe(digestBytes)
  for (let i = 0; i < words; i++) bytes.writeUInt32LE(digest[i] ?? 0, i * 4)
  return bytes
}
