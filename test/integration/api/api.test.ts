/** The HTTP API on a real server: triggers that join a run, the documents of the command line, access. */
import { createHash } from 'node:crypto'
import { on, once } from 'node:events'
import { renameSync, rmSync } from 'node:fs'
import { get } from 'node:http'
import { connect } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { expect, test } from 'vitest'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { roleWith } from '../../support/role.ts'
import { withSandbox } from '../../support/sandbox.ts'
import { startServer, startWorkerOf } from '../../support/server.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { requestRun } from '../../../src/db/runs/request.ts'
import { createMetrics } from '../../../src/metrics/metrics.ts'
import { listRuns, loadRun } from '../../../src/sync/reports/history.ts'
import { item, products, rss } from '../acceptance/products.ts'

async function shop(rows = 3): Promise<EngineUnderTest> {
  const engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(rows).map((row) => item(row))))
  return engine
}

test('a hundred triggers during a run make one more run with one id', { tags: ['long'] }, async () => {
  await using engine = await shop()
  // A busy machine may take longer than the usual 15 s for a hundred answers.
  await using server = await startServer(engine, { deps: { answerMs: 60_000 } })
  const worker = await startWorkerOf(engine)
  // The first run waits at its plan until the hundred requests are answered.
  const lock = await engine.db.connect()
  await engine.run('shop')
  engine.write('feed.xml', rss(products(4).map((row) => item(row))))
  await lock.query('begin')
  await lock.query('select from destination for no key update')
  try {
    const first = await server.call('POST', '/api/pipelines/shop/runs')
    expect(first).toMatchObject({ status: 202, json: { coalesced: false } })
    while ((await loadRun(engine.db, first.json.runId)).counts.read === 0) await engine.deps.clock.sleep(20)
    expect((await server.call('GET', `/api/runs/${first.json.runId}`)).json).toMatchObject({ status: 'running', finishedAt: null })
    const answers = await Promise.all(
      Array.from({ length: 100 }, () => server.call('POST', '/api/pipelines/shop/runs', { body: { reason: 'again' } })),
    )
    expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([202]))
    const ids = new Set(answers.map(({ json }) => json.runId))
    expect(ids.size).toBe(1)
    expect(ids).not.toContain(first.json.runId)
    expect(answers.filter(({ json }) => json.coalesced)).toHaveLength(99)
    await lock.query('commit')
    const [id] = ids
    expect(await server.call('GET', `/api/runs/${id}?wait=30`)).toMatchObject({ status: 200, json: { runId: id, status: 'succeeded' } })
    expect(await server.call('GET', `/api/runs/${id}?wait=-30`)).toMatchObject({ status: 200 })
    expect(await listRuns(engine.db, { limit: 10 })).toHaveLength(3)
  } finally {
    lock.release(true)
    await worker.stop()
  }
})

test('a request that joins a queued run can make it a full refresh, and the higher approval counts', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  const { json } = await server.call('POST', '/api/pipelines/shop/runs', { body: { approveDeletes: 7 } })
  await server.call('POST', '/api/pipelines/shop/runs', { body: { full: true, approveDeletes: 3 } })
  const [row] = await engine.db.query(`select options from run where id = $1`, [Number(json.runId.slice(2))])
  expect(row).toMatchObject({ options: { full: true, approveDeletes: 7 } })
})

test('a request after an edit of the pipeline makes its own run, which keeps the approval', async () => {
  await using engine = await shop(30)
  await engine.run('shop')
  engine.write('feed.xml', rss(products(10).map((row) => item(row))))
  await using server = await startServer(engine)
  const request = async (body: object) => (await server.call('POST', '/api/pipelines/shop/runs', { body })).json
  const before = await request({})
  expect((await request({ reason: 'again' })).runId).toBe(before.runId)
  engine.pipeline('shop', `${catalogYaml('feed.xml')}guards: { max_delete_count: 5 }\n`)
  const after = await request({ approveDeletes: 20 })
  expect(after).toMatchObject({ coalesced: false, status: 'queued' })
  expect(after.runId).not.toBe(before.runId)
  expect(await request({ full: true })).toMatchObject({ runId: after.runId, coalesced: true })
  const worker = await startWorkerOf(engine)
  try {
    expect((await server.call('GET', `/api/runs/${after.runId}?wait=30`)).json).toMatchObject({
      status: 'succeeded',
      counts: { deletes: 20, withheld: 0 },
    })
    expect(await loadRun(engine.db, before.runId)).toMatchObject({ status: 'queued', counts: { read: 0 } })
  } finally {
    await worker.stop()
  }
})

test('a request joins a queued run without a version', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  const first = (await server.call('POST', '/api/pipelines/shop/runs')).json
  await engine.db.execute('update run set definition = null')
  expect((await server.call('POST', '/api/pipelines/shop/runs')).json).toMatchObject({ runId: first.runId, coalesced: true })
})

