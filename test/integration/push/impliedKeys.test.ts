/**
 * Implied keys (docs/decisions/implied-keys.md): a first load stores no key. Its keys are confirmed by their batches, and get rows before
 * anything else happens to them.
 */
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { rowIdentifiers } from '../../../src/db/identifiers.ts'
import { connectionOf } from '../../../src/db/database.ts'
import { expect, test } from 'vitest'
import { ChangedKeys, isOutOfSync } from '../../../src/db/changedKeys.ts'
import { eraseImpliedKeys, ImpliedKeyIndex } from '../../../src/db/impliedKeyIndex.ts'
import { findImpliedKeys, searchImpliedKeys, type ImpliedKey } from '../../../src/db/impliedKeySearch.ts'
import { migrationsFolder } from '../../../src/db/migrations.ts'
import { storeOpenKeys } from '../../../src/db/remote/implied.ts'
import { applyRetention } from '../../../src/db/retention.ts'
import { batchLimits } from '../../../src/service/contract/limits.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { erasedKeysOf } from '../../../src/sync/erasure/person.ts'
import { forget } from '../../../src/sync/erasure/forget.ts'
import { explainKey } from '../../../src/sync/reports/explain.ts'
import { skippedRecordHasOptedOutIdentifier } from '../../../src/sync/read/optedOut.ts'
import { audienceDigest, email } from '../../support/digests.ts'
import { createStage } from '../../../src/sync/read/stageTable.ts'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { interruptedRun } from '../../support/interrupted.ts'
import { everyKey } from '../../support/everyKey.ts'

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

/** Number of keys that are confirmed and out of sync, and of those that have a row. */
async function keys(engine: EngineUnderTest): Promise<unknown> {
  const [row] = await engine.db.query(
    `select count(*) filter (where m.synced_hash is not null)::int as confirmed, count(*) filter (where ${isOutOfSync})::int as "outOfSync",
       (select count(*)::int from remote) as stored from ${everyKey} m`,
  )
  return row
}

const refuseOnce = (engine: EngineUnderTest) =>
  engine.sandbox.control.fault(
    { path: '/users' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
  )

/** Checks the state after any of it: the next runs sync the source, and nothing is left to send. */
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
  expect(await keys(engine)).toEqual({ stored: 0, confirmed: 0, outOfSync: 12_000 })
  expect((await engine.apply(planId)).counts).toMatchObject({ confirmed: 6_000, pending: 0 })
  expect(await keys(engine)).toEqual({ stored: 0, confirmed: 12_000, outOfSync: 0 })
  // The batch has the time of confirmation of each key.
  const { events } = await explainKey(engine.deps, await loadPipeline(join(engine.folder, 'pipelines'), 'people'), 'k17')
  const [settled] = await engine.db.query<{ id: string; at: Date }>(
    `select b.id, b.settled_at as at from batch b join ${everyKey} m on m.batch_id = b.id and m.key = '\\x01'::bytea || sha256('p17@example.com')`,
  )
  expect(events.filter(({ what }) => what === 'confirmed')).toMatchObject([
    { at: settled?.at.toISOString(), batch: Number(settled?.id) },
    { at: settled?.at.toISOString(), batch: Number(settled?.id) },
  ])
  await converges(engine, people)
})

test('a first load whose implied keys cannot be indexed fails and stores nothing', { tags: ['long'] }, async () => {
  await using engine = await open(range(0, 12_000))
  await engine.db.execute(
    `create function sluice.full_disk() returns trigger language plpgsql as $$ begin raise exception 'disk full'; end $$`,
  )
  await engine.db.execute('create trigger full_disk before insert on implied_key for each row execute function sluice.full_disk()')
  await expect(engine.plan('people')).rejects.toThrow('P0001')
  expect(
    await engine.db.query('select from record union all select from batch union all select from plan union all select from implied_key'),
  ).toEqual([])
  await engine.db.execute('drop trigger full_disk on implied_key')
  expect((await engine.run('people')).counts).toMatchObject({ confirmed: 12_000 })
})

