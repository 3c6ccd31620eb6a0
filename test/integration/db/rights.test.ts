/** Requirements on the database: missing rights, limits and poolers are found before a run, and named in its error. */
import { describe, expect, test } from 'vitest'
import { openDatabase, type Database } from '../../../src/db/database.ts'
import { openStore } from '../../../src/db/open.ts'
import { probePooler } from '../../../src/db/poolerProbe.ts'
import { examineRights } from '../../../src/cli/commands/doctor/rights.ts'
import type { Finding } from '../../../src/model/report.ts'
import { loadReport } from '../../../src/sync/reports/history.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'
import { pgbouncerMissing, pooler } from '../../support/pgbouncer.ts'
import { testDatabase, type TestDatabase } from '../../support/postgres.ts'
import { roleWith, type TestRole } from '../../support/role.ts'
import { item, products, rss } from '../acceptance/products.ts'
import { join } from 'node:path'

/** Every right that a run needs, for a test to take one away. */
async function allRights(database: Pick<TestDatabase, 'db'>, role: TestRole): Promise<void> {
  await database.db.pool.query(
    `grant usage, create on schema sluice to ${role.name}; grant select, insert, update, delete on all tables in schema sluice to ${role.name};
     grant usage on all sequences in schema sluice to ${role.name}`,
  )
}

async function examined(url: string): Promise<readonly Finding[]> {
  const findings: Finding[] = []
  const db = openDatabase(url)
  try {
    await examineRights({ db, isEmbedded: false, close: () => db.close() }, (finding) => findings.push(finding))
  } finally {
    await db.close()
  }
  return findings
}

const failures = (findings: readonly Finding[]) => findings.filter(({ state }) => state !== 'ok')

describe('the doctor', () => {
  test('passes if a run has all rights', async () => {
    await using database = await testDatabase()
    await using role = await roleWith(database.url, '')
    await allRights(database, role)
    expect(failures(await examined(role.url))).toEqual([])
  })

  test('names the missing right to temporary tables, and the grant', async () => {
    await using database = await testDatabase()
    await using role = await roleWith(database.url, '')
    await allRights(database, role)
    await database.db.execute(`revoke temporary on database ${nameOf(database.db)} from public`)
    expect(failures(await examined(role.url))).toMatchObject([
      { check: 'privileges', state: 'failed', hint: `grant temporary on database "${nameOf(database.db)}" to "${role.name}"` },
    ])
  })

  test('names tables that cannot be written', async () => {
    await using database = await testDatabase()
    await using role = await roleWith(database.url, '')
    await allRights(database, role)
    await database.db.execute(`revoke delete on sluice.remote from ${role.name}`)
    expect(failures(await examined(role.url))).toMatchObject([
      { check: 'privileges', state: 'failed', message: 'privileges are missing on remote (delete)' },
    ])
  })

  test('names the sequence that a run cannot use', async () => {
    await using database = await testDatabase()
    await using role = await roleWith(database.url, '')
    await allRights(database, role)
    await database.db.execute(`revoke usage on all sequences in schema sluice from ${role.name}`)
    expect(failures(await examined(role.url))).toMatchObject([
      {
        check: 'privileges',
        state: 'failed',
        message: 'privileges are missing on batch_id_seq (usage)',
        hint: expect.stringContaining('grant usage, select on all sequences in schema "sluice"') as unknown,
      },
    ])
  })

  test('counts connections against the limit of the role', async () => {
    await using database = await testDatabase()
    await using few = await roleWith(database.url, 'connection limit 6')
    await using some = await roleWith(database.url, 'connection limit 12')
    for (const role of [few, some]) await allRights(database, role)
    expect(failures(await examined(few.url))).toMatchObject([
      { check: 'connections', state: 'failed', hint: expect.stringContaining(`alter role "${few.name}" connection limit 30`) as unknown },
    ])
    expect(failures(await examined(some.url))).toMatchObject([{ check: 'connections', state: 'warning' }])
  })

  test('reports that serve may not create the tables of its queue', async () => {
    await using database = await testDatabase()
    await using role = await roleWith(database.url, '')
    await allRights(database, role)
    await database.db.execute(`revoke create on schema sluice from ${role.name}`)
    expect(failures(await examined(role.url))).toMatchObject([
      { check: 'queue', state: 'failed', hint: expect.stringContaining('grant usage, create on schema "sluice"') as unknown },
    ])
  })
})

