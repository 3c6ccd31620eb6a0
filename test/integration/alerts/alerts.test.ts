/** Alerts for real conditions at real receivers: each fires once and recovers once, whatever other receivers do. */
import { createHmac } from 'node:crypto'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer as createTcpServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { hintCompleter } from '../../../src/cli/commandLine/repeatedCall.ts'
import { findConditions } from '../../../src/alerts/conditions.ts'
import type { AlertMessage } from '../../../src/alerts/message.ts'
import { sendAlert } from '../../../src/alerts/send.ts'
import { startAlerts } from '../../../src/alerts/startAlerts.ts'
import { listUnresolved } from '../../../src/db/alertCounts.ts'
import { alertActivity } from '../../../src/db/alerts.ts'
import { declareSchedules } from '../../../src/db/schedules.ts'
import { applyRetention } from '../../../src/db/retention.ts'
import { changePause } from '../../../src/jobs/index.ts'
import { loadPipelines } from '../../../src/pipeline/load.ts'
import { readProjectFile, type ProjectFile } from '../../../src/pipeline/projectFile.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { countedChecks } from '../../support/countedChecks.ts'
import { receiver } from '../../support/receiver.ts'
import { smtpServer } from '../../support/smtpServer.ts'
import { item, products, rss } from '../acceptance/products.ts'

/** Takes every connection and never answers. `hangUp` ends all connections, also later ones. */
async function silentServer() {
  const sockets = new Set<Socket>()
  let isHungUp = false
  const server = createTcpServer((socket) => {
    socket.on('error', () => undefined)
    if (isHungUp) socket.destroy()
    else sockets.add(socket)
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const hangUp = () => {
    isHungUp = true
    for (const socket of sockets) socket.destroy()
  }
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    hangUp,
    connections: () => sockets.size,
    [Symbol.dispose]: () => (hangUp(), server.close()),
  }
}

function watch(
  engine: EngineUnderTest,
  receivers: ProjectFile['receivers'],
  now = () => Date.now(),
  loadProject: () => Promise<Pick<ProjectFile, 'receivers' | 'defaultReceivers'>> = async () => ({
    receivers,
    defaultReceivers: Object.keys(receivers),
  }),
  completeHint?: (hint: string) => string,
  folder = join(engine.folder, 'pipelines'),
) {
  const counted = countedChecks(() => loadPipelines(folder))
  const alerts = startAlerts({
    ...engine.deps,
    clock: { ...engine.deps.clock, now },
    loadPipelines: counted.loadPipelines,
    serviceFor: async () => engine.deps.service,
    loadProject,
    completeHint,
    folder,
    baseUrl: 'https://ops.example.com',
    secret: 'alert-secret',
    everyMs: 40,
    unchangedEveryMs: 80,
    timeoutMs: 60_000,
    retryMs: 20,
  })
  return { checkedTwice: counted.checkedTwice, [Symbol.asyncDispose]: () => alerts.stop() }
}

const feed = (engine: EngineUnderTest, rows: number) => engine.write('feed.xml', rss(products(rows).map((row) => item(row))))

test(
  'withheld deletes fire once and recover once at every receiver; dead, slow and failing receivers delay no other',
  { tags: ['long'] },
  async () => {
    await using engine = await engineUnderTest()
    await using good = await receiver()
    await using flaky = await receiver(2)
    using slow = await silentServer()
    engine.pipeline('shop', catalogYaml('feed.xml'))
    feed(engine, 60)
    await engine.run('shop')
    await using watching = watch(engine, {
      good: { type: 'webhook', url: good.url },
      flaky: { type: 'slack', url: flaky.url },
      slow: { type: 'webhook', url: slow.url },
      dead: { type: 'webhook', url: 'http://127.0.0.1:9/hook' },
    })
    feed(engine, 40)
    const { runId, planId } = await engine.run('shop')
    await expect.poll(good.events).toEqual(['withheld firing'])
    expect(good.received[0]?.body).toMatchObject({
      pipeline: 'shop',
      runId,
      planId,
      code: 'GUARD_DELETES',
      counts: { withheld: 20 },
      link: `https://ops.example.com/plans/${planId}`,
    })
    const [, time = '', mac = ''] = /^t=(\d+),v1=(\w+)$/.exec(good.received[0]?.signature ?? '') ?? []
    expect(mac).toBe(createHmac('sha256', 'alert-secret').update(`${time}.${good.received[0]?.text}`).digest('hex'))
    await expect.poll(() => flaky.received.length).toBe(1)
    expect(flaky.received[0]?.body).toMatchObject({
      text: expect.stringMatching(/^NEEDS APPROVAL shop: /),
      sluice: { event: 'withheld', state: 'firing' },
    })
    // The same condition again, from another run: it is reported once.
    engine.write('feed.xml', rss(products(39).map((row) => item(row))))
    await engine.run('shop')
    await watching.checkedTwice()
    expect(good.events()).toEqual(['withheld firing'])
    expect(await engine.run('shop', { approveDeletes: 21 })).toMatchObject({ status: 'succeeded' })
    await expect.poll(good.events).toEqual(['withheld firing', 'withheld recovered'])
    await expect.poll(() => flaky.received.map(({ body }) => (body['sluice'] as { state: string }).state)).toEqual(['firing', 'recovered'])
    // Until here, the slow receiver has not answered.
    slow.hangUp()
    // Received first, stored as delivered a moment later.
    const open = () =>
      engine.db.query(
        `select receiver, bool_or(last_error <> '') as tried from alert_delivery where delivered_at is null group by receiver order by receiver`,
      )
    await expect.poll(open).toEqual([
      { receiver: 'dead', tried: true },
      { receiver: 'slow', tried: true },
    ])
  },
)

test('a receiver that never answers is given up after the timeout', async () => {
  using slow = await silentServer()
  const message = { subject: '', text: '', link: '', environment: '', body: {} as AlertMessage['body'] }
  const options = { secret: undefined, timeoutMs: 100, signal: new AbortController().signal, now: () => 0 }
  expect(await sendAlert({ type: 'slack', url: slow.url }, message, options)).toBe('TimeoutError')
})

test('a pipeline that was just resumed is not stale before two intervals have passed', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', `schedule: "* * * * *"\n${catalogYaml('feed.xml')}`)
  feed(engine, 3)
  await engine.run('shop')
  await engine.db.execute(`update run set created_at = created_at - interval '1 hour', finished_at = finished_at - interval '1 hour'`)
  const { pipelines } = await loadPipelines(join(engine.folder, 'pipelines'))
  const [shop] = pipelines
  if (shop === undefined) throw new Error('no pipeline')
  const environments = new Map([['shop', engine.deps.service]])
  const codes = async () =>
    (await findConditions(engine.db, pipelines, new Date(), { pauses: new Map(), environments })).map(({ code }) => code)
  expect(await codes()).toEqual(['STALE'])
  for (const change of ['pause', 'resume'] as const) await changePause(engine.deps, shop, change, { actor: 'jane' })
  expect(await codes()).toEqual([])
  await engine.db.execute(`update audit set at = at - interval '5 minutes'`)
  expect(await codes()).toEqual(['STALE'])
})