test('a request does not join the run of a command, which ends as skipped if the destination is locked', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  await engine.run('shop')
  const [running] = await engine.db.query<{ destination_id: number }>(
    `insert into run (pipeline, destination_id, trigger, status, started_at, lease_until)
     select 'shop', id, 'manual', 'running', now(), now() + interval '1 minute' from destination returning destination_id`,
  )
  // As `sluice run shop` requests it: the command claims the run itself, or ends it.
  const command = await requestRun(engine.db, { pipeline: 'shop', destinationId: running?.destination_id ?? 0, trigger: 'manual' })
  const { json } = await server.call('POST', '/api/pipelines/shop/runs', { body: { approveDeletes: 7 } })
  expect(json).toMatchObject({ status: 'queued', coalesced: false })
  expect(json.runId).not.toBe(`r_${command}`)
})

test('the same Idempotency-Key gets a run in each environment, also if an earlier version stored it', async () => {
  await using engine = await shop()
  await using other = await withSandbox()
  await using server = await startServer(engine)
  const service = { ...engine.deps.service, origin: new URL(other.url).origin }
  await using staging = await startServer(engine, { deps: { service, serviceFor: async () => service } })
  const trigger = async (from: typeof server) =>
    (await from.call('POST', '/api/pipelines/shop/runs', { headers: { 'idempotency-key': '2026-11-26' } })).json
  const production = await trigger(server)
  await engine.db.execute('update run_request set key = $1', [createHash('sha256').update('shop\n2026-11-26').digest('hex')])
  const first = await trigger(staging)
  expect(first).toMatchObject({ status: 'queued', coalesced: false })
  expect(first.runId).not.toBe(production.runId)
  expect(await trigger(server)).toMatchObject({ runId: production.runId, coalesced: true })
  expect(await trigger(staging)).toMatchObject({ runId: first.runId, coalesced: true })
  expect(await engine.db.query('select service from run r join destination d on d.id = r.destination_id order by r.id')).toEqual([
    { service: engine.deps.service.origin },
    { service: service.origin },
  ])
})

test('the same Idempotency-Key gets the same run, also after it ended', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  const trigger = () => server.call('POST', '/api/pipelines/shop/runs', { headers: { 'idempotency-key': 'nightly' } })
  const { runId } = (await trigger()).json
  await server.call('POST', `/api/runs/${runId}/cancel`)
  expect((await trigger()).json).toMatchObject({ runId, status: 'cancelled', coalesced: true })
  expect((await server.call('POST', '/api/pipelines/shop/runs', { headers: { 'idempotency-key': 'other' } })).json.runId).not.toBe(runId)
})

test('the same Idempotency-Key with another approval or refresh is rejected, and queues nothing', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  const request = (body: object) => server.call('POST', '/api/pipelines/shop/runs', { headers: { 'idempotency-key': 'nightly' }, body })
  const { runId } = (await request({ approveDeletes: 5 })).json
  for (const body of [{ approveDeletes: 500 }, {}, { approveDeletes: 5, full: true }])
    expect(await request(body)).toMatchObject({
      status: 409,
      json: { error: { code: 'IDEMPOTENCY_KEY_REUSED', message: expect.stringContaining(`run ${runId}`) as string } },
    })
  expect((await request({ approveDeletes: 5, reason: 'sent again' })).json).toMatchObject({ runId, coalesced: true })
  expect(await engine.db.query('select options from run')).toMatchObject([{ options: { approveDeletes: 5 } }])
})

test.for(['', ' ', 'k'.repeat(256)] as const)('the Idempotency-Key %j is rejected, and queues nothing', async (key) => {
  await using engine = await shop()
  await using server = await startServer(engine)
  expect(await server.call('POST', '/api/pipelines/shop/runs', { headers: { 'idempotency-key': key } })).toMatchObject({
    status: 400,
    json: { error: { code: 'INVALID_VALUE', where: 'Idempotency-Key' } },
  })
  expect(await listRuns(engine.db, { limit: 10 })).toEqual([])
})

test('a text that Postgres cannot store is rejected as an invalid value', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  for (const reason of ['a\0b', 'a\ud800'])
    for (const path of ['runs', 'pause'])
      expect(await server.call('POST', `/api/pipelines/shop/${path}`, { body: { reason } })).toMatchObject({
        status: 400,
        json: { error: { code: 'INVALID_VALUE', where: 'reason' } },
      })
  expect(await server.call('GET', '/api/runs?pipeline=a%00b')).toMatchObject({ status: 400, json: { error: { code: 'INVALID_VALUE' } } })
})

test('a query parameter that a call does not have, or that is sent twice, is rejected and starts nothing', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  for (const [method, path, where] of [
    ['GET', '/api/runs?pipline=shop', 'pipline'],
    ['GET', '/api/runs?limit=1&limit=2', 'limit'],
    ['GET', '/api/runs/r_1?pipeline=shop', 'pipeline'],
    ['POST', '/api/pipelines/shop/runs?full=true', 'full'],
    ['POST', '/api/pipelines/shop/pause?reason=x', 'reason'],
    ['POST', '/api/runs/r_1/cancel?wait=1&wait=2', 'wait'],
  ] as const)
    expect(await server.call(method, path)).toMatchObject({ status: 400, json: { error: { code: 'INVALID_VALUE', where } } })
  expect((await server.call('GET', '/api/runs')).json).toEqual([])
  expect(await server.call('GET', '/api/nothing?x=1')).toMatchObject({ status: 404, json: { error: { code: 'UNKNOWN_PATH' } } })
})

