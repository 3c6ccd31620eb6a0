/**
 * Confirmation by batch (docs/decisions/packed-state.md#confirmation-by-batch): a first load stores its keys as confirmed before they are
 * sent, and no reader takes them for confirmed before their batch is settled.
 */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { ChangedKeys, outOfSync } from '../../../src/db/changedKeys.ts'
import { isConfirmedKey, revokeAll } from '../../../src/db/provisional.ts'
import { applyRetention } from '../../../src/db/retention.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { erasedKeysOf, forget } from '../../../src/sync/erasure/index.ts'
import { explainKey } from '../../../src/sync/index.ts'
import { audienceDigest, email } from '../../support/digests.ts'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { interruptedRun } from '../../support/interrupted.ts'

const yaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { max_delete_count: 100000 }
`
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)
const emails = (n: number) => [`p${n}@example.com`, `q${n}@example.com`] as const
const csv = (people: readonly number[]) => `id,e1,e2\n${people.map((n) => `k${n},${emails(n).join(',')}\n`).join('')}`
const digest = (people: readonly number[]) => audienceDigest(people.flatMap((n) => emails(n).map(email)))

async function open(people: readonly number[]): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  engine.pipeline('people', yaml)
  engine.write('people.csv', csv(people))
  return engine
}

/** Keys by what they are: stored as confirmed, confirmed, out of sync. */
async function keys(engine: EngineUnderTest): Promise<unknown> {
  const [row] = await engine.db.query(
    `select count(*) filter (where m.synced_hash is not null)::int as stored, count(*) filter (where ${isConfirmedKey})::int as confirmed,
       count(*) filter (where ${outOfSync})::int as "outOfSync" from remote m`,
  )
  return row
}

const rewritten = (engine: EngineUnderTest) =>
  engine.db.query('select count(*)::int as n from remote where xmin::text <> (select min(xmin::text) from record)')

const refuseOnce = (engine: EngineUnderTest) =>
  engine.sandbox.control.fault(
    { path: '/users' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
  )

/** The state after any of it: the next runs end where the source is, and nothing is left to send. */
async function converges(engine: EngineUnderTest, people: readonly number[]): Promise<void> {
  engine.write('people.csv', csv(people))
  await engine.run('people')
  expect((await engine.sandbox.control.audience()).digest).toBe(digest(people))
  expect(await keys(engine)).toMatchObject({ confirmed: people.length * 2, outOfSync: 0 })
  expect((await engine.run('people', { full: false })).counts.requests).toBe(0)
  expect(await engine.sandbox.control.violations()).toEqual([])
}

test('an answer that confirms a whole batch of a first load writes no key', async () => {
  const people = range(0, 6_000)
  await using engine = await open(people)
  const { planId } = await engine.plan('people')
  expect(await keys(engine)).toEqual({ stored: 12_000, confirmed: 0, outOfSync: 0 })
  expect((await engine.apply(planId)).counts).toMatchObject({ confirmed: 6_000, pending: 0 })
  expect(await keys(engine)).toEqual({ stored: 12_000, confirmed: 12_000, outOfSync: 0 })
  expect(await rewritten(engine)).toEqual([{ n: 0 }])
  // Who confirmed it, and when, are those of the batch.
  const { events } = await explainKey(engine.deps, await loadPipeline(join(engine.folder, 'pipelines'), 'people'), 'k17')
  const [settled] = await engine.db.query<{ id: string; at: Date }>(
    `select b.id, b.settled_at as at from batch b join remote m on m.batch_id = b.id and m.key = '\\x01'::bytea || sha256('p17@example.com')`,
  )
  expect(events.filter(({ what }) => what === 'confirmed')).toMatchObject([
    { at: settled?.at.toISOString(), batch: Number(settled?.id) },
    { at: settled?.at.toISOString(), batch: Number(settled?.id) },
  ])
  await converges(engine, people)
})

test('a key of a first load that cannot be stored fails the plan, and nothing of it is stored', async () => {
  await using engine = await open(range(0, 12_000))
  await engine.db.execute(
    `create function sluice.full_disk() returns trigger language plpgsql as $$ begin raise exception 'disk full'; end $$`,
  )
  await engine.db.execute('create trigger full_disk before insert on remote for each row execute function sluice.full_disk()')
  await expect(engine.plan('people')).rejects.toThrow('P0001')
  expect(
    await engine.db.query('select from record union all select from batch union all select from plan union all select from remote'),
  ).toEqual([])
  await engine.db.execute('drop trigger full_disk on remote')
  expect((await engine.run('people')).counts).toMatchObject({ confirmed: 12_000 })
})

test('explain calls a key of a first load pending until its batch is settled', async () => {
  await using engine = await open([1, 2])
  await engine.plan('people')
  const { events } = await explainKey(engine.deps, await loadPipeline(join(engine.folder, 'pipelines'), 'people'), 'k1')
  expect(events.map(({ what }) => what)).not.toContain('confirmed')
  expect(events.filter(({ what }) => what === 'wanted')).toHaveLength(2)
})

test('a refused record of a first load is refused alone, and its keys are not confirmed', async () => {
  const people = range(0, 40)
  await using engine = await open(people)
  await refuseOnce(engine)
  expect((await engine.run('people')).counts).toMatchObject({ confirmed: 40, refused: 0 })
  await converges(engine, people)

  await using other = await open([1])
  await refuseOnce(other)
  expect((await other.run('people')).counts).toMatchObject({ confirmed: 0, refused: 1 })
  expect(await keys(other)).toEqual({ stored: 0, confirmed: 0, outOfSync: 2 })
  await converges(other, [1])
})

test('people who left between the plan and its push are not deleted, because nothing of them was confirmed', async () => {
  await using engine = await open(range(0, 30))
  await interruptedRun(engine, 'people', 'planned')
  expect(await keys(engine)).toEqual({ stored: 60, confirmed: 0, outOfSync: 0 })
  engine.write('people.csv', csv(range(0, 20)))
  expect((await engine.run('people')).counts).toMatchObject({ creates: 20, deletes: 0, confirmed: 20 })
  await converges(engine, range(0, 20))
})

test.for(['stop', 'die', 'planned'] as const)(
  'a first load that ends early (%s) is sent by the next run, with other content',
  async (how) => {
    await using engine = await open(range(0, 6_000))
    await interruptedRun(engine, 'people', how)
    await converges(engine, range(10, 6_010))
  },
)

test('a parked batch of a first load is not confirmed', async () => {
  await using engine = await engineUnderTest({ settings: { maxAttempts: 2 } })
  engine.pipeline('people', yaml)
  engine.write('people.csv', csv([1, 2]))
  await engine.sandbox.control.fault({ path: '/users' }, { kind: 'status', status: 503 }, 'always')
  await engine.run('people')
  expect(await keys(engine)).toEqual({ stored: 0, confirmed: 0, outOfSync: 4 })
  await engine.sandbox.control.clearFaults()
  await converges(engine, [1, 2])
})

test('two plans of one first load: the first is applied although the second was made, and writes its keys', async () => {
  await using engine = await open(range(0, 10))
  const { planId } = await engine.plan('people')
  const second = await engine.plan('people')
  expect(second).toMatchObject({ counts: { creates: 10 } })
  expect(await keys(engine)).toEqual({ stored: 0, confirmed: 0, outOfSync: 20 })
  expect((await engine.apply(planId)).counts).toMatchObject({ confirmed: 10 })
  await converges(engine, range(0, 10))
})

test('an answer to a batch whose confirmation was revoked meanwhile confirms its keys one by one', async () => {
  await using engine = await open(range(0, 10))
  const { planId } = await engine.plan('people')
  const { transport } = engine.deps
  const exchange: typeof transport.exchange = async (request) => {
    // As a plan of another process does it.
    if (request.method === 'POST') await engine.db.transaction((tx) => revokeAll(tx, 1, new ChangedKeys(tx, 1, false)))
    return transport.exchange(request)
  }
  Object.assign(engine.deps, { transport: { ...transport, exchange } })
  expect((await engine.apply(planId)).counts).toMatchObject({ confirmed: 10 })
  expect(await keys(engine)).toEqual({ stored: 20, confirmed: 20, outOfSync: 0 })
})

test('a plan that is never applied leaves nothing confirmed', async () => {
  await using engine = await open(range(0, 10))
  await engine.plan('people')
  await engine.db.execute(`update plan set created_at = created_at - interval '8 days'`)
  await applyRetention(engine.db)
  expect(await engine.db.query('select status, provisional from batch')).toEqual([{ status: 'superseded', provisional: false }])
  expect(await keys(engine)).toEqual({ stored: 0, confirmed: 0, outOfSync: 20 })
  await converges(engine, range(0, 10))
})

test('a person who is erased between the plan and its push is not sent, and the others are', async () => {
  await using engine = await open(range(0, 10))
  const { planId } = await engine.plan('people')
  const erased = await erasedKeysOf(engine.deps, { emails: ['p3@example.com'], phones: [], keys: [] }, undefined)
  expect(await forget(engine.deps, erased, { actor: 'test', reason: 'request', wait: true })).toMatchObject({ deletes: { planned: 0 } })
  expect(await keys(engine)).toMatchObject({ confirmed: 0 })
  expect((await engine.apply(planId)).counts).toMatchObject({ confirmed: 9 })
  await engine.run('people')
  expect((await engine.sandbox.control.audience()).digest).toBe(digest(range(0, 10).filter((n) => n !== 3)))
  expect(await keys(engine)).toMatchObject({ confirmed: 18, outOfSync: 0 })
})

test('the database rejects a batch that ends otherwise while its keys are stored as confirmed', async () => {
  await using engine = await open([1])
  await engine.plan('people')
  for (const status of ['split', 'superseded'])
    await expect(engine.db.execute('update batch set status = $1, settled_at = statement_timestamp()', [status])).rejects.toThrow(
      'batch_provisional',
    )
})