test('a run without the right to temporary tables fails with the grant, not with a code', async () => {
  await using engine = await engineUnderTest()
  await using role = await roleWith(engine.databaseUrl, '')
  await allRights(engine, role)
  await engine.db.execute(`revoke temporary on database ${nameOf(engine.db)} from public`)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(2).map((row) => item(row))))
  const db = openDatabase(role.url)
  try {
    const report = await runPipeline({ ...engine.deps, db }, await loadPipeline(join(engine.folder, 'pipelines'), 'shop'), {
      trigger: 'manual',
    })
    expect(report).toMatchObject({ status: 'failed', error: { code: 'DATABASE_UNUSABLE' } })
    expect((await loadReport(engine.db, Number(report.runId.slice(2)))).error?.hint).toContain(`to "${role.name}"`)
  } finally {
    await db.close()
  }
})

describe.skipIf(pgbouncerMissing)('behind pgbouncer (skipped without it: apt-get install pgbouncer)', () => {
  test.for([
    ['transaction', ''],
    ['transaction', 'default_pool_size = 1'],
    ['transaction', 'server_round_robin = 1'],
    ['statement', ''],
  ] as const)('K7: %s mode (%s) is rejected by name before anything is created', async ([mode, more]) => {
    await using database = await testDatabase()
    await using proxy = await pooler(database.url, mode, more)
    await expect(openStore({ databaseUrl: proxy.url, dataDir: '/nonexistent' })).rejects.toMatchObject({
      code: 'DATABASE_POOLER',
      hint: expect.stringContaining('session mode') as unknown,
    })
  })

  test('transaction mode is found while other clients are busy', async () => {
    await using database = await testDatabase()
    await using proxy = await pooler(database.url, 'transaction')
    const other = openDatabase(proxy.url)
    try {
      const stop = new AbortController()
      const busy = Array.from({ length: 4 }, async () => {
        while (!stop.signal.aborted) await other.query('select pg_sleep(0.002)')
      })
      expect(await probePooler(proxy.url)).toBe('transaction')
      stop.abort()
      await Promise.all(busy)
    } finally {
      await other.close()
    }
  })

  test('session mode is accepted', async () => {
    await using database = await testDatabase()
    await using proxy = await pooler(database.url, 'session')
    expect(await probePooler(proxy.url)).toBe('session')
    const store = await openStore({ databaseUrl: proxy.url, dataDir: '/nonexistent' })
    await store.close()
  })

  test.for([
    [3, 'failed', /^only \d of 10 connections answer at the same time$/],
    // The tested process has one more connection, for notifications.
    [11, 'warning', /^enough for a run \(10\), but serve opens up to 12: only \d+ of 12 connections answer at the same time$/],
    [13, 'ok', /^12 concurrent/],
  ] as const)('session mode with a pool of %d is %s for the doctor', async ([size, state, message]) => {
    await using database = await testDatabase()
    await using proxy = await pooler(database.url, 'session', `default_pool_size = ${size}\nquery_wait_timeout = 1`)
    expect((await examined(proxy.url)).find(({ check }) => check === 'connections')).toMatchObject({
      state,
      message: expect.stringMatching(message) as unknown,
    })
  })
})

test('a direct connection is distinguished from a pooler', async () => {
  await using database = await testDatabase()
  expect(await probePooler(database.url)).toBe('none')
})

const nameOf = (db: Database): string => new URL(db.url).pathname.slice(1)
