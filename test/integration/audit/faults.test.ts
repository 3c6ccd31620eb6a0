/** Audits of a failing service, beside other runs, and killed: an audit reports a complete result or changes nothing. */
import { spawn } from 'node:child_process'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { expect, test } from 'vitest'
import type { Exchange } from '../../../src/service/client/exchange.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { auditPipeline } from '../../../src/sync/run/auditPipeline.ts'
import { catalogDigest } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { putBehind, removeBehind } from '../../support/thirdParty.ts'
import { item, products, rss, expectedProduct, type Product } from '../acceptance/products.ts'

const main = fileURLToPath(new URL('../../../src/cli/main.ts', import.meta.url))
const listing = { method: 'GET', path: '/12/product_catalogs/4001/products' }
const single = (count: number): Product[] =>
  products(count * 2)
    .filter(({ group }) => group === undefined)
    .slice(0, count)

async function shop(rows: readonly Product[]): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  write(engine, rows)
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  return engine
}

const write = (engine: EngineUnderTest, rows: readonly Product[]) => engine.write('feed.xml', rss(rows.map((row) => item(row))))
const digest = async (engine: EngineUnderTest) => (await engine.sandbox.control.catalog()).digest
const state = (engine: EngineUnderTest) => engine.db.query('select * from sluice.remote order by key')
const plans = async (engine: EngineUnderTest) => (await engine.db.query('select id from sluice.plan')).length

/** Makes a catalog of 230 products. Another writer changed one and deleted one. */
async function drifted(): Promise<EngineUnderTest> {
  const rows = single(230)
  const engine = await shop(rows)
  await putBehind(engine, { ...expectedProduct(rows[200] as Product), title: 'Hijacked' })
  await removeBehind(engine, String(rows[7]?.id))
  return engine
}
const found = { listed: 229, same: 228, changed: 1, notListed: 1, hidden: 0, unmanaged: 0, unresolved: 0 }

test('a temporary fault costs a request and does not change the result', async () => {
  await using engine = await drifted()
  const { control } = engine.sandbox
  const faults = [
    { kind: 'status', status: 503 },
    { kind: 'status', status: 401, body: { errors: [{ code: 'UNAUTHORIZED_ACCESS', message: 'no' }] } },
    { kind: 'reset' },
    { kind: 'truncate' },
    { kind: 'html' },
    { kind: 'empty' },
    { kind: 'rate_limit', retry_after: 0 },
  ]
  for (const fault of faults) {
    await control.clearFaults()
    await control.fault({ ...listing, nth: 2 }, fault)
    const report = await engine.audit('shop')
    expect([fault, report.status, report.drift, report.readRequests]).toEqual([fault, 'partial', { ...found, waiting: 0 }, 4])
  }
  expect(await control.violations()).toEqual([])
})

test('a listing with an expired cursor starts again once, and counts nothing twice', async () => {
  await using engine = await drifted()
  const { control } = engine.sandbox
  await control.fault({ ...listing, nth: 2 }, { kind: 'cursor_expired' })
  expect(await engine.audit('shop')).toMatchObject({ drift: found, readRequests: 5 })
  await control.clearFaults()
  await control.fault(listing, { kind: 'cursor_expired' }, 'always')
  await expect(engine.audit('shop')).rejects.toMatchObject({
    code: 'CATALOG_UNREADABLE',
    message: expect.stringContaining('its own cursor twice (INVALID_PARAMETER: '),
  })
})

