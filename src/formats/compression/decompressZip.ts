import { createInflateRaw, crc32 } from 'node:zlib'
import { quoteSetting } from '../../format.ts'
import type { ByteQueue } from '../byteQueue.ts'
import { fileError } from '../fileError.ts'
import type { FormatContext } from '../formatReader.ts'
import { decompressStream } from './decompressStream.ts'

const localHeader = 0x04034b50
const descriptor = 0x08074b50
const directoryHeader = 0x02014b50
const directoryEnd = 0x06054b50
const directoryEnd64 = 0x06064b50
const locator64 = 0x07064b50

/** Local header of a member. */
interface Member {
  readonly name: string
  /** 0: stored, 8: deflate. No other method is supported. */
  readonly method: number
  readonly isEncrypted: boolean
  /** True if the checksum and the sizes follow the content. */
  readonly hasDescriptor: boolean
  readonly hasZip64: boolean
  readonly crc: number
  readonly compressedBytes: number
}

/** Returns false for folders and for the additional files in archives of macOS. */
function isContent(name: string): boolean {
  return !name.endsWith('/') && !name.startsWith('__MACOSX/') && !/(?:^|\/)\.DS_Store$/.test(name)
}

/** Member that was read, for the comparison with the directory. */
interface ReadMember {
  readonly name: string
  readonly crc: number
  readonly bytes: number
  readonly offset: number
}

/**
 * Yields the bytes of one member of a zip archive, without seeking or files on disk. Names never become paths. If the archive has several
 * files, `context.member` must name one. Folders and the additional files of macOS do not count.
 *
 * Decompresses the other members too, to check them. The directory at the end must match the names, checksums, sizes and offsets that were
 * read. This check also detects overlapping members. 139 MB take 0.48 s of processor time. yauzl takes 0.54 s, and needs the whole archive
 * before it starts (docs/benchmarks.md#readers). `countExpanded`: called with the length of each chunk of each member.
 *
 * @throws RunError FILE_ARCHIVE, FILE_CORRUPT, FILE_TRUNCATED, FILE_TRAILING_BYTES
 */
export async function* decompressZip(
  input: ByteQueue,
  context: FormatContext & { readonly member?: string },
  countExpanded: (bytes: number) => void,
): AsyncGenerator<Buffer> {
  const members: ReadMember[] = []
  let offset = 0
  let fileCount = 0
  let wasFound = false
  for (;;) {
    const signature = (await takeExactly(input, 4, context)).readUInt32LE(0)
    if (signature !== localHeader) {
      await checkDirectory(input, signature, members, context)
      break
    }
    const start = offset
    const { member, headerBytes } = await readLocalHeader(input, context)
    const isFile = isContent(member.name)
    if (isFile) fileCount++
    const isRequested = isFile && (context.member === undefined || context.member === member.name)
    if (isRequested && wasFound) {
      const names = [...members.map(({ name }) => name).filter(isContent), member.name]
      throw fileError('FILE_ARCHIVE', `the archive contains more than one file: ${names.join(', ')}`, {
        name: context.name,
        hint: `Name the file to read: \`member: ${quoteSetting(names[0] ?? '')}\` of the source.`,
        members: names,
      })
    }
    if (isRequested) wasFound = true
    let crc = 0
    let bytes = 0
    let compressedBytes = 0
    const count = (chunk: Buffer) => {
      crc = crc32(chunk, crc)
      bytes += chunk.length
      countExpanded(chunk.length)
    }
    const body = member.method === 0 ? readStored(input, member, context) : readDeflated(input, context, (size) => (compressedBytes = size))
    for await (const chunk of body) {
      count(chunk)
      if (isRequested) yield chunk
    }
    if (member.method === 0) compressedBytes = member.compressedBytes
    const tail = member.hasDescriptor ? await readDescriptor(input, member, context) : { crc: member.crc, bytes: 0 }
    if (tail.crc !== crc)
      throw fileError('FILE_CORRUPT', 'the checksum of the archive member does not match', {
        name: context.name,
        hint: 'Compress or transfer the file again.',
      })
    offset = start + headerBytes + compressedBytes + tail.bytes
    members.push({ name: member.name, crc, bytes, offset: start })
  }
  if (!wasFound)
    throw unsupportedArchiveError(
      context,
      fileCount === 0 ? 'the archive contains no file' : 'the archive does not contain the named member',
      'Check `member:` and the archive.',
    )
}