test('explain calls a key of a first load pending until its batch is settled', async () => {
  await using engine = await open([1, 2])
  await engine.plan('people')
  const { events } = await explainKey(engine.deps, await loadPipeline(join(engine.folder, 'pipelines'), 'people'), 'k1')
  expect(events.map(({ what }) => what)).not.toContain('confirmed')
  expect(events.filter(({ what }) => what === 'desired')).toHaveLength(2)
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
  expect(await keys(other)).toEqual({ stored: 2, confirmed: 0, outOfSync: 2 })
  await converges(other, [1])
})

test('people whose rows are missing before the push are not deleted, because they were never confirmed', async () => {
  await using engine = await open(range(0, 30))
  await interruptedRun(engine, 'people', 'planned')
  expect(await keys(engine)).toEqual({ stored: 0, confirmed: 0, outOfSync: 60 })
  engine.write('people.csv', csv(range(0, 20)))
  expect((await engine.run('people')).counts).toMatchObject({ creates: 20, deletes: 0, confirmed: 20 })
  await converges(engine, range(0, 20))
})

test.for(['stop', 'die', 'planned'] as const)(
  'a first load that ends early (%s) is sent by the next run, with other content',
  { tags: ['long'] },
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
  expect(await keys(engine)).toEqual({ stored: 4, confirmed: 0, outOfSync: 4 })
  await engine.sandbox.control.clearFaults()
  await converges(engine, [1, 2])
})

test('of two plans of a first load, the first can be applied after the second was made, and writes its keys', async () => {
  await using engine = await open(range(0, 10))
  const { planId } = await engine.plan('people')
  const second = await engine.plan('people')
  expect(second).toMatchObject({ counts: { creates: 10 } })
  expect(await keys(engine)).toEqual({ stored: 20, confirmed: 0, outOfSync: 20 })
  expect((await engine.apply(planId)).counts).toMatchObject({ confirmed: 10 })
  await converges(engine, range(0, 10))
})

test('an answer to a batch whose keys were stored meanwhile confirms them one by one', async () => {
  await using engine = await open(range(0, 10))
  const { planId } = await engine.plan('people')
  const { transport } = engine.deps
  const exchange: typeof transport.exchange = async (request) => {
    // As a plan of another process does.
    if (request.method === 'POST') await engine.db.transaction((tx) => storeOpenKeys(tx, 1, new ChangedKeys(tx, 1, false)))
    return transport.exchange(request)
  }
  Object.assign(engine.deps, { transport: { ...transport, exchange } })
  expect((await engine.apply(planId)).counts).toMatchObject({ confirmed: 10 })
  expect(await keys(engine)).toEqual({ stored: 20, confirmed: 20, outOfSync: 0 })
})

test('the keys of many open batches are stored in portions, because an array has a limit', async () => {
  const limits: { entries: number } = batchLimits.userOperations
  const { entries } = limits
  limits.entries = 5
  try {
    await using engine = await open(range(0, 1_100))
    await engine.plan('people')
    await engine.db.transaction((tx) => storeOpenKeys(tx, 1, new ChangedKeys(tx, 1, true)))
    expect(await keys(engine)).toEqual({ stored: 2_200, confirmed: 0, outOfSync: 2_200 })
    const sizes = await engine.db.query<{ n: number }>('select cardinality(keys) as n from changed_key order by n')
    expect(sizes).toEqual([{ n: 200 }, { n: 2_000 }])
  } finally {
    limits.entries = entries
  }
})

