/** A first load in parts (docs/decisions/first-load-in-parts.md): each part is sent while the next one is planned. */
import { createHash } from 'node:crypto'
import { join } from 'node:path'
import fc from 'fast-check'
import { rowIdentifiers } from '../../../src/db/identifiers.ts'
import { connectionOf, type Transaction } from '../../../src/db/database.ts'
import type pg from 'pg'
import { expect, test, vi } from 'vitest'
import { stagePartitions } from '../../../src/sync/read/stageTable.ts'
import { entriesOf } from '../../../src/db/entries/read.ts'
import { isOutOfSync } from '../../../src/db/changedKeys.ts'
import { causeOf, eachPortion } from '../../../src/db/cursor.ts'
import { ensureDestination } from '../../../src/db/destinations.ts'
import { requestRun } from '../../../src/db/runs/request.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { destinationOf } from '../../../src/destinations/index.ts'
import { renderUserOperation } from '../../../src/destinations/renderUserOperation.ts'
import { destinationKey } from '../../../src/sync/destinationKey.ts'
import type { EngineSettings } from '../../../src/sync/engine.ts'
import { freeze } from '../../../src/sync/plan/freeze.ts'
import type { PlannedOperation } from '../../../src/sync/plan/plannedOperation.ts'
import { startWorkerOf } from '../../support/server.ts'
import { erasedKeysOf } from '../../../src/sync/erasure/person.ts'
import { forget } from '../../../src/sync/erasure/forget.ts'
import { audienceDigest, email } from '../../support/digests.ts'
import { engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { everyKey } from '../../support/everyKey.ts'
import { forgetAll, histories } from '../../support/histories.ts'
import { interruptedRun } from '../../support/interrupted.ts'

const yaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { min_rows: 0 }
`
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)
const emails = (n: number) => [`p${n}@example.com`, `q${n}@example.com`]
const people = (numbers: readonly number[]): Rows => numbers.map((n) => [`k${n}`, emails(n)])
/** Key and addresses of each row. */
type Rows = readonly (readonly [string, readonly string[]])[]
const digest = (rows: Rows) => audienceDigest([...new Set(rows.flatMap(([, addresses]) => addresses))].map(email))

function write(engine: EngineUnderTest, rows: Rows): void {
  engine.write('people.csv', `id,e1,e2\n${rows.map(([id, [e1 = '', e2 = '']]) => `${id},${e1},${e2}\n`).join('')}`)
}

async function open(usersInFirstPart: number, rows: Rows, settings: Partial<EngineSettings> = {}): Promise<EngineUnderTest> {
  const engine = await engineUnderTest({ settings: { usersInFirstPart, horizonMs: 20, ...settings } })
  engine.pipeline('people', yaml)
  write(engine, rows)
  return engine
}

/** Each part takes so long that answers to earlier parts are recorded meanwhile. */
async function planSlowly(engine: EngineUnderTest, seconds = 0.15): Promise<void> {
  await engine.db.execute(
    `create function sluice.wait() returns trigger language plpgsql as $$ begin perform pg_sleep(${seconds}); return null; end $$`,
  )
  await engine.db.execute('create trigger wait before insert on record for each statement execute function sluice.wait()')
}

const settledBatches = async ({ db }: EngineUnderTest) => (await db.query(`select from batch where status = 'settled'`)).length

/** Waits until the first answer is recorded. */
async function firstAnswer(engine: EngineUnderTest): Promise<void> {
  await expect.poll(() => settledBatches(engine)).toBeGreaterThan(0)
}

async function expectInSync(engine: EngineUnderTest, rows: Rows): Promise<void> {
  write(engine, rows)
  const report = await engine.run('people', { approveDeletes: 1_000 })
  expect([report.status, report.guards, imbalance(report.counts)]).toEqual(['succeeded', [], []])
  expect((await engine.sandbox.control.audience()).digest).toBe(digest(rows))
  const held = new Map<string, number>()
  for (const address of rows.flatMap(([, addresses]) => [...new Set(addresses)])) held.set(address, (held.get(address) ?? 0) + 1)
  const stored = await engine.db.query<{ ref_count: number; out: boolean; key: Buffer }>(
    `select m.key, m.ref_count, ${isOutOfSync} as out from ${everyKey} m where m.ref_count > 0`,
  )
  expect(stored.map((row) => `${row.key.toString('hex', 1)} ${row.ref_count} ${row.out}`).toSorted()).toEqual(
    Array.from(held, ([address, n]) => `${email(address)[1]} ${n} false`).toSorted(),
  )
  expect((await engine.run('people')).counts.requests).toBe(0)
  expect(await engine.sandbox.control.violations()).toEqual([])
}

const address = fc.integer({ min: 0, max: 40 }).map((n) => `a${n}@example.com`)
/** A few rows share addresses. */
const rowsOf = fc
  .array(fc.uniqueArray(address, { minLength: 1, maxLength: 2 }), { minLength: 1, maxLength: 40 })
  .map((all): Rows => all.map((addresses, i) => [`k${i}`, addresses]))

test(
  'a load in parts leaves the records, keys and members that a load in one transaction leaves',
  { tags: ['long'], timeout: 120_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(rowsOf, fc.integer({ min: 1, max: 12 }), async (rows, usersInFirstPart) => {
        await using parts = await open(usersInFirstPart, rows)
        await using whole = await open(1_000, rows)
        const states = await Promise.all(
          [parts, whole].map(async (engine) => {
            const { status, counts } = await engine.run('people')
            const { requests: _, ...users } = counts
            return {
              status,
              users,
              records: await engine.db.query(
                `select key, hash, ${rowIdentifiers('record')} as identifiers, line, status, load_id is null as stored from record order by key`,
              ),
              keys: await engine.db.query(`select key, ref_count, group_key, desired_hash, synced_hash from ${everyKey} m order by key`),
              snapshots: await engine.db.query('select status, counts from snapshot'),
              plans: await engine.db.query(`select status, counts, review -> 'suppress' as suppress from plan`),
              members: (await engine.sandbox.control.audience()).digest,
            }
          }),
        )
        expect(states[0]).toEqual(states[1])
        await expectInSync(parts, rows)
      }),
      histories(12),
    )
  },
)

test.for(['reject', 'last'])(
  'a partitioned stage resolves repeated keys as an unpartitioned one does (duplicates: %s)',
  async (duplicates) => {
    const repeated = range(0, 30).flatMap((n): Rows => [
      [`k${n}`, emails(n)],
      ...(n % 3 === 0 ? ([[`k${n}`, emails(n)]] as const) : []),
      ...(n % 5 === 0 ? ([[`k${n}`, emails(n + 100)]] as const) : []),
    ])
    await using parts = await open(2, repeated)
    await using whole = await open(1_000, repeated)
    const [partitioned, unpartitioned] = await Promise.all(
      [parts, whole].map(async (engine) => {
        engine.pipeline('people', `${yaml}duplicates: ${duplicates}\n`)
        const { counts } = await engine.run('people')
        const { requests: _, ...users } = counts
        const rejects = await engine.db.query('select line, code, message from reject order by line')
        return { users, rejects, members: (await engine.sandbox.control.audience()).digest }
      }),
    )
    expect(partitioned).toEqual(unpartitioned)
    expect(partitioned?.users).toMatchObject(duplicates === 'last' ? { creates: 30, rejected: 0 } : { creates: 24, rejected: 14 })
  },
)

test('a partitioned stage leaves out shared identifiers of rows that opted out as an unpartitioned one does', async () => {
  // Every third row opts out, and shares an address with the row behind it.
  const rows = range(0, 60).map(
    (n) => [`k${n}`, n % 3 === 1 ? [...emails(n), ...emails(n - 1)] : emails(n), n % 3 === 0 ? 'no' : 'yes'] as const,
  )
  const csv = `id,e1,e2,e3,ok\n${rows.map(([id, [a = '', b = '', c = ''], ok]) => `${id},${a},${b},${c},${ok}\n`).join('')}`
  const consenting = yaml.replace('[e1, e2]', '[e1, e2, e3]').concat('consent: { column: ok, values: ["yes"] }\n')
  await using parts = await open(2, [])
  await using whole = await open(1_000, [])
  const [partitioned, unpartitioned] = await Promise.all(
    [parts, whole].map(async (engine) => {
      engine.pipeline('people', consenting)
      engine.write('people.csv', csv)
      const { counts } = await engine.run('people')
      const { requests: _, ...users } = counts
      const records = await engine.db.query(`select key, ${rowIdentifiers('record')} as identifiers, hash from record order by key`)
      return { users, records, members: (await engine.sandbox.control.audience()).digest }
    }),
  )
  expect(partitioned).toEqual(unpartitioned)
  expect(partitioned?.users).toMatchObject({ suppressed: 20, valid: 40, creates: 40 })
  expect(partitioned?.members).toBe(audienceDigest(range(0, 60).flatMap((n) => (n % 3 === 0 ? [] : emails(n).map(email)))))
})

/** Returns the lines of the rows with a digest, in the order of the digests. */
async function linesOfDigests(engine: EngineUnderTest): Promise<readonly number[]> {
  const rows = await engine.db.query<{ line: string }>(
    `select r.line from record r join record_digest d on position(r.key in d.keys) > 0 order by d.chunk, position(r.key in d.keys)`,
  )
  return rows.map(({ line }) => Number(line))
}

test('the digests of a partitioned stage are stored in the order of the file', async () => {
  await using engine = await open(2, people(range(0, 200)))
  await engine.run('people')
  expect(await linesOfDigests(engine)).toEqual(range(2, 202))
  write(engine, people(range(0, 201)))
  expect((await engine.run('people')).counts).toMatchObject({ read: 201, unchanged: 200, creates: 1 })
})

test('the digests of a load that leaves out a repeated row are stored by partition, without the row', async () => {
  await using engine = await open(2, [...people(range(0, 200)), ...people([7])])
  expect((await engine.run('people')).counts).toMatchObject({ valid: 200, duplicates: 1 })
  const lines = await linesOfDigests(engine)
  expect(lines).toHaveLength(200)
  const groups = await engine.db.query<{ groups: string }>(
    `select string_agg(distinct (get_byte(r.key, 0) / (256 / $1))::text, ',') as groups
     from record r join record_digest d on position(r.key in d.keys) > 0 group by d.chunk order by d.chunk`,
    [stagePartitions],
  )
  expect(groups.map((chunk) => Number(chunk.groups))).toEqual(range(0, stagePartitions))
  write(engine, people(range(0, 201)))
  expect((await engine.run('people')).counts).toMatchObject({ read: 201, unchanged: 200, creates: 1 })
})

test(
  'requests are answered before the whole plan is stored, and the digest of the plan is that of all bodies',
  { tags: ['long'] },
  async () => {
    const rows = people(range(0, 60))
    await using engine = await open(5, rows)
    await planSlowly(engine)
    const run = engine.run('people')
    await firstAnswer(engine)
    expect(await engine.db.query(`select s.status, p.status as plan from snapshot s join plan p on p.snapshot_id = s.id`)).toEqual([
      { status: 'open', plan: 'applying' },
    ])
    const { runId, counts } = await run
    expect(counts).toMatchObject({ creates: 60, confirmed: 60, pending: 0 })
    const [plan] = await engine.db.query<{ digest: string; bodies: number; expected: string }>(
      `select p.digest, (select count(*)::int from batch where plan_id = p.id) as bodies,
       encode(sha256((select string_agg(b.body_sha256, ''::bytea order by b.seq) from batch b where b.plan_id = p.id)), 'hex') as expected from plan p`,
    )
    const sent = await engine.sandbox.control.ledger()
    expect(sent.filter(({ path }) => path.endsWith('/users'))).toHaveLength(plan?.bodies ?? 0)
    expect(plan?.digest).toBe(plan?.expected)
    expect(runId).toBe('r_1')
    await expectInSync(engine, rows)
  },
)

test.for([['stop'], ['die']] as const)(
  'a load that ends early (%s) at any part is completed by the next run, with other content',
  { tags: ['long'], timeout: 120_000 },
  async ([how]) => {
    await fc.assert(
      fc.asyncProperty(rowsOf, rowsOf, fc.integer({ min: 1, max: 6 }), async (rows, later, usersInFirstPart) => {
        await using engine = await open(usersInFirstPart, rows)
        await interruptedRun(engine, 'people', how)
        await expectInSync(engine, later)
        await expectInSync(engine, rows.slice(1))
      }),
      histories(10),
    )
  },
)

test(
  'a load of which some parts cannot be stored keeps the others, and the next runs send the rest, with other content',
  { tags: ['long'], timeout: 120_000 },
  async () => {
    // One database for all: it could not be used again with the function.
    await using engine = await open(3, [])
    await fc.assert(
      fc.asyncProperty(rowsOf, rowsOf, fc.integer({ min: 1, max: 4 }), async (rows, later, stored) => {
        await forgetAll(engine)
        write(engine, rows)
        await engine.db.execute(
          `create or replace function sluice.full_disk() returns trigger language plpgsql as $$ begin
           if (select count(distinct part) from sluice.implied_key) >= ${stored} then raise exception 'disk full'; end if; return null; end $$`,
        )
        await engine.db.execute(
          'create trigger full_disk before insert on implied_key for each statement execute function sluice.full_disk()',
        )
        const { status, error, counts } = await engine.run('people')
        if (status === 'failed') {
          expect(error?.code).toBe('DATABASE_FAILED')
          // The counts are those of the stored parts, whether they were sent or not.
          expect(counts.confirmed + counts.pending).toBe(counts.creates)
          const sent = await engine.db.query(`select from batch b cross join ${entriesOf('b.id')} e`)
          expect(sent).toHaveLength(counts.creates)
        }
        await engine.db.execute('drop trigger full_disk on implied_key')
        await expectInSync(engine, later)
        await expectInSync(engine, rows.slice(1))
      }),
      histories(16),
    )
  },
)

test('a user who is refused in an early part is split off while later parts are planned', { tags: ['long'] }, async () => {
  const rows = people(range(0, 60))
  await using engine = await open(5, rows)
  await planSlowly(engine)
  await engine.sandbox.control.fault(
    { path: '/users' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
  )
  const { counts } = await engine.run('people')
  expect(counts).toMatchObject({ creates: 60, confirmed: 60, refused: 0 })
  expect(await engine.db.query('select from batch group by plan_id, seq having count(*) > 1')).toEqual([])
  await expectInSync(engine, rows)
})

test('people who are erased while their part is planned are never sent, and are not stored', { tags: ['long'] }, async () => {
  const rows = people(range(0, 60))
  await using engine = await open(5, rows)
  await planSlowly(engine, 0.3)
  const run = engine.run('people')
  await firstAnswer(engine)
  const sentBefore = await engine.sandbox.control.audience()
  const erased = range(0, 30)
  const keys = await erasedKeysOf(engine.deps, { emails: erased.flatMap(emails), phones: [], keys: [] }, undefined)
  await forget(engine.deps, keys, { actor: 'test', wait: true })
  await run
  expect(sentBefore.members).toBeLessThan(60)
  expect(await engine.db.query(`select from record where ${rowIdentifiers('record')} && $1::bytea[]`, [keys.identifiers])).toEqual([])
  const stays = people(range(30, 60))
  expect((await engine.sandbox.control.audience()).digest).toBe(digest(stays))
  await engine.run('people')
  expect((await engine.sandbox.control.audience()).digest).toBe(digest(stays))
})

test('parts whose people were all erased before the load leave the other parts as they are', { tags: ['long'] }, async () => {
  const rows = people(range(0, 40))
  await fc.assert(
    fc.asyncProperty(fc.subarray(range(0, 40), { minLength: 28, maxLength: 36 }), async (erased) => {
      await using engine = await open(1, rows)
      const keys = await erasedKeysOf(engine.deps, { emails: erased.flatMap(emails), phones: [], keys: [] }, undefined)
      await forget(engine.deps, keys, { actor: 'test', wait: true })
      const report = await engine.run('people')
      expect([report.status, imbalance(report.counts)]).toEqual(['succeeded', []])
      const stays = people(range(0, 40).filter((n) => !erased.includes(n)))
      expect((await engine.sandbox.control.audience()).digest).toBe(digest(stays))
      expect((await engine.run('people')).counts.requests).toBe(0)
    }),
    { numRuns: 5 },
  )
})

test('a service that refuses the credentials pauses the push, and the plan is completed', { tags: ['long'] }, async () => {
  const rows = people(range(0, 60))
  await using engine = await open(5, rows)
  await planSlowly(engine)
  await engine.sandbox.control.fault({ path: '/users' }, { kind: 'status', status: 403 }, 'always')
  const report = await engine.run('people')
  expect([report.status, report.counts.creates, report.counts.confirmed, imbalance(report.counts)]).toEqual(['failed', 60, 0, []])
  expect(await engine.db.query('select status from snapshot')).toEqual([{ status: 'closed' }])
  await engine.sandbox.control.clearFaults()
  await expectInSync(engine, rows)
})

test('a run that was ended as dead stores no part behind the plan of the next run', async () => {
  await using engine = await open(5, people(range(0, 60)))
  await planSlowly(engine, 0.3)
  const dead = engine.run('people')
  await firstAnswer(engine)
  // As the recovery of an expired lease does.
  await engine.db.execute(`update run set status = 'failed', finished_at = now(), lease_until = null`)
  const stays = people(range(0, 2))
  write(engine, stays)
  await engine.run('people', { approveDeletes: 1_000 })
  const plans = `select p.run_id, p.status, count(b.id)::int as batches from plan p join batch b on b.plan_id = p.id group by p.id order by p.run_id`
  const before = await engine.db.query(plans)
  await dead.catch(() => undefined)
  expect(await engine.db.query(plans)).toEqual(before)
  await expectInSync(engine, stays)
})

test('the rest of an interrupted load counts as deferred, and its guards are kept', async () => {
  await using engine = await open(5, people(range(0, 60)))
  engine.pipeline('people', yaml.replace('min_rows: 0', 'min_rows: 100'))
  await planSlowly(engine)
  await interruptedRun(engine, 'people', 'stop')
  const [run] = await engine.db.query<{ counts: Record<string, number>; guards: { code: string }[]; plan_id: string }>(
    'select counts, guards, plan_id from run',
  )
  const { creates = 0, deferred = 0, unchanged = 0 } = run?.counts ?? {}
  expect([creates > 0, deferred > 0, creates + deferred + unchanged]).toEqual([true, true, 60])
  expect(run?.guards.map(({ code }) => code)).toEqual(['GUARD_MIN_ROWS'])
  // The plan may still be applied, but it is not complete.
  const applied = await engine.apply(run?.plan_id ?? '')
  expect([applied.counts.confirmed, applied.counts.deferred]).toEqual([creates, deferred])
  expect(applied.status).not.toBe('succeeded')
})

test('a worker sends the plan of its own run with one push', { tags: ['long'] }, async () => {
  await using engine = await open(5, people(range(0, 40)), { concurrency: 1 })
  await planSlowly(engine, 0.2)
  await engine.sandbox.control.fault({ path: '/users' }, { kind: 'delay', ms: 600 }, 'always')
  const worker = await startWorkerOf(engine)
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'people')
  const { id: destinationId } = await ensureDestination(engine.db, destinationKey(engine.deps, pipeline))
  await requestRun(engine.db, {
    pipeline: 'people',
    destinationId,
    trigger: 'schedule',
    scheduledFor: new Date(),
    version: pipeline.version,
  })
  await expect.poll(() => engine.db.query('select status from run'), { timeout: 40_000, interval: 100 }).toEqual([{ status: 'succeeded' }])
  await worker.stop()
  expect(Object.values(await engine.sandbox.control.stats())).toMatchObject([{ most_in_flight: 1 }])
})

test.for([12, 1])('the error of a portion is the cause of the error behind it (row %i)', async (failing) => {
  await using engine = await open(5, people([1]))
  const client = await engine.db.connect()
  await client.query('begin')
  const read = async () => {
    for await (const _ of eachPortion(client, 'numbers', `select 1 / (${failing} - n) as n from generate_series(1, 20) n`, 5)) {
      await new Promise((resolve) => setTimeout(resolve, 20))
      await client.query('select 1')
    }
  }
  const error = causeOf(client, await read().catch((thrown: unknown) => thrown))
  await client.query('rollback')
  client.release()
  expect(error).toMatchObject({ code: '22012' })
})

test('plan stores a load in one transaction, because nothing may be sent before it is applied', async () => {
  const rows = people(range(0, 60))
  await using engine = await open(5, rows)
  const { planId } = await engine.plan('people')
  expect(await engine.db.query('select status from plan')).toEqual([{ status: 'ready' }])
  expect((await engine.apply(planId)).counts).toMatchObject({ confirmed: 60, requests: 1 })
  await expectInSync(engine, rows)
})

test('the guard on falling rows knows a load whose snapshot was not completed, also after its plan was applied', async () => {
  await using engine = await open(20, people(range(0, 200)))
  engine.pipeline('people', yaml.replace('min_rows: 0', 'min_rows: 0, max_delete_percent: 100'))
  await engine.db.execute('alter table record_digest add constraint refused check (false)')
  expect(await engine.run('people')).toMatchObject({ status: 'failed', counts: { creates: 200, deferred: 0 } })
  await engine.db.execute('alter table record_digest drop constraint refused')
  expect(await engine.db.query('select status from snapshot')).toEqual([{ status: 'open' }])
  const [plan] = await engine.db.query<{ id: string }>('select id from plan')
  expect(await engine.apply(plan?.id ?? '')).toMatchObject({ status: 'succeeded', counts: { confirmed: 200, deferred: 0 } })
  write(engine, people(range(0, 60)))
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', counts: { deletes: 0 }, guards: [{ code: 'GUARD_ROWS_FELL' }] })
})

test.for([60, 12_000])(
  'of %s people whose batches cannot be stored, the plan fails with the error of Postgres',
  { tags: ['long'] },
  async (n) => {
    const rows = people(range(0, n))
    await using engine = await open(n / 12, rows)
    await engine.db.execute('alter table batch_entries add constraint refused check (batch_id < 2)')
    expect((await engine.run('people')).error).toMatchObject({ message: 'the database failed (23514); what was confirmed is kept' })
    await engine.db.execute('alter table batch_entries drop constraint refused')
    await expectInSync(engine, rows)
  },
)

test.for([60, 12_000])(
  'of %s people whose records cannot be stored, the plan fails with the error of Postgres',
  { tags: ['long'] },
  async (n) => {
    const rows = people(range(0, n))
    await using engine = await open(n / 12, rows)
    await engine.db.execute(`alter table record add constraint refused check (line % ${n / 2} <> 7)`)
    expect((await engine.run('people')).error).toMatchObject({ message: 'the database failed (23514); what was confirmed is kept' })
    await engine.db.execute('alter table record drop constraint refused')
    await expectInSync(engine, rows)
  },
)

test('operations that cannot be read leave no batch and no entries, although batches are being stored meanwhile', async () => {
  await using engine = await open(1_000, people([1]))
  const { planId = '' } = await engine.run('people')
  const stored = 'select (select count(*)::int from batch) as batches, (select count(*)::int from batch_entries) as entries'
  const before = await engine.db.query(stored)
  const client = await engine.db.connect()
  const tx = connectionOf(client) as Transaction // the next statement opens it
  await tx.query('begin')
  const destination = destinationOf('audience')
  const operation = (n: number): PlannedOperation => {
    const keys = [`01${createHash('sha256').update(String(n)).digest('hex')}`]
    const bytes = renderUserOperation({ op: 'update', users: [keys], effectiveAtMs: 0, expiresAtMs: 0 })
    const recordKey = Buffer.from(keys[0] ?? '', 'hex').subarray(0, 16)
    return { bytes, op: 'upsert', change: 'create', phase: 1, recordKey, keys, hash: Buffer.from([1]), expiresAtMs: 0, users: 1 }
  }
  async function* operations(): AsyncGenerator<PlannedOperation[]> {
    yield range(0, 5_001).map(operation)
    throw new Error('cannot be read')
  }
  const context = { tx, destination, planId, destinationId: 1, lastSeq: 1_000, onProgress: () => undefined }
  await expect(freeze(operations(), context)).rejects.toThrow('cannot be read')
  await client.query('rollback')
  client.release()
  // Longer than it takes to store the batches.
  await new Promise((resolve) => setTimeout(resolve, 500))
  expect(await engine.db.query(stored)).toEqual(before)
})

/** Returns a connection whose transactions begin after the promise that `before` returns. */
function beginningAfter(client: pg.PoolClient, before: () => Promise<unknown>): pg.PoolClient {
  const { query } = client
  const waiting = (async (...args: Parameters<typeof query>) => {
    await before()
    return query.apply(client, args)
  }) as typeof query
  return new Proxy(client, {
    get: (target, name) =>
      name === 'query'
        ? (...args: Parameters<typeof query>) => ((args[0] as unknown) === 'begin' ? waiting(...args) : query.apply(client, args))
        : (Reflect.get(target, name) as unknown),
  })
}

test('a load does not complete its snapshot behind the plan of another run', async () => {
  await using engine = await open(5, people(range(0, 8)))
  // The second part, which is the last one, waits for this lock while it is inserted.
  const gate = await engine.db.connect()
  await gate.query('select pg_advisory_lock(4711)')
  await engine.db.execute(
    `create function sluice.wait() returns trigger language plpgsql as $$ begin
       if exists (select from sluice.plan where xmin <> pg_current_xact_id()::xid) then perform pg_advisory_xact_lock(4711); end if;
       return null; end $$`,
  )
  await engine.db.execute('create trigger wait before insert on record for each statement execute function sluice.wait()')
  let beforeBegin: Promise<unknown> = Promise.resolve()
  const connect = engine.db.connect
  vi.spyOn(engine.db, 'connect').mockImplementation(async () => beginningAfter(await connect(), () => beforeBegin))
  const run = engine.run('people')
  const waiting = (query: string) => () =>
    engine.db.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock' and query like $1`, [
      `${query}%`,
    ])
  await expect.poll(waiting('%')).toHaveLength(1)
  const superseded = engine.db.transaction(async (tx) => {
    // This waits for the commit of the second part.
    await tx.query('select from destination for update')
    expect(await tx.query(`select counts ->> 'deferred' as deferred from plan`)).toEqual([{ deferred: '0' }])
    await tx.execute(`update plan set status = 'superseded'`)
  })
  await expect.poll(waiting('select from destination for update')).toHaveLength(1)
  // The end of the load begins after the plan is superseded.
  beforeBegin = superseded
  await gate.query('select pg_advisory_unlock(4711)')
  gate.release()
  await superseded
  expect(await run).toMatchObject({
    error: { code: 'RUN_INTERRUPTED', message: 'ended or replaced by another process; what was confirmed is kept' },
  })
  expect(await engine.db.query('select from record_digest')).toEqual([])
  expect(await engine.db.query('select status from snapshot')).toEqual([{ status: 'open' }])
})

test('a file with less than half of the rows withholds the deletes of an interrupted load, although the limits allow them', async () => {
  await using engine = await open(20, people(range(0, 200)))
  engine.pipeline('people', yaml.replace('min_rows: 0', 'min_rows: 0, max_delete_percent: 100'))
  await planSlowly(engine)
  await interruptedRun(engine, 'people', 'die')
  expect((await engine.db.query(`select from snapshot where status = 'closed'`)).length).toBe(0)
  write(engine, people(range(0, 60)))
  const run = await engine.run('people')
  expect(run).toMatchObject({ status: 'withheld', counts: { deletes: 0 }, guards: [{ code: 'GUARD_ROWS_FELL' }] })
  expect(run.guards[0]?.message).toBe('valid rows fell from 200 to 60, by more than half')
})
