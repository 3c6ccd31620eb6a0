/** The temporary tables of a plan are the declared ones, with the declared columns. */
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
