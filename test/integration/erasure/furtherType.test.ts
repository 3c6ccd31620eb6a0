/** Erasures of a further type of destination: the copy beside the database names the type (docs/erasure.md). */
import { expect, test } from 'vitest'
import { ensureDestination } from '../../../src/db/destinations.ts'
import { storeErasure } from '../../../src/db/erasures.ts'
import { exportErasures, missingErasures, parseExport } from '../../../src/sync/erasure/exportFile.ts'
import { testDatabase } from '../../support/postgres.ts'
import '../../support/staticList.ts'

const service = 'http://127.0.0.1:9'

test('a restored copy assigns record keys to the destination of their type', async () => {
  await using database = await testDatabase()
  const { db } = database
  const { id } = await ensureDestination(db, { service, kind: 'static-list', accountId: 'a1', targetId: 'list.txt' })
  const key = Buffer.alloc(16, 7)
  await storeErasure(db, { service, actor: 'test', identifiers: [], records: [{ destinationId: id, key }] })
  const copy = JSON.stringify(await exportErasures(db, new Date(0)))
  await db.execute('truncate erasure cascade')

  const [missing] = await missingErasures(db, parseExport(copy, 'x'))
  expect(missing?.keys.records).toEqual([{ destinationId: id, key }])
})

test('a copy without types, of an earlier version, is read as audiences; one with an unknown type is rejected', async () => {
  await using database = await testDatabase()
  const { db } = database
  const copyOf = (more: object) =>
    JSON.stringify({
      format: 'sluice-erasures',
      version: 1,
      service,
      exportedAt: '2026-01-01T00:00:00.000Z',
      erasures: [
        {
          id: 'e_1',
          erasedAt: '2026-01-01T00:00:00.000Z',
          identifiers: [],
          records: [{ accountId: 'a1', audienceId: 'b1', key: '00', ...more }],
        },
      ],
    })
  const { id } = await ensureDestination(db, { service, kind: 'audience', accountId: 'a1', targetId: 'b1' })
  const [missing] = await missingErasures(db, parseExport(copyOf({}), 'x'))
  expect(missing?.keys.records[0]?.destinationId).toBe(id)
  expect(() => parseExport(copyOf({ kind: 'fax-list' }), 'x')).toThrow('not a file of sluice forget --export')
  expect(() => parseExport(copyOf({ kind: 'catalog' }), 'x')).toThrow('not a file of sluice forget --export')
})

test('a destination of an unknown type is not stored', async () => {
  await using database = await testDatabase()
  await expect(ensureDestination(database.db, { service, kind: 'fax-list', accountId: '', targetId: '1' })).rejects.toThrow(
    'is not a type of destination',
  )
  expect(await database.db.query('select from destination')).toEqual([])
})
