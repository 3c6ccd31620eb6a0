/**
 * Pushing where every answer takes 300 ms: concurrency has to follow latency, or the allowance of 1,500 requests a minute
 * stays unused. Measured over one burst.
 */
import { join } from 'node:path'
import { inChild } from './child.ts'
import { write } from './data.ts'
import { writePipeline } from './engine.ts'
import { seconds, type Bench } from './figure.ts'
import { startSandboxProcess } from './sandboxProcess.ts'

const latencyMs = 300
/** Requests a second that the service allows (spec 8). */
const allowed = 1_500 / 60

export const bench: Bench = async ({ small, folder, database, say }) => {
  const requests = small ? 60 : 400
  const rows = requests * 2_500
  const csv = join(folder, 'customers.csv')
  await write(csv, 'customer_id,email\n', rows, (at) => `${at},person${at}@example.com\n`, '')
  writePipeline(
    folder,
    'customers',
    `source: { url: "${csv}" }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\nmap: { key: customer_id, email: email }\n`,
  )
  const sandbox = await startSandboxProcess()
  try {
    const setting = { databaseUrl: await database(), folder, pipeline: 'customers', serviceUrl: sandbox.url }
    const planned = await inChild('./engine.ts', 'plan', setting)
    await sandbox.control('POST', 'faults', { match: { path: '/users' }, fault: { kind: 'delay', ms: latencyMs }, times: 'always' })
    const pushed = await inChild('./push.ts', 'push', { ...setting, planId: planned['planId'] })
    const perSecond = Number(pushed['requests']) / pushed.seconds
    const share = perSecond / allowed
    say({
      figure: `pushing at ${latencyMs} ms latency, ${String(pushed['requests'])} requests`,
      measured: `${seconds(pushed.seconds)}, ${perSecond.toFixed(1)} requests/s`,
      ratio: `${Math.round(share * 100)} % of 1,500 a minute, one at a time ${Math.round((1000 / latencyMs / allowed) * 100)} %`,
      reach: '95 %',
      met: share >= 0.95,
    })
  } finally {
    await sandbox.close()
  }
}