test.for([
  ['the same page again and again', { kind: 'cursor_repeats' }],
  ['nothing but 500', { kind: 'status', status: 500 }],
  ['no catalog any more', { kind: 'status', status: 404, body: { errors: [{ code: 'NOT_FOUND', message: 'no' }] } }],
  ['credentials that are refused', { kind: 'status', status: 401, body: { errors: [{ code: 'UNAUTHORIZED_ACCESS', message: 'no' }] } }],
] as const)(
  '%s: the audit fails, and nothing is invalidated or planned, with --repair or without',
  { tags: ['long'] },
  async ([, fault]) => {
    await using engine = await drifted()
    const [before, planned] = [await state(engine), await plans(engine)]
    await engine.sandbox.control.fault({ ...listing, nth: 2 }, fault, 'always')
    await engine.sandbox.control.fault({ ...listing, nth: 3 }, fault, 'always')
    for (const repair of [false, true])
      await expect(engine.audit('shop', { repair })).rejects.toMatchObject({ code: 'CATALOG_UNREADABLE', hint: 'sluice doctor' })
    expect([await state(engine), await plans(engine)]).toEqual([before, planned])
    const [last] = await engine.db.query(`select status, error ->> 'code' as code from sluice.run order by id desc limit 1`)
    expect(last).toEqual({ status: 'failed', code: 'CATALOG_UNREADABLE' })
    await engine.sandbox.control.clearFaults()
    expect(await engine.audit('shop')).toMatchObject({ drift: found })
  },
)

test('a run locks the pipeline for an audit, and an audit for a run', async () => {
  await using engine = await drifted()
  const { control } = engine.sandbox
  await control.fault({ ...listing, nth: 1 }, { kind: 'hold', name: 'page', stage: 'before_apply' })
  const audit = engine.audit('shop')
  while ((await control.holds()).length === 0) await new Promise((resolve) => setImmediate(resolve))
  expect(await engine.run('shop')).toMatchObject({ status: 'skipped', error: { code: 'PIPELINE_HELD' } })
  await expect(engine.audit('shop')).rejects.toMatchObject({ code: 'PIPELINE_HELD' })
  await control.release('page')
  expect(await audit).toMatchObject({ drift: found })
})

test('an audit that is stopped while it reads is cancelled and has changed nothing', async () => {
  await using engine = await drifted()
  const before = await state(engine)
  const stop = new AbortController()
  const exchange = async (request: Parameters<typeof engine.deps.transport.exchange>[0]): Promise<Exchange> => {
    if (request.query?.['cursor'] !== undefined) stop.abort()
    return engine.deps.transport.exchange(request)
  }
  const deps = { ...engine.deps, signal: stop.signal, transport: { ...engine.deps.transport, exchange } }
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  await expect(auditPipeline(deps, pipeline, { repair: true })).rejects.toMatchObject({ code: 'RUN_INTERRUPTED' })
  expect(await state(engine)).toEqual(before)
  expect((await engine.db.query('select status from sluice.run order by id desc limit 1'))[0]).toEqual({ status: 'cancelled' })
})

test('products with an unresolved request are not compared, and a repair does not change them', async () => {
  const rows = single(30)
  await using engine = await shop(rows)
  const { control } = engine.sandbox
  const moved = rows.map((row, n) => (n < 3 ? { ...row, title: `${row.title} new` } : row))
  write(engine, moved)
  // Applied, and its answer was lost.
  await control.fault({ method: 'PUT', path: '/12/product_catalogs' }, { kind: 'commit_then_reset' }, 'always')
  expect(await engine.run('shop')).toMatchObject({ status: 'partial', counts: { ambiguous: 3 } })
  await control.clearFaults()
  await putBehind(
    engine,
    { ...expectedProduct(moved[0] as Product), title: 'Hijacked' },
    { ...expectedProduct(moved[9] as Product), title: 'Hijacked' },
  )
  await removeBehind(engine, String(moved[1]?.id))
  const report = await engine.audit('shop', { repair: true })
  expect(report).toMatchObject({
    status: 'partial',
    drift: { same: 26, changed: 1, notListed: 0, unresolved: 3, waiting: 3 },
    counts: { updates: 1, creates: 0, deferred: 3 },
  })
  const invalidated = await engine.db.query(`select convert_from(key, 'UTF8') as id from sluice.remote where length(synced_hash) = 9`)
  expect(invalidated).toEqual([{ id: moved[9]?.id }])
  for (let i = 0; i < 3; i++) await engine.run('shop')
  expect((await engine.audit('shop', { repair: true })).planId).toBeUndefined()
  expect(await digest(engine)).toBe(catalogDigest(moved.map(expectedProduct)))
})

