/** `/batches/:n`: content, attempts and outcomes of a request; only counts for people. */
import { expect, test } from 'vitest'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { startServer, type ServerUnderTest } from '../../support/server.ts'
import { customersYaml } from '../acceptance/customers.ts'
import { item, products, rss } from '../acceptance/products.ts'
import { hintCompleter } from '../../../src/cli/commandLine/repeatedCall.ts'
import { everyKey } from '../../support/everyKey.ts'

const put = { method: 'PUT', path: '/12/product_catalogs' }

async function textOf(server: ServerUnderTest, path: string): Promise<string> {
  const { status, text } = await server.call('GET', path)
  expect(status, path).toBe(200)
  return text.replaceAll(/<[^>]+>/g, ' ').replaceAll(/\s+/g, ' ')
}

const batchesOf = async (engine: EngineUnderTest, where: string) =>
  (await engine.db.query<{ id: string }>(`select id from batch where ${where} order by id`)).map(({ id }) => Number(id))

test('a batch shows its plan, attempts and operations, and run, plan and record lead to it', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(30).map((row) => item(row))))
  const { runId, planId = '' } = await engine.run('shop')
  const [first = 0, second = 0] = await batchesOf(engine, 'true')
  const page = await textOf(server, `/batches/${first}`)
  for (const part of [
    `Batch ${first} Confirmed`,
    `Plan ${planId}`,
    '25 products',
    '1 attempt',
    'The service confirmed every operation',
    'HTTP 200',
    'SKU-0 create Confirmed',
  ])
    expect(page).toContain(part)
  const [row] = await engine.db.query<{ sha: string }>(`select encode(body_sha256, 'hex') as sha from batch where id = $1`, [first])
  expect(page).toContain(row?.sha)
  for (const path of [`/runs/${runId}`, `/plans/${planId}`])
    for (const id of [first, second]) expect((await server.call('GET', path)).text, path).toContain(`href="/batches/${id}"`)
  const found = await server.call('POST', '/records', {
    headers: { 'content-type': 'application/x-www-form-urlencoded' },
    body: 'pipeline=shop&key=SKU-1',
  })
  expect(found.text).toContain(`href="/batches/${first}"`)
  // The page shows the history of one person.
  expect(found.headers['cache-control']).toBe('no-store')
})

test('refused, unresolved, split and waiting batches say what happens next', async () => {
  await using engine = await engineUnderTest({ settings: { maxAttempts: 2 } })
  await using server = await startServer(engine)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(4).map((row) => item(row))))
  const plan = await engine.plan('shop')
  const [waiting = 0] = await batchesOf(engine, 'true')
  const before = await textOf(server, `/batches/${waiting}`)
  expect(before).toContain('Not sent yet')
  expect(before).toContain('This request was not sent yet. An attempt is stored before its first byte is sent.')

  await engine.sandbox.control.fault(put, { kind: 'reset', at: 'after' }, 'always')
  const applied = await engine.apply(plan.planId)
  // Its requests are on the page of the apply, which the attempts name.
  expect((await server.call('GET', `/runs/${applied.runId}`)).text).toContain(`href="/batches/${waiting}"`)
  expect((await server.call('GET', `/batches/${waiting}`)).text).toContain(`<a href="/runs/${applied.runId}">${applied.runId}</a></td>`)
  const open = await textOf(server, `/batches/${waiting}`)
  expect(open).toContain('Next run')
  expect(open).toContain('connection-lost the connection was lost before the answer was complete')
  expect(open).toContain('SKU-0 create Unresolved')
  expect(open).toContain('sluice run shop')

  await engine.sandbox.control.clearFaults()
  await engine.run('shop')
  expect(await textOf(server, `/batches/${waiting}`)).toContain('The service confirmed every operation')

  engine.write('feed.xml', rss(products(4).map((row) => item({ ...row, title: `New ${row.title}` }))))
  await engine.sandbox.control.fault(
    put,
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'title is not <b>allowed</b>' }] } },
    'always',
  )
  const { runId } = await engine.run('shop')
  const [split = 0] = await batchesOf(engine, `status = 'split'`)
  const [child = 0] = await batchesOf(engine, `parent_id = ${split}`)
  expect((await server.call('GET', `/batches/${split}`)).text).toContain(`href="/batches/${child}"`)
  expect((await server.call('GET', `/batches/${child}`)).text).toContain(`href="/batches/${split}"`)
  const [refused = 0] = await batchesOf(engine, `status = 'settled' and id in (select batch_id from entry where outcome = 'refused')`)
  const raw = await server.call('GET', `/batches/${refused}`)
  expect(raw.text).toContain('title is not &lt;b&gt;allowed&lt;/b&gt;')
  const after = await textOf(server, `/batches/${refused}`)
  expect(after).toContain('refused by the service')
  expect(after).toContain('INVALID_PARAMETER')
  expect(after).toContain(`sluice rerun ${runId} --failed`)
  expect(after).toMatch(/sluice explain shop SKU-\d/)
})

