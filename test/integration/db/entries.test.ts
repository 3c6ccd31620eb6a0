/** A batch has the same entries in `batch_entries` and in rows of their own, before and after they are expanded. */
import { createHash } from 'node:crypto'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Database } from '../../../src/db/database.ts'
import { expandEntries } from '../../../src/db/entries/expand.ts'
import { batchesOfKeys, batchesOfRecords, entriesOf, keysOf, usersOf } from '../../../src/db/entries/read.ts'
import { writeEntries, type FrozenEntries, type FrozenEntry } from '../../../src/db/entries/write.ts'
import type { Change } from '../../../src/model/report.ts'
import type { Destination } from '../../../src/destinations/destination.ts'
import { destinationOf } from '../../../src/destinations/index.ts'
import { pack } from '../../../src/destinations/requestBodies.ts'
import { plantDestination, plantPlan } from '../push/planted.ts'
import { testDatabase } from '../../support/postgres.ts'

const digest = (text: string) => createHash('sha256').update(text).digest()
const ends = Date.UTC(2035, 0, 1)

const entry = fc.record({
  users: fc.array(fc.uniqueArray(fc.integer({ min: 0, max: 5_000 }), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 }),
  change: fc.constantFrom<Change[]>('create', 'update', 'renewal'),
  hash: fc.constantFrom(1, 1, 1, 16),
  size: fc.constantFrom(10, 10, 300),
})

interface Shape {
  readonly users: readonly (readonly number[])[]
  readonly change: Change
  readonly hash: number
  readonly size: number
}

const frozen = (shapes: readonly Shape[]): FrozenEntry[] =>
  shapes.map(({ users, change, hash }, i) => ({
    recordKey: digest(`record ${users.join()} ${i}`).subarray(0, 16),
    keys: users.flat().map((n) => `01${digest(`${n}`).toString('hex')}`),
    change,
    hash: digest(`${i}`).subarray(0, hash),
    expiresAtMs: ends,
    users: users.length,
  }))

async function plant(
  db: Database,
  items: readonly FrozenEntry[],
  sizes: readonly number[],
  evidence: Destination['evidence'],
): Promise<number> {
  const planted = await plantPlan(db, await plantDestination(db, 'audience'))
  const { body, sha256, offsets, lengths } = pack(
    sizes.map((size) => ({ bytes: Buffer.alloc(size, 'x') })),
    destinationOf('audience').frame('upsert'),
  )
  const [row] = await db.query<{ id: string }>(
    `insert into batch (plan_id, destination_id, seq, operation, body, body_sha256, entry_count, user_count) values ($1, $2, 1, 'upsert', $3, $4, $5, $6) returning id`,
    [planted.planId, planted.destinationId, body, sha256, items.length, items.reduce((sum, { users }) => sum + users, 0)],
  )
  const batch: FrozenEntries = { batchId: Number(row?.id), op: 'upsert', items, offsets, lengths }
  // Entries with an outcome each have rows from the start, with any content.
  await db.transaction((tx) => writeEntries(tx, planted.destinationId, { evidence }, [batch]))
  return batch.batchId
}

async function read(db: Database, id: number, items: readonly FrozenEntry[]) {
  const of = (columns: string, from: string, order: string) =>
    db.query(`select ${columns} from batch b cross join ${from} e where b.id = $1 order by ${order}`, [id])
  const found = async (query: string, key: Buffer) =>
    (await db.query(`select from (${query}) f where f.batch_id = $3`, [1, [key], id])).length > 0
  const named: boolean[] = []
  for (const { recordKey, keys } of items) {
    named.push(await found(batchesOfRecords('$1', '$2::bytea[]'), recordKey))
    for (const key of keys) named.push(await found(batchesOfKeys('$1', '$2::bytea[]'), Buffer.from(key, 'hex')))
  }
  named.push(await found(batchesOfRecords('$1', '$2::bytea[]'), digest('nobody').subarray(0, 16)))
  named.push(await found(batchesOfKeys('$1', '$2::bytea[]'), Buffer.concat([Buffer.from([1]), digest('nobody')])))
  return {
    entries: await of(
      'e.ord, e.destination_id, e.record_key, e.keys, e.change, e.hash, e.expires_at, e.users, e.byte_offset, e.byte_length, e.outcome, e.code',
      entriesOf('b.id'),
      'e.ord',
    ),
    keys: await of('e.key, e.outcome', keysOf('b.id'), 'e.key'),
    users: await db.query(
      `select sum(e.users)::int as users, e.outcome from batch b cross join ${usersOf('b')} e where b.id = $1 group by e.outcome`,
      [id],
    ),
    named,
  }
}

test('entries are the same packed, one by one, and expanded', async () => {
  await using database = await testDatabase()
  const { db } = database
  await fc.assert(
    fc.asyncProperty(fc.array(entry, { minLength: 1, maxLength: 12 }), async (shapes) => {
      const items = frozen(shapes)
      const sizes = shapes.map(({ size }) => size)
      const each = await plant(db, items, sizes, 'ids')
      const together = await plant(db, items, sizes, 'counts')
      expect(await db.query('select from entry where batch_id = $1', [each])).toHaveLength(items.length)
      expect(await db.query('select from entry where batch_id = $1', [together])).toEqual([])
      const expected = await read(db, each, items)
      expect(expected.entries).toHaveLength(items.length)
      expect(await read(db, together, items)).toEqual(expected)
      await db.transaction((tx) => expandEntries(tx, [together]))
      await db.transaction((tx) => expandEntries(tx, [together]))
      expect(await db.query('select from batch_entries where batch_id = $1', [together])).toEqual([])
      expect(await read(db, together, items)).toEqual(expected)
    }),
    { numRuns: 15 },
  )
})

test.for([
  ['ends at different times', { expiresAtMs: ends + 1_000 }],
  ['a key of another length', { keys: ['0661'] }],
] as const)('%s: a row each', async ([, other]) => {
  await using database = await testDatabase()
  const [first, second] = frozen([1, 2].map((n) => ({ users: [[n]], change: 'create', hash: 1, size: 10 })))
  const id = await plant(database.db, [first!, { ...second!, ...other }], [10, 10], 'counts')
  expect(await database.db.query('select ord from entry where batch_id = $1 order by ord', [id])).toEqual([{ ord: 0 }, { ord: 1 }])
})
