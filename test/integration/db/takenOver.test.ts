/** A database of an earlier version: synced state, an open plan, a batch whose answer was lost, and a queued run. */
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { drizzle } from 'drizzle-orm/node-postgres'
import { migrate } from 'drizzle-orm/node-postgres/migrator'
import pg from 'pg'
import { expect, test } from 'vitest'
import { expandEntries } from '../../../src/db/entries/expand.ts'
import { migrationsFolder } from '../../../src/db/migrations.ts'
import { openStore } from '../../../src/db/open.ts'
import { registerWorker } from '../../../src/db/workers.ts'
import { startWorker } from '../../../src/jobs/index.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { loadRun } from '../../../src/sync/reports/history.ts'
import { applyPlan } from '../../../src/sync/run/applyPlan.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { audienceDigest, catalogDigest, email } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { testDatabase, type TestDatabase } from '../../support/postgres.ts'
import { item, products, rss, expectedProduct } from '../acceptance/products.ts'

/** Migrations of the last version with the shared journal and with the queue in a schema of its own. */
const earlier = 4
const peopleYaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: email }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`
const people = (...names: string[]) => `id,email\n${names.map((name) => `${name},${name}@example.com\n`).join('')}`

/** Columns that were renamed since, by table and the name of that version. */
const renamed: Readonly<Record<string, string>> = {
  'remote.held': 'ref_count',
  'remote.erase': 'suppressed',
  'batch.wrong_alike': 'miscounts',
  'record_digest.traits': 'feature_sets',
  'record_digest.gone': 'outdated',
}
const nameNow = (table: string, name: string) => renamed[`${table}.${name}`] ?? name

/** The database of the engine as that version left it: tables, rows, journal. */
async function asEarlierVersion(engine: EngineUnderTest): Promise<TestDatabase> {
  const database = await testDatabase()
  const { db } = database
  // That version stores whole bodies, and a row for each entry.
  const batches = await engine.db.query<{ id: string }>('select batch_id as id from batch_entries')
  await engine.db.transaction((tx) =>
    expandEntries(
      tx,
      batches.map(({ id }) => id),
    ),
  )
  await db.execute('drop schema sluice cascade')
  const folder = mkdtempSync(join(tmpdir(), 'sluice-earlier-'))
  cpSync(migrationsFolder, folder, { recursive: true })
  const journalFile = join(folder, 'meta', '_journal.json')
  const journal = JSON.parse(readFileSync(journalFile, 'utf8')) as { entries: unknown[] }
  writeFileSync(journalFile, JSON.stringify({ ...journal, entries: journal.entries.slice(0, earlier) }))
  const client = new pg.Client({ connectionString: database.url })
  await client.connect()
  try {
    await migrate(drizzle(client), { migrationsFolder: folder })
    await client.query('create schema sluice_jobs; create table sluice_jobs.job (id int)')
    // The rows come in any order here. The next statement that writes a row checks foreign keys again.
    await client.query('set session_replication_role = replica')
    const columns = await client.query<{ table: string; names: string[]; identity: boolean }>(
      `select table_name as table, array_agg(column_name::text) as names, bool_or(is_identity = 'YES') as identity
       from information_schema.columns where table_schema = 'sluice' group by table_name`,
    )
    const now = await engine.db.query<{ table: string; name: string }>(
      `select table_name as table, column_name as name from information_schema.columns where table_schema = 'sluice'`,
    )
    for (const { table, names, identity } of columns.rows) {
      const shared = names.filter((name) => now.some((column) => column.table === table && column.name === nameNow(table, name)))
      if (shared.length === 0) continue
      const [rows] = await engine.db.query<{ rows: string }>(
        `select coalesce(json_agg(t), '[]')::text as rows
         from (select ${shared.map((name) => `"${nameNow(table, name)}" as "${name}"`).join(', ')} from sluice."${table}") t`,
      )
      const quoted = shared.map((name) => `"${name}"`).join(', ')
      await client.query(
        `insert into sluice."${table}" (${quoted}) overriding system value
         select ${quoted} from json_populate_recordset(null::sluice."${table}", $1::json)`,
        [rows?.rows],
      )
      if (identity)
        await client.query(
          `select setval(pg_get_serial_sequence('sluice."${table}"', 'id'), (select coalesce(max(id), 0) + 1 from sluice."${table}"))`,
        )
    }
    await client.query(
      `insert into sluice.schedule (pipeline, cron, timezone, overlap, last_scheduled_for) values ('shop', '0 3 * * *', 'UTC', 'skip', '2026-01-01')`,
    )
  } finally {
    await client.end()
    rmSync(folder, { recursive: true, force: true })
  }
  return database
}

test('is migrated and synced: nothing is sent twice, and nothing is lost', { tags: ['long'], timeout: 60_000 }, async () => {
  await using engine = await engineUnderTest({ settings: { maxAttempts: 1 } })
  const { control } = engine.sandbox
  const rows = products(5)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.pipeline('people', peopleYaml)
  engine.write('feed.xml', rss(rows.map((row) => item(row))))
  engine.write('people.csv', people('ann', 'bob'))
  await engine.run('shop')
  await engine.run('people')
  // Applied, and the answer was lost.
  const more = products(7)
  engine.write('feed.xml', rss(more.map((row) => item(row))))
  await control.fault({ path: '/12/product_catalogs' }, { kind: 'commit_then_reset' }, 'always')
  expect(await engine.run('shop')).toMatchObject({ status: 'partial', counts: { creates: 2, ambiguous: 2 } })
  await control.clearFaults()
  const lost = (await engine.writes()).at(-1)?.body_sha256
  engine.write('people.csv', people('ann', 'bob', 'cyd'))
  const { planId } = await engine.plan('people')

  await using former = await asEarlierVersion(engine)
  const [queued] = await former.db.query<{ id: string }>(
    `insert into sluice.run (pipeline, destination_id, trigger, status, scheduled_for)
     select 'shop', id, 'schedule', 'queued', clock_timestamp() from sluice.destination where kind = 'catalog' returning id`,
  )
  const store = await openStore({ databaseUrl: former.url, dataDir: '/nonexistent' })
  try {
    const deps = { ...engine.deps, db: store.db, workerId: await registerWorker(store.db, { role: 'test' }) }
    const folder = join(engine.folder, 'pipelines')
    const mark = await engine.mark()
    expect(await applyPlan(deps, planId)).toMatchObject({ status: 'succeeded', counts: { creates: 1, confirmed: 1, requests: 1 } })
    expect(await applyPlan(deps, planId)).toMatchObject({ counts: { requests: 0 } })
    expect((await control.audience()).digest).toBe(audienceDigest(['ann', 'bob', 'cyd'].map((name) => email(`${name}@example.com`))))

    const worker = await startWorker({
      ...deps,
      folder,
      loadPipeline: (name) => loadPipeline(folder, name),
      loadPipelines: () => loadPipelines(folder),
    })
    try {
      await expect.poll(async () => (await loadRun(store.db, `r_${queued?.id}`)).status, { timeout: 20_000 }).toBe('succeeded')
    } finally {
      await worker.stop()
    }
    // Sends only the same bytes once more, because the outcome is unknown.
    const sent = (await engine.writes(mark)).filter(({ path }) => path.startsWith('/12/product_catalogs'))
    expect(sent.map(({ body_sha256 }) => body_sha256)).toEqual([lost])
    expect((await control.catalog()).digest).toBe(catalogDigest(more.map(expectedProduct)))

    for (const name of ['shop', 'people'])
      expect(await runPipeline(deps, await loadPipeline(folder, name), { trigger: 'manual' })).toMatchObject({ counts: { requests: 0 } })
    expect(await control.violations()).toEqual([])
    expect(
      await store.db.query(`select pipeline, cron, last_scheduled_for < '2026-01-02' as kept, credentials from pipeline_schedule`),
    ).toEqual([{ pipeline: 'shop', cron: '0 3 * * *', kept: true, credentials: '' }])
    expect(await store.db.query(`select to_regnamespace('sluice_jobs') as former, to_regclass('sluice.job')::text as queue`)).toEqual([
      { former: null, queue: 'job' },
    ])
    expect(await store.db.query('select from drizzle.__drizzle_migrations')).toEqual([])
  } finally {
    await store.close()
  }
})
