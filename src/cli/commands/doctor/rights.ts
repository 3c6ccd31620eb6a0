import { RunError } from '../../../errors.ts'
import { permissionFault, rowRights } from '../../../db/permissionFault.ts'
import { probePooler } from '../../../db/poolerProbe.ts'
import {
  connectionsOfRun,
  connectionsOfServe,
  probeConnections,
  probeNotifications,
  probeQueue,
  probeTables,
  probeTemporary,
} from '../../../db/privilegeProbe.ts'
import type { Store } from '../../../db/open.ts'
import { queueVersion } from '../../../jobs/index.ts'
import type { Finding } from '../../../model/report.ts'
import { quoteName } from '../../../schemaName.ts'
import { reportFailure, type ReportFinding } from './finding.ts'

/** Message of the check `queue` by the result of `probeQueue`. */
const queueMessages = {
  there: 'tables and notifications',
  'can be created': 'serve and worker can create its tables',
  'can be upgraded': 'serve and worker can upgrade its tables',
} as const

/** Checks what a run and `serve` need from the database: a direct connection or session pooler, privileges, connections, job queue. */
export async function examineRights(store: Store, report: ReportFinding): Promise<void> {
  const { db } = store
  const reportProbe = async (check: string, probe: () => Promise<Omit<Finding, 'check'>>) => {
    try {
      report({ check, ...(await probe()) })
    } catch (error) {
      reportFailure(permissionFault(error, db) ?? error, check, report)
    }
  }
  if (!store.isEmbedded)
    await reportProbe('pooler', async () => {
      const pooler = await probePooler(db.url)
      return {
        state: 'ok',
        message: pooler === 'none' ? 'none: direct connection to the server' : 'a proxy or pooler in session mode',
      }
    })
  await reportProbe('privileges', async () => {
    await probeTemporary(db)
    const missing = await probeTables(db)
    if (missing.length > 0)
      return {
        state: 'failed',
        message: `privileges are missing on ${missing.slice(0, 5).join(', ')}${missing.length > 5 ? ` and ${missing.length - 5} more` : ''}`,
        hint: rowRights(quoteName(db.schema), 'the role of DATABASE_URL'),
      }
    return { state: 'ok', message: 'temporary tables and every table can be written' }
  })
  await reportProbe('connections', async () => {
    await probeConnections(db, connectionsOfRun)
    try {
      await probeConnections(db, connectionsOfServe)
      return { state: 'ok', message: `${connectionsOfServe} concurrent, as many as serve opens` }
    } catch (error) {
      const fault = error instanceof RunError ? error : permissionFault(error, db)
      if (fault === undefined) throw error
      return {
        state: 'warning',
        message: `enough for a run (${connectionsOfRun}), but serve opens up to ${connectionsOfServe}: ${fault.message}`,
        hint: fault.hint,
      }
    }
  })
  await reportProbe('queue', async () => {
    const queue = await probeQueue(db, queueVersion)
    return (await probeNotifications(db))
      ? { state: 'ok', message: queueMessages[queue] }
      : {
          state: 'warning',
          message: 'notifications do not arrive: idle workers start queued runs up to 15 s late',
          hint: 'use the address of the server, not of a pooler',
        }
  })
}