/** Reads the header of a member after its signature. @throws RunError FILE_ARCHIVE if the member is not supported; FILE_TRUNCATED */
async function readLocalHeader(
  input: ByteQueue,
  context: FormatContext,
): Promise<{ readonly member: Member; readonly headerBytes: number }> {
  const fixed = await takeExactly(input, 26, context)
  const flags = fixed.readUInt16LE(2)
  const nameBytes = fixed.readUInt16LE(22)
  const extraBytes = fixed.readUInt16LE(24)
  const name = (await takeExactly(input, nameBytes, context)).toString('utf8')
  const extra = await takeExactly(input, extraBytes, context)
  const sizes = { expanded: fixed.readUInt32LE(18), compressed: fixed.readUInt32LE(14) }
  const zip64Bytes = zip64Size(extra, sizes)
  const member: Member = {
    name,
    method: fixed.readUInt16LE(4),
    isEncrypted: (flags & 1) !== 0,
    hasDescriptor: (flags & 8) !== 0,
    hasZip64: zip64Bytes !== undefined,
    crc: fixed.readUInt32LE(10),
    compressedBytes: zip64Bytes ?? sizes.compressed,
  }
  if (member.isEncrypted) throw unsupportedArchiveError(context, 'the archive is encrypted', 'Create the archive without a password.')
  if (/(^|[/\\])\.\.([/\\]|$)|^[/\\]|^[A-Za-z]:/.test(name))
    throw unsupportedArchiveError(context, 'the archive contains a path outside of itself', 'Create the archive with plain file names.')
  if (member.method !== 0 && member.method !== 8)
    throw unsupportedArchiveError(context, `the archive uses compression method ${member.method}`, 'Create an ordinary zip (deflate).')
  if (member.method === 0 && member.hasDescriptor && !name.endsWith('/'))
    throw unsupportedArchiveError(context, 'the archive does not store the size of its member', 'Create an ordinary zip (deflate).')
  return { member, headerBytes: 30 + nameBytes + extraBytes }
}

/**
 * Returns the compressed size of a member that has a zip64 extra field; undefined if it has none. If the ordinary size is the mark
 * 0xffffffff, the extra field has the size.
 */
function zip64Size(extra: Buffer, sizes: { readonly expanded: number; readonly compressed: number }): number | undefined {
  for (let at = 0; at + 4 <= extra.length; at += 4 + extra.readUInt16LE(at + 2)) {
    if (extra.readUInt16LE(at) !== 1) continue
    const skip = sizes.expanded === 0xffffffff ? 8 : 0
    if (sizes.compressed !== 0xffffffff || at + 4 + skip + 8 > extra.length) return sizes.compressed
    return Number(extra.readBigUInt64LE(at + 4 + skip))
  }
  return undefined
}

/** Yields the bytes of a member that is not compressed. */
async function* readStored(input: ByteQueue, member: Member, context: FormatContext): AsyncGenerator<Buffer> {
  let left = member.compressedBytes
  while (left > 0) {
    const chunk = await input.next()
    if (chunk === undefined) throw truncatedError(context)
    if (chunk.length > left) input.giveBack(chunk.subarray(left))
    const part = chunk.subarray(0, left)
    left -= part.length
    yield part
  }
}

/** Yields the decompressed bytes of a member. Calls `onSize` with the compressed size at the end. */
async function* readDeflated(input: ByteQueue, context: FormatContext, onSize: (compressedBytes: number) => void): AsyncGenerator<Buffer> {
  const decompressor = createInflateRaw({ chunkSize: 262_144 })
  yield* decompressStream(input, decompressor, { format: 'zip', name: context.name })
  onSize(decompressor.bytesWritten)
}

