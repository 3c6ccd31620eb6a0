/** The temporary tables of a plan are the declared ones, with the declared columns. */
import type pg from 'pg'
import { expect, test } from 'vitest'
import { planTables } from '../../../src/sync/plan/planTables.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { goodProduct, item, rss } from '../acceptance/products.ts'

interface Column {
  readonly table: string
  readonly column: string
  readonly type: string
}

/** Columns of the temporary tables at the end of each plan that `work` makes. */
async function observe(engine: EngineUnderTest, work: () => Promise<unknown>): Promise<readonly Column[]> {
  const columns: Column[] = []
  const connect = engine.deps.db.connect
  const observed = async () => {
    const client = await connect()
    const query = client.query.bind(client) as (...given: unknown[]) => Promise<{ rows: Column[] }>
    const list = async () => {
      const { rows } = await query(
        `select c.relname as table, a.attname as column, format_type(a.atttypid, null) as type
         from pg_class c join pg_attribute a on a.attrelid = c.oid and a.attnum > 0
         where c.relpersistence = 't' and c.relkind = 'r' and c.relnamespace = pg_my_temp_schema() order by c.relname, a.attnum`,
      )
      return rows
    }
    // Tables that exist when the plan begins were filled by the read.
    let before = new Set<string>()
    const look = async (statement: string) => {
      const rows = await list()
      if (statement === 'begin') before = new Set(rows.map(({ table }) => table))
      else columns.push(...rows.filter(({ table }) => !before.has(table)))
      return query(statement)
    }
    // A COPY is a stream and not a promise. All but these two are passed through.
    client.query = ((...given: unknown[]) =>
      given[0] === 'begin' || given[0] === 'commit' ? look(given[0]) : query(...given)) as typeof client.query
    return client
  }
  Object.assign(engine.deps.db, { connect: observed })
  await work()
  Object.assign(engine.deps.db, { connect })
  return columns
}

test('every temporary table of a plan is declared with its columns and types', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }\nmap: { key: id, email: [e1, e2], expires_at: ends }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\nguards: { max_delete_count: 100, min_rows: 0 }\n`,
  )
  engine.pipeline('shop', `${catalogYaml('feed.xml')}guards: { max_delete_count: 100, min_rows: 0 }\n`)
  const shared = 'id,e1,e2,ends\n1,a@example.com,b@example.com,\n2,b@example.com,c@example.com,\n'
  const columns = await observe(engine, async () => {
    engine.write('people.csv', shared)
    engine.write('feed.xml', rss([item(goodProduct(1)), item(goodProduct(2))]))
    for (const name of ['people', 'shop']) await engine.run(name)
    engine.write('people.csv', shared.replace('c@', 'd@').replace('com,\n2', 'com,2090-01-01T00:00:00Z\n2'))
    engine.write('feed.xml', rss([item(goodProduct(1, 700))]))
    for (const name of ['people', 'shop']) await engine.run(name, { full: true })
    await engine.run('people')
  })
  const found = new Map<string, Record<string, string>>()
  for (const { table, column, type } of columns) found.set(table, { ...found.get(table), [column]: type })
  const declared = new Map<string, object>(Object.entries(planTables))
  // Exists only after an interrupted full refresh.
  declared.delete('resync')
  found.delete('resync')
  expect(Object.fromEntries(found)).toEqual(Object.fromEntries(declared))
})

/** Temporary tables of the connection, with their numbers of rows. */
async function tablesOf(client: pg.PoolClient): Promise<ReadonlyMap<string, number>> {
  const { rows } = await client.query<{ oid: string; name: string }>(
    `select oid, relname as name from pg_class where relnamespace = pg_my_temp_schema() and relkind in ('r', 'p')`,
  )
  const counts = new Map<string, number>()
  for (const { oid, name } of rows) {
    const counted = await client.query<{ n: number }>(`select count(*)::int as n from pg_temp.${name}`)
    counts.set(`${name} ${oid}`, counted.rows[0]?.n ?? Number.NaN)
  }
  return counts
}

const list = (last: number) => `id,email\n1,a@example.com\n2,b${last}@example.com\n2,b${last}@example.com\n`

/** All runs of the engine stage their rows on `client`, until `work` ends. */
async function onOneConnection(work: (engine: EngineUnderTest, client: pg.PoolClient) => Promise<void>): Promise<void> {
  await using engine = await engineUnderTest({ newDatabase: true })
  const client = await engine.db.connect()
  const release = client.release.bind(client)
  client.release = () => undefined
  Object.assign(engine.deps.db, { connect: () => Promise.resolve(client) })
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }\nmap: { key: id, email: email }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\nguards: { max_delete_count: 100, min_rows: 0 }\n`,
  )
  try {
    await work(engine, client)
  } finally {
    release()
  }
}

test('a run leaves its tables empty, and the next run creates none', () =>
  onOneConnection(async (engine, client) => {
    for (const last of [1, 2]) {
      engine.write('people.csv', list(last))
      await engine.run('people')
    }
    const before = await tablesOf(client)
    expect(before.size).toBeGreaterThan(10)
    expect(new Set(before.values())).toEqual(new Set([0]))
    engine.write('people.csv', list(3))
    expect((await engine.run('people')).counts).toMatchObject({ duplicates: 1, confirmed: 2 })
    expect(await tablesOf(client)).toEqual(before)
  }))

test('a run ignores rows that are left in its tables', () =>
  onOneConnection(async (engine, client) => {
    engine.write('people.csv', list(1))
    await engine.run('people')
    await client.query(
      `insert into stage (key, hash, kind, line, source, feature_set, identifiers)
     values ('\\x01', '\\x01', 0, 1, 0, 0, array[decode('01' || repeat('ab', 32), 'hex')])`,
    )
    await client.query(`insert into opted_out select unnest(identifiers) from record`)
    engine.write('people.csv', list(2))
    expect((await engine.run('people')).counts).toMatchObject({ valid: 2, updates: 1, deletes: 1, confirmed: 2 })
  }))

test('staged rows are analyzed also after a run that staged none', () =>
  onOneConnection(async (engine, client) => {
    engine.write('people.csv', list(1))
    await engine.run('people')
    engine.write('people.csv', `${list(1)}\n`)
    expect((await engine.run('people')).counts).toMatchObject({ unchanged: 2, requests: 0 })
    const query = client.query.bind(client) as (...given: unknown[]) => Promise<unknown>
    let analyzed = 0
    client.query = ((...given: unknown[]) => {
      if (String(given[0]).includes('analyze stage')) analyzed++
      return query(...given)
    }) as typeof client.query
    engine.write('people.csv', list(2))
    await engine.run('people')
    expect(analyzed).toBe(1)
  }))

test('a connection keeps no large table', () =>
  onOneConnection(async (engine, client) => {
    engine.write('people.csv', `id,email\n${Array.from({ length: 2_000 }, (_, n) => `${n},p${n}@example.com\n`).join('')}`)
    await engine.run('people')
    engine.write('people.csv', `id,email\n${Array.from({ length: 2_000 }, (_, n) => `${n},q${n}@example.com\n`).join('')}`)
    expect((await engine.run('people', { approveDeletes: 2_000 })).counts).toMatchObject({ updates: 2_000 })
    const { rows } = await client.query(
      `select relname from pg_class where relnamespace = pg_my_temp_schema() and relkind = 'r' and pg_relation_size(oid) > 81920`,
    )
    expect(rows).toEqual([])
  }))
