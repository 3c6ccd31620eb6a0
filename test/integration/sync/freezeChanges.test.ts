/** Changes of people are frozen from bytes; the general path, which makes an object of each operation, is the oracle. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { connectionOf, type Transaction } from '../../../src/db/database.ts'
import { destinationOf } from '../../../src/destinations/index.ts'
import { freeze } from '../../../src/sync/plan/freeze.ts'
import { areDigestsWithoutTimes, freezeChanges } from '../../../src/sync/plan/freezeChanges.ts'
import { memberOperations } from '../../../src/sync/plan/memberOperations.ts'
import type { FrozenTotals } from '../../../src/sync/plan/planBatches.ts'
import { createOrEmptyTable } from '../../../src/sync/plan/planTables.ts'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'

const yaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: e, partner_user_id: partner, expires_at: ends }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { min_rows: 0 }
`
const digest = (text: string) => createHash('sha256').update(text).digest()

/** Pending group: types of its identifiers, and its flags in `pending_group`. */
interface Group {
  readonly kept: readonly number[]
  readonly lost: readonly number[]
  readonly change: 'create' | 'update' | 'renewal'
  readonly hash: 'plain' | 'own' | 'new'
}

const types = fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 3 })
const group = fc.record({
  kept: types,
  lost: types,
  change: fc.constantFrom('create', 'update', 'update', 'renewal'),
  hash: fc.constantFrom('plain', 'own', 'new'),
})

const planIds = ['p_objects', 'p_bytes'] as const

/** Opens an engine with a destination. Calls `work` in a transaction with two plans, which is rolled back. */
async function inPlans(work: (tx: Transaction, destinationId: number) => Promise<void>): Promise<void> {
  await using engine = await open('k1,a@example.com,,\n')
  await engine.run('people')
  const client = await engine.db.connect()
  const tx = connectionOf(client) as Transaction // the next statement opens it
  await tx.query('begin')
  for (const id of planIds)
    await tx.query(
      `insert into plan (id, run_id, pipeline, destination_id, status, state_version, digest, counts, guards)
       select $1, run_id, pipeline, destination_id, 'ready', state_version, digest, counts, guards from plan limit 1`,
      [id],
    )
  try {
    await work(tx, await destinationId(engine))
  } finally {
    client.release(true)
  }
}

async function open(rows: string): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  engine.pipeline('people', yaml)
  engine.write('people.csv', `id,e,partner,ends\n${rows}`)
  return engine
}

async function destinationId(engine: EngineUnderTest): Promise<number> {
  const [row] = await engine.db.query<{ id: number }>('select id from destination')
  return row?.id ?? 0
}

/** Stores the keys of groups in `remote`, and the groups in `pending_group`. */
async function store(tx: Transaction, id: number, groups: readonly Group[]): Promise<void> {
  await createOrEmptyTable(tx, 'own_times')
  await createOrEmptyTable(tx, 'pending_group')
  await tx.query('delete from remote')
  for (const [n, { kept, lost, change, hash }] of groups.entries()) {
    const key = digest(`group ${n}`).subarray(0, 16)
    const keysOf = (of: readonly number[], name: string) =>
      of.map((type, i) => Buffer.concat([Buffer.from([type]), digest(`${name} ${n} ${i}`)]))
    const lostKeys = keysOf(lost, 'lost').toSorted(Buffer.compare)
    const own = hash === 'own' ? digest(`own ${n}`).subarray(0, 16) : Buffer.from([1])
    await tx.query(
      `insert into remote (destination_id, key, ref_count, group_key, desired_hash, synced_hash)
       select $1, k.key, k.count, $2, $3::bytea, case when k.count = 0 then $3::bytea end
       from unnest($4::bytea[], $5::int[]) as k (key, count)`,
      [id, key, own, [...keysOf(kept, 'kept'), ...lostKeys], [...kept.map(() => 1), ...lost.map(() => 0)]],
    )
    await tx.query(
      `insert into pending_group (group_key, deletes, overdue, renewal, created, content_version, keys_to_delete)
       values ($1, $2, false, $3, $4, $5, $6)`,
      [
        key,
        lost.length > 0,
        change === 'renewal',
        change === 'create',
        hash === 'new' ? digest(`new ${n}`).subarray(0, 16) : null,
        lost.length === 0 ? null : lostKeys.map((one) => one.toString('hex')).join(),
      ],
    )
  }
}

const figures = ({ batches, countsByChange, bodiesHash, requests }: FrozenTotals) => ({
  batches,
  countsByChange,
  requests,
  digest: bodiesHash.copy().digest('hex'),
})

async function written(tx: Transaction, planId: string): Promise<unknown> {
  return tx.query(
    `select b.seq, b.phase, b.operation, b.status, b.entry_count, b.user_count, b.body, b.body_sha256, b.expires_at as ends, b.load_id, b.first_key as load_key,
       e.first_key, e.last_key, e.record_keys, e.keys, e.changes, e.hashes, e.users, e.expires_at, e.first_offset, e.byte_lengths, e.template
     from batch b join batch_entries e on e.batch_id = b.id where b.plan_id = $1 order by b.seq`,
    [planId],
  )
}

/** Freezes the stored groups in both ways, and expects the same batches. Returns their number. */
async function freezeBoth(tx: Transaction, id: number, limits: { readonly entries: number; readonly bytes: number }): Promise<number> {
  const terms = { plannedAtMs: 1_800_000_000_000, expiresAtMs: 1_830_000_000_000, usersPerOperation: 1, takesEffectiveAt: true }
  const destination = { ...destinationOf('audience'), limits }
  const contextOf = (planId: string) => ({ tx, destination, planId, destinationId: id, lastSeq: 0, onProgress: () => undefined })
  const general = await freeze(memberOperations({ tx, destinationId: id }, terms), contextOf(planIds[0]))
  const fromBytes = await freezeChanges(contextOf(planIds[1]), terms)
  expect(figures(fromBytes)).toEqual(figures(general))
  expect(await written(tx, planIds[1])).toEqual(await written(tx, planIds[0]))
  return general.batches
}

test('changes of people are frozen to the same batches and entries as by the general path', async () => {
  await inPlans(async (tx, id) => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(group, { maxLength: 12 }),
        fc.record({ entries: fc.integer({ min: 1, max: 5 }), bytes: fc.integer({ min: 900, max: 2_500 }) }),
        async (groups, limits) => {
          await tx.query('savepoint sample')
          await store(tx, id, groups)
          await freezeBoth(tx, id, limits)
          await tx.query('rollback to savepoint sample')
        },
      ),
      { numRuns: 60 },
    )
  })
})

test('users beyond the first value and the first portion of Postgres are frozen too', { tags: ['long'] }, async () => {
  await inPlans(async (tx, id) => {
    const groups = Array.from({ length: 6_001 }, (): Group => ({ kept: [1], lost: [1], change: 'update', hash: 'new' }))
    await store(tx, id, groups)
    expect(await freezeBoth(tx, id, destinationOf('audience').limits)).toBe(6)
  })
})

test.each([
  ['that has only digests and no times', 'k1,a@example.com,,\n', true],
  ['with a partner id', 'k1,a@example.com,p-1,\n', false],
  ['with a time of a row', 'k1,a@example.com,,2090-05-01T00:00:00Z\n', false],
])('finds a destination %s', async (_, rows, isPlain) => {
  await using engine = await open(rows)
  await engine.run('people')
  const client = await engine.db.connect()
  expect(await areDigestsWithoutTimes(connectionOf(client), await destinationId(engine))).toBe(isPlain)
  client.release()
})
