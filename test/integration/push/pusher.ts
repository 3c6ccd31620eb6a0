/** A process that pushes one plan, for tests that kill it. Arguments: database, sandbox, plan. Prints a line for each lost lease. */
import { createTransport } from '../../../src/service/client/index.ts'
import { fixedCredentials } from '../../../src/sandbox/area.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { pushPlan } from '../../../src/sync/push/push.ts'
import { recoverAndResend } from '../../../src/sync/push/recoverAndResend.ts'
import { engineDeps } from './planted.ts'

const [databaseUrl = '', sandboxUrl = '', planId = '', settings = '{}'] = process.argv.slice(2)
const db = openDatabase(databaseUrl)
const transport = createTransport({ baseUrl: sandboxUrl, adsBaseUrl: sandboxUrl, adsVersion: '12', ...fixedCredentials })
const stop = new AbortController()
process.once('SIGTERM', () => stop.abort())
const deps = { ...(await engineDeps(db, transport, JSON.parse(settings) as object)), signal: stop.signal }
const [plan] = await db.query<{ destination_id: number; run_id: string }>('select destination_id, run_id from sluice.plan where id = $1', [
  planId,
])
await recoverAndResend(deps, plan!.destination_id, { runId: Number(plan!.run_id) })
await pushPlan(deps, planId)
await transport.close()
await db.close()
