import { migrationStatus } from '../../store/migrate.ts'
import type { Context } from '../context.ts'
import { withStore } from '../store.ts'
import { clockWarningS } from './clock.ts'
import { fail, type Say } from './finding.ts'

export async function examineDatabase(context: Context, say: Say): Promise<void> {
  try {
    await withStore(context, async (store) => {
      const [server] = await store.db.query<{ server_version: string; skew: string }>(
        `select current_setting('server_version') as server_version, extract(epoch from clock_timestamp())::text as skew`,
      )
      const { applied, known } = await migrationStatus(store.url)
      say({
        check: 'database',
        state: 'ok',
        message: `Postgres ${server?.server_version.split(' ')[0] ?? ''}${store.embedded ? ', embedded' : ''}, migrations ${applied} of ${known}`,
      })
      const offsetS = Math.abs(context.clock.now() / 1000 - Number(server?.skew))
      // Leases and schedules follow the database's clock, deadlines ours.
      if (offsetS > clockWarningS)
        say({
          check: 'clock',
          state: 'warning',
          message: `${offsetS.toFixed(0)} s from the database`,
          mend: 'set the clock of this machine or of the database server (NTP)',
        })
    })
  } catch (error) {
    fail(error, 'database', say)
  }
}
