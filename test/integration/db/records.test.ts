/** Updates of records at the places where the diff found them. */
import { expect, test } from 'vitest'
import type { Database } from '../../../src/db/database.ts'
import { insertRecords, updateRecords } from '../../../src/db/records.ts'
import { plantDestination } from '../push/planted.ts'
import { testDatabase } from '../../support/postgres.ts'

const row = (key: number, hash: number, place = '') =>
  `select '\\x0${key}'::bytea as key, '\\x0${hash}'::bytea as hash, null::text as body, null::bytea[] as identifiers, null::bytea as joined_identifiers,
     null::timestamptz as effective_at, null::timestamptz as expires_at, ${hash}::int8 as line, null::int8 as load_id ${place}`

async function updated(db: Database, destinationId: number, places: ReadonlyMap<number, string>): Promise<readonly object[]> {
  const rows = [...places].map(([key, place]) => row(key, 9, `, '${place}'::tid as record_ctid`))
  await db.transaction((tx) => updateRecords(tx, { destinationId, snapshotId: 2 }, rows.join(' union all ')))
  return db.query(`select encode(key, 'hex') as key, line, snapshot_id from record where destination_id = $1 order by key`, [destinationId])
}

async function placesOf(db: Database, destinationId: number): Promise<Map<number, string>> {
  const rows = await db.query<{ key: number; place: string }>(
    'select get_byte(key, 0) as key, ctid::text as place from record where destination_id = $1 and get_byte(key, 0) < 3',
    [destinationId],
  )
  return new Map(rows.map(({ key, place }) => [key, place]))
}

const expected = [
  { key: '01', line: '9', snapshot_id: '2' },
  { key: '02', line: '9', snapshot_id: '2' },
  { key: '03', line: '1', snapshot_id: '1' },
]

test.each([
  ['at their places', ''],
  ['that moved after the diff', 'update record set line = 5'],
  ['of which some moved', `update record set line = 5 where key = '\\x02'`],
  // The next update of a page may move another record to that place.
  ['whose place another record has', `update record set line = 5; vacuum record; update record set line = 6`],
])('records %s are updated, and no others', async (_, meanwhile) => {
  await using database = await testDatabase()
  const { db } = database
  const destinationId = await plantDestination(db)
  await insertRecords(db, { destinationId, snapshotId: 1 }, [1, 2, 3].map((key) => row(key, 1)).join(' union all '))
  const places = await placesOf(db, destinationId)
  for (const statement of meanwhile.split('; ').filter(Boolean)) await db.execute(statement)
  if (meanwhile !== '') await db.execute(`update record set line = 1 where key = '\\x03'`)
  expect(await updated(db, destinationId, places)).toEqual(expected)
})
