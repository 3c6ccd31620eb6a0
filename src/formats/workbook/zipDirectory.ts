import { crc32, createInflateRaw } from 'node:zlib'
import { fromBufferPromise, type Entry, type ZipFile } from 'yauzl'
import { ByteQueue } from '../byteQueue.ts'
import { fileError } from '../fileError.ts'
import type { ReadLimits } from '../limits.ts'
import { decompressStream } from '../compression/decompressStream.ts'

interface Member {
  readonly entry: Entry
  /** Index of the first byte of its content in the archive. */
  readonly start: number
}

/**
 * Zip archive in memory, for workbooks. Its members can be read in any order, because the parts of a workbook refer to each other. Names
 * never become paths.
 */
export class ZipDirectory {
  readonly #archive: Buffer
  readonly #name: string
  readonly #limits: ReadLimits
  readonly #members = new Map<string, Member>()

  private constructor(archive: Buffer, name: string, limits: ReadLimits) {
    this.#archive = archive
    this.#name = name
    this.#limits = limits
  }

  /** Reads the directory of an archive. @throws RunError FILE_TRUNCATED, FILE_CORRUPT */
  static async open(archive: Buffer, name: string, limits: ReadLimits): Promise<ZipDirectory> {
    const directory = new ZipDirectory(archive, name, limits)
    const end = archive.lastIndexOf(endOfDirectory)
    if (end === -1 || end + endBytes > archive.length)
      throw fileError('FILE_TRUNCATED', 'the workbook is cut', { name, hint: 'Save or transfer the workbook again.' })
    try {
      const zip = await fromBufferPromise(archive, { decodeStrings: false })
      for await (const entry of zip.eachEntry()) await directory.#add(zip, entry)
    } catch {
      throw directory.#corruptError()
    }
    return directory
  }

  /** Returns true if the archive has a member of this name. */
  has(member: string): boolean {
    return this.#members.has(comparable(member))
  }

  /**
   * Yields the bytes of one member, and at the end compares them with the size and checksum of the directory.
   *
   * @throws RunError FILE_CORRUPT (also for an unknown member), FILE_TRUNCATED, FILE_BOMB
   */
  async *read(member: string): AsyncGenerator<Buffer> {
    const found = this.#members.get(comparable(member))
    if (found === undefined) throw this.#corruptError()
    const { entry, start } = found
    const compressed = this.#archive.subarray(start, start + entry.compressedSize)
    let crc = 0
    let bytes = 0
    for await (const chunk of entry.compressionMethod === 0 ? piecesOf(compressed) : this.#inflate(compressed)) {
      crc = crc32(chunk, crc)
      bytes += chunk.length
      if (bytes > this.#limits.ratioFromBytes && bytes > compressed.length * this.#limits.ratio) {
        throw fileError('FILE_BOMB', `the workbook decompresses to more than ${this.#limits.ratio} times its size`, {
          name: this.#name,
          hint: 'Save the sheet as CSV if this size is correct.',
        })
      }
      yield chunk
    }
    if (crc !== entry.crc32 || bytes !== entry.uncompressedSize) throw this.#corruptError()
  }

  async #add(zip: ZipFile, entry: Entry): Promise<void> {
    const { fileName, fileDataStart } = await zip.readLocalFileHeaderPromise(entry)
    // Checksums do not cover names, and a part with a damaged name would seem to be missing.
    if (!fileName.equals(entry.fileName)) throw new Error('the two names of a part differ')
    this.#members.set(comparable(fileName.toString('utf8')), { entry, start: fileDataStart })
  }

  #inflate(compressed: Buffer): AsyncGenerator<Buffer> {
    const decompressor = createInflateRaw({ chunkSize: pieceBytes })
    return decompressStream(new ByteQueue(once(compressed)), decompressor, { format: 'workbook', name: this.#name })
  }

  #corruptError() {
    return fileError('FILE_CORRUPT', 'the workbook is damaged', { name: this.#name, hint: 'Save or transfer the workbook again.' })
  }
}

/** Returns the name of a member for comparisons. Some programs write other letter case than in references, or backslashes. */
function comparable(member: string): string {
  return member.replaceAll('\\', '/').replace(/^\/+/, '').toLowerCase()
}

/** Signature of the end of the directory. If it is missing, the archive is cut off. */
const endOfDirectory = Buffer.from([0x50, 0x4b, 0x05, 0x06])
/** Length in bytes of the end of the directory, without its comment. */
const endBytes = 22

/** Maximum size of the pieces of a member. */
const pieceBytes = 262_144

/** Yields the bytes in pieces, because the rows of one piece are in memory together. */
function* piecesOf(bytes: Buffer): Generator<Buffer> {
  for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes)
}

async function* once(bytes: Buffer): AsyncGenerator<Buffer> {
  yield bytes
}
