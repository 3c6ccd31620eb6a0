/** An idle tenant: `sluice serve` with one scheduled pipeline that is not due, in schemas of one database, each in a process of its own. */
import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { audienceYaml, environmentOf, writePipeline } from './engine.ts'
import type { Bench } from './figure.ts'

const launcher = fileURLToPath(new URL('../bin/sluice.js', import.meta.url))
const tenants = 3
const minutes = 1

export const bench: Bench = async ({ folder, database, say }) => {
  const databaseUrl = await database()
  writePipeline(folder, 'customers', `schedule: { cron: "0 3 1 1 *" }\n${audienceYaml(join(folder, 'customers.csv'), 0)}`)
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  const served: ChildProcess[] = []
  try {
    for (let tenant = 1; tenant <= tenants; tenant++) served.push(await serve(folder, databaseUrl, `tenant_${tenant}`))
    // Started, declared, maintained once: what comes next is idleness.
    await delay(20_000)
    const before = await transactions(client)
    const processorBefore = served.map(processorSeconds)
    await delay(minutes * 60_000)
    const each = ((await transactions(client)) - before) / tenants / minutes
    const processor = served.reduce((sum, child, i) => sum + processorSeconds(child) - (processorBefore[i] ?? 0), 0) / tenants / minutes
    say({ figure: 'idle serve: transactions a minute', measured: each.toFixed(0) })
    say({
      figure: 'idle serve: processor of Node a minute',
      measured: `${processor.toFixed(2)} s`,
      ratio: `${(processor / 0.6).toFixed(2)} % of a core`,
    })
  } finally {
    for (const child of served) {
      child.kill()
      await once(child, 'close')
    }
    await client.end()
  }
}

async function serve(folder: string, databaseUrl: string, schema: string): Promise<ChildProcess> {
  mkdirSync(join(folder, 'home'), { recursive: true })
  const child = spawn(process.execPath, [launcher, 'serve', '--port', '0'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...environmentOf({ home: join(folder, 'home'), databaseUrl, serviceUrl: 'http://127.0.0.1:9' }),
      SLUICE_SCHEMA: schema,
    },
  })
  await once(createInterface(child.stdout), 'line')
  return child
}

async function transactions(client: pg.Client): Promise<number> {
  const { rows } = await client.query<{ count: string }>(
    'select xact_commit as count from pg_stat_database where datname = current_database()',
  )
  return Number(rows[0]?.count)
}

/** Processor time of a process so far, in user and system mode; Linux only. */
function processorSeconds({ pid }: ChildProcess): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return fields.slice(11, 13).reduce((sum, ticks) => sum + Number(ticks) / 100, 0)
}
