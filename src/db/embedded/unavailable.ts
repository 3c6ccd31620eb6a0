/** Errors of the embedded server that the user sees. */
import { RunError } from '../../errors.ts'

/** Returns the error that the embedded server cannot run here. The default hint is to use another server. */
export function unavailable(
  message: string,
  hint = 'set DATABASE_URL to a Postgres 15 or newer: DATABASE_URL=postgresql://user@host/database',
): RunError {
  return new RunError('POSTGRES_UNAVAILABLE', message, { where: 'embedded Postgres', hint })
}

/**
 * Returns the error for a failed Postgres or initdb: `DISK_FULL`, else `POSTGRES_UNAVAILABLE` with the cause. `summary`: start of the
 * message. `output`: output of the program. `folder`: data directory. `log`: file with the output, if the folder has a database. With
 * `log`, no hint leads to an empty database. An empty database has no synced state, so deletes of earlier records would never be planned.
 */
export function serverFailure(summary: string, output: string, folder: string, log?: string): RunError {
  const lines = output.trim().split('\n')
  if (lines.some((line) => line.includes('No space left on device')))
    return new RunError('DISK_FULL', `the disk is full: ${summary}`, {
      where: folder,
      hint:
        log === undefined
          ? 'free some space, or set SLUICE_DATA_DIR to a folder on another disk'
          : 'free some space, or move the database to another disk (docs/database.md#the-embedded-server); nothing that was confirmed is lost',
    })
  // Lines after the cause only report that the process ended.
  const cause = lines.findLast((line) => /\b(?:FATAL|PANIC|error):/.test(line)) ?? lines.at(-1) ?? ''
  return unavailable(
    `${summary}: ${cause}`,
    log === undefined ? undefined : `correct the cause, then run it again (log: ${log}); keep ${folder}, because it has what was synced`,
  )
}
