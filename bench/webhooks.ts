/**
 * Measures the webhook receiver with 10,000 signed events, 32 at a time, which are stored in Postgres. Reports events per second, the time
 * to the answer 200, and the number of stored events.
 */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pLimit from 'p-limit'
import { Pool } from 'undici'
import { silentLogger } from '../src/log.ts'
import { openDatabase } from '../src/db/database.ts'
import { createWebhookReceiver, databaseEventStore, sign } from '../src/webhooks/index.ts'
import { median, type Bench } from './figure.ts'

const secret = 'sandbox-consumer-secret'

export const bench: Bench = async ({ small, database, report }) => {
  const events = small ? 1_000 : 10_000
  const db = openDatabase(await database())
  const store = databaseEventStore(db, { service: 'https://api.example.com', application: 'app', path: '/webhooks' })
  const receiver = createWebhookReceiver({ store, secrets: [secret], log: silentLogger })
  const server = createServer((request, response) => void receiver.handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const pool = new Pool(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { connections: 32 })
  try {
    const times: number[] = []
    const limit = pLimit(32)
    const started = performance.now()
    await Promise.all(
      Array.from({ length: events }, () =>
        limit(async () => {
          const body = JSON.stringify({
            data: {
              event_uuid: randomUUID(),
              filter: { user_id: '1001' },
              event_type: 'post.create',
              payload: { id: '1', text: 'x'.repeat(400), author_id: '1001' },
            },
          })
          const sent = performance.now()
          const answer = await pool.request({
            path: '/webhooks',
            method: 'POST',
            body,
            headers: { 'x-service-webhooks-signature': sign(body, secret) },
          })
          await answer.body.dump()
          if (answer.statusCode !== 200) throw new Error(`answered ${answer.statusCode}`)
          times.push(performance.now() - sent)
        }),
      ),
    )
    const spent = (performance.now() - started) / 1000
    const [row] = await db.query<{ n: string }>('select count(*) as n from sluice.webhook_event')
    const p99 = times.toSorted((a, b) => a - b)[Math.floor(times.length * 0.99)] ?? Number.NaN
    report({
      figure: `${events} signed events, 32 at a time: stored`,
      measured: `${row?.n}, ${Math.round(events / spent)}/s`,
      target: 'all',
      met: Number(row?.n) === events,
    })
    report({
      figure: 'time to the 200: middle, 99th percentile',
      measured: `${median(times).toFixed(1)} ms, ${p99.toFixed(1)} ms`,
      target: 'p99 below 200 ms',
      met: p99 < 200,
    })
  } finally {
    await pool.close()
    server.close()
    await db.close()
  }
}
