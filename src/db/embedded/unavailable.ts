import { RunError } from '../../errors.ts'

/** The embedded server cannot be had here. Its hint is a server of one's own. */
export function unavailable(why: string): RunError {
  return new RunError('POSTGRES_UNAVAILABLE', why, {
    where: 'embedded Postgres',
    hint: 'set DATABASE_URL to a Postgres 15 or newer: DATABASE_URL=postgresql://user@host/database',
  })
}

/** Turns the output of a failed Postgres or initdb into an error of one line: names a full disk, else the cause in the output. */
export function gaveUp(what: string, written: string, folder: string): RunError {
  const lines = written.trim().split('\n')
  if (lines.some((line) => line.includes('No space left on device')))
    return new RunError('DISK_FULL', `the disk is full: ${what}`, {
      where: folder,
      hint: 'free some space, or set SLUICE_DATA_DIR to a folder on another disk; nothing that was confirmed is lost',
    })
  // What follows the cause only says that the end came.
  const cause = lines.findLast((line) => /\b(?:FATAL|PANIC|error):/.test(line)) ?? lines.at(-1) ?? ''
  return unavailable(`${what}: ${cause}`)
}
