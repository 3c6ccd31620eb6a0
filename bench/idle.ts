/** Measures idle tenants: for each schema of one database, a `sluice serve` with one scheduled pipeline that is not due. */
import type { ChildProcess } from 'node:child_process'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { audienceYaml, writePipeline } from './engine.ts'
import { mean, type Bench } from './figure.ts'
import { buildPackage, megabytesOf, processorSeconds, serverUse, startServe, stopServe } from './serveProcess.ts'

const tenants = 3
/** Interval of the rarest poll. */
const minutes = 5

export const bench: Bench = async ({ folder, database, report, small }) => {
  buildPackage()
  const databaseUrl = await database()
  writePipeline(folder, 'customers', `schedule: "0 3 1 1 *"\n${audienceYaml(join(folder, 'customers.csv'), 0)}`)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const served: ChildProcess[] = []
  try {
    for (let tenant = 1; tenant <= tenants; tenant++)
      served.push(await startServe({ folder, databaseUrl, serviceUrl: 'http://127.0.0.1:9', schema: `tenant_${tenant}` }))
    // By now each process has started, stored its schedule and run its maintenance once.
    await delay(20_000)
    const measured = small ? 1 : minutes
    const use = serverUse(client)
    const before = await use()
    const processorBefore = served.map(({ pid }) => processorSeconds(pid))
    const connections: number[] = []
    const until = performance.now() + measured * 60_000
    while (performance.now() < until) {
      connections.push((await use()).connections / tenants)
      await delay(1_000)
    }
    const each = ((await use()).transactions - before.transactions) / tenants / measured
    const processor = served.reduce((sum, { pid }, i) => sum + processorSeconds(pid) - (processorBefore[i] ?? 0), 0) / tenants / measured
    const memory = served.map(({ pid }) => megabytesOf(pid))
    report({ figure: 'idle serve: transactions per minute', measured: each.toFixed(0) })
    report({ figure: 'idle serve: connections, on average', measured: mean(connections).toFixed(1) })
    report({
      figure: 'idle serve: processor of Node per minute',
      measured: `${processor.toFixed(2)} s`,
      ratio: `${(processor / 0.6).toFixed(2)} % of a core`,
    })
    report({
      figure: 'idle serve: resident memory',
      measured: `${mean(memory.map(({ resident }) => resident)).toFixed(0)} MB`,
      ratio: `${mean(memory.map(({ proportional }) => proportional)).toFixed(0)} MB with shared pages divided`,
    })
  } finally {
    await Promise.all(served.map(stopServe))
    await client.end()
  }
}
