import { randomUUID } from 'node:crypto'
import { linkSync, readFileSync, renameSync, rmSync, statSync, utimesSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { processExists } from './processes.ts'
import { errorCode } from '../../unknownValue.ts'

/**
 * Age in milliseconds at which a lock has expired. It expires even if a process has the pid of its holder, because that may be another
 * process.
 */
const expiresAfterMs = 60_000
/**
 * Interval in milliseconds at which the holder renews its lock. A renewal is needed, because a server that replays its log after a crash
 * may take minutes to start.
 */
const renewEveryMs = 10_000

/**
 * Locks the server, so that only one command at a time starts or stops it. Waits while another command has the lock. Removes a lock whose
 * process has ended, or that was not renewed for a minute. Returns a function that unlocks. `path`: lock file. `renewMs`: interval of
 * renewals in milliseconds.
 */
export async function lockServer(path: string, renewMs = renewEveryMs): Promise<() => void> {
  const mine = `${process.pid} ${randomUUID()}`
  for (;;) {
    try {
      writeFileSync(path, mine, { flag: 'wx' })
      // Another command may have replaced the lock by its own if this process was stopped for a minute.
      const isMine = () => readLock(path)?.text === mine
      const renewal = setInterval(() => isMine() && renew(path), renewMs).unref()
      return () => {
        clearInterval(renewal)
        if (isMine()) rmSync(path, { force: true })
      }
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
    }
    if (hasExpired(path)) removeExpired(path, `${path}.${mine.slice(-36)}`)
    await sleep(20)
  }
}

function renew(path: string): void {
  const now = new Date()
  try {
    utimesSync(path, now, now)
  } catch {
    // The lock was removed meanwhile.
  }
}

/**
 * Removes an expired lock. First renames it to `aside`, which only one command can do. If the renamed lock is a new one of another command,
 * puts it back.
 */
function removeExpired(path: string, aside: string): void {
  try {
    renameSync(path, aside)
    if (!hasExpired(aside)) linkSync(aside, path)
  } catch (error) {
    // The lock was removed meanwhile, or another command has locked the server.
    if (errorCode(error) !== 'ENOENT' && errorCode(error) !== 'EEXIST') throw error
  }
  rmSync(aside, { force: true })
}

function hasExpired(path: string): boolean {
  const found = readLock(path)
  if (found === undefined) return false
  const holder = parseInt(found.text)
  return (holder > 0 && !processExists(holder)) || Date.now() - found.writtenAtMs > expiresAfterMs
}

/** Returns the text of a lock file, and the time of its last renewal in epoch milliseconds. Undefined if there is no file. */
function readLock(path: string): { readonly text: string; readonly writtenAtMs: number } | undefined {
  try {
    return { text: readFileSync(path, 'utf8'), writtenAtMs: statSync(path).mtimeMs }
  } catch {
    return undefined
  }
}