test('the runs of a pipeline without runs are empty, and those of an unknown pipeline are not', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  expect(await server.call('GET', '/api/runs?pipeline=shop')).toMatchObject({ status: 200, json: [] })
  for (const name of ['shpo', ''])
    expect(await server.call('GET', `/api/runs?pipeline=${name}`)).toMatchObject({
      status: 404,
      json: { error: { code: 'UNKNOWN_PIPELINE' } },
    })
})

test('runs are the documents of the command line', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  const { runId } = await engine.run('shop')
  expect((await server.call('GET', '/api/runs?pipeline=shop&limit=5')).json).toEqual(
    structuredClone(await listRuns(engine.db, { pipelines: ['shop'], limit: 5 })),
  )
  expect((await server.call('GET', `/api/runs/${runId}`)).json).toEqual({ ...(await loadRun(engine.db, runId)), actions: [] })
  expect(await server.call('GET', '/api/runs/r_999')).toMatchObject({
    status: 404,
    json: { error: { code: 'UNKNOWN_RUN', hint: 'sluice runs' } },
  })
  for (const limit of ['none', '0', '10001'])
    expect(await server.call('GET', `/api/runs?limit=${limit}`)).toMatchObject({ status: 400, json: { error: { code: 'INVALID_VALUE' } } })
  for (const [method, path] of [
    ['GET', `/api/runs/${runId}?wait=abc`],
    ['POST', '/api/pipelines/shop/runs?wait=abc'],
  ] as const)
    expect(await server.call(method, path)).toMatchObject({ status: 400, json: { error: { code: 'INVALID_VALUE', where: 'wait' } } })
  expect(await listRuns(engine.db, { limit: 5 })).toHaveLength(1)
  for (const [body, message] of [
    [{ full: 'yes' }, 'full: must be true or false'],
    [{ approveDeletes: 1.5 }, 'approveDeletes: must be a whole number'],
    [{ approveDeletes: -1 }, 'approveDeletes: must be 0 or more'],
    [{ reason: 'x'.repeat(501) }, 'reason: must have at most 500 characters'],
    [{ ful: true }, 'body: unknown key "ful"; did you mean "full"?'],
    [[], 'body: must be an object'],
  ] as const) {
    const refused = await server.call('POST', '/api/pipelines/shop/runs', { body })
    expect(refused).toMatchObject({ status: 400, json: { error: { message: `${message}. Nothing was done.` } } })
  }
  const misspelled = await server.call('POST', `/api/runs/${runId}/cancel`, { body: { reson: 'x' } })
  expect(misspelled).toMatchObject({ status: 400, json: { error: { code: 'INVALID_VALUE', hint: '{"reason":"…"}' } } })
})

test('a paused pipeline stays paused under another name, until it is resumed under that name', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  await engine.run('shop')
  await server.call('POST', '/api/pipelines/shop/pause', { body: { reason: 'feed is rebuilt' } })
  renameSync(join(engine.folder, 'pipelines', 'shop.yaml'), join(engine.folder, 'pipelines', 'store.yaml'))
  expect(await engine.run('store')).toMatchObject({
    status: 'skipped',
    error: {
      code: 'PIPELINE_PAUSED',
      message: expect.stringMatching(
        /^store is paused as shop, with the same destination, by .*: feed is rebuilt\. Nothing was sent\.$/,
      ) as string,
      hint: 'sluice resume store',
    },
  })
  expect(await server.call('POST', '/api/pipelines/store/runs')).toMatchObject({
    status: 409,
    json: { error: { code: 'PIPELINE_PAUSED' } },
  })
  expect((await server.call('GET', '/')).text).toContain('<td data-label="Next run"><span><span class="muted">paused</span></span></td>')
  const page = (await server.call('GET', '/pipelines/store')).text
  expect(page).toContain('/pipelines/store/resume')
  expect(page).not.toContain('/pipelines/store/run"')
  // No file has the first name any more, so only the pause knows it.
  const former = (await server.call('GET', '/pipelines/shop')).text
  expect(former).toContain('No valid file has this name')
  expect(former).toContain('feed is rebuilt')
  engine.pipeline('shop', 'guard: {}\n')
  expect(await server.call('GET', '/pipelines/shop')).toMatchObject({
    status: 200,
    text: expect.stringContaining('The file cannot be used: ') as string,
  })
  engine.write('sluice.yaml', 'credentials: { a: 5 }\n')
  expect(await server.call('GET', '/pipelines/shop')).toMatchObject({
    status: 200,
    text: expect.stringContaining('sluice.yaml cannot be used: ') as string,
  })
  rmSync(join(engine.folder, 'sluice.yaml'))
  rmSync(join(engine.folder, 'pipelines', 'shop.yaml'))
  expect(former).not.toContain('/pipelines/shop/run"')
  expect((await server.call('POST', '/api/pipelines/store/pause')).json).toMatchObject({ changed: false })
  expect((await server.call('POST', '/api/pipelines/store/resume')).json).toMatchObject({ changed: true })
  expect(await engine.run('store')).toMatchObject({ status: 'succeeded' })
})