test('a plan that is never applied leaves nothing confirmed', async () => {
  await using engine = await open(range(0, 10))
  await engine.plan('people')
  await engine.db.execute(`update plan set created_at = created_at - interval '8 days'`)
  await applyRetention(engine.db)
  expect(await engine.db.query('select status, keys_stored from batch')).toEqual([{ status: 'superseded', keys_stored: true }])
  expect(await keys(engine)).toEqual({ stored: 20, confirmed: 0, outOfSync: 20 })
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

test('the database rejects a batch that ends otherwise while it has implied keys', async () => {
  await using engine = await open([1])
  await engine.plan('people')
  for (const status of ['split', 'superseded'])
    await expect(engine.db.execute('update batch set status = $1, settled_at = statement_timestamp()', [status])).rejects.toThrow(
      'batch_load',
    )
})

test('an address that another row gains is kept until the last row that has it is deleted', async () => {
  const rows = (...lines: readonly string[]) => `id,e1,e2\n${lines.map((line) => `${line}\n`).join('')}`
  const live = (...names: readonly string[]) => audienceDigest(names.map((name) => email(`${name}@example.com`)))
  await using engine = await open([])
  const run = async (...lines: readonly string[]) => {
    engine.write('people.csv', rows(...lines))
    expect((await engine.run('people')).status).toBe('succeeded')
    return (await engine.sandbox.control.audience()).digest
  }
  const keep = ['k3,e@example.com,f@example.com', 'k4,g@example.com,']
  expect(await run('k1,a@example.com,b@example.com', 'k2,c@example.com,d@example.com', ...keep)).toBe(live(...'abcdefg'))
  expect(await keys(engine)).toMatchObject({ stored: 0 })
  // k5 gains an address of k1; k2 gives one to k4.
  const gained = ['k5,a@example.com,h@example.com', 'k3,e@example.com,f@example.com', 'k4,g@example.com,d@example.com']
  expect(await run('k1,a@example.com,b@example.com', 'k2,c@example.com,', ...gained)).toBe(live(...'abcdefgh'))
  expect(await run('k2,c@example.com,', ...gained)).toBe(live(...'acdefgh'))
  expect(await run('k2,c@example.com,', ...gained.slice(1))).toBe(live(...'cdefg'))
  expect(await run(...gained.slice(1), 'k6,i@example.com,')).toBe(live(...'defgi'))
  expect(await run(...gained.slice(1, 2), 'k6,i@example.com,')).toBe(live(...'efi'))
  // Only k3 was never changed.
  expect(await engine.db.query(`select from record where load_id is not null`)).toHaveLength(1)
})

test('the delete guard counts people whose keys are implied too', async () => {
  await using engine = await open(range(0, 1_000))
  engine.pipeline('people', yaml.replace('max_delete_count: 100000', 'max_delete_count: 10, max_delete_percent: 10'))
  await engine.run('people')
  engine.write('people.csv', csv(range(60, 1_000)))
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { deletes: 60, withheld: 0 } })
  engine.write('people.csv', csv(range(160, 1_000)))
  expect((await engine.run('people')).guards).toMatchObject([{ code: 'GUARD_DELETES', message: expect.stringContaining('100 of 940') }])
})

test('the delete guard counts each person once after a renewal, also once the batches of the load are deleted', async () => {
  await using engine = await open(range(0, 100))
  engine.pipeline('people', yaml.replace('max_delete_count: 100000', 'max_delete_count: 10, max_delete_percent: 10'))
  await engine.run('people')
  await engine.db.execute(`update batch set expires_at = clock_timestamp() + interval '20 days'`)
  engine.write('people.csv', csv(range(0, 101)))
  expect((await engine.run('people')).counts).toMatchObject({ renewals: 100, confirmed: 101 })
  await pass500Days(engine)
  await applyRetention(engine.db)
  expect(await engine.db.query('select from batch where load_id is not null')).toEqual([])
  engine.write('people.csv', csv(range(0, 86)))
  expect((await engine.run('people')).guards).toMatchObject([{ code: 'GUARD_DELETES', message: expect.stringContaining('15 of 101') }])
})

