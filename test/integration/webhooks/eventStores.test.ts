/** The webhook receiver without Sluice's database: events in memory, or in a Postgres of the caller. */
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { expect, test } from 'vitest'
import { createWebhookReceiver, memoryEventStore, postgresEventStore, type EventStore, type ReceivedEvent } from '../../../src/index.ts'
import { databaseEventStore, sign } from '../../../src/webhooks/index.ts'
import { testDatabase } from '../../support/postgres.ts'
import { roleWith } from '../../support/role.ts'

const secret = 'a-consumer-secret'
const event = (uuid: string) =>
  JSON.stringify({ data: { event_uuid: uuid, event_type: 'post.create', payload: { text: `${uuid}\u0000`.slice(0, 1) } } })

async function deliver(
  bodies: readonly string[],
  store?: EventStore,
): Promise<{ readonly statuses: readonly number[]; readonly seen: readonly string[] }> {
  const seen: string[] = []
  const receiver = createWebhookReceiver({
    secrets: [secret],
    onEvent: ({ id }: ReceivedEvent) => seen.push(id),
    ...(store ? { store } : {}),
  })
  const server = createServer((request, response) => void receiver.handle(request, response))
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`
  const statuses: number[] = []
  for (const body of bodies) {
    const answer = await fetch(url, { method: 'POST', body, headers: { 'x-service-webhooks-signature': sign(body, secret) } })
    statuses.push(answer.status)
  }
  server.closeAllConnections()
  server.close()
  return { statuses, seen }
}

test('without a store events are in memory, and a repeated one is delivered once', async () => {
  const { statuses, seen } = await deliver([event('1'), event('2'), event('1')])
  expect({ statuses, seen }).toEqual({ statuses: [200, 200, 200], seen: ['1', '2'] })
})

test('a memory store keeps the newest events up to its limit', async () => {
  const store = memoryEventStore({ limit: 2 })
  await deliver([event('1'), event('2'), event('3')], store)
  expect(store.events().map(({ id }) => id)).toEqual(['2', '3'])
})

test('a Postgres store creates its table once and stores each event once', async () => {
  await using database = await testDatabase()
  const store = postgresEventStore(database.db.pool, { table: 'my_events' })
  const { statuses, seen } = await deliver([event('1'), event('1'), event('2')], store)
  expect({ statuses, seen }).toEqual({ statuses: [200, 200, 200], seen: ['1', '2'] })
  expect(await database.db.query('select id, type from my_events order by id')).toEqual([
    { id: '1', type: 'post.create' },
    { id: '2', type: 'post.create' },
  ])
  expect(() => postgresEventStore(database.db.pool, { table: 'a; drop table b' })).toThrow(/not a table name/)
})

test('a Postgres store uses an existing table as a role that may not create tables', async () => {
  await using database = await testDatabase()
  const poolOf = (connectionString: string) => new pg.Pool({ connectionString, options: '-c search_path=shop' })
  const owner = poolOf(database.url)
  await owner.query('create schema shop')
  await postgresEventStore(owner).probe()
  await using role = await roleWith(database.url, '')
  await owner.query(`grant usage on schema shop to ${role.name}`)
  await owner.query(`grant select, insert on sluice_webhook_event to ${role.name}`)
  const pool = poolOf(role.url)
  expect((await deliver([event('1'), event('1')], postgresEventStore(pool))).statuses).toEqual([200, 200])
  expect((await owner.query('select id from sluice_webhook_event')).rows).toEqual([{ id: '1' }])
  await pool.end()
  await owner.end()
})

test('several processes create the table of a Postgres store at the same time', async () => {
  await using database = await testDatabase()
  const pools = Array.from({ length: 6 }, () => new pg.Pool({ connectionString: database.url }))
  await Promise.all(pools.map((pool) => pool.query('select')))
  const added = pools.map((pool, index) => postgresEventStore(pool).add({ id: String(index), type: 'post.create', json: '{}' }))
  expect(await Promise.all(added)).toEqual([true, true, true, true, true, true])
  await Promise.all(pools.map((pool) => pool.end()))
})

test('the receiver answers 503 while Postgres is down, so that the service delivers again', async () => {
  const gone = { query: () => Promise.reject(new Error('connection refused')) }
  expect((await deliver([event('1')], postgresEventStore(gone))).statuses).toEqual([503])
})

test('a probe fails while the database is read-only, and inserts nothing', async () => {
  await using database = await testDatabase()
  const client = await database.db.connect()
  const own = postgresEventStore({ query: (text, values) => client.query(text, values) })
  const sluice = databaseEventStore(
    {
      query: async (text, values) => (await client.query(text, [...(values ?? [])])).rows,
      execute: async (text, values) => (await client.query(text, [...(values ?? [])])).rowCount ?? 0,
    },
    { service: 'https://api.example.com', application: 'app', path: '/webhooks' },
  )
  for (const [store, table] of [
    [own, 'sluice_webhook_event'],
    [sluice, 'webhook_event'],
  ] as const) {
    await store.probe()
    expect((await client.query(`select from ${table}`)).rowCount).toBe(0)
    await client.query('begin read only')
    await expect(store.probe()).rejects.toThrow('read-only transaction')
    await client.query('rollback')
  }
  client.release()
})