test('a paused pipeline starts no run, over HTTP, by hand or by schedule, until it is resumed', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  expect((await server.call('POST', '/api/pipelines/shop/pause', { body: { reason: 'feed is rebuilt' } })).json).toEqual({
    pipeline: 'shop',
    state: 'paused',
    changed: true,
  })
  expect((await server.call('POST', '/api/pipelines/shop/pause')).json).toMatchObject({ changed: false })
  expect(await server.call('POST', '/api/pipelines/shop/runs')).toMatchObject({
    status: 409,
    json: { error: { code: 'PIPELINE_PAUSED', hint: 'sluice resume shop' } },
  })
  expect(await engine.run('shop')).toMatchObject({
    status: 'skipped',
    error: { code: 'PIPELINE_PAUSED', message: expect.stringContaining('feed is rebuilt') },
  })
  expect(await engine.plan('shop')).toMatchObject({ status: 'succeeded' })
  expect((await server.call('POST', '/api/pipelines/shop/resume')).json).toMatchObject({ state: 'active', changed: true })
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded' })
  const actions = await engine.db.query(`select actor, what, detail from audit where pipeline = 'shop' order by id`)
  expect(actions).toEqual([
    { actor: 'jane', what: 'pipeline.paused', detail: { reason: 'feed is rebuilt', destinationId: 1 } },
    { actor: 'jane', what: 'pipeline.resumed', detail: { destinationId: 1 } },
  ])
})

test('unknown paths and methods of the API answer with a JSON error', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  for (const [method, path] of [
    ['GET', '/api/nope'],
    ['POST', '/api/nope'],
    ['GET', '/api/pipelines/shop/runs'],
    ['DELETE', '/api/runs/r_1'],
    ['PUT', '/api/runs'],
  ] as const) {
    const { status, json } = await server.call(method, path)
    expect([method, path, status, json]).toMatchObject([method, path, 404, { error: { code: 'UNKNOWN_PATH', where: path } }])
  }
})

test('a request with no body, a chunked body or none of its length is answered as any other', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const raw = async (head: string, body = ''): Promise<string> => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write(
      `${head} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n${body === '' ? '' : 'Transfer-Encoding: chunked\r\n'}\r\n${body}`,
    )
    return (await text(socket)).split('\r\n')[0] ?? ''
  }
  const chunk = (size: number) => `${size.toString(16)}\r\n${'{}'.padEnd(size)}\r\n0\r\n\r\n`
  expect(await raw('POST /api/pipelines/shop/pause')).toBe('HTTP/1.1 200 OK')
  expect(await raw('POST /api/pipelines/shop/resume', chunk(2))).toBe('HTTP/1.1 200 OK')
  expect(await raw('POST /api/pipelines/shop/resume', chunk(20_000))).toBe('HTTP/1.1 413 Payload Too Large')
  expect(await raw('POST /records', chunk(70_000))).toBe('HTTP/1.1 413 Payload Too Large')
  expect(await raw('POST /nope')).toBe('HTTP/1.1 404 Not Found')
})

test('a probe without a host, as HTTP 1.0 permits, is answered; other paths reject it', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  const statusOf = async (path: string): Promise<string> => {
    const socket = connect(server.port, '127.0.0.1')
    socket.write(`GET ${path} HTTP/1.0\r\n\r\n`)
    return (await text(socket)).split('\r\n')[0] ?? ''
  }
  expect(await statusOf('/health')).toBe('HTTP/1.1 200 OK')
  expect(await statusOf('/ready')).toBe('HTTP/1.1 200 OK')
  for (const path of ['/', '/metrics', '/api/runs']) expect(await statusOf(path)).toBe('HTTP/1.1 421 Misdirected Request')
})

test('with a token configured every call of the API needs it', async () => {
  await using engine = await shop()
  await using server = await startServer(engine, { access: { token: 'correct-horse' } })
  const call = (authorization?: string) =>
    server.call('POST', '/api/pipelines/shop/runs', authorization === undefined ? {} : { headers: { authorization } })
  expect(await call()).toMatchObject({ status: 401, json: { error: { code: 'TOKEN_INVALID' } } })
  expect(await call('Bearer wrong')).toMatchObject({ status: 401 })
  expect(await call('Basic correct-horse')).toMatchObject({ status: 401 })
  expect(await listRuns(engine.db, { limit: 1 })).toEqual([])
  expect(await call('Bearer correct-horse')).toMatchObject({ status: 202 })
})

test('requests for another host and from another site are rejected', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  const host = `127.0.0.1:${server.port}`
  const trigger = (headers: Record<string, string>) => server.call('POST', '/api/pipelines/shop/runs', { headers })
  expect(await trigger({ host: 'evil.example.com' })).toMatchObject({ status: 421, json: { error: { code: 'FOREIGN_HOST' } } })
  expect(await server.call('GET', '/', { headers: { host: 'rebound.example.com' } })).toMatchObject({ status: 421 })
  expect(await trigger({ host, origin: 'https://evil.example.com' })).toMatchObject({
    status: 403,
    json: { error: { code: 'CROSS_SITE' } },
  })
  expect(await trigger({ host, origin: 'null' })).toMatchObject({ status: 403 })
  expect(await trigger({ host, 'sec-fetch-site': 'cross-site' })).toMatchObject({ status: 403 })
  expect(await server.call('POST', '/pipelines/shop/run', { headers: { host, origin: 'https://evil.example.com' } })).toMatchObject({
    status: 403,
  })
  expect(await listRuns(engine.db, { limit: 1 })).toEqual([])
  expect(await trigger({ host: `localhost:${server.port}`, origin: `http://localhost:${server.port}` })).toMatchObject({ status: 202 })
})

