import { closeSync, openSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { isAlive } from './processes.ts'
import { errorCode } from '../../unknownValue.ts'

/**
 * Locks the server, so that only one command at a time starts or stops it. Waits for the lock; removes a lock whose process has ended, or
 * that is older than a minute. Returns a function that unlocks. `path`: lock file.
 */
export async function lock(path: string): Promise<() => void> {
  for (;;) {
    try {
      closeSync(openSync(path, 'wx'))
      writeFileSync(path, String(process.pid))
      return () => rmSync(path, { force: true })
    } catch (error) {
      if (errorCode(error) !== 'EEXIST') throw error
    }
    try {
      const holder = Number(readFileSync(path, 'utf8'))
      const age = Date.now() - statSync(path).mtimeMs
      if ((holder && !isAlive(holder)) || age > 60_000) rmSync(path, { force: true })
    } catch {
      // the lock was released meanwhile
    }
    await sleep(20)
  }
}
