/** Writes files completely or not at all. Devices and pipes are written directly. */
import {
  chmodSync,
  chownSync,
  closeSync,
  fsyncSync,
  openSync,
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
   * Closes and removes the temporary or exclusive file. Safe to call several times and after a failure. After `finish`, it
   * would remove an exclusive file.
   */
  readonly discard: () => void
}

/** Mode of the file, and whether it may exist. */
export interface WholeFileOptions {
  /** True for mode 0600 from the first byte on, which a replaced file gets too. Default: its own mode; for a new file 0644. */
  readonly private?: boolean
  /** True to fail with EEXIST if the file exists. */
  readonly exclusive?: boolean
}

/**
 * Writes all bytes, with as many writes as needed: a disk that becomes full accepts the first part of a write, and only the next write
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
 * A replaced file keeps its owner and, unless `private`, its mode.
 *
 * @throws the error of the system, which names `path`
 */
export function openWholeFile(path: string, options: WholeFileOptions = {}): WholeFile {
  const existing = options.exclusive ? undefined : statOf(path)
  // A device or a pipe cannot be replaced by a file.
  const direct = options.exclusive === true || (existing !== undefined && !existing.isFile())
  const target = existing === undefined ? path : realpathSync(path)
  const written = direct ? path : join(dirname(target), `.${basename(target)}.${process.pid}.part`)
  const descriptor = openNamed(path, written, options.exclusive ? 'wx' : 'w', modeOf(existing, options))
  let open = true
  const close = () => {
    if (open) closeSync(descriptor)
    open = false
  }
  const discard = () => {
    close()
    if (!direct || options.exclusive) rmSync(written, { force: true })
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
        if (direct) return close()
        if (existing !== undefined) {
          if (existing.uid !== process.getuid?.()) chownSync(written, existing.uid, existing.gid)
          chmodSync(written, modeOf(existing, options))
        }
        // Some file systems report a full disk or quota only here.
        fsyncSync(descriptor)
        close()
        renameSync(written, target)
      }),
    discard,
  }
}

/** Opens `written`. An error names `path`, which the user knows. */
function openNamed(path: string, written: string, flags: string, mode: number): number {
  try {
    return openSync(written, flags, mode)
  } catch (error) {
    throw error instanceof Error ? Object.assign(error, { path }) : error
  }
}

/** Writes a file in one call. @throws the error of the system; a replaced file is then unchanged, and a new one is removed */
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

/** Adds `path` to an error that names no path, such as that of a failed write. */
function withPath(error: unknown, path: string): unknown {
  return error instanceof Error && !('path' in error) ? Object.assign(error, { path }) : error
}