test('beyond loopback the dashboard requires the token, and acts only for a user whom a proxy names', async () => {
  await using engine = await shop()
  const token = 'correct-horse'
  await using server = await startServer(engine, { access: { host: '0.0.0.0', token, userHeader: 'x-user' } })
  const headers = { host: 'ops.example.com' }
  expect(await server.call('GET', '/', { headers })).toMatchObject({ status: 303, headers: { location: '/sign-in?next=%2F' } })
  const form = (value: string, next = '//evil.example.com') =>
    server.call('POST', '/sign-in', {
      headers: { ...headers, 'content-type': 'application/x-www-form-urlencoded' },
      body: `token=${value}&next=${encodeURIComponent(next)}`,
    })
  expect(await form('wrong')).toMatchObject({ status: 401, text: expect.stringContaining('The token is wrong.') })
  expect(await form('')).toMatchObject({ status: 401, text: expect.stringContaining('Type the token.') })
  for (const next of ['/\t/evil.example.com', '/\\evil.example.com', '/.//evil.example.com', 'https://evil.example.com/', 'javascript:x'])
    expect((await form(token, next)).headers.location, next).toBe('/')
  expect((await form(token, '/runs/r_1?a=b')).headers.location).toBe('/runs/r_1?a=b')
  const signedIn = await form(token)
  expect(signedIn).toMatchObject({ status: 303, headers: { location: '/' } })
  const cookie = signedIn.headers['set-cookie']?.[0]?.split(';')[0] ?? ''
  expect(signedIn.headers['set-cookie']?.[0]).toMatch(/HttpOnly; SameSite=Strict/)
  expect(await server.call('GET', '/', { headers: { ...headers, cookie } })).toMatchObject({
    status: 200,
    text: expect.stringContaining('read-only'),
  })
  for (const path of ['/pipelines/shop/run', '/pipelines/shop/full', '/plans/p_1/approve'])
    expect(await server.call('POST', path, { headers: { ...headers, cookie } }), path).toMatchObject({
      status: 409,
      text: expect.stringContaining('SLUICE_USER_HEADER'),
    })
  const [until = '', seal = ''] = cookie.split('=')[1]?.split('.') ?? []
  for (const forged of [`${until}.`, `${until}.${'0'.repeat(seal.length)}`, `${Number(until) + 1}.${seal}`, `0.${seal}`, seal])
    expect(await server.call('GET', '/', { headers: { ...headers, cookie: `sluice_session=${forged}` } }), forged).toMatchObject({
      status: 303,
    })
  expect(await server.call('POST', '/pipelines/shop/run', { headers: { ...headers, 'x-user': 'mallory' } })).toMatchObject({
    status: 303,
    headers: { location: expect.stringMatching('sign-in') },
  })
  expect(await server.call('POST', '/pipelines/shop/run', { headers: { ...headers, cookie, 'x-user': 'anna' } })).toMatchObject({
    status: 303,
    headers: { location: '/runs/r_1' },
  })
  expect(await engine.db.query(`select actor from audit where what = 'run.requested'`)).toEqual([{ actor: 'anna' }])
})

test('a server without a token has no sign-in page, because every page is open', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  expect(await server.call('GET', '/sign-in?next=%2Fsystem')).toMatchObject({ status: 303, headers: { location: '/system' } })
  const headers = { 'content-type': 'application/x-www-form-urlencoded' }
  expect(await server.call('POST', '/sign-in', { headers, body: 'token=any&next=//evil.example.com' })).toMatchObject({
    status: 303,
    headers: { location: '/' },
  })
})

test('a request that a proxy on this machine passes on is not a request from this machine', async () => {
  await using engine = await shop()
  const proxied = { 'x-forwarded-for': '203.0.113.9' }
  const run = '/pipelines/shop/run'
  {
    await using open = await startServer(engine)
    expect(await open.call('GET', '/', { headers: proxied })).toMatchObject({
      status: 401,
      text: expect.stringContaining('SLUICE_API_TOKEN'),
    })
    expect(await open.call('POST', `/api${run}s`, { headers: proxied })).toMatchObject({ status: 401 })
    expect(await open.call('GET', '/')).toMatchObject({ status: 200 })
  }
  {
    await using guarded = await startServer(engine, { access: { token: 'correct-horse' } })
    for (const headers of [proxied, { forwarded: 'for=203.0.113.9' }, { 'x-real-ip': '203.0.113.9' }, { via: '1.1 front' }]) {
      expect(await guarded.call('GET', '/', { headers })).toMatchObject({ status: 303, headers: { location: '/sign-in?next=%2F' } })
      expect(await guarded.call('POST', run, { headers })).toMatchObject({ headers: { location: expect.stringMatching('sign-in') } })
      expect(await guarded.call('GET', '/metrics', { headers })).toMatchObject({ status: 401 })
    }
    expect(await guarded.call('GET', '/')).toMatchObject({ status: 200 })
  }
  {
    // nginx without further settings sends its own host, and none of these headers.
    await using published = await startServer(engine, { access: { token: 'correct-horse', publicUrl: 'https://ops.example.com' } })
    expect(await published.call('POST', run)).toMatchObject({ headers: { location: expect.stringMatching('sign-in') } })
    expect((await published.call('GET', '/metrics')).status).toBe(401)
    expect((await published.call('GET', '/metrics', { headers: { authorization: 'Bearer correct-horse' } })).status).toBe(200)
  }
  expect(await listRuns(engine.db, { limit: 1 })).toEqual([])
  await using behind = await startServer(engine, { access: { token: 'correct-horse', userHeader: 'x-user' } })
  expect(await behind.call('POST', run, { headers: proxied })).toMatchObject({ headers: { location: expect.stringMatching('sign-in') } })
  expect(await behind.call('POST', run, { headers: { ...proxied, 'x-user': 'anna' } })).toMatchObject({
    headers: { location: '/runs/r_1' },
  })
})

