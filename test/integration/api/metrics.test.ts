/** The counts of a run are the same on its page, in `show`, over the API and in the metrics. An open run delays no metric of others. */
import { expect, test } from 'vitest'
import { expectAgreement } from '../../support/agreement.ts'
import { catalogYaml, engineUnderTest } from '../../support/engine.ts'
import { createMetrics } from '../../../src/metrics/metrics.ts'
import { startServer } from '../../support/server.ts'
import { runSteps } from '../../../src/sync/reports/runSteps.ts'
import { loadRun } from '../../../src/sync/reports/history.ts'
import { item, products, rss } from '../acceptance/products.ts'

test('page, show, API and metrics have the same counts', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const good = products(60)
  engine.write('feed.xml', rss([...good.map((row) => item(row)), item({ ...good[0]!, id: 'BAD-1', price: 'free' })]))
  await engine.run('shop')
  engine.write(
    'feed.xml',
    rss([...good.slice(0, 40).map((row) => item({ ...row, title: `New ${row.title}` })), item({ ...good[0]!, id: 'NEW-1' })]),
  )
  await engine.sandbox.control.fault(
    { method: 'PUT', path: '/12/product_catalogs' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'NO', message: 'no' }] } },
    'always',
  )
  const { runId } = await engine.run('shop')
  const shown = await loadRun(engine.db, runId)
  expect((await server.call('GET', `/api/runs/${runId}`)).json.counts).toEqual(shown.counts)
  const page = (await server.call('GET', `/runs/${runId}`)).text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
  const { rows, changes, outcomes } = runSteps(shown.counts)
  for (const step of [rows, changes, outcomes]) {
    expect(
      step.parts.reduce((sum, part) => sum + part.value, 0),
      step.name,
    ).toBe(step.whole)
    expect(page).toContain(`${step.whole} ${step.name} = ${step.parts.map((part) => `${part.value} ${part.name}`).join(' + ')}`)
  }
  const [first, second] = await Promise.all(['r_1', runId].map((id) => loadRun(engine.db, id)))
  const metrics = (await server.call('GET', '/metrics')).text
  const value = (line: string) => Number(new RegExp(`^${line.replaceAll(/[{}]/g, String.raw`\$&`)} (\\S+)$`, 'm').exec(metrics)?.[1])
  for (const outcome of ['read', 'valid', 'rejected', 'duplicates', 'suppressed', 'unchanged'] as const)
    expect(value(`sluice_rows_total{pipeline="shop",outcome="${outcome}"}`), outcome).toBe(
      (first?.counts[outcome] ?? 0) + (second?.counts[outcome] ?? 0),
    )
  const byKind = (kind: string) =>
    ['planned', 'confirmed', 'refused', 'ambiguous', 'pending'].map((result) =>
      value(`sluice_operations_total{pipeline="shop",kind="${kind}",result="${result}"}`),
    )
  const [creates, updates] = [byKind('create'), byKind('update')]
  expect([creates[0], updates[0]]).toEqual([61, 40])
  for (const [planned, ...decided] of [creates, updates]) expect(decided.reduce((sum, one) => sum + one, 0)).toBe(planned)
  // Every update was refused, or not sent after the pause of the destination.
  expect(updates[1]).toBe(0)
  expect(updates[2]).toBeGreaterThan(0)
  for (const [at, result] of (['confirmed', 'refused', 'ambiguous', 'pending'] as const).entries())
    expect((creates[at + 1] ?? 0) + (updates[at + 1] ?? 0), result).toBe((first?.counts[result] ?? 0) + (second?.counts[result] ?? 0))
  expect(value('sluice_deletes_withheld{pipeline="shop"}')).toBe(second?.counts.withheld)
  expect(shown.counts.withheld).toBe(20)
  expect(value('sluice_runs_total{pipeline="shop",status="succeeded"}')).toBe(1)
  expect(value('sluice_last_success_timestamp_seconds{pipeline="shop"}')).toBe(Date.parse(first?.finishedAt ?? '') / 1000)
  // The requests before the first scrape count; a pipeline without unresolved requests has 0.
  const sent = [...metrics.matchAll(/^sluice_requests_total\{endpoint="catalog upsert",status="(\d+)"\} (\d+)$/gm)].map((found) => found[1])
  expect(sent).toEqual(expect.arrayContaining(['200', '400']))
  expect(value('sluice_unsettled_operations{pipeline="shop"}')).toBe(0)
  expect(value('sluice_unsettled_oldest_seconds{pipeline="shop"}')).toBe(0)
  expect(metrics).toContain('# TYPE sluice_rate_wait_seconds_total counter\n')
  // A second scrape counts nothing twice.
  expect((await server.call('GET', '/metrics')).text).toContain('sluice_runs_total{pipeline="shop",status="succeeded"} 1\n')
  expect(metrics).not.toMatch(/SKU|r_\d/)
  // Operations that a later run settles are counted by kind, by the same process and by a new one.
  await engine.sandbox.control.clearFaults()
  await engine.run('shop')
  await expectAgreement(engine)
})

