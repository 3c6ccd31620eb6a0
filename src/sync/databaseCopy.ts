/** Stops runs in a database that was restored from a dump or copied, before they send anything. */
import { isOwnDatabase } from '../db/destinations.ts'
import { RunError } from '../errors.ts'
import type { EngineDeps } from './engine.ts'

/**
 * Checks that the destination was synced from this database last.
 *
 * @throws {RunError} `DATABASE_COPIED`
 */
export async function assertOwnDatabase(deps: Pick<EngineDeps, 'db'>, run: { readonly destinationId: number; readonly pipeline: string }) {
  if (await isOwnDatabase(deps.db, run.destinationId)) return
  throw new RunError(
    'DATABASE_COPIED',
    `${run.pipeline} was synced from another database: this one is a copy, or was restored from a dump. Nothing was sent.`,
    {
      where: run.pipeline,
      hint: 'only if this database replaces the other one: sluice db adopt; a copy for tests needs other credentials (docs/database.md#copies)',
    },
  )
}