test('behind a proxy with a public address, its pages may change something, with either host', async () => {
  await using engine = await shop()
  const access = { token: 'correct-horse', publicUrl: 'https://ops.example.com', userHeader: 'x-user' }
  await using server = await startServer(engine, { access })
  const run = (headers: Record<string, string>) => server.call('POST', '/pipelines/shop/run', { headers: { 'x-user': 'anna', ...headers } })
  // nginx sends its own host by default, and the public one after `proxy_set_header Host $host`.
  for (const host of ['127.0.0.1', 'ops.example.com']) {
    const ran = await run({ host, origin: 'https://ops.example.com', 'x-forwarded-for': '203.0.113.9' })
    expect(ran, host).toMatchObject({ status: 303, headers: { location: '/runs/r_1' } })
    for (const origin of ['https://evil.example.com', 'http://ops.example.com:8443', 'null'])
      expect((await run({ host, origin })).status, `${host} ${origin}`).toBe(403)
    expect((await server.call('POST', '/pipelines/shop/run', { headers: { host } })).headers.location).toMatch('sign-in')
  }
  expect(await engine.db.query(`select distinct actor from audit where what = 'run.requested'`)).toEqual([{ actor: 'anna' }])
})

test('the name of a user may be UTF-8 or Latin-1', async () => {
  await using engine = await shop()
  await using server = await startServer(engine, { access: { userHeader: 'x-user' } })
  for (const encoding of ['utf8', 'latin1'] as const) {
    const user = Buffer.from('jürgen@example.com', encoding).toString('latin1')
    expect((await server.call('GET', '/', { headers: { 'x-user': user } })).text).toContain('acting as jürgen@example.com')
  }
})

test('an approval with a long number is rejected in linear time', async () => {
  await using engine = await shop(60)
  await using server = await startServer(engine)
  await engine.run('shop')
  engine.write('feed.xml', rss(products(40).map((row) => item(row))))
  const { planId } = await engine.run('shop')
  const digest = await engine.db.query<{ digest: string }>('select digest from plan where id = $1', [planId])
  const approve = (number: string) =>
    server.call('POST', `/plans/${planId}/approve`, {
      headers: { 'content-type': 'application/x-www-form-urlencoded' },
      body: `digest=${digest[0]?.digest}&number=${number}`,
    })
  // In quadratic time each took 56 s, and all of them would be longer than the timeout.
  for (let i = 0; i < 3; i++) expect((await approve(`1${'+'.repeat(65_000)}1`)).status).toBe(422)
  expect((await approve('+20+.+')).status).toBe(303)
})

test('a form or an address that cannot be read is not a fault of the database', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  for (const path of ['/plans/%00', '/pipelines/a%00', '/batches/%00', '/runs/%00/rejects.csv'])
    expect((await server.call('GET', path)).status, path).toBe(404)
  for (const path of ['/records', '/pipelines/shop/run', '/sign-in'])
    expect(await server.call('POST', path, { headers: { 'content-type': 'multipart/form-data' }, body: 'x' }), path).toMatchObject({
      status: 409,
      text: expect.stringContaining('the form cannot be read. Nothing was done.'),
    })
  expect(await listRuns(engine.db, { limit: 1 })).toEqual([])
  const paused = await server.call('POST', '/pipelines/shop/pause', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'reason=a%00b',
  })
  expect(paused.status).toBe(303)
  expect((await server.call('GET', '/pipelines/shop')).text).toContain('a␀b')
})

test('health answers while the process lives; readiness names the checks that fail', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  expect(await server.call('GET', '/health', { headers: { host: 'probe' } })).toMatchObject({ status: 200, json: { ok: true } })
  expect(await server.call('GET', '/ready')).toMatchObject({ status: 200, json: { ok: true, failing: [] } })
  await engine.db.execute(`update worker set seen_at = clock_timestamp() - interval '5 minutes'`)
  expect(await server.call('GET', '/ready')).toMatchObject({ status: 503, json: { ok: false, failing: ['worker'] } })
  await using asleep = await startServer(engine, { deps: { schedulerIdleS: () => 500 } })
  expect((await asleep.call('GET', '/ready')).json.failing).toEqual(['scheduler', 'worker'])
  await using starting = await startServer(engine, { deps: { schedulerIdleS: () => Number.POSITIVE_INFINITY } })
  expect((await starting.call('GET', '/ready')).json.checks).toContainEqual({
    check: 'scheduler',
    ok: false,
    message: 'has not started yet',
  })
})