test('products that another process settles during the listing are not compared', async () => {
  const rows = single(30)
  await using engine = await shop(rows)
  await putBehind(
    engine,
    { ...expectedProduct(rows[3] as Product), title: 'Hijacked' },
    { ...expectedProduct(rows[4] as Product), title: 'Hijacked' },
  )
  const exchange = async (request: Parameters<typeof engine.deps.transport.exchange>[0]): Promise<Exchange> => {
    const answer = await engine.deps.transport.exchange(request)
    await engine.db.execute('update sluice.remote set synced_at = clock_timestamp() where key = $1', [Buffer.from(rows[3]?.id ?? '')])
    return answer
  }
  const deps = { ...engine.deps, transport: { ...engine.deps.transport, exchange } }
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  const report = await auditPipeline(deps, pipeline, { repair: true })
  expect(report).toMatchObject({ drift: { same: 28, changed: 1, unresolved: 1 }, counts: { updates: 1 } })
  expect(report.examples.map(({ id, found: what }) => [id, what])).toEqual([
    [rows[4]?.id, 'changed'],
    [rows[3]?.id, 'unresolved'],
  ])
})

test('products that change between the comparison and the repair are not changed', async () => {
  const rows = single(30)
  await using engine = await shop(rows)
  await putBehind(engine, ...rows.slice(0, 3).map((row) => ({ ...expectedProduct(row), title: 'Hijacked' })))
  const [late, settled, drifting] = rows.map(({ id }) => Buffer.from(id))
  const execute: typeof engine.db.execute = async (text, values) => {
    const done = await engine.db.execute(text, values)
    if (values?.includes('catalog.audited')) {
      await engine.db.execute(`update sluice.remote set late_until = clock_timestamp() + interval '1 hour' where key = $1`, [late])
      await engine.db.execute(`update sluice.remote set synced_hash = decode(md5('newer'), 'hex') where key = $1`, [settled])
    }
    return done
  }
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  expect(await auditPipeline({ ...engine.deps, db: { ...engine.db, execute } }, pipeline, { repair: true })).toMatchObject({
    drift: { changed: 3 },
  })
  expect(await engine.db.query('select key from sluice.remote where length(synced_hash) = 9')).toEqual([{ key: drifting }])
})

test('reads use the shared budget, and start when a read can show the last write', async () => {
  await using engine = await drifted()
  const slept: number[] = []
  const clock = { ...engine.deps.clock, sleep: async (ms: number) => void slept.push(ms) }
  const deps = { ...engine.deps, clock, settings: { ...engine.deps.settings, readLagMs: 600_000 } }
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  expect(await auditPipeline(deps, pipeline)).toMatchObject({ drift: found, readRequests: 3 })
  expect(slept).toHaveLength(1)
  expect(slept[0]).toBeGreaterThan(500_000)
  expect(slept[0]).toBeLessThan(600_000)
  const [budget] = await engine.db.query<{ granted: string }>(`select granted from sluice.budget where class like '% product_reads'`)
  expect(Number(budget?.granted)).toBe(3)
})

test('an audit waits at most until the last request is visible, although the clock of the database was ahead', async () => {
  await using engine = await shop(single(3))
  await engine.db.execute(`update batch set settled_at = settled_at + interval '1 day'`)
  const slept: number[] = []
  const clock = { ...engine.deps.clock, sleep: async (ms: number) => void slept.push(ms) }
  const deps = { ...engine.deps, clock, settings: { ...engine.deps.settings, readLagMs: 600_000 } }
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'shop')
  expect(await auditPipeline(deps, pipeline)).toMatchObject({ status: 'succeeded' })
  expect(slept).toEqual([600_000 + deps.settings.horizonMs])
})

