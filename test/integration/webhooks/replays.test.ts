/** After an outage of the database, the refused events are requested from a real service until they are stored. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { expect, test } from 'vitest'
import { systemClock } from '../../../src/clock.ts'
import { silentLogger, type LogFields } from '../../../src/log.ts'
import type { Context } from '../../../src/cli/context.ts'
import { startHttpServer } from '../../../src/cli/servers/httpServer.ts'
import type { Config } from '../../../src/config/config.ts'
import { createClient } from '../../../src/service/client/index.ts'
import { openDatabase, type Database } from '../../../src/db/database.ts'
import {
  createWebhookReceiver,
  databaseEventStore,
  keepReplays,
  sign,
  type GapReceiver,
  type ReplayKeeper,
  type ReplayService,
  type WebhookReceiver,
} from '../../../src/webhooks/index.ts'
import { testDatabase } from '../../support/postgres.ts'
import { withSandbox, type SandboxUnderTest } from '../../support/sandbox.ts'
import { sandboxCredentials } from '../../support/signer.ts'

interface Bench extends AsyncDisposable {
  readonly sandbox: SandboxUnderTest
  readonly db: Database
  readonly service: ReplayService
  readonly receiver: WebhookReceiver
  readonly keep: (
    receiver?: WebhookReceiver,
    options?: {
      readonly everyMs?: number
      readonly receiver?: Partial<GapReceiver>
      readonly service?: ReplayService
      readonly aheadMs?: number
    },
  ) => ReplayKeeper
  readonly database: (state: 'up' | 'down') => void
  readonly events: () => Promise<string[]>
  readonly auditLog: () => Promise<string[]>
}

const gapReceiver = (service: string): GapReceiver => ({ service, application: 'app', path: '/webhooks' })

/** A receiver that is registered with a sandbox, and whose database can be removed. */
async function bench(wrap: (service: ReplayService) => ReplayService = (service) => service): Promise<Bench> {
  const database = await testDatabase()
  const sandbox = await withSandbox()
  await sandbox.control.switches({ webhook_dev_urls: 'on' })
  const down = openDatabase('postgres://nobody@127.0.0.1:1/none')
  let current: Database = database.db
  const db: Database = {
    ...database.db,
    execute: (text, values) => current.execute(text, values),
    query: (text, values) => current.query(text, values),
  }
  const keepers: ReplayKeeper[] = []
  const receiver = createWebhookReceiver({
    store: databaseEventStore(db, gapReceiver(sandbox.url)),
    secrets: [sandboxCredentials.consumerSecret],
    log: silentLogger,
    onGap: () => keepers.forEach((keeper) => keeper.wake()),
  })
  const server = createServer((request, response) => void receiver.handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const client = createClient({ baseUrl: sandbox.url, ...sandboxCredentials })
  await client.webhooks.create({ url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks` })
  const service = wrap({
    webhooks: async () => (await client.webhooks.list()).data ?? [],
    replay: async (range) => (await client.webhooks.replay(range)).data?.job_id ?? '',
  })
  return {
    sandbox,
    db,
    service,
    receiver,
    keep(of = receiver, { everyMs = 20, receiver: changed = {}, service: called = service, aheadMs = 0 } = {}) {
      const keeper = keepReplays({
        db,
        service: called,
        receiver: { ...gapReceiver(sandbox.url), ...changed },
        log: silentLogger,
        clock: { now: () => systemClock.now() + aheadMs },
        probe: of.probe,
        everyMs,
      })
      keepers.push(keeper)
      return keeper
    },
    database: (state) => (current = state === 'up' ? database.db : down),
    events: async () =>
      (await database.db.query<{ id: string }>(`select id from sluice.webhook_event where type <> 'replay_job_status' order by id`)).map(
        ({ id }) => id,
      ),
    auditLog: async () => (await database.db.query<{ what: string }>('select what from sluice.audit order by id')).map(({ what }) => what),
    async [Symbol.asyncDispose]() {
      for (const keeper of keepers) await keeper.stop()
      await client.close()
      server.closeAllConnections()
      await new Promise<void>((resolve) => server.close(() => resolve()))
      await sandbox.close()
      await down.close()
      await database[Symbol.asyncDispose]()
    },
  }
}

/** Time for a busy machine. */
const patient = { timeout: 20_000 }

const emit = (sandbox: SandboxUnderTest, ...ids: string[]) =>
  sandbox.control.request(
    'POST',
    'events',
    ids.map((id) => ({ event_uuid: id })),
  )

const noteJob = (under: Bench, job: string, state: string) =>
  under.db.execute(`insert into sluice.webhook_event (id, type, body) values ($1, 'replay_job_status', $2)`, [
    `${job} ${state}`,
    JSON.stringify({ replay_job_status: { job_id: job, job_state: state } }),
  ])

/** Expects waits that double from 1 ms on. */
async function expectLaterEachTime(under: Bench): Promise<void> {
  const times = await under.db.query<{ at: Date }>(`select at from sluice.audit where what = 'webhook.replay' order by id`)
  const waits = times.slice(1).map(({ at }, i) => at.getTime() - (times[i]?.at.getTime() ?? 0))
  expect(waits.filter((wait, i) => wait < 2 ** i - 1)).toEqual([])
}

test('the gap ends without a new event, and its events are replayed once each', async () => {
  await using under = await bench()
  under.keep()
  await emit(under.sandbox, 'a')
  under.database('down')
  expect((await emit(under.sandbox, 'b', 'c')).body.deliveries).toEqual({ delivered: 0, failed: 2 })
  expect(under.receiver.refusingSince()).toBeDefined()
  under.database('up')
  await expect.poll(under.events, patient).toEqual(['a', 'b', 'c'])
  await expect.poll(under.auditLog, patient).toEqual(['webhook.gap', 'webhook.replay', 'webhook.replayed'])
  expect(under.receiver.refusingSince()).toBeUndefined()
})

test('the next process requests the replay of an ended one', async () => {
  await using under = await bench()
  under.database('down')
  await emit(under.sandbox, 'b')
  under.database('up')
  await emit(under.sandbox, 'c')
  await expect.poll(under.auditLog, patient).toEqual(['webhook.gap'])
  expect(await under.events()).toEqual(['c'])
  under.keep()
  await expect.poll(under.events, patient).toEqual(['b', 'c'])
  await expect.poll(under.auditLog, patient).toContain('webhook.replayed')
})

test('a gap is left to processes of its service and application, and replayed at the webhooks of its path', async () => {
  await using under = await bench()
  under.database('down')
  await emit(under.sandbox, 'b')
  under.database('up')
  await emit(under.sandbox, 'c')
  await expect.poll(under.auditLog, patient).toEqual(['webhook.gap'])
  const asked: string[] = []
  const service: ReplayService = {
    webhooks: async () => [{ id: '1', url: 'https://hooks.example.com/webhooks' }],
    replay: async ({ webhook_id: id }) => String(asked.push(id)),
  }
  for (const receiver of [{ service: 'https://api.example.com' }, { application: 'other' }]) {
    const keeper = under.keep(under.receiver, { receiver, service })
    await systemClock.sleep(100)
    await keeper.stop()
  }
  expect(asked).toEqual([])
  expect(await under.auditLog()).toEqual(['webhook.gap'])
  under.keep(under.receiver, { receiver: { path: '/other' } })
  await expect.poll(under.events, patient).toEqual(['b', 'c'])
  await expect.poll(under.auditLog, patient).toEqual(['webhook.gap', 'webhook.replay', 'webhook.replayed'])
})

test('a replay without a result is not requested again early by a process whose clock is 25 hours ahead', async () => {
  let requests = 0
  await using under = await bench((service) => ({ ...service, replay: async () => `job-${++requests}` }))
  under.database('down')
  await emit(under.sandbox, 'b')
  under.database('up')
  await emit(under.sandbox, 'c')
  under.keep(under.receiver, { everyMs: 5, aheadMs: 25 * 3_600_000 })
  await expect.poll(under.auditLog, patient).toEqual(['webhook.gap', 'webhook.replay'])
  await systemClock.sleep(300)
  expect(requests).toBe(1)
})

test('a server that ends during a gap records it, or logs it if the database is still down', async () => {
  await using under = await bench()
  const logged: [LogFields, string][] = []
  const record = (fields: LogFields, text: string) => void logged.push([fields, text])
  const log = {
    ...silentLogger,
    error: record,
    warn: (fields: LogFields, text: string) => text.includes('replay of a gap') && record(fields, text),
  }
  const start = () =>
    startHttpServer({ log: () => log, clock: systemClock } as unknown as Context, {
      db: under.db,
      config: { service: {} } as Config,
      service: {
        ...sandboxCredentials,
        baseUrl: under.sandbox.url,
        adsBaseUrl: under.sandbox.url,
        adsSandboxBaseUrl: undefined,
        adsVersion: '12',
        names: {},
      },
      host: '127.0.0.1',
      port: 0,
    })
  const refuse = async (url: string) => {
    under.database('down')
    const body = '{"event_uuid":"a"}'
    const headers = { 'x-service-webhooks-signature': sign(body, sandboxCredentials.consumerSecret) }
    expect((await fetch(`${url}/webhooks`, { method: 'POST', body, headers })).status).toBe(503)
  }
  const first = await start()
  await refuse(first.url)
  await first.close()
  expect(logged).toEqual([[{ from: expect.stringContaining('T') }, expect.stringContaining('sluice webhooks replay')]])
  under.database('up')
  const second = await start()
  await refuse(second.url)
  under.database('up')
  await second.close()
  // Time in which a check after the end would log its failed request.
  await systemClock.sleep(300)
  expect(logged).toHaveLength(1)
  expect(await under.auditLog()).toEqual(['webhook.gap'])
})

test('a replay is requested again if it got no answer or is incomplete', async () => {
  let asked = 0
  await using under = await bench((service) => ({
    ...service,
    async replay(range) {
      if (++asked === 1) throw new Error('unreachable')
      if (asked === 2) under.database('down')
      return service.replay(range)
    },
  }))
  under.database('down')
  await emit(under.sandbox, 'b')
  under.database('up')
  await under.receiver.probe()
  under.keep()
  // The second replay is during another outage: it is refused again, and the gap of that outage begins after them.
  await expect.poll(() => asked, patient).toBe(2)
  await expect.poll(() => under.receiver.refusingSince(), patient).toBeDefined()
  under.database('up')
  await expect.poll(under.events, patient).toEqual(['b'])
})

test('a webhook whose replay is refused is asked ten times, later each time, and the others once', async () => {
  const asked: string[] = []
  await using under = await bench((service) => ({
    webhooks: async () => [{ id: 'broken', url: 'https://hooks.example.com/webhooks' }, ...(await service.webhooks())],
    async replay(range) {
      asked.push(range.webhook_id)
      if (range.webhook_id === 'broken') throw new Error('refused')
      return service.replay(range)
    },
  }))
  under.database('down')
  await emit(under.sandbox, 'b')
  under.database('up')
  await under.receiver.probe()
  under.keep(under.receiver, { everyMs: 1 })
  await expect.poll(under.events, patient).toEqual(['b'])
  await expect.poll(under.auditLog, patient).toContain('webhook.replay_given_up')
  expect([asked.filter((id) => id === 'broken').length, asked.filter((id) => id !== 'broken').length]).toEqual([10, 1])
  await expectLaterEachTime(under)
})

test('a replay whose jobs end incomplete is requested ten times, later each time', async () => {
  let jobs = 0
  await using under = await bench((service) => ({
    ...service,
    async replay() {
      const job = String(++jobs)
      await noteJob(under, job, 'Incomplete')
      return job
    },
  }))
  under.database('down')
  await emit(under.sandbox, 'b')
  under.database('up')
  await under.receiver.probe()
  under.keep(under.receiver, { everyMs: 1 })
  await expect.poll(under.auditLog, patient).toContain('webhook.replay_given_up')
  expect(jobs).toBe(10)
  await expectLaterEachTime(under)
})

test('an incomplete replay job is requested again', async () => {
  await using under = await bench()
  under.database('down')
  await emit(under.sandbox, 'b')
  under.database('up')
  await under.receiver.probe()
  const [gap] = await under.db.query<{ id: string }>('select id from sluice.audit')
  await under.db.execute(`insert into sluice.audit (actor, what, detail) values ('webhooks', 'webhook.replay', $1)`, [
    JSON.stringify({ gap: gap?.id, jobs: ['77'] }),
  ])
  under.keep()
  // Nothing reported yet: it waits.
  await new Promise((resolve) => setTimeout(resolve, 100))
  expect(await under.auditLog()).toEqual(['webhook.gap', 'webhook.replay'])
  await noteJob(under, '77', 'Incomplete')
  await expect.poll(under.events, patient).toEqual(['b'])
  await expect.poll(under.auditLog, patient).toEqual(['webhook.gap', 'webhook.replay', 'webhook.replay', 'webhook.replayed'])
})

test('a replay that the service cannot do, or that failed ten times, is given up with a log message', async () => {
  await using under = await bench()
  const gap = (from: string, to: string) =>
    under.db.execute(`insert into sluice.audit (actor, what, detail) values ('webhooks', 'webhook.gap', $1)`, [
      JSON.stringify({ from, to }),
    ])
  await gap('2020-01-01T00:00:00Z', '2020-01-01T01:00:00Z')
  under.keep()
  await expect.poll(under.auditLog, patient).toEqual(['webhook.gap', 'webhook.replay_given_up'])
  expect((await under.sandbox.control.ledger()).filter(({ path }) => path === '/2/webhooks/replay')).toEqual([])
})
