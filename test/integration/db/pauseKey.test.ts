/** Migrates a database while an earlier version still writes. Its pauses have the key of that version, destination and pipeline. */
import { expect, test } from 'vitest'
import type { Database } from '../../../src/db/database.ts'
import { entryStatement, journalStatements } from '../../../src/db/journal.ts'
import { migrateDatabase } from '../../../src/db/migrate.ts'
import { readMigrations } from '../../../src/db/migrations.ts'
import { listPauses, pausePipeline, resumePipeline } from '../../../src/db/pauses.ts'
import { testDatabase } from '../../support/postgres.ts'
import { plantDestination } from '../push/planted.ts'

/** Migrations of the last version with the key of two columns. */
const earlier = 25

/** Statement with which earlier versions pause. */
const earlierPause = `insert into sluice.pipeline_pause (destination_id, pipeline, actor, reason)
  select $1, $2, $3, $4 where not exists (select from sluice.pipeline_pause where destination_id = $1) on conflict do nothing`

async function migrateToEarlier(db: Database): Promise<void> {
  await db.execute('drop schema sluice cascade')
  await db.execute('create schema sluice')
  for (const statement of journalStatements('sluice', { hashes: [], isShared: false })) await db.execute(statement)
  for (const [i, { statements, hash }] of readMigrations('sluice').slice(0, earlier).entries())
    for (const statement of [...statements, entryStatement('sluice', i + 1, hash)]) await db.execute(statement)
}

const plant = (db: Pick<Database, 'execute'>, destinationId: number, pipeline: string, pausedAt: string) =>
  db.execute(`insert into sluice.pipeline_pause (destination_id, pipeline, paused_at, actor, reason) values ($1, $2, $3, 'ops', $4)`, [
    destinationId,
    pipeline,
    pausedAt,
    `reason of ${pipeline}`,
  ])

test('of two pauses of a destination the older one stays, also if the other is written during the migration', async () => {
  await using database = await testDatabase()
  const { db, url } = database
  await migrateToEarlier(db)
  const [shop, people] = [await plantDestination(db), await plantDestination(db, 'audience', 'other')]
  await plant(db, shop, 'new name', '2026-03-02')
  await plant(db, shop, 'old name', '2026-03-01')
  await plant(db, people, 'same time b', '2026-03-01')
  await plant(db, people, 'same time a', '2026-03-01')

  const writing = await db.pool.connect()
  let migrated: Promise<unknown>
  try {
    await writing.query('begin')
    await writing.query(`insert into sluice.pipeline_pause (destination_id, pipeline, actor) values ($1, 'third name', 'ops')`, [shop])
    migrated = migrateDatabase(url)
    await expect
      .poll(() => db.query(`select from pg_locks where relation = 'sluice.pipeline_pause'::regclass and not granted`))
      .toHaveLength(1)
    await writing.query('commit')
  } finally {
    writing.release()
  }
  await migrated

  expect(await listPauses(db)).toMatchObject([
    { pipeline: 'old name', reason: 'reason of old name', pausedAt: new Date('2026-03-01') },
    { pipeline: 'same time a', reason: 'reason of same time a' },
  ])
  expect(await db.execute(earlierPause, [shop, 'new name', 'ops', null])).toBe(0)
  expect(await pausePipeline(db, { destinationId: shop, pipeline: 'new name', actor: 'ops' })).toBe(false)
  expect(await resumePipeline(db, { destinationId: shop, pipeline: 'new name', actor: 'ops' })).toBe(true)
  expect(await db.execute(earlierPause, [shop, 'new name', 'ops', null])).toBe(1)
})

test('many simultaneous pauses of a destination under different names store one', async () => {
  await using database = await testDatabase({ mayBeUsed: true })
  const { db } = database
  const destinationId = await plantDestination(db)
  const changed = await Promise.all(
    Array.from({ length: 8 }, (_, i) => pausePipeline(db, { destinationId, pipeline: `name ${i}`, actor: 'ops' })),
  )
  expect(changed.filter(Boolean)).toHaveLength(1)
  expect(await listPauses(db)).toHaveLength(1)
})
