/** One sandbox at a time on a state file: a lock file beside it names the process, so that a kill leaves nothing to clean up. */
import { linkSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { hostname } from 'node:os'
import { resolve } from 'node:path'
import { UsageError } from '../../errors.ts'
import { errorCode } from '../../unknownValue.ts'

interface Holder {
  readonly pid: number
  readonly host: string
  /** Start of the process in ticks since boot; distinguishes it from a later one with its number. Null if the system does not report it. */
  readonly startedAt: string | null
}

/** Files that this process has open: its own number does not show them. */
const ownFiles = new Set<string>()

export interface FileLock {
  readonly release: () => void
}

/** @throws {UsageError} while another sandbox uses the file */
export function lockFile(file: string): FileLock {
  const path = resolve(file)
  const lock = `${path}.lock`
  if (ownFiles.has(path)) throw locked(path, lock, process.pid)
  const mine = `${lock}.${process.pid}`
  const me: Holder = { pid: process.pid, host: hostname(), startedAt: startOf(process.pid) }
  writeFileSync(mine, JSON.stringify(me), { mode: 0o600 })
  try {
    while (!linked(mine, lock)) {
      const holder = read(lock)
      if (holder !== undefined && isAlive(holder)) throw locked(path, lock, holder.pid)
      // Of several that find a dead one's lock, only one moves that very file away; a process that moved a newer one puts it back.
      const stale = `${mine}.stale`
      if (!renamed(lock, stale)) continue
      const moved = read(stale)
      if (moved !== undefined && isAlive(moved)) linked(stale, lock)
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

function linked(from: string, to: string): boolean {
  return done(() => linkSync(from, to), 'EEXIST')
}

function renamed(from: string, to: string): boolean {
  return done(() => renameSync(from, to), 'ENOENT')
}

/** False for the one failure that another process causes. */
function done(run: () => void, otherwise: string): boolean {
  try {
    run()
    return true
  } catch (error) {
    if (errorCode(error) === otherwise) return false
    throw error
  }
}

function read(lock: string): Holder | undefined {
  try {
    return JSON.parse(readFileSync(lock, 'utf8')) as Holder
  } catch {
    // Gone meanwhile, or no lock of a sandbox.
    return undefined
  }
}

function isAlive({ pid, host, startedAt }: Holder): boolean {
  // A process on another machine is invisible: it keeps the file until an operator deletes the lock.
  if (host !== hostname()) return true
  if (pid === process.pid) return false
  try {
    process.kill(pid, 0)
  } catch (error) {
    return errorCode(error) === 'EPERM'
  }
  return startedAt === null || startedAt === startOf(pid)
}

/** Null where the system has no /proc, and for a process that has ended and waits for its parent. */
function startOf(pid: number): string | null {
  try {
    // The name in brackets may hold anything; the fields begin behind it (proc(5)).
    const fields = readFileSync(`/proc/${pid}/stat`, 'latin1')
      .replace(/^.*\) /s, '')
      .split(' ')
    return fields[0] === 'Z' ? null : (fields[19] ?? null)
  } catch {
    return null
  }
}
