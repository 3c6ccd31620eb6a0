/** Statistics of Postgres: without those of a new destination, a plan compares all rows with all, minutes for 20,000 records. */
import { expect, test } from 'vitest'
import type { Database } from '../../../src/db/database.ts'
import { loadRejects } from '../../../src/sync/reports/history.ts'
import { loadRejectGroups } from '../../../src/sync/reports/runDetails.ts'
import { engineUnderTest } from '../../support/engine.ts'

const list = (id: string) => `source: { url: "{folder}/${id}.csv" }
map: { email: email }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: ${id} }
`
const people = (count: number) => `id,email\n${Array.from({ length: count }, (_, i) => `${i},person${i}@example.com\n`).join('')}`

/** Number of rows of the newest destination that Postgres expects in `table`. */
async function expectedRows(db: Database, table: string): Promise<number> {
  const [row] = await db.query<{ id: number }>('select max(id) as id from destination')
  const [plan] = await db.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
    `explain (format json) select from ${table} where destination_id = ${row?.id}`,
  )
  return plan?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0
}

test('Postgres estimates the rows of a small destination beside a large one after its plan', async () => {
  await using engine = await engineUnderTest()
  for (const [id, count] of [
    ['2dnr', 6_000],
    ['small', 1_500],
  ] as const) {
    engine.write(`${id}.csv`, people(count))
    engine.pipeline(id, list(id))
    await engine.plan(id)
    for (const table of ['record', 'remote']) {
      const expected = await expectedRows(engine.db, table)
      expect(expected, `${table} of ${id}`).toBeGreaterThan(count / 2)
      expect(expected, `${table} of ${id}`).toBeLessThan(count * 2)
    }
  }
})

test('Postgres estimates the records of audiences after their first plan, of any size beside others', async () => {
  await using engine = await engineUnderTest({ newDatabase: true })
  // The first two are a large part of their table, the others a small one.
  for (const [id, count] of [
    ['1aud', 6_000],
    ['2aud', 20_000],
    ['3aud', 1_500],
    ['4aud', 1_200],
  ] as const) {
    engine.write(`${id}.csv`, people(count))
    engine.pipeline(
      id,
      `source: { url: "{folder}/${id}.csv" }
map: { key: id, email: email }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: ${id} }
`,
    )
    await engine.plan(id)
    const expected = await expectedRows(engine.db, 'record')
    expect(expected, id).toBeGreaterThan(count / 2)
    expect(expected, id).toBeLessThan(count * 2)
  }
})

test('Postgres estimates the confirmed keys of a destination that was just loaded', async () => {
  await using engine = await engineUnderTest()
  engine.write('2dnr.csv', people(6_000))
  engine.pipeline('people', list('2dnr'))
  const expectedConfirmed = async () => {
    const [plan] = await engine.db.query<{ 'QUERY PLAN': [{ Plan: { 'Plan Rows': number } }] }>(
      `explain (format json) select from remote where destination_id = 1 and synced_hash is not null`,
    )
    return plan?.['QUERY PLAN'][0].Plan['Plan Rows'] ?? 0
  }
  expect((await engine.run('people')).counts.confirmed).toBe(6_000)
  expect(await expectedConfirmed()).toBeGreaterThan(3_000)
  // The state that the automatic analyze may find between the plan and the first answer.
  await engine.db.transaction(async (tx) => {
    await tx.execute('create temp table saved as select * from remote')
    await tx.execute('update remote set synced_hash = null')
    await tx.execute('analyze remote (synced_hash)')
    await tx.execute(
      'update remote m set synced_hash = s.synced_hash from saved s where s.destination_id = m.destination_id and s.key = m.key',
    )
    await tx.execute('drop table saved')
  })
  expect(await expectedConfirmed()).toBeLessThan(100)
  engine.write('2dnr.csv', people(6_001))
  await engine.plan('people')
  expect(await expectedConfirmed()).toBeGreaterThan(3_000)
})

test('an answer to deletes reads their keys, not all of the destination', async () => {
  await using engine = await engineUnderTest({ newDatabase: true })
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }
map: { key: id, email: email }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { max_delete_count: 100 }
`,
  )
  // A first load stores no keys; later runs do.
  for (const count of [10, 2_000]) {
    engine.write('people.csv', people(count))
    await engine.run('people')
  }
  // The state that the automatic analyze leaves before the first deletes: every key is desired.
  await engine.db.execute('analyze remote')
  engine.write('people.csv', people(1_990))
  const { planId } = await engine.plan('people')
  const before = await rowsRead(engine.db, 'remote')
  expect((await engine.apply(planId)).counts).toMatchObject({ deletes: 10, confirmed: 10 })
  expect((await rowsRead(engine.db, 'remote')) - before).toBeLessThan(200)
})

test('all rejects of a run are read once each, in the order of source and line, and samples of all reasons in few reads', async () => {
  await using engine = await engineUnderTest({ newDatabase: true })
  engine.pipeline('list', list('2dnr'))
  engine.write('2dnr.csv', people(1))
  const { runId } = await engine.run('list')
  const many = 40_000
  await engine.db.execute(
    `insert into reject (run_id, source, line, code, field, message, hint)
       select 1, 2 * (i / 40 % 2), i / 4, 'CODE_' || i % 40, 'email', '', '' from generate_series(1, ${many}) i`,
  )
  await engine.db.execute('analyze reject')
  const before = await rowsRead(engine.db, 'reject')
  const rejects = await Array.fromAsync(loadRejects(engine.db, runId))
  expect((await rowsRead(engine.db, 'reject')) - before).toBeLessThan(2 * many)
  expect(rejects).toHaveLength(many)
  expect(rejects).toEqual(rejects.toSorted((a, b) => a.source - b.source || a.line - b.line))
  const grouped = await rowsRead(engine.db, 'reject')
  const groups = await loadRejectGroups(engine.db, runId, 3)
  expect((await rowsRead(engine.db, 'reject')) - grouped).toBeLessThan(3 * many)
  expect(groups).toHaveLength(40)
  expect(groups[0]).toMatchObject({ code: 'CODE_0', count: 1_000, samples: [{ line: 20 }, { line: 40 }, { line: 60 }] })
})

/** Number of rows of `table` that all statements have read so far. */
async function rowsRead(db: Database, table: 'remote' | 'reject'): Promise<number> {
  // Every connection reports its figures after some idle time, or on request. This requests them from all that read.
  await Promise.all(Array.from({ length: 20 }, () => db.query('select pg_stat_force_next_flush(), pg_sleep(0.05)')))
  const [row] = await db.query<{ read: number }>(
    `select (seq_tup_read + coalesce(idx_tup_fetch, 0))::int as read from pg_stat_user_tables where relid = '${table}'::regclass`,
  )
  return row?.read ?? 0
}