test('readiness opens no connection beside the pool, and compares every migration', async () => {
  await using engine = await shop()
  await using server = await startServer(engine, { deps: { db: { ...engine.db, url: 'postgres://unused@127.0.0.1:1/none' } } })
  const { json } = await server.call('GET', '/ready')
  expect(json).toMatchObject({ ok: true, failing: [] })
  expect(json.checks).toContainEqual({ check: 'migrations', ok: true, message: expect.stringMatching(/^(\d+) of \1$/) })
  // The database is used by later tests.
  const journal = await engine.db.query<{ position: number; hash: string }>('select position, hash from migration where position > 1')
  try {
    await engine.db.execute(`update migration set hash = 'of another version' where position = 2`)
    expect((await server.call('GET', '/ready')).json).toMatchObject({
      failing: ['migrations'],
      checks: expect.arrayContaining([{ check: 'migrations', ok: false, message: 'do not match this version' }]) as unknown,
    })
    await engine.db.execute('delete from migration where position > 1')
    expect((await server.call('GET', '/ready')).json).toMatchObject({
      failing: ['migrations'],
      checks: expect.arrayContaining([
        { check: 'migrations', ok: false, message: expect.stringMatching(/^1 of \d+$/) as string },
      ]) as unknown,
    })
  } finally {
    await engine.db.execute('delete from migration where position > 1')
    for (const { position, hash } of journal)
      await engine.db.execute('insert into migration (position, hash) values ($1, $2)', [position, hash])
  }
})

test('readiness names the table that a role may not read, and not the database', async () => {
  await using engine = await shop()
  await using role = await roleWith(engine.databaseUrl, '')
  await engine.db.execute(`grant usage on schema sluice to ${role.name}`)
  await engine.db.execute(`grant select on sluice.migration to ${role.name}`)
  const db = openDatabase(role.url)
  try {
    await using server = await startServer(engine, { deps: { db } })
    expect((await server.call('GET', '/ready')).json).toMatchObject({
      failing: ['worker'],
      checks: expect.arrayContaining([{ check: 'worker', ok: false, message: 'cannot be read (42501)' }]) as unknown,
    })
    await engine.db.execute(`revoke select on sluice.migration from ${role.name}`)
    expect((await server.call('GET', '/ready')).json.failing).toEqual(['migrations', 'worker'])
  } finally {
    await db.close()
  }
})

test('the rejects of several sources have the columns of their own source', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline(
    'shop',
    'source: [{ url: "{folder}/de.csv" }, { url: "{folder}/at.csv" }]\nguards: { max_reject_percent: 100 }\ndestination: { kind: catalog, catalog_id: "4001" }\n',
  )
  const rest = 'title,description,link,image_link,availability,brand,condition'
  const cells = 'Shirt,A shirt,https://shop.example.com/1,https://shop.example.com/1.jpg,in stock,Acme,new'
  engine.write('de.csv', `id,price,${rest}\nDE-1,free,${cells}\nDE-2,1.00 EUR,${cells}\n`)
  engine.write('at.csv', `id,${rest},price\nAT-1,${cells},gratis\nAT-2,${cells},2.00 EUR\n`)
  const { runId, counts } = await engine.run('shop')
  expect(counts.rejected).toBe(2)
  const page = (await server.call('GET', `/runs/${runId}/rejects`)).text
  const rows = [...page.matchAll(/<tr>(.*?)<\/tr>/gs)].map(([, row = '']) =>
    [...row.matchAll(/<t[hd][^>]*>(.*?)<\/t[hd]>/gs)].map(([, cell = '']) => cell.trim()),
  )
  expect(rows.find((row) => row.includes('Line'))?.slice(2)).toEqual(['id', 'price'])
  expect(rows.filter((row) => /^(?:DE|AT)-/.test(row[2] ?? '')).map((row) => row.slice(2))).toEqual([
    ['DE-1', 'free'],
    ['AT-1', 'gratis'],
  ])
})

test('the page of a pipeline keeps its last source after a plan, a failed run and a backfill', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  const page = async () => (await server.call('GET', '/pipelines/shop')).text
  expect(await page()).toContain('Not read yet.')
  await engine.plan('shop')
  expect(await page()).toContain(`${engine.folder}/feed.xml`)
  renameSync(join(engine.folder, 'feed.xml'), join(engine.folder, 'more.xml'))
  expect((await engine.run('shop')).status).toBe('failed')
  expect(await page()).toContain(`${engine.folder}/feed.xml`)
  await engine.backfill('shop', 'more.xml')
  expect(await page()).toContain(`${engine.folder}/feed.xml`)
})

test('the page Now says that the source was unchanged in the last run, if one run is the limit', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  engine.pipeline('shop', `stale_after_runs: 1\n${catalogYaml('feed.xml')}`)
  await engine.run('shop')
  await engine.run('shop')
  expect((await server.call('GET', '/')).text).toContain('the source was unchanged in the last run<')
})

test('a worker that is up is shown after a hundred later ones that ended', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  await engine.db.execute(
    `insert into worker (id, role, host, host_scope, pid, pid_started, concurrency, started_at, seen_at)
       select 'w' || i, 'worker', 'ended', host_scope, pid + i, pid_started, 1, clock_timestamp() + i * interval '1 second', clock_timestamp() - interval '1 hour'
       from worker cross join generate_series(1, 100) i`,
  )
  expect((await server.call('GET', '/system')).text).toMatch(/<td>test<\/td>/)
})

