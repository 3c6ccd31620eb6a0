import type { AddressInfo, Socket } from 'node:net'
import { createServer } from 'node:net'
import { inspect } from 'node:util'
import { expect, inject, test } from 'vitest'
import { readLimits } from '../../../src/formats/limits.ts'
import { silentLogger } from '../../../src/log.ts'
import { openSource } from '../../../src/sources/openSource.ts'
import { testDatabase, withOptions } from '../../support/postgres.ts'
import { cuttingProxy } from './cuttingProxy.ts'
import { readSource, sourceOf } from './support.ts'

test('rows of a query are text, with nulls, booleans, times and arrays', async () => {
  await using database = await testDatabase()
  const query = `select 12345678901234567890::numeric as id, null::text as title, true as desired, timestamptz '2026-03-01 12:00:00.5+01' as joined, array['a','b'] as images, $1::text as given;`
  const { rows, facts, error } = await readSource(sourceOf(database.url, { query, parameters: [`x'; drop table y; --`] }))
  expect(error).toBeUndefined()
  expect(rows).toEqual([
    {
      line: 1,
      columns: ['id', 'title', 'desired', 'joined', 'images', 'given'],
      cells: ['12345678901234567890', undefined, 'true', '2026-03-01T11:00:00.5Z', ['a', 'b'], `x'; drop table y; --`],
    },
  ])
  expect(facts).toMatchObject({
    format: 'sql',
    completeness: { complete: true },
    columns: ['id', 'title', 'desired', 'joined', 'images', 'given'],
  })
  expect(facts?.uri).not.toContain('@')
})

test.each([
  [`'{"a":1,"b":[1, 2]}'::json`, '{"a":1,"b":[1, 2]}'],
  [`'{"b":1,"a":2}'::jsonb`, '{"a": 2, "b": 1}'],
  [`'\\xdeadBEEF'::bytea`, '\\xdeadbeef'],
  ['1.10::numeric', '1.10'],
  ['12345678901234567890123.45::numeric', '12345678901234567890123.45'],
  [`'NaN'::numeric`, 'NaN'],
  ['0.1::float4', '0.1'],
  [`timestamp '2026-03-01 12:00'`, '2026-03-01T12:00:00'],
  [`timestamptz '2026-03-01 00:00:00.123456+05:30'`, '2026-02-28T18:30:00.123456Z'],
  [`timestamptz 'infinity'`, 'infinity'],
  [`date '2026-03-01'`, '2026-03-01'],
  [`'{}'::text[]`, []],
  [`array['a,b', null, 'c"d', 'e\\f']`, ['a,b', 'c"d', 'e\\f']],
  [`array[['a','b'],['c','d']]`, ['a', 'b', 'c', 'd']],
  [`'[0:1]={a,b}'::text[]`, ['a', 'b']],
  ['array[1, 2]', ['1', '2']],
  ['array[1.50, 2]', ['1.50', '2']],
  [`array['6ecd8c99-4036-403d-bf84-cf8400f67836']::uuid[]`, ['6ecd8c99-4036-403d-bf84-cf8400f67836']],
  [`array[date '2026-03-01']`, ['2026-03-01']],
] as const)('%s is read as %j', async (value, cell) => {
  await using database = await testDatabase()
  expect((await readSource(sourceOf(database.url, { query: `select ${value} as id` }))).rows[0]?.cells).toEqual([cell])
})

test.each([
  [
    'a value that cannot be divided',
    'select 1 / (n - 2000) as id from generate_series(1, 5000) n',
    [],
    'a value breaks the query after 1500 rows (22012)',
  ],
  ['a value that cannot be converted', `select 'canary'::int as id`, [], 'a value breaks the query (22P02)'],
  ['a missing parameter', 'select $1::text as id', [], 'the number of parameters in the query differs from `parameters` (08P01)'],
  ['a parameter too many', 'select 1 as id', ['canary'], 'the number of parameters in the query differs from `parameters` (08P01)'],
  ['an end from outside', 'select pg_cancel_backend(pg_backend_pid()), pg_sleep(1)', [], 'the database ended the query (57014)'],
  ['an exception of its own', 'select fail() as id', [], 'the database rejected the query (P0001)'],
] as const)(
  'the error of a query that fails by %s contains no value, and none of its rows count',
  async (_, query, parameters, message) => {
    await using database = await testDatabase()
    await database.db.execute(`create function fail() returns int language plpgsql as $$ begin raise exception 'canary'; end $$`)
    const { code, error, facts } = await readSource(sourceOf(database.url, { query, parameters }))
    expect([code, error?.message, facts]).toEqual(['SOURCE_QUERY', message, undefined])
    expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('canary')
  },
)

