/** Finds and opens local files. */
import { constants } from 'node:fs'
import { glob, lstat, open, realpath, stat, type FileHandle } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RunError } from '../../errors.ts'
import type { ByteStream, TransportEnd } from '../byteStream.ts'
import { newerMatch, wildcard, type Match } from '../newestMatch.ts'
import { readLocalBeside } from '../completionMarker.ts'
import { errorCode } from '../../unknownValue.ts'

/** Default size of the chunks of a file. Larger chunks do not fit into the processor's cache while they are split into rows. */
const defaultChunkBytes = 262_144

/**
 * Opens a local file, or the newest match of a pattern (`exports/*.csv`). Accepts only regular files outside /proc, /sys and /dev
 * (docs/inputs.md, case 138). A relative path must stay inside the working directory, and a symbolic link inside its own folder.
 * `end` rejects a file that changed while it was read. `chunkBytes`: maximum size of the chunks. A small file gets small buffers.
 *
 * @throws RunError SOURCE_MISSING, SOURCE_FORBIDDEN, SOURCE_REFUSED, SOURCE_UNAVAILABLE; `end` SOURCE_CHANGED
 */
export async function openLocalFile(uri: string, chunkBytes = defaultChunkBytes): Promise<ByteStream> {
  const path = await findFile(uri)
  const file = await openChecked(path, uri)
  const opened = await file.stat({ bigint: true })
  const changedMs = Number(opened.mtimeNs / 1_000_000n)
  let reuse = false
  let closed = false
  const close = async () => {
    if (closed) return
    closed = true
    await file.close()
  }
  return {
    label: path,
    chunks: readChunks(file, path, { reuse: () => reuse, bufferBytes: Math.min(chunkBytes, Math.max(4_096, Number(opened.size) + 1)) }),
    reuseBuffers: () => {
      reuse = true
    },
    readBeside: (suffix) => readLocalBeside(path + suffix, changedMs),
    changedMs,
    end: async (): Promise<TransportEnd> => {
      const now = await file.stat({ bigint: true })
      const atPath = await stat(path, { bigint: true }).catch(() => undefined)
      if (now.size !== opened.size || now.mtimeNs !== opened.mtimeNs || atPath?.ino !== opened.ino || atPath.dev !== opened.dev) {
        throw new RunError('SOURCE_CHANGED', 'the file changed while it was read', {
          where: path,
          hint: 'Run again once the export is finished; write exports under another name and rename them.',
        })
      }
      return { proof: 'file unchanged while read', mustEndAsBefore: true }
    },
    close,
  }
}

/**
 * Returns the absolute path of a source, or of the newest match of its pattern. Does not check whether a path without a pattern exists.
 *
 * @throws RunError SOURCE_REFUSED for a path that is not allowed, SOURCE_MISSING if no file matches a pattern
 */
export async function findFile(uri: string): Promise<string> {
  if (uri.includes('\0')) throw rejectionError('a path with a NUL byte', JSON.stringify(uri))
  if (/^(\\\\|\/\/)/.test(uri)) throw rejectionError('a network path', uri)
  const path = localPath(uri)
  assertInside(path, uri)
  if (!wildcard.test(path) || (await lstat(path).catch(() => undefined)) !== undefined) return resolve(path)
  let newest: Match | undefined
  for await (const match of glob(path)) {
    const fileStat = await stat(match, { bigint: true }).catch(() => undefined)
    if (fileStat?.isFile() === true) newest = newerMatch(newest, { name: match, changedAt: fileStat.mtimeNs }, path)
  }
  if (newest === undefined)
    throw new RunError('SOURCE_MISSING', 'no finished file matches the pattern', {
      where: uri,
      hint: 'Check the folder and the pattern in `source.url`.',
    })
  // A list in braces may have a part that leaves the folder: `{exports,../other}/*.csv`.
  assertInside(newest.name, uri)
  return resolve(newest.name)
}

/** Checks that a relative path stays inside the working directory. @throws RunError SOURCE_REFUSED */
function assertInside(path: string, uri: string): void {
  if (isAbsolute(path)) return
  const below = relative(process.cwd(), resolve(path))
  if (below === '..' || below.startsWith(`..${sep}`))
    throw rejectionError('a relative path that leaves the working directory', uri, 'Write the absolute path.')
}