test('an address of an unchanged row is deleted when another row opts it out', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', `${yaml}consent: { column: consent, values: ["yes"] }\n`)
  const rows = [1, 2, 3].map((n) => `k${n},${emails(n).join(',')},yes\n`).join('')
  engine.write('people.csv', `id,e1,e2,consent\n${rows}`)
  await engine.run('people')
  engine.write('people.csv', `id,e1,e2,consent\n${rows}k9,p2@example.com,,no\n`)
  await engine.run('people')
  const without = [1, 2, 3].flatMap((n) => emails(n)).filter((address) => address !== 'p2@example.com')
  expect((await engine.sandbox.control.audience()).digest).toBe(audienceDigest(without.map(email)))
})

test('a lost answer stores the keys of its batch, each with the time until which the request may still arrive', async () => {
  await using engine = await open(range(0, 10))
  await engine.sandbox.control.fault({ path: '/users' }, { kind: 'commit_then_reset' })
  await engine.run('people')
  expect(await engine.db.query('select from remote where late_until is not null')).toHaveLength(20)
  await converges(engine, range(0, 10))
})

/** Makes all runs, plans and requests 500 days older. */
async function pass500Days(engine: EngineUnderTest): Promise<void> {
  for (const [table, column] of [
    ['run', 'finished_at'],
    ['plan', 'created_at'],
    ['plan', 'applied_at'],
    ['batch', 'settled_at'],
  ])
    await engine.db.execute(`update ${table} set ${column} = ${column} - interval '500 days'`)
}

test('a batch that implies keys is kept, however old its run is', async () => {
  await using engine = await open(range(0, 10))
  await engine.run('people')
  await pass500Days(engine)
  engine.write('people.csv', csv(range(0, 11)))
  await engine.run('people')
  await applyRetention(engine.db)
  expect(await keys(engine)).toMatchObject({ confirmed: 22, outOfSync: 0 })
  await converges(engine, range(0, 11))
})

test('a load with a partner id stores its keys, because a body without digests cannot have one', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', yaml.replace('email: [e1, e2]', 'email: e1, partner_user_id: partner'))
  engine.write('people.csv', 'id,e1,partner\nk1,p1@example.com,cust-77\nk2,p2@example.com,\n')
  expect((await engine.run('people')).counts).toMatchObject({ confirmed: 2 })
  expect(await keys(engine)).toEqual({ stored: 3, confirmed: 3, outOfSync: 0 })
  expect((await engine.run('people', { full: true })).counts).toMatchObject({ confirmed: 2 })
})

test('a full refresh sends people whose keys are implied', async () => {
  await using engine = await open(range(0, 10))
  await engine.run('people')
  expect((await engine.run('people', { full: true })).counts).toMatchObject({ updates: 10, confirmed: 10 })
  expect(await keys(engine)).toEqual({ stored: 20, confirmed: 20, outOfSync: 0 })
})

test('the search for people of a first load reads a fraction of the entries', async () => {
  await using engine = await open(range(0, 3_000))
  await engine.run('people')
  let read = 0
  const counting = {
    execute: engine.db.execute,
    query: async <One extends object>(text: string, values?: readonly unknown[]) => {
      const rows = await engine.db.query<One>(text, values)
      for (const row of rows) if ('digests' in row && row.digests instanceof Buffer) read += row.digests.length / 4
      return rows
    },
  }
  const identifiers = [email('p7@example.com')[1], email('nobody@example.com')[1]].map((digest) => Buffer.from(`01${digest}`, 'hex'))
  const found = await findImpliedKeys(counting, 1, identifiers)
  expect(found.map(({ identifier }) => identifier)).toEqual(identifiers.slice(0, 1))
  const records = await engine.db.query<{ key: Buffer }>(`select key from record where $1 = any(${rowIdentifiers('record')})`, [
    identifiers[0],
  ])
  expect(records.map(({ key }) => key)).toEqual(found.map(({ recordKey }) => recordKey))
  expect(read).toBeGreaterThan(0)
  expect(read).toBeLessThan(100)
})