test('runs count when they end, also after a run that stays queued because its pipeline is paused', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  for (const name of ['shop', 'paused']) {
    engine.pipeline(name, catalogYaml(`${name}.xml`).replace('4001', name === 'shop' ? '4001' : '4002'))
    engine.write(`${name}.xml`, rss([item(products(1)[0]!)]))
  }
  const { json } = await server.call('POST', '/api/pipelines/paused/runs', { body: {} })
  expect(json.runId).toBe('r_1')
  expect((await server.call('POST', '/api/pipelines/paused/pause', { body: {} })).status).toBe(200)
  expect((await engine.run('shop')).status).toBe('succeeded')
  const ended = async () =>
    [...(await server.call('GET', '/metrics')).text.matchAll(/^sluice_runs_total\{pipeline="(\w+)",status="(\w+)"\} ([1-9]\d*)$/gm)].map(
      (found) => found.slice(1).join(' '),
    )
  expect(await ended()).toEqual(['shop succeeded 1'])
  // `increase()` counts the first failure only if the series was 0 before.
  expect((await server.call('GET', '/metrics')).text).toContain('sluice_runs_total{pipeline="shop",status="failed"} 0\n')
  await engine.db.execute(`update run set status = 'failed', finished_at = statement_timestamp() where id = 1`)
  expect(await ended()).toEqual(['shop succeeded 1', 'paused failed 1'])
  expect(await ended()).toEqual(['shop succeeded 1', 'paused failed 1'])
})

test('an undecided run that retention deleted is not read again', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss([item(products(1)[0]!)]))
  await engine.sandbox.control.fault({ path: '/12/' }, { kind: 'commit_then_reset' }, 'always')
  expect((await engine.run('shop')).counts).toMatchObject({ ambiguous: 1 })
  const read: unknown[] = []
  const query: typeof engine.db.query = (text, values) => {
    if (text.includes('from run where id = any')) read.push(values)
    return engine.db.query(text, values)
  }
  const metrics = createMetrics({ db: Object.create(engine.db, { query: { value: query } }) as typeof engine.db, version: '1' })
  await metrics.text()
  await engine.db.execute('truncate run cascade')
  await metrics.text()
  expect(read).toEqual([[[1]], [[1]]])
  await metrics.text()
  expect(read).toHaveLength(2)
})

test('a run that never started has no duration, however long it waited', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss([item(products(1)[0]!)]))
  const { json } = await server.call('POST', '/api/pipelines/shop/runs', { body: {} })
  await engine.db.execute(`update run set created_at = created_at - interval '1 hour'`)
  expect((await server.call('POST', `/api/runs/${json.runId}/cancel`, { body: {} })).status).toBe(202)
  await engine.run('shop')
  const metrics = (await server.call('GET', '/metrics')).text
  expect(metrics).toContain('sluice_runs_total{pipeline="shop",status="cancelled"} 1\n')
  expect(metrics).toContain('sluice_run_duration_seconds_count{pipeline="shop"} 1\n')
  expect(metrics).toContain('sluice_run_duration_seconds_bucket{le="900",pipeline="shop"} 1\n')
})

test('a run and a request whose transactions commit after those of newer ones are counted, and each once', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss([item(products(1)[0]!)]))
  const counted = async () => {
    const { text } = await server.call('GET', '/metrics')
    const value = (name: string) => Number(new RegExp(`^${name}(?:\\{.*)? (\\d+)$`, 'm').exec(text)?.[1] ?? 0)
    return [
      value('sluice_runs_total\\{pipeline="shop",status="succeeded"\\}'),
      value('sluice_requests_total\\{endpoint="catalog upsert",status="200"\\}'),
    ]
  }
  expect(await counted()).toEqual([0, 0])
  await engine.run('shop')
  expect(await counted()).toEqual([1, 1])
  const copies = [
    `insert into run (pipeline, destination_id, trigger, status, epoch, started_at, finished_at)
       select pipeline, destination_id, trigger, status, epoch, started_at, finished_at from run where id = 1`,
    `insert into attempt (batch_id, run_id, epoch, worker_id, body_sha256, http_status, started_at, finished_at, duration_ms)
       select batch_id, run_id, epoch, worker_id, body_sha256, http_status, started_at, finished_at, duration_ms from attempt where id = 1`,
  ]
  const late = await engine.db.connect()
  try {
    await late.query('begin')
    for (const copy of copies) await late.query(copy)
    for (const copy of copies) await engine.db.execute(copy)
    expect(await counted()).toEqual([2, 2])
    await late.query('commit')
  } finally {
    late.release(true)
  }
  expect(await counted()).toEqual([3, 3])
  expect(await counted()).toEqual([3, 3])
})

