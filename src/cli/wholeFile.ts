/** Writes files completely or not at all, if they can be replaced. Devices and pipes are written directly. */
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
  readSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeSync,
  type Stats,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { errorCode } from '../unknownValue.ts'

/** File that is being written. If `write` or `finish` fails, it discards the file and throws the error of the system. */
export interface WholeFile {
  readonly write: (content: string | Uint8Array) => void
  /** Closes the file. Renames a temporary file to its final name; until then, an existing file of that name is unchanged. */
  readonly finish: () => void
  /**
   * Closes and removes the temporary or exclusive file. Safe to call several times and after a failure. Must not be called after
   * `finish`, because it removes an exclusive file.
   */
  readonly discard: () => void
}

/** Mode of the file, and whether it may exist. */
export interface WholeFileOptions {
  /**
   * True: the file has mode 0600 from the first byte on, even if it replaces a file of another mode. Default: a replaced file keeps its
   * mode, and a new file has 0644 less the umask.
   */
  readonly private?: boolean
  /** True to fail with EEXIST if the file exists. */
  readonly exclusive?: boolean
}

/**
 * Writes all bytes, with as many writes as needed. When a disk becomes full, it accepts the first part of a write, and only the next write
 * fails.
 *
 * @throws the error of the system
 */
export function writeFully(descriptor: number, content: string | Uint8Array): void {
  const bytes = typeof content === 'string' ? Buffer.from(content) : content
  for (let done = 0; done < bytes.length;) {
    try {
      done += writeSync(descriptor, bytes, done)
    } catch (error) {
      // EAGAIN: the reader of a pipe is slow.
      if (errorCode(error) !== 'EAGAIN') throw error
    }
  }
}

/**
 * Opens a temporary file beside `path`, which `finish` renames to `path`. A device, a pipe and an exclusive file are written directly.
 * A replaced file keeps its owner and, unless `private`, its mode. If it cannot be replaced, `finish` overwrites its content.
 *
 * @throws the error of the system, which names `path`
 */
export function openWholeFile(path: string, options: WholeFileOptions = {}): WholeFile {
  const existing = options.exclusive ? undefined : statOf(path)
  // A device or a pipe cannot be replaced by a file.
  const writesDirectly = options.exclusive === true || (existing !== undefined && !existing.isFile())
  const target = existing === undefined ? path : realpathSync(path)
  const writtenPath = writesDirectly ? path : join(dirname(target), `.${basename(target)}.${process.pid}.part`)
  // A killed process with the same id may have left such a file, which would keep its mode.
  if (!writesDirectly) rmSync(writtenPath, { force: true })
  const mustBeNew = options.exclusive === true || !writesDirectly
  const descriptor = openNamed(path, writtenPath, mustBeNew ? 'wx' : 'w', modeOf(existing, options))
  let isOpen = true
  const close = () => {
    if (isOpen) closeSync(descriptor)
    isOpen = false
  }
  const discard = () => {
    close()
    if (!writesDirectly || options.exclusive) rmSync(writtenPath, { force: true })
  }
  const discardOnError = (work: () => void) => {
    try {
      work()
    } catch (error) {
      discard()
      throw withPath(error, path)
    }
  }
  return {
    write: (content) => discardOnError(() => writeFully(descriptor, content)),
    finish: () =>
      discardOnError(() => {
        if (writesDirectly) return close()
        // Some file systems report a full disk or quota only here.
        fsyncSync(descriptor)
        close()
        if (existing === undefined) renameSync(writtenPath, target)
        else replaceFile(target, writtenPath, existing, options)
      }),
    discard,
  }
}

/** Renames `writtenPath` to `target`, with owner and mode of the existing file. If that is not possible, overwrites its content. */
function replaceFile(target: string, writtenPath: string, existing: Stats, options: WholeFileOptions): void {
  try {
    if (existing.uid !== process.getuid?.()) chownSync(writtenPath, existing.uid, existing.gid)
    chmodSync(writtenPath, modeOf(existing, options))
    renameSync(writtenPath, target)
  } catch (error) {
    // EPERM: only root may give a file to another user. EBUSY: the file is mounted on its own, as into a container.
    const code = errorCode(error)
    if (code !== 'EPERM' && code !== 'EBUSY') throw error
    // Throws for a file of another user, because that user could read the content.
    if (options.private === true) chmodSync(target, 0o600)
    overwrite(target, writtenPath)
    rmSync(writtenPath)
  }
}

/** Replaces the content of a file by that of another one. Not by `copyFileSync`, which also sets the mode and so fails for other owners. */
function overwrite(target: string, source: string): void {
  const from = openSync(source, 'r')
  try {
    const to = openSync(target, 'w')
    try {
      const buffer = Buffer.allocUnsafe(65_536)
      for (let length = readSync(from, buffer); length > 0; length = readSync(from, buffer)) writeFully(to, buffer.subarray(0, length))
      fsyncSync(to)
    } finally {
      closeSync(to)
    }
  } finally {
    closeSync(from)
  }
}

/** Opens the file at `writtenPath`. An error names `path`, which the user knows. */
function openNamed(path: string, writtenPath: string, flags: string, mode: number): number {
  try {
    return openSync(writtenPath, flags, mode)
  } catch (error) {
    throw withPath(error, path)
  }
}

/**
 * Writes a file in one call.
 *
 * @throws the error of the system. A new file is then removed. An existing file is unchanged, unless it could only be overwritten.
 */
export function writeWholeFile(path: string, content: string | Uint8Array, options: WholeFileOptions = {}): void {
  const file = openWholeFile(path, options)
  file.write(content)
  file.finish()
}

function modeOf(existing: Stats | undefined, options: WholeFileOptions): number {
  if (options.private === true) return 0o600
  return existing === undefined ? 0o644 : existing.mode & 0o777
}

function statOf(path: string): Stats | undefined {
  try {
    return statSync(path)
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return undefined
    throw error
  }
}

/** Sets `path` in an error. Otherwise it would have no path (after a failed write) or the path of the temporary file. */
function withPath(error: unknown, path: string): unknown {
  return error instanceof Error ? Object.assign(error, { path }) : error
}