test('a pipeline that ran is not stale for a process whose clock is 25 hours ahead', async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  const isAhead = () => Date.now() + 25 * 3_600_000
  engine.pipeline('shop', `schedule: "0 * * * *"\n${catalogYaml('feed.xml')}`)
  feed(engine, 3)
  await engine.run('shop')
  engine.pipeline('empty', catalogYaml('none.xml').replace('4001', '4002'))
  await using _ = watch(engine, { good: { type: 'webhook', url: good.url } }, isAhead)
  await engine.run('empty')
  await expect.poll(good.events).toEqual(['failed firing'])
})

test('a receiver that is named twice gets one message', async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const receivers: ProjectFile['receivers'] = { good: { type: 'webhook', url: good.url } }
  await using _ = watch(engine, receivers, undefined, async () => ({ receivers, defaultReceivers: ['good', 'good'] }))
  await engine.run('shop')
  await expect.poll(good.events).toEqual(['failed firing'])
  feed(engine, 3)
  await engine.run('shop')
  await expect.poll(good.events).toEqual(['failed firing', 'failed recovered'])
  expect(await engine.db.query('select from alert_delivery')).toHaveLength(2)
})

test('the user and password of an address are sent as basic authentication', async () => {
  await using good = await receiver()
  const message = { subject: '', text: '', link: '', environment: '', body: { event: 'failed' } as AlertMessage['body'] }
  const options = { secret: 'x', timeoutMs: 5_000, signal: new AbortController().signal, now: () => 0 }
  for (const password of ['p%40ss', '50%off'])
    expect(await sendAlert({ type: 'webhook', url: good.url.replace('//', `//ops:${password}@`) }, message, options)).toBeUndefined()
  expect(good.received).toMatchObject([
    { authorization: `Basic ${btoa('ops:p@ss')}`, body: { event: 'failed' } },
    // A lone percent sign encodes nothing.
    { authorization: `Basic ${btoa('ops:50%off')}` },
  ])
})