test('an attempt of which no byte was sent in time is no request', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss([item(products(1)[0]!)]))
  await engine.run('shop')
  await engine.db.execute(
    `insert into attempt (batch_id, run_id, epoch, worker_id, body_sha256, reason, started_at, finished_at, duration_ms)
       select batch_id, run_id, epoch, worker_id, body_sha256, 'not-in-time', started_at, started_at, 0 from attempt where id = 1`,
  )
  const { text } = await server.call('GET', '/metrics')
  expect(text).toMatch(/^sluice_requests_total\{.*status="200"\} 1$/m)
  expect(text).not.toMatch(/^sluice_requests_total\{.*status="none"\}/m)
})

test('the plots of a pipeline have the requests of an apply, and all requests of a large run', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(30).map((row) => item(row))))
  const { runId } = await engine.apply((await engine.plan('shop')).planId)
  const run = await loadRun(engine.db, runId)
  expect(run.counts.requests).toBe(2)
  const pageText = async () => (await server.call('GET', '/pipelines/shop')).text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
  const applied = await pageText()
  expect(applied).toContain('2 requests; none was over the rate limit.')
  expect(applied).toContain('In the last run half of the requests were answered within')
  await engine.db.execute(
    `insert into attempt (batch_id, run_id, epoch, worker_id, body_sha256, http_status, started_at, finished_at, duration_ms)
       select batch_id, run_id, epoch, worker_id, body_sha256, http_status, started_at, finished_at, duration_ms
       from attempt cross join generate_series(1, 1500)`,
  )
  await engine.db.execute(`update run set counts = counts || '{"requests": 3002}' where trigger = 'apply'`)
  expect(await pageText()).toContain('3,002 requests; of up to 2,000 in each run, none was over the rate limit.')
})

test('a role whose last worker has ended has 0 workers', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  const workers = async () => (await server.call('GET', '/metrics')).text.match(/^sluice_workers\{.*$/gm)
  expect(await workers()).toEqual(['sluice_workers{role="test"} 1'])
  await engine.db.execute(`update worker set seen_at = seen_at - interval '2 minutes'`)
  expect(await workers()).toEqual(['sluice_workers{role="test"} 0'])
})

test('a process with several sets of credentials is one worker, in the metrics and on the page', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  await engine.db.execute(`insert into worker (id, role, host, host_scope, pid, pid_started, concurrency)
    select id || '-other', role, host, host_scope, pid, pid_started, 1 from worker`)
  expect((await server.call('GET', '/metrics')).text).toContain('sluice_workers{role="test"} 1\n')
  expect((await server.call('GET', '/system')).text.match(/<td>test<\/td>/g)).toHaveLength(1)
})

test('a statement that never ends delays later scrapes for a time only, and its late answer counts nothing twice', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss([item(products(1)[0]!)]))
  const hanging: PromiseWithResolvers<void>[] = []
  let hangs = true
  const query: typeof engine.db.query = async (text, values) => {
    if (hangs) {
      const end = Promise.withResolvers<void>()
      hanging.push(end)
      await end.promise
    }
    return engine.db.query(text, values)
  }
  const db = Object.create(engine.db, { query: { value: query } }) as typeof engine.db
  const metrics = createMetrics({ db, version: '1', collectMs: 500 })
  await engine.run('shop')
  await expect(metrics.text()).rejects.toThrow('did not answer in time')
  hangs = false
  const counted = async () => (await metrics.text()).match(/^sluice_runs_total\{pipeline="shop",status="succeeded"\} (\d+)$/m)?.[1]
  expect(await counted()).toBe('1')
  for (const { resolve } of hanging) resolve()
  expect(await counted()).toBe('1')
})

test('the page of the rejects counts each fault of a row, as show does', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const [good, ...others] = products(5)
  const faulty = { ...good!, price: 'free', availability: 'perhaps' }
  engine.write(
    'feed.xml',
    rss([
      ...others.map((row) => item(row)),
      item({ ...faulty, id: 'A' }),
      item({ ...faulty, id: 'B' }),
      item({ ...good!, id: 'C', availability: 'perhaps' }),
    ]),
  )
  const { runId } = await engine.run('shop')
  const { rejectCodes } = await loadRun(engine.db, runId)
  expect(rejectCodes).toEqual([
    { code: 'AVAILABILITY_UNKNOWN', count: 3 },
    { code: 'PRICE_INVALID', count: 2 },
  ])
  for (const path of [`/runs/${runId}`, `/runs/${runId}/rejects`]) {
    const page = (await server.call('GET', path)).text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
    for (const { code, count } of rejectCodes ?? []) expect(page, path).toContain(`${code} ${count} rows`)
    expect(page.match(/price &quot;free&quot; is not/g), path).toHaveLength(2)
    expect(page.match(/&quot;perhaps&quot;/g), path).toHaveLength(3)
  }
})
