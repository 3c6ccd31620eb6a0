/** Databases of tests that are used again (test/support/emptyDatabase.ts). */
import { expect, test } from 'vitest'
import type { Database } from '../../../src/db/database.ts'
import { registerWorker } from '../../../src/db/workers.ts'
import { testDatabase } from '../../support/postgres.ts'

/** Uses a database in a test that ends. Returns its name. */
async function use(work: (db: Database) => Promise<unknown> = () => Promise.resolve()): Promise<string> {
  await using database = await testDatabase({ mayBeUsed: true })
  await work(database.db)
  const [row] = await database.db.query<{ name: string }>('select current_database() as name')
  return row?.name ?? ''
}

const nextRun = (db: Database) => db.query(`select nextval(pg_get_serial_sequence('run', 'id'))::int as id`)

test('an emptied database has no rows, and its ids and sessions begin as new ones do', async () => {
  const name = await use(async (db) => {
    await registerWorker(db, { role: 'test' })
    expect(await nextRun(db)).toEqual([{ id: 1 }])
    await db.query(`set timezone = 'Asia/Tokyo'`)
  })
  expect(
    await use(async (db) => {
      expect(await db.query('select from worker')).toEqual([])
      expect(await db.query('show timezone')).toEqual([{ TimeZone: 'UTC' }])
      expect(await nextRun(db)).toEqual([{ id: 1 }])
    }),
  ).toBe(name)
})

test.for([
  ['a new table', 'create table more (n int)'],
  ['a removed column', 'alter table reject drop column message'],
  ['a trigger', 'create trigger t before insert on run for each row execute function suppress_redundant_updates_trigger()'],
  ['a constraint', 'alter table run add constraint never check (false) not valid'],
  ['statistics', `analyze migration`],
  ['another schema', 'create schema other'],
  ['a changed right', 'grant select on run to public'],
])('a database with %s is not used again', async ([, statement = '']) => {
  const name = await use((db) => db.execute(statement))
  expect(await use()).not.toBe(name)
})

test('a query of a test that has ended does not reach the database of the next one', async () => {
  let ended: Database | undefined
  await use(async (db) => void (ended = db))
  await expect(Promise.resolve(ended?.query('select 1'))).rejects.toThrow('has ended')
})

test('a database with an open session or a listener is not used again', async () => {
  const open = await use(async (db) => {
    const client = await db.connect()
    // The database is dropped, which closes the pool and waits for this session.
    const timer = setInterval(() => {
      if (!db.pool.ending) return
      clearInterval(timer)
      client.release()
    }, 10)
  })
  const listening = await use((db) => Promise.resolve(db.listen(() => undefined)))
  expect(listening).not.toBe(open)
  expect(await use()).not.toBe(listening)
})