test('the command of an alert has the options of the process that checks', async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  feed(engine, 60)
  await engine.run('shop')
  feed(engine, 40)
  await engine.run('shop')
  const complete = hintCompleter({ pipelines: 'other shop', database: undefined })
  await using _ = watch(engine, { good: { type: 'webhook', url: good.url } }, undefined, undefined, complete)
  await expect.poll(good.events).toEqual(['withheld firing'])
  expect(good.received[0]?.body['hint']).toBe("sluice run --pipelines 'other shop' shop --approve-deletes 20")
})

test('two servers send one alert for a condition', async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  engine.pipeline('shop', catalogYaml('missing.xml'))
  await using watching = watch(engine, { good: { type: 'webhook', url: good.url } })
  await using other = watch(engine, { good: { type: 'webhook', url: good.url } })
  await engine.run('shop')
  await expect.poll(good.events).toEqual(['failed firing'])
  engine.pipeline('shop', catalogYaml('feed.xml'))
  feed(engine, 2)
  await engine.run('shop')
  await expect.poll(good.events).toEqual(['failed firing', 'failed recovered'])
  await Promise.all([watching.checkedTwice(), other.checkedTwice()])
  expect(good.events()).toHaveLength(2)
})

test('every other condition fires when it begins and recovers when it ends', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  const { control } = engine.sandbox
  engine.pipeline('shop', `schedule: "0 * * * *"\nguards: { max_reject_percent: 50 }\n${catalogYaml('feed.xml')}`)
  feed(engine, 3)
  await engine.run('shop')
  await using _ = watch(engine, { good: { type: 'webhook', url: good.url } })
  const became = async (...events: string[]) => {
    await expect.poll(good.events, { timeout: 10_000 }).toEqual(events)
    good.received.length = 0
  }
  // Stopped by a guard.
  engine.write('feed.xml', rss([item({ ...products(1)[0]!, price: 'free' })]))
  expect(await engine.run('shop')).toMatchObject({ status: 'withheld' })
  await became('stopped firing')
  feed(engine, 4)
  await engine.run('shop')
  await became('stopped recovered')
  // The service refuses the credentials, then does not.
  await control.fault(
    { method: 'PUT', path: '/12/product_catalogs' },
    { kind: 'status', status: 401, body: { errors: [{ code: 89, message: 'Invalid or expired token' }] } },
    'always',
  )
  feed(engine, 5)
  expect(await engine.run('shop')).toMatchObject({ status: 'failed' })
  await became('credentials firing')
  await control.clearFaults()
  await engine.run('shop')
  await became('credentials recovered')
  // Refused records.
  await control.fault(
    { method: 'PUT', path: '/12/product_catalogs' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'not this one' }] } },
    'always',
  )
  feed(engine, 6)
  expect(await engine.run('shop')).toMatchObject({ status: 'partial' })
  await became('partial firing')
  await control.clearFaults()
  await engine.run('shop')
  await became('partial recovered')
  // No success for two intervals.
  await engine.db.execute(`update run set finished_at = finished_at - interval '5 hours'`)
  await became('stale firing')
  // A pause under an earlier name of the pipeline.
  await engine.db.execute(`insert into pipeline_pause (destination_id, pipeline, actor) select id, 'earlier', 'jane' from destination`)
  await became('stale recovered')
  await engine.db.execute('delete from pipeline_pause')
  await became('stale firing')
  await engine.run('shop')
  await became('stale recovered')
})

test('a run that withholds deletes and leaves refused operations fires both alerts, and neither is over', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  const write = (rows: number, title: string) =>
    engine.write('feed.xml', rss(products(rows).map((row, i) => item(i < 3 ? { ...row, title: `${title} ${row.title}` } : row))))
  engine.pipeline('shop', catalogYaml('feed.xml'))
  write(30, 'First')
  await engine.run('shop')
  await using watching = watch(engine, { good: { type: 'webhook', url: good.url } })
  const refusal = { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'not this one' }] } }
  await engine.sandbox.control.fault({ method: 'PUT', path: '/12/product_catalogs' }, refusal, 'always')
  write(30, 'Second')
  expect(await engine.run('shop')).toMatchObject({ status: 'partial', counts: { refused: 3 } })
  await expect.poll(good.events).toEqual(['partial firing'])
  write(18, 'Third')
  expect(await engine.run('shop')).toMatchObject({ status: 'withheld', counts: { refused: 3, withheld: 12 } })
  await expect.poll(good.events).toEqual(['partial firing', 'withheld firing'])
  await watching.checkedTwice()
  expect(good.events()).toEqual(['partial firing', 'withheld firing'])
  // The service refuses the credentials: the deletes are still withheld.
  await engine.sandbox.control.clearFaults()
  const unauthorized = { kind: 'status', status: 401, body: { errors: [{ code: 89, message: 'Invalid or expired token' }] } }
  await engine.sandbox.control.fault({ method: 'PUT', path: '/12/product_catalogs' }, unauthorized, 'always')
  write(18, 'Fourth')
  expect(await engine.run('shop')).toMatchObject({ status: 'failed', counts: { withheld: 12 } })
  await expect.poll(good.events).toContain('credentials firing')
  await watching.checkedTwice()
  expect(good.events()).not.toContain('withheld recovered')
})

