import { crc32, createInflateRaw } from 'node:zlib'
import { ByteQueue } from '../byteQueue.ts'
import { fileError } from '../fileError.ts'
import type { ReadLimits } from '../limits.ts'
import { packingError } from '../packing/packingError.ts'
import { unpackStream } from '../packing/unpackStream.ts'

interface DirectoryEntry {
  readonly method: number
  readonly crc: number
  readonly packedBytes: number
  readonly bytes: number
  readonly offset: number
}

/**
 * A zip archive in memory, read by its directory: for workbooks, whose parts refer to each other in any order. Names
 * never become paths.
 */
export class ZipDirectory {
  readonly #archive: Buffer
  readonly #name: string
  readonly #limits: ReadLimits
  readonly #entries = new Map<string, DirectoryEntry>()

  /** @throws RunError FILE_TRUNCATED, FILE_CORRUPT */
  constructor(archive: Buffer, name: string, limits: ReadLimits) {
    this.#archive = archive
    this.#name = name
    this.#limits = limits
    const end = archive.lastIndexOf(Buffer.from([0x50, 0x4b, 0x05, 0x06]))
    if (end === -1 || end + 22 > archive.length)
      throw fileError('FILE_TRUNCATED', 'the workbook is cut', { name, mend: 'Save or transfer the workbook again.' })
    if (end + 22 + archive.readUInt16LE(end + 20) !== archive.length) throw this.#corrupt()
    let at = archive.readUInt32LE(end + 16)
    for (let left = archive.readUInt16LE(end + 10); left > 0; left--) {
      if (at + 46 > end || archive.readUInt32LE(at) !== 0x02014b50) throw this.#corrupt()
      const nameEnd = at + 46 + archive.readUInt16LE(at + 28)
      const offset = archive.readUInt32LE(at + 42)
      // No checksum covers a name. A part that is missing under its own would pass for one that the workbook never had.
      const nameBytes = archive.subarray(at + 46, nameEnd)
      if (!archive.subarray(offset + 30, offset + 30 + nameBytes.length).equals(nameBytes)) throw this.#corrupt()
      this.#entries.set(nameBytes.toString('utf8'), {
        method: archive.readUInt16LE(at + 10),
        crc: archive.readUInt32LE(at + 16),
        packedBytes: archive.readUInt32LE(at + 20),
        bytes: archive.readUInt32LE(at + 24),
        offset,
      })
      at = nameEnd + archive.readUInt16LE(at + 30) + archive.readUInt16LE(at + 32)
    }
  }

  has(member: string): boolean {
    return this.#entries.has(member)
  }

  /** Bytes of one member, checked against the directory's size and checksum at the end. */
  async *read(member: string): AsyncGenerator<Buffer> {
    const entry = this.#entries.get(member)
    if (entry === undefined) throw this.#corrupt()
    const archive = this.#archive
    if (entry.offset + 30 > archive.length || archive.readUInt32LE(entry.offset) !== 0x04034b50) throw this.#corrupt()
    const start = entry.offset + 30 + archive.readUInt16LE(entry.offset + 26) + archive.readUInt16LE(entry.offset + 28)
    const packed = archive.subarray(start, start + entry.packedBytes)
    let crc = 0
    let bytes = 0
    for await (const chunk of entry.method === 0 ? [packed] : this.#inflate(packed)) {
      crc = crc32(chunk, crc)
      bytes += chunk.length
      if (bytes > this.#limits.ratioFromBytes && bytes > packed.length * this.#limits.ratio) {
        throw fileError('FILE_BOMB', `the workbook unpacks to more than ${this.#limits.ratio} times its size`, {
          name: this.#name,
          mend: 'Save the sheet as CSV if it is as it should be.',
        })
      }
      yield chunk
    }
    if (crc !== entry.crc || bytes !== entry.bytes) throw this.#corrupt()
  }

  async *#inflate(packed: Buffer): AsyncGenerator<Buffer> {
    try {
      yield* unpackStream(new ByteQueue(once(packed)), createInflateRaw({ chunkSize: 262_144 }))
    } catch (error) {
      throw packingError(error, 'workbook', this.#name)
    }
  }

  #corrupt() {
    return fileError('FILE_CORRUPT', 'the workbook is damaged', { name: this.#name, mend: 'Save or transfer the workbook again.' })
  }
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