/** Reads the descriptor after a member, which has the checksum of the member. `bytes`: size of the descriptor. */
async function readDescriptor(
  input: ByteQueue,
  member: Member,
  context: FormatContext,
): Promise<{ readonly crc: number; readonly bytes: number }> {
  const hasSignature = (await input.peek(4)).length === 4 && (await input.peek(4)).readUInt32LE(0) === descriptor
  const size = (hasSignature ? 4 : 0) + 4 + (member.hasZip64 ? 16 : 8)
  const bytes = await takeExactly(input, size, context)
  return { crc: bytes.readUInt32LE(hasSignature ? 4 : 0), bytes: size }
}

/**
 * Compares the directory with the members that were read. `first`: signature that was already read.
 *
 * @throws RunError FILE_CORRUPT, FILE_ARCHIVE, FILE_TRUNCATED, FILE_TRAILING_BYTES
 */
async function checkDirectory(input: ByteQueue, first: number, members: readonly ReadMember[], context: FormatContext): Promise<void> {
  let signature = first
  let index = 0
  while (signature === directoryHeader) {
    const fixed = await takeExactly(input, 42, context)
    const name = (await takeExactly(input, fixed.readUInt16LE(24), context)).toString('utf8')
    await takeExactly(input, fixed.readUInt16LE(26) + fixed.readUInt16LE(28), context)
    const member = members[index++]
    const size = fixed.readUInt32LE(20)
    const offset = fixed.readUInt32LE(38)
    const matchesMember =
      member !== undefined &&
      member.name === name &&
      member.crc === fixed.readUInt32LE(12) &&
      (size === 0xffffffff || size === member.bytes) &&
      (offset === 0xffffffff || offset === member.offset)
    if (!matchesMember) throw damagedError(context, 'the directory of the archive does not match its members')
    if (((fixed.readUInt32LE(34) >>> 28) & 0xf) === 0xa)
      throw unsupportedArchiveError(context, 'the archive contains a symbolic link', 'Add the file itself to the archive.')
    signature = (await takeExactly(input, 4, context)).readUInt32LE(0)
  }
  if (signature === directoryEnd64) {
    const length = Number((await takeExactly(input, 8, context)).readBigUInt64LE(0))
    if (length > 4096) throw damagedError(context, 'the directory of the archive is damaged')
    await takeExactly(input, length, context)
    signature = (await takeExactly(input, 4, context)).readUInt32LE(0)
    if (signature === locator64) {
      await takeExactly(input, 16, context)
      signature = (await takeExactly(input, 4, context)).readUInt32LE(0)
    }
  }
  if (signature !== directoryEnd || index !== members.length) throw damagedError(context, 'the directory of the archive is damaged')
  const end = await takeExactly(input, 18, context)
  await takeExactly(input, end.readUInt16LE(16), context)
  if ((await input.peek(1)).length > 0) throw damagedError(context, 'bytes follow the end of the archive', 'FILE_TRAILING_BYTES')
}

/** Takes `size` bytes. @throws RunError FILE_TRUNCATED if the archive ends before */
async function takeExactly(input: ByteQueue, size: number, context: FormatContext): Promise<Buffer> {
  const bytes = await input.take(size)
  if (bytes === undefined) throw truncatedError(context)
  return bytes
}

function truncatedError(context: FormatContext) {
  return fileError('FILE_TRUNCATED', 'the zip archive is cut', { name: context.name, hint: 'Transfer or export the file again.' })
}

function damagedError({ name }: FormatContext, message: string, code: 'FILE_CORRUPT' | 'FILE_TRAILING_BYTES' = 'FILE_CORRUPT') {
  return fileError(code, message, { name, hint: 'Create the archive again.' })
}

function unsupportedArchiveError(context: FormatContext, message: string, hint: string) {
  return fileError('FILE_ARCHIVE', message, { name: context.name, hint })
}