test('an operation without a clear answer, and memberships about to end, fire and recover', async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  engine.pipeline(
    'people',
    'source: { url: "{folder}/crm.csv" }\nmap: { key: id, email: email }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n',
  )
  engine.write('crm.csv', 'id,email\n1,jane@example.com\n')
  await engine.run('people')
  await using _ = watch(engine, { good: { type: 'webhook', url: good.url } })
  await engine.db.execute(
    `update batch set status = 'ambiguous', maybe_applied = true, settled_at = null, created_at = created_at - interval '20 minutes'`,
  )
  await expect.poll(good.events).toEqual(['unresolved firing'])
  await engine.db.execute(
    `update batch set status = 'settled', settled_at = clock_timestamp(), expires_at = clock_timestamp() + interval '1 day'`,
  )
  await expect.poll(() => good.events().toSorted()).toEqual(['lapse firing', 'unresolved firing', 'unresolved recovered'])
  await engine.db.execute(`update batch set expires_at = clock_timestamp() + interval '300 days'`)
  await expect.poll(good.events).toContain('lapse recovered')
  expect(good.received.map(({ text }) => text).join()).not.toContain('jane')
})

test('memberships of an earlier audience of the pipeline fire no alert, because no run renews them', async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  const made = await engine.sandbox.call('POST', '/12/accounts/18ce54d4x5t/custom_audiences', { query: { name: 'visitors' } })
  const people = (audience: string) =>
    `source: { url: "{folder}/crm.csv" }\nmap: { key: id, email: email }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: ${audience} }\n`
  engine.pipeline('people', people('1nmth'))
  engine.write('crm.csv', 'id,email\n1,jane@example.com\n')
  await engine.run('people')
  await using _ = watch(engine, { good: { type: 'webhook', url: good.url } })
  await engine.db.execute(`update batch set expires_at = clock_timestamp() + interval '1 day'`)
  await expect.poll(good.events).toEqual(['lapse firing'])
  engine.pipeline('people', people(made.body.data.id))
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { confirmed: 1 } })
  await expect.poll(good.events).toEqual(['lapse firing', 'lapse recovered'])
})

test('a run that only deferred its changes fires the alert partial, with the command that sends them', async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  feed(engine, 3)
  await engine.run('shop')
  await engine.db.execute(`update run set status = 'partial', counts = counts || '{"confirmed": 0, "creates": 0, "deferred": 3}'`)
  await using _ = watch(engine, { good: { type: 'webhook', url: good.url } })
  await expect.poll(good.events).toEqual(['partial firing'])
  expect(JSON.parse(good.received[0]?.text ?? '')).toMatchObject({
    message: '3 deferred',
    hint: 'sluice run shop',
    counts: { deferred: 3 },
  })
  await engine.run('shop')
  await expect.poll(good.events).toEqual(['partial firing', 'partial recovered'])
})

test('requests count as without a clear answer while they are sent again, but not if the service cannot have them', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  feed(engine, 3)
  await engine.run('shop')
  const operations = async () => (await listUnresolved(engine.db, 15)).map(({ operations: n }) => n)
  const become = (state: string, lease = 'null') =>
    engine.db.execute(`update batch set settled_at = null, lease_until = ${lease}, created_at = now() - interval '20 minutes', ${state}`)
  await become(`status = 'ambiguous', maybe_applied = true`)
  expect(await operations()).toEqual([3])
  await become(`status = 'in_flight'`, `now() + interval '1 minute'`)
  expect(await operations()).toEqual([3])
  await become(`status = 'parked', attempts = 5`)
  expect(await operations()).toEqual([3])
  // Each of its attempts was answered with 429.
  await become(`status = 'parked', attempts = 5, maybe_applied = false`)
  expect(await operations()).toEqual([])
  // The delete of a suppressed user beside an update, as \`insertDeleteBatch\` adds it.
  await engine.db.execute(
    `insert into batch (plan_id, destination_id, seq, operation, status, body_sha256, entry_count, user_count, parent_id, maybe_applied, attempts, created_at)
     select plan_id, destination_id, 100, 'delete', 'ambiguous', body_sha256, 1, 1, id, true, 1, created_at from batch`,
  )
  expect(await operations()).toEqual([])
  await engine.db.execute(
    `insert into attempt (batch_id, run_id, epoch, worker_id, body_sha256, outcome) select id, 1, 1, 'w', body_sha256, 'ambiguous' from batch where seq = 100`,
  )
  expect(await operations()).toEqual([1])
})

