/**
 * Locks a state file, so that only one sandbox uses it. The lock file (`FILE.lock`) names the machine and the process that has the lock. A
 * lock is expired if its process ran on this machine and has ended, or if the file is damaged. The next sandbox replaces an expired lock.
 */
import { linkSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { UsageError } from '../../errors.ts'
import { quoteArgument } from '../../format.ts'
import { errorCode, jsonOf, recordOf } from '../../unknownValue.ts'

/** Process that a lock file names. */
interface Holder {
  readonly pid: number
  readonly host: string
  /** Start time of the process, in ticks since boot. Differs for a later process with the same id. Null without /proc. */
  readonly startedAt: string | null
}

/** Paths of the files that this process has locked. */
const lockedPaths = new Set<string>()

/** Lock of a state file. `release` deletes the lock file. */
export interface FileLock {
  readonly release: () => void
}

/** Locks a state file. @throws {UsageError} `SANDBOX_STATE_LOCKED` while another sandbox uses it */
export function lockStateFile(file: string): FileLock {
  const path = resolve(file)
  const lock = `${path}.lock`
  if (lockedPaths.has(path)) throw lockedError(path, lock, process.pid)
  const ownFile = `${lock}.${process.pid}`
  const self: Holder = { pid: process.pid, host: hostname(), startedAt: startTimeOf(process.pid) }
  writeFileSync(ownFile, JSON.stringify(self), { mode: 0o600 })
  try {
    acquireLock(path, lock, ownFile)
  } finally {
    rmSync(ownFile, { force: true })
  }
  lockedPaths.add(path)
  return {
    release: () => {
      lockedPaths.delete(path)
      rmSync(lock, { force: true })
    },
  }
}

/**
 * Links `ownFile` to `lock`. First removes an expired lock.
 *
 * @throws {UsageError} while another process has the lock, or is removing an expired one
 *
 * Several processes may find an expired lock. If each removed it, the second would remove the new lock of the first. So a process first
 * locks the removal (`FILE.lock.lock`), and then checks the lock again. If it is killed in between, its lock of the removal expires too.
 */
function acquireLock(path: string, lock: string, ownFile: string): void {
  while (!tryLink(ownFile, lock)) {
    const holder = holderOf(lock)
    if (holder === 'none') continue
    if (holder !== 'expired') throw lockedError(path, lock, holder.pid)
    const removal = `${lock}.lock`
    acquireLock(path, removal, ownFile)
    try {
      if (holderOf(lock) === 'expired') rmSync(lock, { force: true })
    } finally {
      rmSync(removal, { force: true })
    }
  }
}

function lockedError(path: string, lock: string, pid: number): UsageError {
  return new UsageError('SANDBOX_STATE_LOCKED', `The state file is in use by the sandbox with process id ${pid}`, {
    where: path,
    hint: `Give this sandbox a file of its own (--state FILE), or end the other one. If no sandbox runs: rm ${quoteArgument(lock)}`,
  })
}

function tryLink(from: string, to: string): boolean {
  try {
    linkSync(from, to)
    return true
  } catch (error) {
    if (errorCode(error) === 'EEXIST') return false
    throw error
  }
}

/** Returns the process that has the lock. Returns `none` without a lock file, and `expired` for an expired lock. */
function holderOf(lock: string): Holder | 'none' | 'expired' {
  try {
    const holder = parseHolder(readFileSync(lock, 'utf8'))
    return holder !== undefined && mayRun(holder) ? holder : 'expired'
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return 'none'
    throw error
  }
}

/** Returns undefined for a damaged lock file, for example after a power failure. */
function parseHolder(text: string): Holder | undefined {
  const { pid, host, startedAt } = recordOf(jsonOf(text))
  if (typeof pid !== 'number' || typeof host !== 'string') return undefined
  return { pid, host, startedAt: typeof startedAt === 'string' ? startedAt : null }
}

/** Returns false if the process has ended. Returns true if it runs, or if that cannot be checked. */
function mayRun({ pid, host, startedAt }: Holder): boolean {
  // Processes of another machine cannot be checked. Their lock stays until an operator deletes it.
  if (host !== hostname()) return true
  // This process has not locked the file (`lockedPaths`). So an earlier process with the same id wrote the lock.
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    return errorCode(error) === 'EPERM'
  }
  return startedAt === null || startedAt === startTimeOf(pid)
}

/** Returns the start time of a process in ticks since boot; null without /proc, and for a process that has ended. */
function startTimeOf(pid: number): string | null {
  try {
    // The second field is the name in brackets, which may contain any character. So the fields are read after the last bracket (proc(5)).
    // `fields[0]` is then the state of the process (`Z`: ended), and `fields[19]` its start time.
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields[0] === 'Z' ? null : (fields[19] ?? null)
  } catch {
    return null
  }
}