/** Opens a regular file. Rejects links out of their folder, and files of the operating system. */
async function openChecked(path: string, uri: string): Promise<FileHandle> {
  const real = await realpath(path).catch((error: unknown) => {
    throw errorCode(error) === 'ELOOP' ? rejectionError('a symbolic link that leads back to itself', path) : openError(error, path)
  })
  const link = await lstat(path)
  if (link.isSymbolicLink()) {
    const folder = await realpath(dirname(path))
    if (real !== folder && !real.startsWith(folder.endsWith(sep) ? folder : folder + sep))
      throw rejectionError('a symbolic link out of its folder', uri, 'Name the file itself.')
  }
  if (/^\/(proc|sys|dev)(\/|$)/.test(real)) throw rejectionError('a file of the operating system', uri)
  // O_NONBLOCK: do not wait for the writer of a FIFO. O_NOFOLLOW: fail if a link replaced the file after the check.
  const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch((error: unknown) => {
    throw openError(error, path)
  })
  const fileStat = await file.stat()
  if (fileStat.isFile()) return file
  await file.close()
  throw rejectionError(
    fileStat.isDirectory() ? 'a folder' : 'not a regular file',
    uri,
    fileStat.isDirectory()
      ? 'Name a file, or a pattern such as `exports/*.csv` for the newest.'
      : 'Name a regular file, or `-` for standard input.',
  )
}

/**
 * Yields the chunks of a file. Reads the next chunk while the caller processes the current one. `reuse`: true once `reuseBuffers` was
 * called.
 */
async function* readChunks(
  file: FileHandle,
  path: string,
  { reuse, bufferBytes }: { readonly reuse: () => boolean; readonly bufferBytes: number },
): AsyncGenerator<Buffer> {
  const read = (buffer: Buffer) => {
    const pending = file.read({ buffer, length: buffer.length })
    // The loop below awaits this read later. Until then, a rejection must not count as unhandled.
    pending.catch(() => undefined)
    return pending
  }
  let ahead = read(Buffer.allocUnsafeSlow(bufferBytes))
  let spare: Buffer | undefined
  try {
    for (;;) {
      const { bytesRead, buffer } = await ahead.catch((error: unknown) => {
        throw openError(error, path)
      })
      if (bytesRead === 0) return
      ahead = read(spare ?? Buffer.allocUnsafeSlow(bufferBytes))
      spare = undefined
      yield buffer.subarray(0, bytesRead)
      if (reuse()) spare = buffer
    }
  } finally {
    // A file must not be closed during a read.
    await ahead.catch(() => undefined)
  }
}

/** Returns the path of a local source. `uri`: path or `file:` address. @throws {RunError} `SOURCE_REFUSED` */
export function localPath(uri: string): string {
  return uri.startsWith('file:') ? pathOfUrl(uri) : uri
}

function pathOfUrl(uri: string): string {
  if (!uri.startsWith('file:/')) return uri.slice('file:'.length)
  if (/[?#]/.test(uri))
    throw new RunError('SOURCE_REFUSED', 'in a file address ? and # end the path', {
      where: uri,
      hint: 'Write %3F and %23 for them, or the path itself.',
    })
  try {
    return fileURLToPath(uri)
  } catch (error) {
    throw new RunError('SOURCE_REFUSED', 'the file address names another host or cannot be read', {
      where: uri,
      hint: 'Write the path itself.',
      cause: error,
    })
  }
}

function openError(error: unknown, path: string): RunError {
  const code = errorCode(error) ?? 'unknown'
  if (code === 'EACCES' || code === 'EPERM')
    return new RunError('SOURCE_FORBIDDEN', 'this user has no permission to read the file', {
      where: path,
      hint: 'Give the user of this process permission to read the file.',
      cause: error,
    })
  if (code === 'ELOOP') return rejectionError('a symbolic link that was put in place while it was opened', path)
  // The path names a socket, or a device without a driver.
  if (code === 'ENXIO' || code === 'ENODEV')
    return rejectionError('not a regular file', path, 'Name a regular file, or `-` for standard input.')
  if (code === 'ENOENT' || code === 'ENOTDIR' || code === 'ENAMETOOLONG')
    return new RunError('SOURCE_MISSING', 'the file does not exist', {
      where: path,
      hint: 'Check the path (`source.url`, or `--source` of a backfill) and the working directory.',
      cause: error,
    })
  return new RunError('SOURCE_UNAVAILABLE', `the file cannot be read (${code})`, {
    where: path,
    hint: 'Check the disk or network folder of the file; then run again.',
    cause: error,
  })
}

function rejectionError(description: string, where: string, hint = 'Name an ordinary file.'): RunError {
  return new RunError('SOURCE_REFUSED', `the source is ${description}, which is not allowed`, { where, hint })
}