test('a mail names the condition and the link', async () => {
  await using engine = await engineUnderTest()
  using server = await smtpServer()
  engine.pipeline('shop', catalogYaml('missing.xml'))
  await engine.run('shop')
  await using _ = watch(engine, { mail: { type: 'email', smtp: server.url, from: 'sluice@example.com', to: ['ops@example.com'] } })
  await expect.poll(() => server.lines.join('\n')).toContain('https://ops.example.com/runs/r_1')
  expect(server.lines.join('\n')).toMatch(/Subject: FAILED shop/)
  expect(server.lines).toContain('RCPT TO:<ops@example.com>')
})

test('a mail that the server refuses for some recipients is sent again to these alone', async () => {
  await using engine = await engineUnderTest()
  const refused = new Set(['away@mail.example.org'])
  using server = await smtpServer((address) => refused.has(address))
  engine.pipeline('shop', catalogYaml('missing.xml'))
  await engine.run('shop')
  const to = ['ops@example.com', 'Away <away@mail.example.org>', 'night@example.com']
  await using _ = watch(engine, { mail: { type: 'email', smtp: server.url, from: 'sluice@example.com', to } })
  const deliveries = () => engine.db.query('select delivered_at is not null as delivered, last_error from alert_delivery')
  const error = '1 of 3 recipients refused: no. 2 (mail.example.org, 550)'
  await expect.poll(deliveries).toEqual([{ delivered: false, last_error: error }])
  await expect.poll(() => server.lines.filter((line) => line === 'RCPT TO:<away@mail.example.org>').length).toBeGreaterThan(1)
  expect(await deliveries()).toEqual([{ delivered: false, last_error: error }])
  refused.clear()
  await expect.poll(deliveries).toEqual([{ delivered: true, last_error: null }])
  for (const address of ['ops@example.com', 'night@example.com'])
    expect(server.lines.filter((line) => line === `RCPT TO:<${address}>`)).toHaveLength(1)
})

test('a stop does not wait for a mail server that never answers', async () => {
  using silent = await silentServer()
  const stop = new AbortController()
  const message = { subject: '', text: '', link: '', environment: '', body: {} as AlertMessage['body'] }
  const options = { secret: undefined, timeoutMs: 60_000, signal: stop.signal, now: () => 0 }
  const sent = sendAlert({ type: 'email', smtp: silent.url.replace('http', 'smtp'), to: 'ops@example.com' }, message, options)
  await expect.poll(silent.connections).toBe(1)
  stop.abort()
  expect(await sent).toBe('EABORT')
})

test('an unchanged source and a refused product set fire and recover', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  const sets = '  product_sets: [{ name: Summer, where: { price: { above: 1 } } }]\n'
  const pipeline = (more: string) =>
    engine.pipeline(
      'shop',
      `stale_after_runs: 2\nsource: { url: "{folder}/feed.xml" }\ndestination:\n  kind: catalog\n  catalog_id: "4001"\n${more}`,
    )
  pipeline('')
  feed(engine, 2)
  await using _ = watch(engine, { good: { type: 'webhook', url: good.url } })
  await engine.run('shop')
  await engine.run('shop')
  // A plan does not count as a run: two runs must find the source unchanged.
  await engine.plan('shop')
  expect(good.events()).toEqual([])
  await engine.run('shop', { full: true })
  await expect.poll(good.events).toEqual(['stale firing'])
  expect(good.received[0]?.body).toMatchObject({ code: 'SOURCE_UNCHANGED', counts: { unchangedRuns: 2 } })
  await engine.run('shop')
  feed(engine, 3)
  await engine.run('shop')
  await expect.poll(good.events).toEqual(['stale firing', 'stale recovered'])

  pipeline(sets)
  await engine.sandbox.control.fault(
    { method: 'POST', path: '/12/product_catalogs' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'not this name' }] } },
  )
  expect((await engine.run('shop')).status).toBe('partial')
  await expect.poll(good.events).toEqual(['stale firing', 'stale recovered', 'partial firing'])
  expect(good.received[2]?.body).toMatchObject({ code: 'INVALID_PARAMETER', message: 'product set Summer: not this name' })
  await engine.run('shop')
  await expect
    .poll(() => good.events().toSorted())
    .toEqual(['partial firing', 'partial recovered', 'stale firing', 'stale firing', 'stale recovered'])
  // Recovered alerts are kept for 90 days, and firing alerts as long as they fire.
  await engine.db.execute(`update alert set fired_at = fired_at - interval '91 days', recovered_at = recovered_at - interval '91 days'`)
  expect(await applyRetention(engine.db)).toMatchObject({ alerts: 2 })
  expect(await engine.db.query('select event from alert')).toEqual([{ event: 'stale' }])
})

