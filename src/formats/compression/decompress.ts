import { createGunzip, createZstdDecompress } from 'node:zlib'
import { ByteQueue } from '../byteQueue.ts'
import { fileError } from '../fileError.ts'
import type { FormatContext } from '../formatReader.ts'
import { decompressStream } from './decompressStream.ts'
import { decompressZip } from './decompressZip.ts'

export type Compression = 'none' | 'gzip' | 'zip' | 'zstd'

export interface Decompressed {
  readonly compression: Compression
  readonly bytes: ByteQueue
  readonly notes: readonly string[]
  /** Proof by the end of the compressed data, valid once all bytes were taken; undefined without compression. */
  readonly proof: string | undefined
}

const chunkSize = 262_144

/**
 * Removes one layer of compression. Magic bytes decide which, not the file name (docs/inputs.md, case 5). If the compression differs from
 * `setting`, the result has a note. A second layer is an error. Several gzip members or zstd frames are one file. Checks size and ratio
 * during decompression. `context.member`: file to read in a zip archive.
 *
 * @throws RunError FILE_DOUBLE_PACKED; here or while the bytes are read FILE_TRUNCATED, FILE_CORRUPT, FILE_TRAILING_BYTES, FILE_BOMB,
 * FILE_ARCHIVE
 */
export async function decompress(
  input: ByteQueue,
  setting: 'auto' | Compression,
  context: FormatContext & { readonly member?: string },
): Promise<Decompressed> {
  const head = await input.peek(4)
  if (head.length < 4 && isStartOfCompressed(head))
    throw fileError('FILE_TRUNCATED', 'the file ends inside the first bytes of a compressed file', {
      name: context.name,
      hint: 'Transfer or export the file again.',
    })
  const compression = compressionOf(head)
  const notes = setting === 'auto' || setting === compression ? [] : [`compression is ${compression}, not ${setting} as configured`]
  if (compression === 'none') return { compression, bytes: input, notes, proof: undefined }
  let takenBytes = 0
  const countedInput = new ByteQueue(
    (async function* () {
      for await (const chunk of input) {
        takenBytes += chunk.length
        yield chunk
      }
    })(),
  )
  const countExpanded = expansionCounter(() => takenBytes, context)
  const members =
    compression === 'zip'
      ? decompressZip(countedInput, context, countExpanded)
      : decompressMembers(countedInput, compression, context, countExpanded)
  const bytes = new ByteQueue(members)
  const inner = compressionOf(await bytes.peek(4))
  if (inner !== 'none')
    throw fileError('FILE_DOUBLE_PACKED', `the ${compression} file contains a ${inner} file`, {
      name: context.name,
      hint: 'Compress the file once.',
    })
  return {
    compression,
    bytes,
    notes,
    proof: compression === 'zip' ? 'zip directory and checksum' : compression === 'gzip' ? 'gzip trailer' : 'zstd frame end',
  }
}

const magicBytes = [Buffer.from([0x1f, 0x8b]), Buffer.from([0x28, 0xb5, 0x2f, 0xfd]), Buffer.from('PK\u0003\u0004')] as const

/** Returns true for a short file that is the start of a compressed file, and must not be read as a table. */
function isStartOfCompressed(head: Buffer): boolean {
  return magicBytes.some((mark) => head.length < mark.length && mark.subarray(0, head.length).equals(head))
}

/** Returns the compression of a file by its first four bytes. */
export function compressionOf(head: Buffer): Compression {
  if (head.length >= 2 && head[0] === 0x1f && head[1] === 0x8b) return 'gzip'
  // 0x184d2a5 marks a skippable frame (RFC 8878, 3.1.2). Some programs write it too.
  if (head.length >= 4 && (head.readUInt32LE(0) === 0xfd2fb528 || head.readUInt32LE(0) >>> 4 === 0x184d2a5)) return 'zstd'
  // The second mark is that of an archive without members.
  if (head.length >= 4 && (head.readUInt32LE(0) === 0x04034b50 || head.readUInt32LE(0) === 0x06054b50)) return 'zip'
  return 'none'
}

/**
 * Yields the bytes of all gzip members or zstd frames. `countExpanded`: called with the length of each chunk.
 *
 * @throws RunError FILE_TRUNCATED, FILE_CORRUPT, FILE_TRAILING_BYTES
 */
async function* decompressMembers(
  input: ByteQueue,
  compression: 'gzip' | 'zstd',
  context: FormatContext,
  countExpanded: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  for (;;) {
    const decompressor = compression === 'gzip' ? createGunzip({ chunkSize }) : createZstdDecompress({ chunkSize })
    for await (const chunk of decompressStream(input, decompressor, { format: compression, name: context.name })) {
      countExpanded(chunk.length)
      yield chunk
    }
    const next = await input.peek(4)
    if (next.length === 0) return
    if (compressionOf(next) !== compression) {
      throw fileError('FILE_TRAILING_BYTES', `bytes follow the end of the ${compression} stream`, {
        name: context.name,
        hint: 'Compress the file again; check how it was joined or transferred.',
      })
    }
  }
}

/**
 * Returns a function that counts decompressed bytes, and throws RunError FILE_BOMB above the limits. `takenBytes`: returns the number of
 * compressed bytes so far.
 */
function expansionCounter(takenBytes: () => number, { limits, name }: FormatContext): (bytes: number) => void {
  let expandedBytes = 0
  return (bytes) => {
    expandedBytes += bytes
    if (expandedBytes > limits.expandedBytes || (expandedBytes > limits.ratioFromBytes && expandedBytes > takenBytes() * limits.ratio)) {
      throw fileError(
        'FILE_BOMB',
        `the file decompresses to more than ${expandedBytes > limits.expandedBytes ? `${limits.expandedBytes} bytes` : `${limits.ratio} times its size`}`,
        { name, hint: 'Send the file uncompressed if this size is correct.' },
      )
    }
  }
}