test('settings of the user do not change the texts of times and numbers', async () => {
  await using database = await testDatabase()
  const url = withOptions(database.url, '-c datestyle=German -c timezone=Asia/Tokyo -c extra_float_digits=-3')
  const query = `select 12345.67::real as price, 0.1234567890123::float8 as weight, timestamptz '2026-03-01 12:00Z' as joined`
  expect((await readSource(sourceOf(url, { query }))).rows[0]?.cells).toEqual(['12345.67', '0.1234567890123', '2026-03-01T12:00:00Z'])
})

test('a large result is read in batches, each row once', async () => {
  await using database = await testDatabase()
  const { rows } = await readSource(sourceOf(database.url, { query: 'select n::text as id from generate_series(1, 12345) as n' }))
  expect([rows.length, rows.at(-1)?.line, rows.at(-1)?.cells]).toEqual([12_345, 12_345, ['12345']])
})

test('an empty result has its columns', async () => {
  await using database = await testDatabase()
  expect((await readSource(sourceOf(database.url, { query: 'select 1 as id where false' }))).facts).toMatchObject({
    columns: ['id'],
    completeness: { complete: true },
  })
})

test.each([
  ['a second statement', 'select 1 as id; drop table x'],
  ['a write', 'with gone as (delete from sluice.run returning 1) select * from gone'],
  ['a function that writes', `select pg_catalog.set_config('a.b', 'c', false), nextval('nowhere')`],
  ['a syntax error', 'selec 1'],
  ['leaving the read-only transaction', `select set_config('transaction_read_only', 'off', true)`],
])('%s is refused', async (_, query) => {
  await using database = await testDatabase()
  expect((await readSource(sourceOf(database.url, { query }))).code).toBe('SOURCE_QUERY')
})

test('a function that writes is refused and has written nothing', async () => {
  await using database = await testDatabase()
  await database.db.execute('create table written (n int)')
  await database.db.execute(
    `create function leak() returns int language plpgsql as $$ begin insert into written values (1); return 1; end $$`,
  )
  expect((await readSource(sourceOf(database.url, { query: 'select leak() as id' }))).code).toBe('SOURCE_QUERY')
  expect(await database.db.query('select * from written')).toEqual([])
})

test('repeated column names are rejected', async () => {
  await using database = await testDatabase()
  expect((await readSource(sourceOf(database.url, { query: 'select 1 as a, 2 as a' }))).code).toBe('FILE_DUPLICATE_COLUMN')
})

test('the address may come from the environment, alone or with the password', async () => {
  await using database = await testDatabase()
  const query = 'select 1 as id'
  expect((await readSource(sourceOf('postgres:', { query }), { env: { DATABASE_URL: database.url } })).rows).toHaveLength(1)
  expect(
    (await readSource(sourceOf('postgres:', { query, credentials: { url: 'SHOP_URL' } }), { env: { SHOP_URL: database.url } })).rows,
  ).toHaveLength(1)
  expect((await readSource(sourceOf('postgres:', { query }))).code).toBe('SOURCE_CREDENTIALS')
  expect((await readSource(sourceOf(database.url))).code).toBe('SOURCE_QUERY')
})

test('an address without a host uses its parameters', async () => {
  await using database = await testDatabase()
  const { username, password, port, pathname } = new URL(database.url)
  const socketless = `postgres://${username}:${password}@${pathname}?host=127.0.0.1&port=${port}`
  expect((await readSource(sourceOf(socketless, { query: 'select 1 as id' }))).rows).toHaveLength(1)
})