test('records are found by any number of identifiers, each once, also behind equal first bytes', { tags: ['long'] }, async () => {
  await using engine = await open(range(0, 3_000))
  await engine.run('people')
  const { pairs, identifiers } = await storedIdentifiers(engine)
  // Other identifiers with the same first bytes.
  const alike = identifiers.map((identifier) => Buffer.concat([identifier.subarray(0, 20), Buffer.alloc(13)]))
  expect(await foundPairs(engine, [...alike, ...identifiers])).toEqual(pairs)
})

/** Every identifier of the records, with its record. */
async function storedIdentifiers(
  engine: EngineUnderTest,
): Promise<{ readonly pairs: readonly string[]; readonly identifiers: readonly Buffer[] }> {
  const all = await engine.db.query<{ identifier: Buffer; key: Buffer }>(
    `select unnest(${rowIdentifiers('record')}) as identifier, key from record`,
  )
  return {
    pairs: all.map(({ identifier, key }) => `${identifier.toString('hex')} ${key.toString('hex')}`).toSorted(),
    identifiers: all.map(({ identifier }) => identifier),
  }
}

/**
 * Finds identifiers in three ways, which must agree:
 * - in the chunks that may have them
 * - by a query, as a plan with few changes does
 * - by reading all chunks, as a plan with many changes does
 */
async function foundPairs(engine: EngineUnderTest, identifiers: readonly Buffer[]): Promise<readonly string[]> {
  const pairs = (found: readonly ImpliedKey[]) =>
    found.map(({ identifier, recordKey }) => `${identifier.toString('hex')} ${recordKey.toString('hex')}`).toSorted()
  const found = pairs(await findImpliedKeys(engine.db, 1, identifiers))
  for (const atOnce of [identifiers.length, identifiers.length - 1, 200]) {
    const searched = await engine.db.transaction(async (tx) => {
      await tx.execute('create temp table desired on commit drop as select unnest($1::bytea[]) as identifier', [identifiers])
      const all: ImpliedKey[] = []
      for await (const portion of searchImpliedKeys(tx, 1, 'select identifier from desired', atOnce)) all.push(...portion)
      return pairs(all)
    })
    expect(searched).toEqual(found)
  }
  return found
}

test('a load that is indexed in several parts is found whole, and one person is erased from their part', async () => {
  await using engine = await open(range(0, 500))
  await engine.run('people')
  const { pairs, identifiers } = await storedIdentifiers(engine)
  await engine.db.transaction(async (tx) => {
    await tx.execute('delete from implied_key')
    const index = new ImpliedKeyIndex(tx, 1, { maxEntries: 64 })
    const records = await tx.query<{ key: Buffer; identifiers: Buffer[] }>(
      `select key, ${rowIdentifiers('record')} as identifiers from record order by key`,
    )
    await index.add(records.map(({ key, identifiers }) => ({ key, keys: identifiers.map((one) => one.toString('hex')).join(',') })))
    await index.end()
  })
  expect(await engine.db.query('select distinct part from implied_key')).toHaveLength(16)
  expect(await foundPairs(engine, identifiers)).toEqual(pairs)

  const [person] = await engine.db.query<{ key: Buffer; identifiers: Buffer[] }>(
    `select key, ${rowIdentifiers('record')} as identifiers from record offset 77 limit 1`,
  )
  await engine.db.execute('update record set load_id = null where key = $1', [person?.key])
  await engine.db.transaction((tx) => eraseImpliedKeys(tx, 1, person?.identifiers ?? []))
  await engine.db.execute('update record set load_id = (select max(load_id) from record) where key = $1', [person?.key])
  const gone = person?.identifiers.map((one) => `${one.toString('hex')} ${person.key.toString('hex')}`) ?? []
  expect(await foundPairs(engine, identifiers)).toEqual(pairs.filter((pair) => !gone.includes(pair)))
})