test.for([
  ['half of a character', `options: { timezone: "\${${'a'.repeat(57)}😀}" }`],
  ['U+0000', String.raw`"a\0b": 1`],
] as const)('an invalid file whose message would have %s fires', async ([, line]) => {
  await using engine = await engineUnderTest()
  await using team = await receiver()
  engine.pipeline('shop', `${line}\n${catalogYaml('feed.xml')}`)
  await using _ = watch(engine, { team: { type: 'webhook', url: team.url } })
  await expect.poll(team.events).toEqual(['failed firing'])
})

test('an invalid file of a pipeline, and an invalid sluice.yaml, fire and recover', async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  const shop = catalogYaml('feed.xml')
  const markets = 'source: { url: feed.xml }\nmarkets: { de: { destination: { kind: catalog, catalog_id: "4002" } } }\n'
  const project = `alerts: { good: { type: webhook, url: "${good.url}" }, default: [good] }\n`
  engine.pipeline('shop', shop)
  engine.pipeline('markets', markets)
  engine.write('sluice.yaml', project)
  feed(engine, 3)
  await engine.run('shop')
  const folder = join(engine.folder, 'pipelines')
  await using _ = watch(engine, {}, undefined, () => readProjectFile(folder, {}))
  const became = async (...expected: unknown[]) => {
    await expect
      .poll(() => good.received.map(({ body: { pipeline, state, code, link } }) => [pipeline, state, code, link]))
      .toEqual(expected)
    good.received.length = 0
  }
  const at = 'https://ops.example.com/'
  engine.pipeline('shop', `${shop}guard: {}\n`)
  await became(['shop', 'firing', 'PIPELINE_INVALID', at])
  engine.pipeline('shop', shop)
  await became(['shop', 'recovered', 'PIPELINE_INVALID', at])
  engine.pipeline('markets', `${markets}guard: {}\n`)
  await became(['markets', 'firing', 'PIPELINE_INVALID', at])
  engine.pipeline('markets', markets)
  await became(['markets', 'recovered', 'PIPELINE_INVALID', at])
  engine.write('sluice.yaml', `${project}alert: {}\n`)
  await became(['sluice.yaml', 'firing', 'PROJECT_INVALID', at])
  engine.write('sluice.yaml', project)
  await became(['sluice.yaml', 'recovered', 'PROJECT_INVALID', at])
})

test('a valid sluice.yaml of another folder does not end the alert about an invalid one', async () => {
  await using engine = await engineUnderTest()
  await using one = await folderOf('one')
  await using two = await folderOf('two')
  await using watching = one.watch(engine)
  await using other = two.watch(engine)
  // Both have read their receivers.
  await Promise.all([watching.checkedTwice(), other.checkedTwice()])
  one.project('alert: {}\n')
  await expect.poll(one.states).toEqual(['sluice.yaml firing'])
  await Promise.all([watching.checkedTwice(), other.checkedTwice()])
  expect([one.states(), two.states()]).toEqual([['sluice.yaml firing'], []])
  // Both are invalid, and each is reported to its own receiver.
  two.project('alert: {}\n')
  await expect.poll(two.states).toEqual(['sluice.yaml firing'])
  one.project('')
  await expect.poll(one.states).toEqual(['sluice.yaml firing', 'sluice.yaml recovered'])
  await Promise.all([watching.checkedTwice(), other.checkedTwice()])
  expect(two.states()).toEqual(['sluice.yaml firing'])
  two.project('')
  await expect.poll(two.states).toEqual(['sluice.yaml firing', 'sluice.yaml recovered'])
  expect(one.states()).toHaveLength(2)
})

test('an alert about the sluice.yaml of a folder without a server ends by another server of the environment', async () => {
  await using engine = await engineUnderTest()
  await using old = await folderOf('old')
  await using release = await folderOf('release')
  {
    await using watching = old.watch(engine)
    await watching.checkedTwice()
    old.project('alert: {}\n')
    await expect.poll(old.states).toEqual(['sluice.yaml firing'])
  }
  // The next release has another folder, and a valid file. It waits, because the earlier server may only restart.
  await using watching = release.watch(engine)
  await watching.checkedTwice()
  expect(await engine.db.query('select from alert where recovered_at is null')).toHaveLength(1)
  await engine.db.execute(
    `update alert set detail = jsonb_set(detail, '{foundBy}', (select jsonb_object_agg(k, now() - interval '4 minutes') from jsonb_object_keys(detail -> 'foundBy') k))`,
  )
  await expect.poll(release.states).toEqual(['sluice.yaml recovered'])
})