test('a closed port and a missing database are errors with a hint', async () => {
  const gone = new URL(inject('postgresUrl'))
  gone.pathname = '/no_such_database'
  expect((await readSource(sourceOf(gone.href, { query: 'select 1 as id' }))).error).toMatchObject({
    code: 'SOURCE_MISSING',
    message: 'the server has no database of this name (3D000)',
    hint: expect.stringContaining('name of the database') as string,
  })
  expect((await readSource(sourceOf('postgres://a@127.0.0.1:1/b', { query: 'select 1 as id' }))).code).toBe('SOURCE_UNAVAILABLE')
})

test('a connection that the server closes is a failed read, not a complete one', async () => {
  await using database = await testDatabase()
  const query = `select n::text as id, case when n = 2000 then pg_terminate_backend(pg_backend_pid()) end as x from generate_series(1, 5000) as n`
  const outcome = await readSource(sourceOf(database.url, { query }))
  expect([outcome.code, outcome.facts]).toEqual(['SOURCE_UNAVAILABLE', undefined])
})

test('a session that the server ended between two fetches is reported with its timeout', async () => {
  await using database = await testDatabase()
  const name = new URL(database.url).pathname.slice(1)
  await database.db.execute(`alter database ${name} set idle_in_transaction_session_timeout = '500ms'`)
  const source = await openSource(sourceOf(database.url, { query: 'select n as id from generate_series(1, 3000) n' }), {
    env: {},
    log: silentLogger,
  })
  const rows = source.rows[Symbol.asyncIterator]()
  await rows.next()
  await expect
    .poll(() => database.db.query(`select pid from pg_stat_activity where application_name = 'sluice source' and datname = $1`, [name]))
    .toEqual([])
  await expect(rows.next()).rejects.toMatchObject({
    code: 'SOURCE_QUERY',
    message: 'the database ended the query after 500 rows (25P03)',
    hint: expect.stringContaining('idle_in_transaction_session_timeout') as string,
  })
})

/** The same database through a port that breaks connections. */
function through(url: string, port: number): string {
  const proxied = new URL(url)
  proxied.hostname = '127.0.0.1'
  proxied.port = String(port)
  return proxied.href
}

const port = (url: string) => Number(new URL(url).port)
const series = `select n::text as id, repeat('x', 100) as title from generate_series(1, 20000) as n`

test.each(['end', 'reset'] as const)('a connection that breaks (%s) anywhere is never a complete read', async (how) => {
  await using database = await testDatabase()
  for (const afterBytes of [0, 50, 600, 100_000, 1_000_000]) {
    await using proxy = await cuttingProxy(port(database.url), () => ({ afterBytes, how }))
    const { code, facts, error } = await readSource(sourceOf(through(database.url, proxy.port), { query: series }))
    expect([proxy.cuts(), code, facts]).toEqual([1, 'SOURCE_UNAVAILABLE', undefined])
    expect(error).toMatchObject({
      where: expect.stringMatching(/^postgres:\/\/127\.0\.0\.1:\d+\/t_\w+$/),
      hint: expect.stringContaining('run again'),
    })
    expect(inspect(error, { depth: 9 })).not.toContain(new URL(database.url).password)
  }
})

test('a read from a silent server ends with a cancellation or the time limit', async () => {
  await using database = await testDatabase()
  await using proxy = await cuttingProxy(port(database.url), () => ({ afterBytes: 100_000, how: 'stall' }))
  const definition = sourceOf(through(database.url, proxy.port), { query: series })
  const abort = new AbortController()
  const source = await openSource(definition, { env: {}, log: silentLogger, signal: abort.signal })
  const reading = Array.fromAsync(source.rows)
  await expect.poll(() => proxy.cuts()).toBe(1)
  abort.abort(new Error('enough'))
  await expect(reading).rejects.toThrow('enough')
  expect((await readSource(definition, { limits: { ...readLimits, totalMs: 500 } })).code).toBe('SOURCE_UNAVAILABLE')
})

test('a cancelled query ends at the server too', async () => {
  await using database = await testDatabase()
  const abort = new AbortController()
  const query = 'select pg_sleep(600)::text as id'
  const source = await openSource(sourceOf(database.url, { query }), { env: {}, log: silentLogger, signal: abort.signal })
  const reading = Array.fromAsync(source.rows)
  abort.abort(new Error('enough'))
  await expect(reading).rejects.toThrow('enough')
  await expect
    .poll(
      () => database.db.query(`select pid from pg_stat_activity where application_name = 'sluice source' and datname = current_database()`),
      { timeout: 30_000 },
    )
    .toEqual([])
})

