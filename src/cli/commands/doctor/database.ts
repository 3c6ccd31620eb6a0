import { embeddedFreeBytes } from '../../../db/embedded/server.ts'
import { countSyncedElsewhere } from '../../../db/destinations.ts'
import { migrationStatus } from '../../../db/migrate.ts'
import { copiedFinding } from '../../../sync/databaseCopy.ts'
import type { Context } from '../../context.ts'
import { withStore } from '../../store.ts'
import { clockWarningS } from './clock.ts'
import { reportFailure, type ReportFinding } from './finding.ts'
import { examineRights } from './rights.ts'

/**
 * Opens and migrates the database. Then checks whether it is a copy (docs/database.md#copies), and its free disk space, rights, connections
 * and clock. Returns false if the database cannot be used.
 */
export async function examineDatabase(context: Context, report: ReportFinding): Promise<boolean> {
  try {
    await withStore(context, async (store) => {
      const [server] = await store.db.query<{ server_version: string; now_s: string }>(
        `select current_setting('server_version') as server_version, extract(epoch from statement_timestamp())::text as now_s`,
      )
      const offsetS = Math.abs(context.clock.now() / 1000 - Number(server?.now_s))
      const { applied, known } = await migrationStatus(store.db.url, store.db.schema)
      report({
        check: 'database',
        state: 'ok',
        message: `Postgres ${server?.server_version.split(' ')[0] ?? ''}${store.isEmbedded ? ', embedded' : ''}, migrations ${applied} of ${known}`,
      })
      const elsewhere = await countSyncedElsewhere(store.db)
      if (elsewhere > 0) report({ check: 'database', state: 'failed', ...copiedFinding(elsewhere) })
      if (store.isEmbedded) examineDisk(embeddedFreeBytes(context.config().dataDir), report)
      await examineRights(store, report)
      // Leases and schedules use the database's clock, deadlines the clock of this machine.
      if (offsetS > clockWarningS)
        report({
          check: 'clock',
          state: 'warning',
          message: `${offsetS.toFixed(0)} s from the clock of the database`,
          hint: 'set the clock of this machine or of the database server (NTP)',
        })
    })
    return true
  } catch (error) {
    reportFailure(error, 'database', report)
    return false
  }
}

const gigabyte = 1_000_000_000

/** Reports free disk space: a warning below 1 GB, which a run of a million records needs, and a failure below 0.1 GB. */
export function examineDisk(freeBytes: number, report: ReportFinding): void {
  const message = `${(freeBytes / gigabyte).toFixed(1)} GB free for the embedded Postgres`
  const hint = 'free some space, or move the database to another disk: docs/database.md#the-embedded-server'
  if (freeBytes < gigabyte / 10) report({ check: 'disk', state: 'failed', message, hint })
  else if (freeBytes < gigabyte) report({ check: 'disk', state: 'warning', message, hint })
  else report({ check: 'disk', state: 'ok', message })
}
