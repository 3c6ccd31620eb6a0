/**
 * Locks a state file, so that only one sandbox uses it. A lock file beside it (`FILE.lock`) names the process and the machine. So the lock
 * of a killed process of this machine is detected and replaced.
 */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { UsageError } from '../../errors.ts'
import { errorCode, recordOf } from '../../unknownValue.ts'

/** Process that a lock file names. */
interface Holder {
  readonly pid: number
  readonly host: string
  /** Start of the process in ticks since boot, because process ids are reused. Null if the system does not report it. */
  readonly startedAt: string | null
}

/** Files that this process has locked. Needed because two sandboxes in one process write the same process id into the lock file. */
const ownFiles = new Set<string>()

/** Lock of a state file. `release` deletes the lock file. */
export interface FileLock {
  readonly release: () => void
}

/** Locks a state file. @throws {UsageError} `SANDBOX_STATE_LOCKED` while another sandbox uses it */
export function lockStateFile(file: string): FileLock {
  const path = resolve(file)
  const lock = `${path}.lock`
  if (ownFiles.has(path)) throw locked(path, lock, process.pid)
  const mine = `${lock}.${process.pid}`
  const me: Holder = { pid: process.pid, host: hostname(), startedAt: startOf(process.pid) }
  writeFileSync(mine, JSON.stringify(me), { mode: 0o600 })
  try {
    while (!tryLink(mine, lock)) {
      const holder = readHolder(lock)
      if (holder !== undefined && isAlive(holder)) throw locked(path, lock, holder.pid)
      // Several processes may find an expired lock, but only one can rename it. A process that renamed a newer lock by mistake puts it
      // back.
      const stale = `${mine}.stale`
      if (!tryRename(lock, stale)) continue
      const moved = readHolder(stale)
      if (moved !== undefined && isAlive(moved)) tryLink(stale, lock)
      rmSync(stale, { force: true })
    }
  } finally {
    rmSync(mine, { force: true })
  }
  ownFiles.add(path)
  return {
    release: () => {
      ownFiles.delete(path)
      rmSync(lock, { force: true })
    },
  }
}

function locked(path: string, lock: string, pid: number): UsageError {
  return new UsageError('SANDBOX_STATE_LOCKED', `The state file is in use by the sandbox with process id ${pid}`, {
    where: path,
    hint: `Give this sandbox a file of its own (--state FILE), or end the other one. If no sandbox runs: rm ${lock}`,
  })
}

function tryLink(from: string, to: string): boolean {
  return succeeds(() => linkSync(from, to), 'EEXIST')
}

function tryRename(from: string, to: string): boolean {
  return succeeds(() => renameSync(from, to), 'ENOENT')
}

/** Returns false if `run` fails with `code`, which another process caused. @throws any other error */
function succeeds(run: () => void, code: string): boolean {
  try {
    run()
    return true
  } catch (error) {
    if (errorCode(error) === code) return false
    throw error
  }
}

function readHolder(lock: string): Holder | undefined {
  try {
    const { pid, host, startedAt } = recordOf(JSON.parse(readFileSync(lock, 'utf8')))
    if (typeof pid !== 'number' || typeof host !== 'string') return undefined
    return { pid, host, startedAt: typeof startedAt === 'string' ? startedAt : null }
  } catch {
    // The file was removed meanwhile, or is not JSON.
    return undefined
  }
}

/**
 * Returns true if the process runs, or if that cannot be checked. Returns false for the id of this process: `ownFiles` does not
 * have the file, so an earlier process with the same id wrote the lock.
 */
function isAlive({ pid, host, startedAt }: Holder): boolean {
  // Processes of another machine cannot be checked: their lock stays until an operator deletes it.
  if (host !== hostname()) return true
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    return errorCode(error) === 'EPERM'
  }
  return startedAt === null || startedAt === startOf(pid)
}

/** Returns the start time of a process in ticks since boot; null without /proc, and for a process that has ended. */
function startOf(pid: number): string | null {
  try {
    // The name in brackets may contain any character, so the fields are read after its last bracket (proc(5)).
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields[0] === 'Z' ? null : (fields[19] ?? null)
  } catch {
    return null
  }
}