test('rows that change during the read do not matter, because a query reads one snapshot', async () => {
  await using database = await testDatabase()
  await database.db.execute(`create table shop as select n as id, 'old' as title from generate_series(1, 3000) as n`)
  const source = await openSource(sourceOf(database.url, { query: 'select id, title from shop order by id' }), {
    env: {},
    log: silentLogger,
  })
  const rows = []
  for await (const batch of source.rows) {
    if (rows.length === 0) {
      await database.db.execute(`update shop set title = 'new'`)
      await database.db.execute(`delete from shop where id > 1000`)
      await database.db.execute(`insert into shop values (5000, 'new')`)
    }
    rows.push(...batch)
  }
  expect([rows.length, rows.at(-1)?.cells]).toEqual([3_000, ['3000', 'old']])
})

test('wrong credentials are denied, and neither they nor values of rows are shown', async () => {
  await using database = await testDatabase()
  const query = 'select 1 as id'
  const wrong = new URL(database.url)
  wrong.password = 'hunter2'
  const bare = new URL(database.url)
  bare.password = ''
  const outcomes = [
    await readSource(sourceOf(wrong.href, { query })),
    await readSource(sourceOf(bare.href, { query, credentials: { password: 'PW' } }), { env: { PW: 'hunter2' } }),
    await readSource(sourceOf(bare.href, { query })),
    await readSource(sourceOf('postgres:', { query, credentials: { url: 'SHOP' } }), { env: { SHOP: 'postgres://a:hunter2#1@h/b' } }),
    await readSource(sourceOf(database.url, { query: `select 'anna.example@example.com'::int as id` })),
  ]
  expect(outcomes.map(({ code }) => code)).toEqual(['SOURCE_DENIED', 'SOURCE_DENIED', 'SOURCE_DENIED', 'SOURCE_REFUSED', 'SOURCE_QUERY'])
  expect(inspect(outcomes, { depth: 9 })).not.toMatch(/hunter2|anna/)
})

test('a password from the environment is used, with any characters', async () => {
  await using database = await testDatabase()
  const role = new URL(database.url)
  role.username = `shop_${role.pathname.slice(1)}`
  role.password = ''
  await database.db.execute(`create role ${role.username} login password 'a/b#c@d:%é'`)
  try {
    const definition = sourceOf(role.href, { query: 'select 1 as id', credentials: { password: 'PW' } })
    expect((await readSource(definition, { env: { PW: 'a/b#c@d:%é' } })).rows).toHaveLength(1)
    // An address without a host, as for a socket.
    const hostless = `postgres://${role.pathname}?host=127.0.0.1&port=${role.port}&user=${role.username}`
    const ofParameters = { ...definition, uri: hostless }
    expect((await readSource(ofParameters, { env: { PW: 'a/b#c@d:%é' } })).rows).toHaveLength(1)
    expect(inspect(await readSource(ofParameters, { env: { PW: 'hunter2' } }), { depth: 9 })).not.toContain('hunter2')
  } finally {
    await database.db.execute(`drop role ${role.username}`)
  }
})

test('a table that the user may not read is reported as such', async () => {
  await using database = await testDatabase()
  await database.db.execute('create table secret (id int)')
  const role = new URL(database.url)
  role.username = `reader_${role.pathname.slice(1)}`
  role.password = 'invented'
  await database.db.execute(`create role ${role.username} login password 'invented'`)
  try {
    expect((await readSource(sourceOf(role.href, { query: 'select id from secret' }))).code).toBe('SOURCE_QUERY')
  } finally {
    await database.db.execute(`drop role ${role.username}`)
  }
})

test.each([`repeat('é', 65537)`, `array[repeat('é', 40000), repeat('é', 40000)]`])(
  'a value of more than 128 KiB is rejected: %s',
  async (value) => {
    await using database = await testDatabase()
    expect((await readSource(sourceOf(database.url, { query: `select ${value} as a` }))).code).toBe('FILE_FIELD_TOO_LARGE')
  },
)

