/** `changed_key`: plans and answers write no index of keys, and every key that is out of sync is found. */
import { expect, test } from 'vitest'
import { ChangedKeys, deleteChangedInSync, eraseChanged, isChangedKey, isOutOfSync } from '../../../src/db/changedKeys.ts'
import type { Database } from '../../../src/db/database.ts'
import { pendingProducts } from '../../../src/sync/plan/pendingProducts.ts'
import { createOrEmptyTable, fillTable } from '../../../src/sync/plan/planTables.ts'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { testDatabase } from '../../support/postgres.ts'
import { plantDestination } from '../push/planted.ts'

const peopleYaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { max_delete_count: 1000 }
`
const csv = (from: number, to: number, domain = 'example.com', changed = 0) =>
  `id,e1,e2\n${Array.from({ length: to - from }, (_, i) => {
    const n = from + i
    return `k${n},p${n}@${i < changed ? 'new.example.com' : domain},q${n}@${domain}\n`
  }).join('')}`

/**
 * Returns whether all keys count as changed, and the number of stored changed keys. `overlooked`: keys out of sync that a plan would not
 * see.
 */
async function changed(db: Database): Promise<{ all: boolean; noted: number; overlooked: number }> {
  const [row] = await db.query<{ all: boolean; noted: number; overlooked: number }>(
    `select d.all_changed as all, (select count(distinct k)::int from changed_key, unnest(keys) as k) as noted,
       count(*) filter (where not d.all_changed and ${isOutOfSync} and not ${isChangedKey('d.id')})::int as overlooked
     from destination d left join remote m on m.destination_id = d.id group by d.id`,
  )
  return row ?? { all: true, noted: -1, overlooked: -1 }
}

/** Number of rewritten rows of `remote` so far, and of those in place. */
async function rewritten(engine: EngineUnderTest): Promise<{ updated: number; inPlace: number; entries: number }> {
  // Every connection reports its figures after some idle time, or on request. This requests them from all that wrote.
  await Promise.all(Array.from({ length: 20 }, () => engine.db.query('select pg_stat_force_next_flush(), pg_sleep(0.05)')))
  const [row] = await engine.db.query<{ updated: number; inPlace: number; entries: number }>(
    `select pg_stat_get_tuples_updated('remote'::regclass)::int as updated, pg_stat_get_tuples_hot_updated('remote'::regclass)::int as "inPlace",
       pg_stat_get_tuples_updated('entry'::regclass)::int as entries`,
  )
  return row ?? { updated: 0, inPlace: 0, entries: 0 }
}

test('a first load rewrites no key, and a run with few changes updates its keys in place', async () => {
  await using engine = await engineUnderTest({ newDatabase: true })
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv(0, 3_000))
  expect((await engine.run('people')).counts.confirmed).toBe(3_000)
  const first = await rewritten(engine)
  expect(first).toEqual({ updated: 0, inPlace: 0, entries: 0 })

  engine.write('people.csv', csv(0, 3_000, 'example.com', 100))
  expect((await engine.run('people', { approveDeletes: 200 })).counts).toMatchObject({ deletes: 100, updates: 100, pending: 0 })
  const second = await rewritten(engine)
  // The answer that confirms the kept and the new address removes both keys. The answer to the delete removes the key of the old address.
  const updates = second.updated - first.updated
  expect(updates).toBe(200)
  expect(second.inPlace - first.inPlace).toBe(updates)

  const [storage] = await engine.db.query<{ body: string }>(
    `select attstorage::text as body from pg_attribute where attrelid = 'batch'::regclass and attname = 'body'`,
  )
  expect(storage?.body).toBe('e')
})

test('changed_key keeps only refused keys when a run ends, and the next plan reads only those', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv(0, 40))
  await engine.run('people')
  expect(await changed(engine.db)).toEqual({ all: false, noted: 0, overlooked: 0 })

  engine.write('people.csv', csv(0, 41))
  await engine.sandbox.control.fault(
    { path: '/12/accounts' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
  )
  expect(await engine.run('people')).toMatchObject({ status: 'partial', counts: { refused: 1 } })
  expect(await changed(engine.db)).toEqual({ all: false, noted: 2, overlooked: 0 })
  await engine.sandbox.control.clearFaults()
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { creates: 1, confirmed: 1 } })
  expect(await changed(engine.db)).toEqual({ all: false, noted: 0, overlooked: 0 })
  expect((await engine.run('people')).counts.requests).toBe(0)
})

test('the next plan finds planned keys that were never sent', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv(0, 1_000))
  const { planId } = await engine.plan('people')
  const [destination] = await engine.db.query<{ id: number }>('select id from destination')
  await deleteChangedInSync(engine.db, destination?.id ?? 0)
  // Its keys are implied. The next plan stores those of batches that are not settled, and so finds all of them.
  expect(await changed(engine.db)).toEqual({ all: false, noted: 0, overlooked: 0 })
  expect((await engine.plan('people')).counts).toMatchObject({ creates: 1_000 })
  expect(await changed(engine.db)).toEqual({ all: false, noted: 2_000, overlooked: 0 })
  expect((await engine.apply(planId)).counts.confirmed).toBe(1_000)
  expect(await changed(engine.db)).toEqual({ all: false, noted: 0, overlooked: 0 })

  engine.write('people.csv', csv(0, 1_003))
  await engine.plan('people')
  await deleteChangedInSync(engine.db, destination?.id ?? 0)
  expect(await changed(engine.db)).toEqual({ all: false, noted: 6, overlooked: 0 })
})

test('an answer that confirms content that is no longer desired leaves its key in changed_key', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv(0, 5))
  await engine.run('people')
  engine.write('people.csv', csv(0, 10))
  const { planId } = await engine.plan('people')
  // While it is in flight, one key gets newer desired content, and no key is stored as changed.
  await engine.db.execute(
    `update remote set desired_hash = '\\x09' where key = (select min(key::text)::bytea from remote where synced_hash is null)`,
  )
  await engine.db.execute('delete from changed_key')
  await engine.db.execute('update destination set all_changed = false')
  expect((await engine.apply(planId)).counts.confirmed).toBe(5)
  expect(await changed(engine.db)).toEqual({ all: false, noted: 1, overlooked: 0 })
  expect((await engine.run('people')).counts).toMatchObject({ updates: 1, confirmed: 1 })
  expect(await changed(engine.db)).toEqual({ all: false, noted: 0, overlooked: 0 })
})

test('the purge of an erasure does not compare each changed key with all others', async () => {
  await using database = await testDatabase()
  const { db } = database
  const id = await plantDestination(db)
  const key = `('\\x01' || lpad(to_hex(n), 8, '0'))::bytea`
  await db.execute(
    `insert into remote (destination_id, key, ref_count, desired_hash) select ${id}, ${key}, 1, '\\x01' from generate_series(1, 60000) n`,
  )
  await db.execute(`insert into changed_key (destination_id, keys) select ${id}, array_agg(${key}) from generate_series(2, 60001) n`)
  await db.execute('analyze')
  // 60,000² comparisons take Postgres 10 s and more, the search of 60,000 keys 0.1 s.
  await db.transaction(async (tx) => {
    await tx.execute(`set local statement_timeout = '5s'`)
    await eraseChanged(tx, id, { identifiers: [Buffer.from('0100000001', 'hex')], records: [] })
  })
  // The key of the erased person is added, and the key without a row is deleted.
  const kept = `select count(*)::int as n, bool_or(key = '\\x0100000001') as erased from changed_key, unnest(keys) as key`
  expect(await db.query(kept)).toEqual([{ n: 60_000, erased: true }])
})

test('a plan after an interrupted full refresh does not compare each product with all changed keys', async () => {
  await using database = await testDatabase()
  const { db } = database
  const id = await plantDestination(db, 'catalog', '4001')
  // Two of 4,000 changed keys are out of sync.
  const key = `('\\x01' || lpad(to_hex(n), 8, '0'))::bytea`
  await db.execute(
    `insert into remote (destination_id, key, ref_count, desired_hash, synced_hash)
     select ${id}, ${key}, 1, '\\x01', case when n < 3 then null else '\\x01'::bytea end from generate_series(1, 200000) n`,
  )
  await db.execute(`insert into changed_key (destination_id, keys) select ${id}, array_agg(${key}) from generate_series(1, 4000) n`)
  await db.execute('analyze')
  // 4,000 * 200,000 comparisons take Postgres 20 s.
  await db.transaction(async (tx) => {
    await tx.execute(`set local statement_timeout = '5s'`)
    await createOrEmptyTable(tx, 'change')
    await fillTable(tx, 'unresolved', 'select key from remote where false')
    await fillTable(tx, 'resync', `select key from remote where key between '\\x0100001000' and '\\x0100001009'`)
    const changedKeys = new ChangedKeys(tx, id, false)
    const context = { destinationId: id, isFullRefresh: false, planId: 'p_1', onlyFailedOf: undefined, hasResync: true }
    await pendingProducts({ tx, changed: changedKeys, ...context }).collect()
    expect(await tx.query('select count(*)::int as n from pending_product')).toEqual([{ n: 12 }])
  })
})
