/** Rounds: settling writes no index, and no key that is other than wanted is ever taken for settled. */
import { expect, test } from 'vitest'
import type { Database } from '../../../src/store/database.ts'
import { endRound, unlikeWanted } from '../../../src/store/rounds.ts'
import { engineUnderTest } from '../../support/engine.ts'

const peopleYaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: email }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { max_delete_count: 1000 }
`
const csv = (from: number, to: number, domain = 'example.com') =>
  `id,email\n${Array.from({ length: to - from }, (_, i) => `k${from + i},p${from + i}@${domain}\n`).join('')}`

/** Keys above the settled round, and keys that are other than wanted below it: what a plan would overlook. */
async function rounds(db: Database): Promise<{ settled: number; looked: number; overlooked: number }> {
  const [row] = await db.query<{ settled: number; looked: number; overlooked: number }>(
    `select d.settled_round as settled, count(*) filter (where m.round > d.settled_round)::int as looked,
       count(*) filter (where m.round <= d.settled_round and ${unlikeWanted})::int as overlooked
     from sluice.destination d left join sluice.remote m on m.destination_id = d.id group by d.settled_round`,
  )
  return row ?? { settled: -1, looked: -1, overlooked: -1 }
}

test('settling a first load rewrites its keys in place and writes no index', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv(0, 6_000))
  expect((await engine.run('people')).counts.confirmed).toBe(6_000)
  // Every connection tells its figures when it is idle for a while, or at once when asked: this asks all that settled.
  await Promise.all(Array.from({ length: 20 }, () => engine.db.query('select pg_stat_force_next_flush(), pg_sleep(0.05)')))
  const [written] = await engine.db.query<{ updated: number; in_place: number; entries: number }>(
    `select pg_stat_get_tuples_updated('sluice.remote'::regclass)::int as updated, pg_stat_get_tuples_hot_updated('sluice.remote'::regclass)::int as in_place,
       pg_stat_get_tuples_updated('sluice.entry'::regclass)::int as entries`,
  )
  expect(written?.updated).toBeGreaterThanOrEqual(6_000)
  expect((written?.in_place ?? 0) / (written?.updated ?? 1)).toBeGreaterThan(0.9)
  expect(written?.entries).toBe(0)
  const [storage] = await engine.db.query<{ body: string }>(
    `select attstorage::text as body from pg_attribute where attrelid = 'sluice.batch'::regclass and attname = 'body'`,
  )
  expect(storage?.body).toBe('e')
})

test('a round ends when its keys are as wanted; what was refused is looked at again, and nothing else', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv(0, 40))
  await engine.run('people')
  expect(await rounds(engine.db)).toEqual({ settled: 1, looked: 0, overlooked: 0 })

  engine.write('people.csv', csv(0, 41))
  await engine.sandbox.control.fault(
    { path: '/12/accounts' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
  )
  expect(await engine.run('people')).toMatchObject({ status: 'partial', counts: { refused: 1 } })
  expect(await rounds(engine.db)).toEqual({ settled: 2, looked: 1, overlooked: 0 })
  await engine.sandbox.control.clearFaults()
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { creates: 1, confirmed: 1 } })
  expect(await rounds(engine.db)).toMatchObject({ looked: 0, overlooked: 0 })
  expect((await engine.run('people')).counts.requests).toBe(0)
})

test('a round that was never sent stays open, whoever ends it', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv(0, 2_000))
  const { planId } = await engine.plan('people')
  const [destination] = await engine.db.query<{ id: number }>('select id from sluice.destination')
  await endRound(engine.db, destination?.id ?? 0)
  expect(await rounds(engine.db)).toEqual({ settled: 0, looked: 2_000, overlooked: 0 })
  expect((await engine.apply(planId)).counts.confirmed).toBe(2_000)
  expect(await rounds(engine.db)).toEqual({ settled: 1, looked: 0, overlooked: 0 })
})

test('an answer that confirms something else than what is wanted by now leaves its key open', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv(0, 5))
  const { planId } = await engine.plan('people')
  // While it is on its way something newer is wanted of one, in a round that is said to be settled.
  await engine.db.execute(`update sluice.remote set desired_hash = '\\x09' where key = (select min(key::text)::bytea from sluice.remote)`)
  await engine.db.execute('update sluice.destination set settled_round = 7')
  expect((await engine.apply(planId)).counts.confirmed).toBe(5)
  expect(await rounds(engine.db)).toMatchObject({ looked: 1, overlooked: 0 })
  expect((await engine.run('people')).counts).toMatchObject({ updates: 1, confirmed: 1 })
  expect(await rounds(engine.db)).toMatchObject({ looked: 0, overlooked: 0 })
})
