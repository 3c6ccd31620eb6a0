import { RunError } from '../../errors.ts'

/** Returns the error that the embedded server cannot run here. `why`: its message. The hint is to use another server. */
export function unavailable(why: string): RunError {
  return new RunError('POSTGRES_UNAVAILABLE', why, {
    where: 'embedded Postgres',
    hint: 'set DATABASE_URL to a Postgres 15 or newer: DATABASE_URL=postgresql://user@host/database',
  })
}

/**
 * Returns the error for a failed Postgres or initdb: `DISK_FULL`, else `POSTGRES_UNAVAILABLE` with the cause. `written`: output of the
 * program. `folder`: data directory, for the message.
 */
export function gaveUp(what: string, written: string, folder: string): RunError {
  const lines = written.trim().split('\n')
  if (lines.some((line) => line.includes('No space left on device')))
    return new RunError('DISK_FULL', `the disk is full: ${what}`, {
      where: folder,
      hint: 'free some space, or set SLUICE_DATA_DIR to a folder on another disk; nothing that was confirmed is lost',
    })
  // Lines after the cause only report that the process ended.
  const cause = lines.findLast((line) => /\b(?:FATAL|PANIC|error):/.test(line)) ?? lines.at(-1) ?? ''
  return unavailable(`${what}: ${cause}`)
}
