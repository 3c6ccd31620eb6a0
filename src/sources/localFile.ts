import { constants } from 'node:fs'
import { glob, lstat, open, realpath, stat } from 'node:fs/promises'
import type { FileHandle } from 'node:fs/promises'
import { dirname, isAbsolute, relative, resolve, sep } from 'node:path'
import { fileURLToPath } from 'node:url'
import { RunError } from '../errors.ts'
import type { ByteStream, TransportEnd } from './byteStream.ts'

const chunkBytes = 131_072

/**
 * Opens a local file, or the newest match of a pattern (`exports/*.csv`). Only regular files; a symbolic link only
 * inside its own folder; nothing of /proc, /sys and /dev; no relative path out of the working directory (R10,
 * bad-inputs 138). A file that changes while it is read is refused at its end (R9). `reuseBuffer`: a chunk is valid only
 * until the next one is asked for.
 *
 * @throws RunError SOURCE_MISSING, SOURCE_FORBIDDEN, SOURCE_REFUSED; SOURCE_CHANGED while reading
 */
export async function openLocalFile(uri: string, options: { readonly reuseBuffer?: boolean } = {}): Promise<ByteStream> {
  const path = await findFile(uri)
  const file = await openChecked(path, uri)
  const opened = await file.stat({ bigint: true })
  let closed = false
  const close = async () => {
    if (closed) return
    closed = true
    await file.close()
  }
  return {
    label: path,
    chunks: options.reuseBuffer ? readAgain(file) : readChunks(file),
    end: async (): Promise<TransportEnd> => {
      const now = await file.stat({ bigint: true })
      const atPath = await stat(path, { bigint: true }).catch(() => undefined)
      if (now.size !== opened.size || now.mtimeNs !== opened.mtimeNs || atPath?.ino !== opened.ino || atPath.dev !== opened.dev) {
        throw new RunError('SOURCE_CHANGED', 'the file changed while it was read', {
          where: path,
          mend: 'Run again once the export is finished; write exports under another name and rename them.',
        })
      }
      return { proof: 'file unchanged while read', endsAsBefore: true }
    },
    close,
  }
}

/** The path that a source's text means: resolved, the newest match of a pattern, checked against bad-inputs 138. */
export async function findFile(uri: string): Promise<string> {
  if (uri.includes('\0')) throw refused('a path with a NUL byte', JSON.stringify(uri))
  if (/^(\\\\|\/\/)/.test(uri)) throw refused('a network path', uri)
  const path = uri.startsWith('file:') ? pathOfUrl(uri) : uri
  if (!isAbsolute(path)) {
    const below = relative(process.cwd(), resolve(path))
    if (below === '..' || below.startsWith(`..${sep}`))
      throw refused('a relative path that leaves the working directory', uri, 'Write the absolute path if you mean it.')
  }
  if (!/[*?[{]/.test(path) || (await lstat(path).catch(() => undefined)) !== undefined) return resolve(path)
  let newest: { readonly path: string; readonly at: bigint } | undefined
  for await (const match of glob(path)) {
    const found = await stat(match, { bigint: true }).catch(() => undefined)
    if (found?.isFile() !== true) continue
    if (newest === undefined || found.mtimeNs > newest.at || (found.mtimeNs === newest.at && match > newest.path))
      newest = { path: match, at: found.mtimeNs }
  }
  if (newest === undefined)
    throw new RunError('SOURCE_MISSING', 'no file matches the pattern', {
      where: uri,
      mend: 'Check the folder and the pattern in `source.url`.',
    })
  return resolve(newest.path)
}

async function openChecked(path: string, uri: string): Promise<FileHandle> {
  const real = await realpath(path).catch((error: unknown) => {
    throw openError(error, path)
  })
  const link = await lstat(path)
  if (link.isSymbolicLink()) {
    const folder = await realpath(dirname(path))
    if (real !== folder && !real.startsWith(folder.endsWith(sep) ? folder : folder + sep))
      throw refused('a symbolic link that leads out of its folder', uri, 'Name the file itself.')
  }
  if (/^\/(proc|sys|dev)(\/|$)/.test(real)) throw refused('a file of the operating system', uri)
  // O_NONBLOCK: opening a FIFO must not wait for its writer; O_NOFOLLOW: the link may not be swapped in after the check.
  const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK | constants.O_NOFOLLOW).catch((error: unknown) => {
    throw openError(error, path)
  })
  const found = await file.stat()
  if (found.isFile()) return file
  await file.close()
  throw refused(
    found.isDirectory() ? 'a folder' : 'no regular file',
    uri,
    found.isDirectory()
      ? 'Name a file, or a pattern such as `exports/*.csv` for the newest.'
      : 'Name a regular file, or `-` for standard input.',
  )
}

async function* readChunks(file: FileHandle): AsyncGenerator<Buffer> {
  for (;;) {
    // A new buffer each time: records may still point into the last one.
    const { bytesRead, buffer } = await file.read({ buffer: Buffer.allocUnsafeSlow(chunkBytes), length: chunkBytes })
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

async function* readAgain(file: FileHandle): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(chunkBytes * 8)
  for (;;) {
    const { bytesRead } = await file.read({ buffer, length: buffer.length })
    if (bytesRead === 0) return
    yield buffer.subarray(0, bytesRead)
  }
}

function pathOfUrl(uri: string): string {
  if (!uri.startsWith('file:/')) return uri.slice('file:'.length)
  try {
    return fileURLToPath(uri)
  } catch (error) {
    throw new RunError('SOURCE_REFUSED', 'the file address names another host or cannot be read', {
      where: uri,
      mend: 'Write the path itself.',
      cause: error,
    })
  }
}

function openError(error: unknown, path: string): RunError {
  const code = error instanceof Error && 'code' in error ? error.code : undefined
  if (code === 'EACCES' || code === 'EPERM')
    return new RunError('SOURCE_FORBIDDEN', 'the file may not be read', {
      where: path,
      mend: 'Give the user that runs this the right to read the file.',
      cause: error,
    })
  if (code === 'ELOOP') return refused('a symbolic link that was put in place while it was opened', path)
  return new RunError('SOURCE_MISSING', 'the file does not exist', {
    where: path,
    mend: 'Check `source.url` and the working directory.',
    cause: error,
  })
}

function refused(what: string, where: string, mend = 'Name an ordinary file.'): RunError {
  return new RunError('SOURCE_REFUSED', `the source is ${what}, which is refused`, { where, mend })
}