test('products with newer desired content are counted as waiting, and compared with the confirmed content', async () => {
  const rows = single(10)
  await using engine = await shop(rows)
  write(
    engine,
    rows.map((row, n) => (n === 0 ? { ...row, title: 'Wanted' } : row)),
  )
  await engine.plan('shop')
  expect(await engine.audit('shop')).toMatchObject({ status: 'succeeded', drift: { same: 10, changed: 0, waiting: 1 } })
  await putBehind(engine, { ...expectedProduct(rows[0] as Product), title: 'Hijacked' })
  expect(await engine.audit('shop')).toMatchObject({
    drift: { same: 9, changed: 1, waiting: 1 },
    examples: [{ found: 'changed', fields: [{ field: 'title', ours: rows[0]?.title, theirs: 'Hijacked', desired: 'Wanted' }] }],
  })
  // Frozen bytes of confirmed batches are kept for a week. After that only the hash can be compared.
  await engine.db.execute('update sluice.batch set body = null where settled_at is not null')
  expect(await engine.audit('shop')).toMatchObject({ status: 'partial', drift: { same: 9, changed: 0, unresolved: 1, waiting: 1 } })
  await putBehind(engine, expectedProduct(rows[0] as Product))
  expect(await engine.audit('shop')).toMatchObject({ status: 'succeeded', drift: { same: 10, unresolved: 0, waiting: 1 } })
})

test('a repair makes earlier plans stale, and its own plan can be applied', async () => {
  const rows = single(10)
  await using engine = await shop(rows)
  write(engine, rows.slice(1))
  const before = await engine.plan('shop')
  await putBehind(engine, { ...expectedProduct(rows[5] as Product), title: 'Hijacked' })
  const repair = await engine.audit('shop', { repair: true })
  expect(repair).toMatchObject({ counts: { updates: 1, deletes: 1 } })
  expect(await engine.apply(before.planId)).toMatchObject({ status: 'failed', error: { code: 'PLAN_STALE' } })
  expect(await engine.apply(repair.planId ?? '')).toMatchObject({ status: 'succeeded', counts: { confirmed: 2 } })
  expect(await digest(engine)).toBe(catalogDigest(rows.slice(1).map(expectedProduct)))
})

test('outstanding deletes of a repair are under the guards; its corrections are sent', async () => {
  const rows = single(10)
  await using engine = await shop(rows)
  write(engine, rows.slice(2))
  await engine.plan('shop')
  await putBehind(engine, { ...expectedProduct(rows[5] as Product), title: 'Hijacked' })
  engine.pipeline('shop', `${catalogYaml('feed.xml')}guards: { max_delete_count: 1, max_delete_percent: 1 }\n`)
  const repair = await engine.audit('shop', { repair: true })
  expect(repair).toMatchObject({
    status: 'withheld',
    guards: [{ code: 'GUARD_DELETES', withheld: 2 }],
    counts: { updates: 1, deletes: 0, withheld: 2 },
  })
})

test('killed during the repair nothing is invalidated; killed after it the whole plan is stored', { tags: ['long'] }, async () => {
  await using engine = await drifted()
  const kill = (label: string) =>
    new Promise((resolve, reject) => {
      const { PATH = '', HOME = '' } = process.env
      const child = spawn(process.execPath, [main, 'audit', 'shop', '--repair', '--json'], {
        cwd: engine.folder,
        env: { PATH, HOME, ...engine.env, CRASH_AT: label },
        stdio: 'ignore',
      })
      child.on('error', reject)
      child.on('exit', (code, signal) => resolve(signal ?? code))
    })
  const [before, planned] = [await state(engine), await plans(engine)]
  for (const label of ['plan.diffed', 'plan.frozen', 'plan.before_commit']) {
    expect([label, await kill(label)]).toEqual([label, 'SIGKILL'])
    expect([await state(engine), await plans(engine)]).toEqual([before, planned])
  }
  expect(await kill('plan.after_commit')).toBe('SIGKILL')
  const [plan] = await engine.db.query<{ id: string; counts: unknown }>(`select id, counts from sluice.plan where status = 'ready'`)
  expect(plan?.counts).toMatchObject({ creates: 1, updates: 1 })
  expect(await engine.apply(plan?.id ?? '')).toMatchObject({ status: 'succeeded', counts: { confirmed: 2 } })
  expect(await digest(engine)).toBe(catalogDigest(single(230).map(expectedProduct)))
})