test('the search of an earlier version is converted', async () => {
  await using engine = await open(range(0, 500))
  await engine.run('people')
  const { pairs, identifiers } = await storedIdentifiers(engine)
  await engine.db.execute('drop table implied_key')
  await engine.db.execute(
    'create table implied_key (destination_id integer not null, chunk integer not null, entries bytea[] not null, constraint implied_key_pkey primary key (destination_id, chunk))',
  )
  await engine.db.execute(
    `insert into implied_key select destination_id, get_byte(i, 1) * 16 + (get_byte(i, 2) >> 4), array_agg(substring(i from 2 for 8) || substring(key for 8))
     from record cross join lateral unnest(${rowIdentifiers('record')}) as i group by 1, 2`,
  )
  const statements = readFileSync(join(migrationsFolder, '0017_implied_key_parts.sql'), 'utf8').split('--> statement-breakpoint')
  for (const statement of statements) await engine.db.execute(statement)
  expect(await foundPairs(engine, identifiers)).toEqual(pairs)
})

test('memberships are renewed before they end although their keys are implied', async () => {
  await using engine = await open(range(0, 10))
  await engine.run('people')
  await engine.db.execute(`update batch set expires_at = clock_timestamp() + interval '90 days'`)
  expect((await engine.run('people')).counts).toMatchObject({ renewals: 0 })
  expect(await keys(engine)).toMatchObject({ stored: 0 })
  await engine.db.execute(`update batch set expires_at = clock_timestamp() + interval '20 days'`)
  expect((await engine.run('people')).counts).toMatchObject({ renewals: 10, confirmed: 10 })
  expect(await engine.db.query(`select from remote where expires_at > clock_timestamp() + interval '1 year'`)).toHaveLength(20)
})

/** Number of entries in the search for implied keys, a month after the last run. */
async function entriesAfterMonth(engine: EngineUnderTest): Promise<number | undefined> {
  await engine.db.execute(`update batch set settled_at = settled_at - interval '40 days'`)
  await applyRetention(engine.db)
  const [row] = await engine.db.query<{ n: number }>('select (sum(length(digests)) / 4)::int as n from implied_key')
  return row?.n
}

test('a month after a person left nothing of their digests is stored in the search for implied keys', async () => {
  await using engine = await open(range(0, 10))
  await engine.run('people')
  expect(await entriesAfterMonth(engine)).toBe(20)
  engine.write('people.csv', csv(range(1, 10)))
  await engine.run('people')
  expect(await entriesAfterMonth(engine)).toBe(18)

  // Planned, but never sent: no delete was necessary.
  await using other = await open(range(0, 10))
  await other.plan('people')
  other.write('people.csv', csv(range(1, 10)))
  await other.run('people')
  await other.db.execute(`update plan set created_at = created_at - interval '8 days'`)
  await applyRetention(other.db)
  expect(await entriesAfterMonth(other)).toBe(18)
})

test('a person who left and came back with a second load is still found, a month after the delete', async () => {
  await using engine = await open([1, 2])
  await engine.run('people')
  expect(await entriesAfterMonth(engine)).toBe(4)
  engine.write('people.csv', csv([]))
  engine.pipeline('people', `${yaml}`.replace('max_delete_count: 100000', 'max_delete_count: 100000, min_rows: 0'))
  await engine.run('people', { approveDeletes: 2 })
  expect(await engine.db.query('select from remote union all select from record')).toEqual([])
  engine.write('people.csv', csv([1, 2, 3]))
  await engine.run('people')
  expect(await keys(engine)).toEqual({ stored: 0, confirmed: 6, outOfSync: 0 })
  await engine.db.execute(`update batch set settled_at = settled_at - interval '40 days' where operation = 'delete'`)
  await applyRetention(engine.db)
  expect(await engine.db.query(`select from entry where change = 'delete'`)).toEqual([])
  // Another row with an address of the first: the address stays when that row is removed from the source.
  engine.write('people.csv', `${csv([1, 2, 3])}k9,${emails(1)[0]},\n`)
  await engine.run('people')
  engine.write('people.csv', `${csv([2, 3])}k9,${emails(1)[0]},\n`)
  await engine.run('people')
  expect((await engine.sandbox.control.audience()).digest).toBe(audienceDigest([emails(1)[0], ...emails(2), ...emails(3)].map(email)))
})

