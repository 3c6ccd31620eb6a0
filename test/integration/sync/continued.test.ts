/** Open work of a run that a later run continues: in the counts of both, and with the options of the first. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { recoverRunsAndCounts } from '../../../src/sync/run/recoverExpiredRuns.ts'
import { loadRun } from '../../../src/sync/reports/history.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import type { Progress } from '../../../src/model/report.ts'
import { audienceDigest, email, sha256 } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { interruptedRun } from '../../support/interrupted.ts'
import { item, products, rss } from '../acceptance/products.ts'
import { everyKey } from '../../support/everyKey.ts'

const peopleYaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2, e3] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`
const csv = (...rows: string[]) => `id,e1,e2,e3\n${rows.map((row) => `${row}\n`).join('')}`
const forbidden = { kind: 'status', status: 403, body: { errors: [{ code: 'ACTION_NOT_ALLOWED', message: 'no' }] } }

async function lastRun(engine: EngineUnderTest): Promise<string> {
  const [row] = await engine.db.query<{ id: string }>('select max(id) as id from sluice.run')
  return `r_${row?.id}`
}

test('show of an interrupted run has the outcomes of the later run that settled it', async () => {
  await using engine = await engineUnderTest({ settings: { maxAttempts: 2 } })
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(60).map((row) => item(row))))
  await engine.sandbox.control.fault({ path: '/12/product_catalogs' }, { kind: 'commit_then_reset' }, 'always')
  const first = await engine.run('shop')
  expect(first).toMatchObject({ status: 'partial', counts: { creates: 60, ambiguous: 60, confirmed: 0 } })
  await engine.sandbox.control.clearFaults()
  const second = await engine.rerun(first.runId, { failedOnly: true })
  expect(second).toMatchObject({ status: 'succeeded', counts: { creates: 0, confirmed: 0 }, settled: { confirmed: 60, refused: 0 } })
  const shown = await loadRun(engine.db, first.runId)
  expect(shown).toMatchObject({ status: 'partial', counts: { creates: 60, confirmed: 60, ambiguous: 0, pending: 0 } })
  expect(imbalance(shown.counts)).toEqual([])
  // Requests stay with the run that sent them.
  expect(shown.counts.requests).toBe(first.counts.requests)
  // If the process of the second run dies just before its end, the recovery stores the same.
  await engine.db.execute(
    `update run set status = 'running', finished_at = null, counts = counts - 'settled' - 'requests', worker_id = null,
       lease_until = statement_timestamp() - interval '1 minute' where id = $1`,
    [Number(second.runId.slice(2))],
  )
  expect(await recoverRunsAndCounts(engine.db, engine.deps.service)).toEqual([Number(second.runId.slice(2))])
  expect(await loadRun(engine.db, second.runId)).toMatchObject({
    status: 'failed',
    settled: { confirmed: 60, refused: 0 },
    counts: { requests: second.counts.requests },
  })
})

test('show of a run whose process died counts its confirmed operations', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(60).map((row) => item(row))))
  await interruptedRun(engine, 'shop', 'die')
  const died = await lastRun(engine)
  await engine.run('shop')
  const shown = await loadRun(engine.db, died)
  expect(shown).toMatchObject({ status: 'failed', counts: { creates: 60 } })
  expect(shown.counts.confirmed).toBeGreaterThanOrEqual(25)
  expect(imbalance(shown.counts)).toEqual([])
})

test.for(['shop', 'people'])(
  '%s: the next run completes an interrupted full refresh as a full refresh',
  { tags: ['long'] },
  async (name) => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    engine.pipeline('shop', catalogYaml('feed.xml'))
    engine.pipeline('people', peopleYaml.replace('1nmth }', '1nmth, users_per_operation: 1 }'))
    engine.write('feed.xml', rss(products(60).map((row) => item(row))))
    engine.write('people.csv', csv(...Array.from({ length: 60 }, (_, i) => `k${i},m${i}@example.com,,`)))
    const first = await engine.run(name)
    await interruptedRun(engine, name, 'planned', { full: true })
    // The rerun of another run sends nothing of the refresh, and leaves it to the next run.
    expect((await engine.rerun(first.runId, { failedOnly: true })).counts).toMatchObject({ updates: 0, requests: 0 })
    // The run that continues it may be interrupted too, by a pause or by another crash.
    await control.fault({ path: '/12/' }, forbidden, 'always')
    expect(await engine.run(name)).toMatchObject({
      status: 'failed',
      error: { code: 'DESTINATION_PAUSED' },
      counts: { updates: 60, pending: 60 },
    })
    await interruptedRun(engine, name, 'planned')
    await control.clearFaults()
    const after = await engine.mark()
    expect((await engine.run(name)).status).toBe('succeeded')
    expect((await engine.writes(after)).reduce((sum, { items }) => sum + items, 0)).toBe(60)
    expect((await engine.run(name)).counts).toMatchObject({ requests: 0 })
  },
)

test('rerun --failed of a full refresh sends only its unconfirmed records; rerun is a full refresh again', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(60).map((row) => item(row))))
  await engine.run('shop')
  await control.fault({ path: '/12/product_catalogs' }, { kind: 'product_error', ids: ['SKU-3', 'SKU-44'] }, 'always')
  const full = await engine.run('shop', { full: true })
  expect(full).toMatchObject({ status: 'partial', counts: { updates: 60, confirmed: 58, refused: 2 } })
  await control.clearFaults()
  expect(await engine.rerun(full.runId, { failedOnly: true })).toMatchObject({ status: 'succeeded', counts: { updates: 2, confirmed: 2 } })
  expect((await engine.run('shop')).counts).toMatchObject({ requests: 0 })
  expect(await engine.rerun(full.runId)).toMatchObject({ status: 'succeeded', counts: { updates: 60, confirmed: 60 } })
  expect((await engine.run('shop')).counts).toMatchObject({ requests: 0 })
})

test('rerun --failed of a full refresh stores no keys of confirmed people', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('people', peopleYaml)
  const rows = Array.from({ length: 2600 }, (_, i) => `k${i},m${i}@example.com,,`)
  engine.write('people.csv', csv(...rows))
  // The last operation is in the second request.
  const last = rows.map((_, i) => i).toSorted((a, b) => (sha256(`k${a}`) < sha256(`k${b}`) ? 1 : -1))[0] ?? 0
  const body = { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] }
  await control.fault({ contains_key: sha256(`m${last}@example.com`) }, { kind: 'status', status: 400, body }, 'always')
  const full = await engine.run('people', { full: true })
  expect(full.counts).toMatchObject({ confirmed: 2599, refused: 1 })
  const stored = () => engine.db.query('select count(*)::int as n from sluice.remote')
  const before = await stored()
  expect(before).toEqual([{ n: 100 }])
  await control.clearFaults()
  expect((await engine.rerun(full.runId, { failedOnly: true })).counts).toMatchObject({ creates: 1, confirmed: 1 })
  expect(await stored()).toEqual(before)
})

test('an identifier that joins a user between an interrupted delete and update is confirmed with that user', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv('keep,keep@example.org,,', 'k1,a@example.com,,'))
  await engine.run('people')
  engine.write('people.csv', csv('keep,keep@example.org,,', 'k1,b@example.com,,'))
  await interruptedRun(engine, 'people', 'die')
  engine.write('people.csv', csv('keep,keep@example.org,,', 'k1,b@example.com,c@example.com,d@example.com'))
  expect((await engine.run('people')).status).toBe('succeeded')
  expect(await engine.db.query(`select from ${everyKey} m where ref_count > 0 and desired_hash is distinct from synced_hash`)).toEqual([])
  expect((await engine.sandbox.control.audience()).digest).toBe(
    audienceDigest(['keep@example.org', 'b@example.com', 'c@example.com', 'd@example.com'].map(email)),
  )
  expect((await engine.run('people')).counts).toMatchObject({ requests: 0 })
})

test('progress of settling counts unresolved requests, not unsent ones', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(500).map((row) => item(row))))
  await interruptedRun(engine, 'shop', 'die')
  const [sent] = await engine.db.query<{ n: number }>('select sum(entry_count)::int as n from sluice.batch where attempts > 0')
  expect(sent?.n).toBeLessThan(500)
  const totals = new Set<number | undefined>()
  const deps = { ...engine.deps, onProgress: ({ stage, total }: Progress) => void (stage === 'settle' && totals.add(total)) }
  await runPipeline(deps, await loadPipeline(join(engine.folder, 'pipelines'), 'shop'), { trigger: 'manual' })
  expect([...totals].every((total) => total !== undefined && total <= (sent?.n ?? 0))).toBe(true)
  expect(totals.size).toBeGreaterThan(0)
})
