import { setTimeout as delay } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { openConnections, openDatabase } from '../../../src/db/database.ts'
import { testDatabase } from '../../support/postgres.ts'

test.for([0, 2, 3])('opens the missing connections of a pool with three (%s of them idle)', async (idle) => {
  await using database = await testDatabase({ mayBeUsed: true })
  const db = openDatabase(database.url)
  const used = await Promise.all(Array.from({ length: 3 }, () => db.connect()))
  for (const client of used.splice(0, idle)) client.release()
  await openConnections(db, 5)
  await openConnections(db, 5)
  const opened = db.pool.totalCount
  // The pool does not close a connection that is just being opened.
  await delay(200)
  for (const client of used) client.release()
  await db.close()
  expect(opened).toBe(5)
})