test('retention does not change the search for implied keys while a plan reads it', async () => {
  await using engine = await open(range(0, 10))
  await engine.run('people')
  engine.write('people.csv', csv(range(1, 10)))
  await engine.run('people')
  await engine.db.execute(`update batch set settled_at = settled_at - interval '40 days'`)
  const entries = async () =>
    (await engine.db.query<{ n: number }>('select (sum(length(digests)) / 4)::int as n from implied_key')).map(({ n }) => n)
  let retention: Promise<unknown> = Promise.resolve()
  await engine.db.transaction(async (tx) => {
    // As at the beginning of a plan.
    await tx.query('select from destination where id = 1 for update')
    retention = applyRetention(engine.db)
    await expect
      .poll(() => engine.db.query(`select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`))
      .toHaveLength(1)
    expect(await entries()).toEqual([20])
  })
  await retention
  expect(await entries()).toEqual([18])
})

test('an opted-out identifier is found although the search for implied keys changes meanwhile', async () => {
  await using engine = await open(range(0, 3_000))
  await engine.run('people')
  // The second of three identifiers in one chunk: its place changes when the first is removed.
  const [pair] = await engine.db.query<{ first: Buffer; second: Buffer }>(
    `select substring(digests for 4) as first, substring(digests from 5 for 4) as second from implied_key where length(digests) = 12 limit 1`,
  )
  const identifierOf = async (digest: Buffer | undefined) => {
    const [found] = await engine.db.query<{ identifier: Buffer; key: Buffer }>(
      `select i.identifier, r.key from record r, unnest(${rowIdentifiers('r')}) as i (identifier) where substring(i.identifier from 2 for 4) = $1`,
      [digest],
    )
    if (found === undefined) throw new Error('each entry has a record')
    return found
  }
  const first = await identifierOf(pair?.first)
  const second = await identifierOf(pair?.second)
  const client = await engine.db.connect()
  try {
    await createStage(connectionOf(client))
    await client.query('insert into opted_out select $1', [second.identifier])
    const { query } = client
    const remove = () =>
      engine.db.transaction(async (tx) => {
        await tx.execute('update record set load_id = null where key = $1', [first.key])
        await eraseImpliedKeys(tx, 1, [first.identifier])
      })
    Object.assign(client, {
      query: async (...call: unknown[]) => {
        if (String(call[0]).includes('join implied_key')) await remove()
        return Reflect.apply(query, client, call)
      },
    })
    expect(await skippedRecordHasOptedOutIdentifier(connectionOf(client), 1)).toBe(true)
  } finally {
    client.release(true)
  }
})

test('a person who comes back while their delete is unresolved is added again once it is confirmed', async () => {
  await using engine = await engineUnderTest({ settings: { maxAttempts: 2, horizonMs: 20 } })
  engine.pipeline('people', yaml)
  engine.write('people.csv', csv([1, 2, 3]))
  await engine.run('people')
  await engine.sandbox.control.fault({ path: '/users' }, { kind: 'status', status: 503 }, 'always')
  engine.write('people.csv', csv([2, 3]))
  await engine.run('people')
  engine.write('people.csv', csv([1, 2, 3]))
  await engine.run('people')
  await engine.sandbox.control.clearFaults()
  await engine.run('people')
  await converges(engine, [1, 2, 3])
})