test('an invalid file stays reported while another folder has a valid one of the same name', async () => {
  await using engine = await engineUnderTest()
  await using one = await folderOf('one')
  await using two = await folderOf('two')
  for (const folder of [one, two]) folder.pipeline(catalogYaml('feed.xml'))
  const alerts = async () =>
    (
      await engine.db.query<{ state: string }>(
        `select event || case when recovered_at is null then '' else ' over' end as state from alert`,
      )
    ).map(({ state }) => state)
  await using watching = one.watch(engine)
  await using other = two.watch(engine)
  const checks = () => Promise.all([watching.checkedTwice(), other.checkedTwice()])
  one.pipeline('source: [')
  await expect.poll(alerts).toEqual(['failed'])
  await checks()
  two.pipeline('source: [')
  const finders = () => engine.db.query(`select from alert, jsonb_object_keys(detail -> 'foundBy') where recovered_at is null`)
  await expect.poll(async () => (await finders()).length).toBe(2)
  one.pipeline(catalogYaml('feed.xml'))
  await expect.poll(async () => (await finders()).length).toBe(1)
  await checks()
  expect(await alerts()).toEqual(['failed'])
  two.pipeline(catalogYaml('feed.xml'))
  await expect.poll(alerts).toEqual(['failed over'])
  await checks()
  expect(await alerts()).toEqual(['failed over'])
  // The process that found it was killed more than three minutes ago.
  await engine.db.execute(
    `update alert set recovered_at = null, detail = detail || '{"foundBy": {"elsewhere /srv": "2026-01-01T00:00:00Z"}}'`,
  )
  await expect.poll(alerts).toEqual(['failed over'])
})

/** A folder of pipelines with its own `sluice.yaml` and its own receiver, which has the same name in each folder. */
async function folderOf(name: string) {
  const folder = mkdtempSync(join(tmpdir(), `sluice-${name}-`))
  const pipelines = join(folder, 'pipelines')
  mkdirSync(pipelines)
  const ops = await receiver()
  const project = (more: string) =>
    writeFileSync(join(folder, 'sluice.yaml'), `alerts: { ops: { type: webhook, url: "${ops.url}" }, default: [ops] }\n${more}`)
  project('')
  return {
    project,
    pipeline: (yaml: string) => writeFileSync(join(pipelines, 'shop.yaml'), yaml),
    states: () => ops.received.map(({ body }) => `${String(body['pipeline'])} ${body.state}`),
    watch: (engine: EngineUnderTest) => watch(engine, {}, undefined, () => readProjectFile(pipelines, {}), undefined, pipelines),
    async [Symbol.asyncDispose]() {
      await ops[Symbol.asyncDispose]()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

test('the other alerts of a pipeline do not recover while its file is invalid', async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  const shop = catalogYaml('feed.xml')
  engine.pipeline('shop', shop)
  feed(engine, 60)
  await engine.run('shop')
  feed(engine, 40)
  await engine.run('shop')
  await using _ = watch(engine, { good: { type: 'webhook', url: good.url } })
  await expect.poll(good.events).toEqual(['withheld firing'])
  engine.pipeline('shop', `${shop}guard: {}\n`)
  await expect.poll(good.events).toEqual(['withheld firing', 'failed firing'])
  engine.pipeline('shop', shop)
  await expect.poll(good.events).toEqual(['withheld firing', 'failed firing', 'failed recovered'])
})

test('messages to a receiver that was removed are given up after a day', async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  await engine.run('shop')
  await expect
    .poll(async () => {
      await using watching = watch(engine, { gone: { type: 'webhook', url: 'http://127.0.0.1:9/hook' } })
      await watching.checkedTwice()
      return engine.db.query('select receiver, attempts > 0 as tried from alert_delivery')
    })
    .toEqual([{ receiver: 'gone', tried: true }])
  await using watching = watch(engine, { good: { type: 'webhook', url: good.url } })
  const state = () => engine.db.query('select failed_at is not null as failed, last_error from alert_delivery')
  await watching.checkedTwice()
  expect(await state()).toMatchObject([{ failed: false }])
  await engine.db.execute(`update alert_delivery set created_at = created_at - interval '25 hours'`)
  await expect.poll(state).toEqual([{ failed: true, last_error: 'no such receiver' }])
  expect((await alertActivity(engine.db, [engine.deps.service])).dueMs).toBe(Number.POSITIVE_INFINITY)
  expect(good.events()).toEqual([])
})

test('a message whose stored alert cannot be read fails with the reason, waits longer each time, and is given up after a day', async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  await engine.run('shop')
  const [alert] = await engine.db.query<{ id: string }>(
    `insert into alert (pipeline, event, detail) values ('elsewhere', 'failed', '{"code": 7}') returning id`,
  )
  await engine.db.execute(`insert into alert_delivery (alert_id, state, receiver) values ($1, 'firing', 'good')`, [alert?.id])
  await using _ = watch(engine, { good: { type: 'webhook', url: good.url } })
  const state = async () => {
    const [row] = await engine.db.query<{ attempts: number; last_error: string | null; failed: boolean }>(
      'select attempts, last_error, failed_at is not null as failed from alert_delivery where alert_id = $1',
      [alert?.id],
    )
    return row
  }
  await expect.poll(state).toMatchObject({ last_error: expect.stringContaining('alert.detail of row') as string, failed: false })
  await expect.poll(async () => (await state())?.attempts).toBeGreaterThan(1)
  await engine.db.execute(`update alert_delivery set created_at = created_at - interval '25 hours'`)
  await expect.poll(state).toMatchObject({ failed: true })
})

