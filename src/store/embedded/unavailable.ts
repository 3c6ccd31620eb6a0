import { RunError } from '../../errors.ts'

/** The embedded server cannot be had here. Its mend is a server of one's own. */
export function unavailable(why: string): RunError {
  return new RunError('POSTGRES_UNAVAILABLE', why, {
    where: 'embedded Postgres',
    mend: 'set DATABASE_URL to a Postgres 15 or newer: DATABASE_URL=postgresql://user@host/database',
  })
}

/** What Postgres or initdb wrote before it gave up, as an error of one line: a full disk by its name, else the cause they name. */
export function gaveUp(what: string, written: string, folder: string): RunError {
  const lines = written.trim().split('\n')
  if (lines.some((line) => line.includes('No space left on device')))
    return new RunError('DISK_FULL', `the disk is full: ${what}`, {
      where: folder,
      mend: 'free some space, or set SLUICE_DATA_DIR to a folder on another disk; nothing that was confirmed is lost',
    })
  // What follows the cause only says that the end came.
  const cause = lines.findLast((line) => /\b(?:FATAL|PANIC|error):/.test(line)) ?? lines.at(-1) ?? ''
  return unavailable(`${what}: ${cause}`)
}