test('a batch of rows above the memory limit is rejected while it arrives', async () => {
  await using database = await testDatabase()
  const query = `select repeat('x', 2000000) as id from generate_series(1, 100)`
  expect((await readSource(sourceOf(database.url, { query }))).code).toBe('FILE_RECORD_TOO_LARGE')
  expect(
    (await readSource(sourceOf(database.url, { query: series }), { limits: { ...readLimits, compressedBytes: 1_000_000 } })).code,
  ).toBe('FILE_TOO_LARGE')
})

/** A server that answers `first` to a new connection, and `then` to everything after it. */
async function fakeDatabase(first: Buffer, then: Buffer) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket)
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.write(first)
      socket.on('data', () => socket.write(then))
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `postgres://shop:canary@127.0.0.1:${(server.address() as AddressInfo).port}/shop`,
    [Symbol.asyncDispose]: () => {
      for (const socket of sockets) socket.destroy()
      return new Promise<void>((resolve) => server.close(() => resolve()))
    },
  }
}

/** One message of the protocol: its kind, its length, its body. */
function message(kind: string, body: readonly number[] | string = []): Buffer {
  const bytes = Buffer.from(body as string)
  const length = Buffer.alloc(4)
  length.writeInt32BE(bytes.length + 4)
  return Buffer.concat([Buffer.from(kind), length, bytes])
}

const ready = message('Z', 'I')
const admitted = Buffer.concat([message('R', [0, 0, 0, 0]), ready])
const nothing = Buffer.alloc(0)
const failed = (code: string) => Buffer.concat([message('E', `SERROR\0C${code}\0Mno canary\0\0`), ready])

test.each([
  ['a login by GSSAPI', message('R', [0, 0, 0, 7]), nothing, 'SOURCE_DENIED', /such as GSSAPI$/],
  ['an unknown kind of login', message('R', [0, 0, 0, 99]), nothing, 'SOURCE_DENIED', /unsupported authentication method/],
  ['too many connections', message('E', 'SFATAL\0C53300\0Mno canary\0\0'), nothing, 'SOURCE_UNAVAILABLE', /\(53300\)$/],
  [
    'an error of a pooler',
    message('E', 'SFATAL\0C08P01\0Mno canary\0\0'),
    nothing,
    'SOURCE_UNAVAILABLE',
    /^the database cannot be read \(08P01\)$/,
  ],
  ['a conflict on a replica', admitted, failed('40001'), 'SOURCE_UNAVAILABLE', /^the database cannot be read \(40001\)$/],
  ['the end of its transaction', admitted, failed('25P04'), 'SOURCE_QUERY', /^the database ended the query \(25P04\)$/],
  ['the end of its idle session', admitted, failed('25P03'), 'SOURCE_QUERY', /^the database ended the query \(25P03\)$/],
  ['another protocol', Buffer.from('HTTP/1.1 400 Bad Request\r\n\r\n'), nothing, 'SOURCE_UNAVAILABLE', /^the whole read took too long$/],
  ['rows without columns', admitted, Buffer.concat([message('C', 'FETCH 0\0'), ready]), 'SOURCE_QUERY', /no column/],
] as const)('a server that answers with %s fails the read, not the process', async (_, first, then, code, said) => {
  await using server = await fakeDatabase(first, then)
  const { error, facts } = await readSource(sourceOf(server.url, { query: 'select 1 as id' }), {
    limits: { ...readLimits, totalMs: 2_000 },
  })
  expect([error?.code, error?.message, facts]).toEqual([code, expect.stringMatching(said), undefined])
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('canary')
})

test.each([
  ['53300', 'max_connections'],
  ['57P03', 'in a minute'],
  ['40001', 'max_standby_streaming_delay'],
  ['08P01', 'PgBouncer'],
  ['25P04', 'transaction_timeout'],
  ['25P03', 'idle_in_transaction_session_timeout'],
])('the hint for %s names what to do: %s', async (code, hint) => {
  await using server = await fakeDatabase(admitted, failed(code))
  const { error } = await readSource(sourceOf(server.url, { query: 'select 1 as id' }))
  expect(error?.hint).toContain(hint)
  expect(error?.hint).not.toContain('Check the address')
})

test('a query without columns is rejected', async () => {
  await using database = await testDatabase()
  expect((await readSource(sourceOf(database.url, { query: 'select from generate_series(1, 3)' }))).code).toBe('SOURCE_QUERY')
})
