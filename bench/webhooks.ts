/**
 * The webhook receiver under a flood: 10,000 signed events, 32 at a time, into real Postgres. Prints events a second and
 * the time to the 200 at the 50th and 99th percentile; fails when one is lost or the 99th is over 200 ms (issue 3, line 5).
 *
 *     node bin/node24.js bench/webhooks.ts [EVENTS]
 */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pLimit from 'p-limit'
import { Pool } from 'undici'
import { silentLogger } from '../src/log.ts'
import { openDatabase } from '../src/store/database.ts'
import { startEmbedded, stopEmbedded } from '../src/store/embedded/server.ts'
import { migrateDatabase } from '../src/store/migrate.ts'
import { createWebhookReceiver, sign } from '../src/webhooks/index.ts'

const secret = 'sandbox-consumer-secret'
const events = Number(process.argv[2] ?? 10_000)
const dataDir = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
const { url } = await startEmbedded(dataDir, { keep: true })
await migrateDatabase(url)
const db = openDatabase(url)
const receiver = createWebhookReceiver({ db, secrets: [secret], log: silentLogger })
const server = createServer((request, response) => void receiver.handle(request, response))
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
const pool = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { connections: 32 })

const times: number[] = []
const limit = pLimit(32)
const started = performance.now()
await Promise.all(Array.from({ length: events }, () => limit(async () => {
  const body = JSON.stringify({ data: { event_uuid: randomUUID(), filter: { user_id: '1001' }, event_type: 'post.create', payload: { id: '1', text: 'x'.repeat(400), author_id: '1001' } } })
  const sent = performance.now()
  const answer = await pool.request({ path: '/webhooks', method: 'POST', body, headers: { 'x-service-webhooks-signature': sign(body, secret) } })
  await answer.body.dump()
  if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`)
  times.push(performance.now() - sent)
})))
const seconds = (performance.now() - started) / 1000
const [row] = await db.query<{ n: string }>('select count(*) as n from sluice.webhook_event')
times.sort((a, b) => a - b)
const at = (share: number) => times[Math.min(times.length - 1, Math.floor(times.length * share))] ?? 0
process.stdout.write(`${events} events, ${Math.round(events / seconds)} a second, p50 ${at(0.5).toFixed(1)} ms, p99 ${at(0.99).toFixed(1)} ms, stored ${row?.n}\n`)

await pool.close()
server.close()
await db.close()
await stopEmbedded(dataDir)
rmSync(dataDir, { recursive: true, force: true })
if (Number(row?.n) !== events || at(0.99) > 200) process.exitCode = 1
