import { expect, inject, test } from 'vitest'
import { testDatabase } from '../../support/postgres.ts'
import { readSource, sourceOf } from './support.ts'

test('rows of a query are text, with nulls, booleans, times and arrays', async () => {
  await using database = await testDatabase()
  const query = `select 12345678901234567890::numeric as id, null::text as title, true as wanted, timestamptz '2026-03-01 12:00:00.5+01' as joined, array['a','b'] as images, $1::text as given;`
  const { rows, facts, error } = await readSource(sourceOf(database.url, { query, parameters: [`x'; drop table y; --`] }))
  expect(error).toBeUndefined()
  expect(rows).toEqual([
    {
      line: 1,
      columns: ['id', 'title', 'wanted', 'joined', 'images', 'given'],
      cells: ['12345678901234567890', undefined, 'true', '2026-03-01T11:00:00.5Z', ['a', 'b'], `x'; drop table y; --`],
    },
  ])
  expect(facts).toMatchObject({
    format: 'sql',
    completeness: { complete: true },
    columns: ['id', 'title', 'wanted', 'joined', 'images', 'given'],
  })
  expect(facts?.uri).not.toContain('@')
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

test('column names that stand twice are refused', async () => {
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

test('nobody listening and a database that does not exist', async () => {
  const gone = new URL(inject('postgresUrl'))
  gone.pathname = '/no_such_database'
  expect((await readSource(sourceOf(gone.href, { query: 'select 1 as id' }))).code).toBe('SOURCE_QUERY')
  expect((await readSource(sourceOf('postgres://a@127.0.0.1:1/b', { query: 'select 1 as id' }))).code).toBe('SOURCE_UNAVAILABLE')
})

test('a connection that the server ends in the middle is a failure, not an end', async () => {
  await using database = await testDatabase()
  const query = `select n::text as id, case when n = 2000 then pg_terminate_backend(pg_backend_pid()) end as x from generate_series(1, 5000) as n`
  const outcome = await readSource(sourceOf(database.url, { query }))
  expect([outcome.code, outcome.facts]).toEqual(['SOURCE_UNAVAILABLE', undefined])
})