test('the page of a run whose rest was sent again links to the rerun', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(2).map((row) => item(row))))
  await engine.sandbox.control.fault(
    put,
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
    'always',
  )
  const { runId } = await engine.run('shop')
  const actions = async () => {
    const { text } = await server.call('GET', `/runs/${runId}`)
    return [text.includes('Send 2 again'), /Sent again by r_\d+/.exec(text)?.[0]]
  }
  expect(await actions()).toEqual([true, undefined])
  // A rerun that fails again leaves the button.
  const failed = await engine.rerun(runId, { failedOnly: true })
  expect([failed.status, await actions()]).toEqual(['partial', [true, undefined]])
  await engine.sandbox.control.clearFaults()
  const rerun = await engine.rerun(runId, { failedOnly: true })
  expect([rerun.status, await actions()]).toEqual(['succeeded', [false, `Sent again by ${rerun.runId}`]])
})

test('commands on the pages have the options of the process that serves them', async () => {
  await using engine = await engineUnderTest()
  // The address has a sign that HTML escapes.
  const database = 'postgres://me@db.example.com/x?sslmode=require&application_name=y'
  await using server = await startServer(engine, { deps: { completeHint: hintCompleter({ pipelines: 'b c', database }) } })
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(40).map((row) => item(row))))
  await engine.run('shop')
  engine.write('feed.xml', rss(products(10).map((row) => item(row))))
  const { runId, planId } = await engine.run('shop')
  for (const path of [`/runs/${runId}`, `/plans/${planId}`])
    expect((await server.call('GET', path)).text).toContain(
      `sluice run --pipelines &#39;b c&#39; --database &#39;${database.replace('&', '&amp;')}&#39; shop --approve-deletes 30`,
    )
  expect((await server.call('GET', '/')).text).not.toMatch(/sluice run (?!--pipelines)/)
})

test('a batch of people shows counts, never an identifier or its digest', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  engine.pipeline('crm', customersYaml)
  const rows = Array.from({ length: 8 }, (_, i) => `K-${i},anna.${i}@example.com,,,DE,`)
  engine.write('crm.csv', `customer_id,email,second_email,phone,country,loyalty_no\n${rows.join('\n')}\n`)
  await engine.run('crm')
  const [batch = 0] = await batchesOf(engine, 'true')
  const page = await textOf(server, `/batches/${batch}`)
  expect(page).toContain('8 people')
  expect(page).toContain('8 create Confirmed')
  const digests = await engine.db.query<{ key: string }>(
    `select encode(key, 'hex') as key from ${everyKey} m union select encode(key, 'hex') from record
     union select encode(substring(key from 2), 'hex') from ${everyKey} m`,
  )
  expect(digests.length).toBeGreaterThan(8)
  for (const { key } of digests) expect(page).not.toContain(key)
  expect(page).not.toMatch(/anna|K-\d/)

  // One refused operation: its place in the request, not the person.
  engine.write(
    'crm.csv',
    `customer_id,email,second_email,phone,country,loyalty_no\n${rows.slice(1).join('\n')}\nK-9,bert@example.com,,,DE,\n`,
  )
  await engine.sandbox.control.fault(
    { method: 'POST', path: '/12/accounts' },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID', message: 'users is not valid' }] } },
    'always',
  )
  await engine.run('crm', { approveDeletes: 1 })
  const [refused = 0] = await batchesOf(engine, `id in (select batch_id from entry where outcome = 'refused')`)
  const text = await textOf(server, `/batches/${refused}`)
  expect(text).toContain('INVALID users is not valid')
  expect(text).not.toMatch(/bert|anna|K-\d/)
})

test('the page of an unknown batch says that it does not exist', async () => {
  await using engine = await engineUnderTest()
  await using server = await startServer(engine)
  for (const id of ['1', 'x', '99999999999999999999', '%3Cscript%3E']) {
    const { status, text } = await server.call('GET', `/batches/${id}`)
    expect(status, id).toBe(404)
    expect(text).toContain('there is no batch')
    expect(text).not.toContain('<script>')
  }
})
