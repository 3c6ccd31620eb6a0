/** Stops a running worker from taking work after a newer version migrated the database (docs/guarantees.md#mixed-versions). */
import { compareJournal } from '../db/migrate.ts'
import type { JobDeps } from './deps.ts'

/** Resolves to false if the database has a migration that this version does not know. */
export type VersionCheck = () => Promise<boolean>

/**
 * Creates the check. Reads the known migrations now, because an upgrade may replace their files while this process runs. The check logs an
 * error when a newer version migrated the database.
 */
export async function createVersionCheck({ db, log }: Pick<JobDeps, 'db' | 'log'>): Promise<VersionCheck> {
  let wasKnown = true
  const check = async () => {
    const { isPrefix } = await compareJournal(db)
    if (wasKnown && !isPrefix)
      log.error(
        { code: 'MIGRATION_MISMATCH' },
        'another version of Sluice migrated the database: this process takes no more work. hint: stop it, and start the version that migrated',
      )
    wasKnown = isPrefix
    return isPrefix
  }
  await check()
  return check
}
