/** `missing: out-of-stock` changes any number of products with flat memory. */
import type pg from 'pg'
import { expect, test } from 'vitest'
import { ChangedKeys } from '../../../src/db/changedKeys.ts'
import { connectionOf, inTransaction } from '../../../src/db/database.ts'
import { contentHash } from '../../../src/sync/read/stageTable.ts'
import { markOutOfStock } from '../../../src/sync/plan/desiredProducts.ts'
import { plantDestination } from '../push/planted.ts'
import { catalogYaml, engineUnderTest, imbalance } from '../../support/engine.ts'
import { csvOf, manyProducts } from '../../support/through.ts'
import { testDatabase } from '../../support/postgres.ts'

const count = 5_003
const body = (n: number) => `{"id":"P${n}","availability":"in stock","price":"1.00 EUR"}`
const outOfStock = (n: number) => `{"id":"P${n}","availability":"out of stock","price":"1.00 EUR"}`

/** Calls `largest` with the number of rows of each result of the connection. */
function watched(client: pg.PoolClient, largest: (rows: number) => void): pg.PoolClient {
  const query = client.query.bind(client) as (...given: unknown[]) => Promise<pg.QueryResult>
  const watching = async (...given: unknown[]) => {
    const result = await query(...given)
    largest(result.rows.length)
    return result
  }
  return new Proxy(client, { get: (target, name) => (name === 'query' ? watching : (Reflect.get(target, name) as unknown)) })
}

test('all missing products are set out of stock, at most 5,000 at a time', async () => {
  await using database = await testDatabase()
  const { db } = database
  const destinationId = await plantDestination(db, 'catalog', '4001')
  const client = await db.connect()
  let largest = 0
  try {
    const connection = connectionOf(watched(client, (rows) => (largest = Math.max(largest, rows))))
    await inTransaction(connection, async (tx) => {
      await tx.execute(
        `insert into record (destination_id, key, hash, body, line, status, snapshot_id)
         select $1, convert_to('P' || n, 'UTF8'), '\\x00', '{"id":"P' || n || '","availability":"in stock","price":"1.00 EUR"}', n, 'live', 1
         from generate_series(0, $2::int) n`,
        [destinationId, count],
      )
      await tx.execute(
        `insert into remote (destination_id, key, ref_count, desired_hash) select destination_id, key, 1, '\\x00' from record where destination_id = $1`,
        [destinationId],
      )
      await tx.query('analyze record, remote')
      await tx.execute(`create temp table change on commit drop as select convert_to('P' || n, 'UTF8') as key, 'missing' as effect
        from generate_series(1, ${count}) n`)
      const changed = new ChangedKeys(tx, destinationId, false)
      await markOutOfStock({ tx, destinationId, snapshotId: 2, mayImplyKeys: false, changed, newContent: undefined })
    })
  } finally {
    client.release()
  }
  expect(largest).toBe(5_000)
  const rows = await db.query<{ id: string; body: string; status: string; same: boolean; hash: Buffer; changed: boolean }>(
    `select convert_from(r.key, 'UTF8') as id, r.body, r.status, r.hash, m.desired_hash = r.hash as same,
       exists (select from changed_key c where r.key = any(c.keys)) as changed
     from record r join remote m using (destination_id, key) where destination_id = $1 and convert_from(key, 'UTF8') in ('P0', 'P1', 'P${count}') order by id`,
    [destinationId],
  )
  const kept = { id: 'P0', body: body(0), status: 'live', hash: Buffer.from([0]), same: true, changed: false }
  const ended = (n: number) => ({
    id: `P${n}`,
    body: outOfStock(n),
    status: 'missing',
    hash: contentHash(outOfStock(n)),
    same: true,
    changed: true,
  })
  expect(rows).toEqual([kept, ended(1), ended(count)])
  const [all] = await db.query<{ n: number }>(`select count(*)::int as n from record where status = 'missing' and snapshot_id = 2`)
  expect(all?.n).toBe(count)
})

test('missing products that are out of stock already count for no guard, and not as changed rows', async () => {
  await using engine = await engineUnderTest()
  const ended = { availability: 'out of stock' }
  const rows = manyProducts(40, (i) => (i < 15 ? ended : i < 30 ? { ...ended, inventory: '0' } : { inventory: '3' }))
  engine.pipeline('shop', catalogYaml('feed.csv', ', missing: out-of-stock'))
  engine.write('feed.csv', csvOf(rows))
  await engine.run('shop')
  const later = rows.slice(17).map((row, i) => (i === 0 ? { ...row, price: '9.99 USD' } : row))
  engine.write('feed.csv', csvOf(later.slice(0, 22)))
  const report = await engine.run('shop')
  // One row changed, and one product is set out of stock.
  expect(report).toMatchObject({
    status: 'succeeded',
    guards: [],
    counts: { valid: 22, unchanged: 21, updates: 2, deletes: 0, confirmed: 2 },
  })
  expect(imbalance(report.counts)).toEqual([])
  engine.write('feed.csv', csvOf(rows))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { valid: 40, updates: 2 } })
})

test('a deferred delete does not count as a changed row', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest({ settings: { horizonMs: 3_000 } })
  const rows = manyProducts(12)
  engine.pipeline('shop', catalogYaml('feed.csv'))
  engine.write('feed.csv', csvOf(rows))
  await engine.run('shop')
  // An earlier request for this product may still be applied. The run waits for one horizon.
  await engine.db.execute(`update sluice.remote set late_until = statement_timestamp() + interval '5.9 seconds' where key = 'P-0'`)
  engine.write('feed.csv', csvOf(rows.slice(1)))
  expect((await engine.run('shop')).counts).toMatchObject({ valid: 11, unchanged: 11, deletes: 0, deferred: 1 })
})