test('the CSV of many rejects is sent in few chunks', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  await engine.run('shop')
  await engine.db.execute(
    `insert into reject (run_id, line, code, field, message, hint)
       select 1, i, 'PRICE_INVALID', 'price', 'ä', 'hint' from generate_series(1, 5000) i`,
  )
  const [answer] = await once(get(`${server.url}/runs/r_1/rejects.csv`), 'response')
  const chunks: Buffer[] = []
  for await (const chunk of on(answer, 'data', { close: ['end'] })) chunks.push(...chunk)
  expect(chunks.length).toBeLessThan(100)
  const lines = Buffer.concat(chunks).toString().trimEnd().split(/\r?\n/)
  expect(lines).toHaveLength(5_001)
  expect(lines.at(-1)).toMatch(/,5000,PRICE_INVALID,price,ä,hint$/)
})

test('a request with the ETag of a page gets no body, compressed or not', async () => {
  await using engine = await shop()
  await engine.run('shop')
  // Ages on a page change every 15 s; the clock of this test is fixed.
  const clock = { ...engine.deps.clock, now: () => Date.parse('2026-11-22T03:00:00Z') }
  await using server = await startServer(engine, { deps: { clock } })
  for (const encoding of ['gzip', 'identity']) {
    const headers = { 'accept-encoding': encoding }
    const first = await server.call('GET', '/', { headers })
    expect([first.status, first.headers['content-encoding']]).toEqual([200, encoding === 'gzip' ? 'gzip' : undefined])
    const again = await server.call('GET', '/', { headers: { ...headers, 'if-none-match': String(first.headers.etag) } })
    expect([again.status, again.text]).toEqual([304, ''])
  }
  await engine.run('shop')
  expect((await server.call('GET', '/', { headers: { 'if-none-match': '"of an older state"' } })).status).toBe(200)
})

test('no answer may be stored by a cache, except the files with a digest in their address', async () => {
  await using engine = await shop()
  await using server = await startServer(engine, { access: { token: 'correct-horse', publicUrl: 'https://ops.example.com' } })
  await engine.run('shop')
  const cacheControl = async (path: string, headers = { authorization: 'Bearer correct-horse' }) =>
    [path, (await server.call('GET', path, { headers })).headers['cache-control']] as const
  for (const path of ['/health', '/ready', '/metrics', '/api/runs', '/api/runs/r_1', '/api/none', '/runs/r_1/rejects.csv', '/sign-in'])
    expect(await cacheControl(path)).toEqual([path, 'no-store'])
  for (const path of ['/', '/runs/r_1', '/runs/r_9']) expect(await cacheControl(path)).toEqual([path, 'no-cache, private'])
  // The answer to a caller without a session leads to the sign-in. The next caller may have one.
  expect(await cacheControl('/runs/r_1/rejects.csv', { authorization: '' })).toEqual(['/runs/r_1/rejects.csv', 'no-store'])
  expect((await cacheControl(/\/assets\/style\.css[^"]*/.exec((await server.call('GET', '/sign-in')).text)?.[0] ?? ''))[1]).toContain(
    'immutable',
  )
})

test('a page that the database cannot fill says so, and the browser loads it again', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  await engine.db.execute('alter table sluice.run rename to run_away')
  const page = await server.call('GET', '/')
  expect(page).toMatchObject({ status: 503, headers: { refresh: '5', 'content-type': expect.stringContaining('text/html') as unknown } })
  expect(page.text).toContain('The server could not answer')
  // A form is not sent twice.
  expect((await server.call('POST', '/pipelines/shop/pause', { headers: { origin: server.url } })).headers['refresh']).toBeUndefined()
  await engine.db.execute('alter table sluice.run_away rename to run')
  expect((await server.call('GET', '/')).status).toBe(200)
})

test('a database that hangs without closing its connections gets 503 from every page that needs it, and /health stays up', async () => {
  await using engine = await shop()
  const query = () => new Promise<never>(() => undefined)
  const db = { ...engine.db, query, execute: query, connect: query, transaction: query }
  const metrics = createMetrics({ db, version: '0.0.0-test' })
  await using server = await startServer(engine, { deps: { db, metrics, answerMs: 50 } })
  expect(await server.call('GET', '/health')).toMatchObject({ status: 200 })
  expect(await server.call('GET', '/ready')).toMatchObject({ status: 503, json: { failing: ['database'] } })
  for (const path of ['/', '/runs/r_1', '/metrics'])
    expect(await server.call('GET', path)).toMatchObject({ status: 503, headers: { 'x-frame-options': 'DENY' } })
  expect(await server.call('GET', '/api/runs')).toMatchObject({ status: 503, json: { error: { code: 'INTERNAL' } } })
  expect((await server.call('POST', '/api/pipelines/shop/runs')).json.error.message).toContain('may still be carried out')
})

test('the page of an unknown path names the user', async () => {
  await using engine = await shop()
  await using server = await startServer(engine)
  const page = await server.call('GET', '/none')
  expect(page.status).toBe(404)
  expect(page.text).toContain('acting as jane')
  expect((await server.call('GET', '/assets/none')).status).toBe(404)
})
