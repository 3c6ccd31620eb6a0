/** Stops runs and erasures in a database that is a copy of another one, or was restored from a dump. */
import { countSyncedElsewhere, bindToThisDatabase } from '../db/destinations.ts'
import { RunError } from '../errors.ts'
import { plural } from '../format.ts'
import type { EngineDeps } from './engine.ts'

/**
 * Stores that a destination is synced from this database, if it was never synced before. Throws if it was last synced from another
 * database.
 *
 * @throws {RunError} `DATABASE_COPIED`
 */
export async function bindOrAssertDatabase(
  deps: Pick<EngineDeps, 'db'>,
  run: { readonly destinationId: number; readonly pipeline: string },
) {
  if (await bindToThisDatabase(deps.db, run.destinationId)) return
  throw copiedError(`${run.pipeline} was synced from another database`, run.pipeline)
}

/**
 * Throws if any destination of this environment was last synced from another database. The other database would not have an erasure that is
 * made here. Its next run could send the person again.
 *
 * @throws {RunError} `DATABASE_COPIED`
 */
export async function assertAllSyncedHere({ db, service }: Pick<EngineDeps, 'db' | 'service'>): Promise<void> {
  const elsewhere = await countSyncedElsewhere(db, service)
  if (elsewhere > 0) throw copiedError('destinations of these credentials were synced from another database', 'forget')
}

const adoptHint =
  'only if this database replaces the other one: sluice db adopt; a copy for tests needs other credentials (docs/database.md#copies)'

/** Returns message and hint for a database in which `elsewhere` destinations were last synced from another one. */
export function copiedFinding(elsewhere: number): { readonly message: string; readonly hint: string } {
  return {
    message: `this database is a copy, or was restored from a dump: ${plural(elsewhere, 'destination')} last synced from another database`,
    hint: adoptHint,
  }
}

function copiedError(reason: string, where: string): RunError {
  return new RunError('DATABASE_COPIED', `${reason}: this one is a copy, or was restored from a dump. Nothing was sent.`, {
    where,
    hint: adoptHint,
  })
}