test('the alert of a scheduled pipeline whose file is deleted recovers, and one of another folder does not', async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  engine.pipeline('shop', `schedule: "0 0 1 1 *"\n${catalogYaml('feed.xml')}`)
  feed(engine, 60)
  await engine.run('shop')
  feed(engine, 40)
  await engine.run('shop')
  const [row] = await engine.db.query<{ id: number }>('select id from destination')
  const schedule = { destinationId: row!.id, pipeline: 'shop', cron: '0 0 1 1 *', timezone: 'UTC', overlap: 'skip' as const }
  const declaration = { credentials: engine.deps.service.credentials, folder: '/elsewhere', schedules: [schedule], brokenNames: [] }
  await declareSchedules(engine.db, declaration)
  await using watching = watch(engine, { good: { type: 'webhook', url: good.url } })
  await expect.poll(good.events).toEqual(['withheld firing'])
  rmSync(join(engine.folder, 'pipelines', 'shop.yaml'))
  await engine.db.execute('update pipeline_schedule set undeclared_at = statement_timestamp()')
  await watching.checkedTwice()
  expect(good.events()).toEqual(['withheld firing'])
  // It ran from another folder after this one stopped declaring it.
  await engine.db.execute(
    `update pipeline_schedule set folder = $1, undeclared_at = (select min(created_at) from run) - interval '1 hour'`,
    [join(engine.folder, 'pipelines')],
  )
  await watching.checkedTwice()
  expect(good.events()).toEqual(['withheld firing'])
  await engine.db.execute('update pipeline_schedule set undeclared_at = statement_timestamp()')
  await expect.poll(good.events).toEqual(['withheld firing', 'withheld recovered'])
})

test('withheld deletes stay reported after runs that did not read the source completely, and a stale apply reports no failure', async () => {
  await using engine = await engineUnderTest()
  await using good = await receiver()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  feed(engine, 60)
  await engine.run('shop')
  const { planId } = await engine.plan('shop')
  await engine.apply(planId)
  await using watching = watch(engine, { good: { type: 'webhook', url: good.url } })
  feed(engine, 30)
  expect(await engine.run('shop')).toMatchObject({ status: 'withheld' })
  await expect.poll(good.events).toEqual(['withheld firing'])
  // The plan was applied before, so nothing is sent.
  expect(await engine.apply(planId)).toMatchObject({ status: 'succeeded', warnings: [{ code: 'PLAN_APPLIED' }] })
  const early = await engine.plan('shop')
  // No row of a backfill counts as missing.
  engine.write('late.xml', rss(products(1, 100).map((row) => item(row))))
  expect(await engine.backfill('shop', 'late.xml')).toMatchObject({ status: 'succeeded' })
  expect(await engine.apply(early.planId)).toMatchObject({ status: 'failed', error: { code: 'PLAN_STALE' } })
  await watching.checkedTwice()
  expect(good.events()).toEqual(['withheld firing'])
  rmSync(join(engine.folder, 'feed.xml'))
  expect(await engine.run('shop')).toMatchObject({ status: 'failed' })
  await expect.poll(good.events).toEqual(['withheld firing', 'failed firing'])
  await watching.checkedTwice()
  expect(good.events()).toEqual(['withheld firing', 'failed firing'])
  feed(engine, 60)
  await engine.run('shop')
  await expect.poll(() => good.events().slice(2).toSorted()).toEqual(['failed recovered', 'withheld recovered'])
})
