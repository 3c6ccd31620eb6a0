/** Cases where the end of one command changes the next one. */
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { requestRun } from '../../../src/db/runs/request.ts'
import { recoverRuns } from '../../../src/db/runs/claim.ts'
import { findQueuedRuns } from '../../../src/db/runs/queued.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { audienceDigest, catalogDigest, email } from '../../support/digests.ts'
import { catalogYaml, engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { item, products, rss, expectedProduct } from '../acceptance/products.ts'
import type { RunReport } from '../../../src/model/report.ts'
import { loadRejects, loadRun } from '../../../src/sync/reports/history.ts'
import { loadRejectGroups, loadRunDetails } from '../../../src/sync/reports/runDetails.ts'
import { loadReview } from '../../../src/sync/reports/review.ts'
import { csvOf, goodProduct as shownProduct } from '../../support/through.ts'
import { applyRetention } from '../../../src/db/retention.ts'
import { storeAllKeys } from '../../../src/db/remote/implied.ts'
import { everyKey } from '../../support/everyKey.ts'

const peopleYaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2, e3] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`
const csv = (...rows: string[]) => `id,e1,e2,e3\n${rows.map((row) => `${row}\n`).join('')}`
const many = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => `k${from + i},m${from + i}@example.com,,`)
const mails = (rows: readonly string[]) =>
  audienceDigest(
    rows
      .flatMap((row) =>
        row
          .split(',')
          .slice(1)
          .filter((cell) => cell !== ''),
      )
      .map(email),
  )

async function setUp(engine: EngineUnderTest, rows: readonly string[]): Promise<void> {
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv(...rows))
  expect((await engine.run('people')).status).toBe('succeeded')
}

test('a withheld delete stays withheld after rerun --failed', async () => {
  await using engine = await engineUnderTest()
  await setUp(engine, many(0, 60))
  engine.write('people.csv', csv(...many(20, 60)))
  const held = await engine.run('people')
  expect(held).toMatchObject({ status: 'withheld', counts: { withheld: 20 } })
  expect(await engine.rerun(held.runId, { failedOnly: true })).toMatchObject({ counts: { deletes: 0, requests: 0 } })
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', counts: { withheld: 20 } })
  await engine.rerun(held.runId, { failedOnly: true })
  expect(await engine.run('people', { approveDeletes: 20 })).toMatchObject({ status: 'succeeded', counts: { deletes: 20 } })
  expect((await engine.sandbox.control.audience()).digest).toBe(mails(many(20, 60)))
})

test('apply continues a plan whose destination was paused', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv(...many(0, 5)))
  const { planId } = await engine.plan('people')
  await control.fault(
    { path: '/12/accounts' },
    { kind: 'status', status: 403, body: { errors: [{ code: 'NO_ACCESS', message: 'no access' }] } },
  )
  const paused = await engine.apply(planId)
  expect(paused).toMatchObject({ status: 'failed', error: { code: 'DESTINATION_PAUSED' }, counts: { requests: 1 } })
  await control.clearFaults()
  const resumed = await engine.apply(planId)
  // Each apply counts only its own requests.
  expect(resumed).toMatchObject({ status: 'succeeded', counts: { confirmed: 5, pending: 0, requests: 1 } })
  for (const { runId } of [paused, resumed]) {
    expect((await loadRun(engine.db, runId)).counts.requests).toBe(1)
    expect((await loadRunDetails(engine.db, runId)).requests.all).toBe(1)
  }
})

test('a plan run has no requests, also after an apply sent its plan', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv(...many(0, 5)))
  const plan = await engine.plan('people')
  const applied = await engine.apply(plan.planId)
  const requests = async ({ runId }: { readonly runId: string }) => [
    (await loadRun(engine.db, runId)).counts.requests,
    (await loadRunDetails(engine.db, runId)).requests.all,
  ]
  expect(await requests(plan)).toEqual([0, 0])
  expect(await requests(applied)).toEqual([1, 1])
})

test('the rejects of a run agree with its counts: an apply has those of its plan, a rerun of failed records has none', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv(...many(0, 5), 'k9,no address,,'))
  const plan = await engine.plan('people')
  const fault = { kind: 'status', status: 403, body: { errors: [{ code: 'NO_ACCESS', message: 'no access' }] } }
  await control.fault({ path: '/12/accounts' }, fault)
  const applied = await engine.apply(plan.planId)
  expect(applied).toMatchObject({ status: 'failed', rejectCodes: [{ code: 'EMAIL_INVALID', count: 1 }] })
  await control.clearFaults()
  const rerun = await engine.rerun(applied.runId, { failedOnly: true })
  const rejects = async ({ runId, counts, rejectCodes }: RunReport) => [
    counts.rejected,
    rejectCodes?.length,
    (await loadRejectGroups(engine.db, runId, 1)).length,
    (await Array.fromAsync(loadRejects(engine.db, runId))).length,
  ]
  expect([await rejects(plan), await rejects(applied)]).toEqual([
    [1, 1, 1, 1],
    [1, 1, 1, 1],
  ])
  expect(await rejects(rerun)).toEqual([0, 0, 0, 0])
})

test('a run that only resolves requests of another run counts the requests that it sent', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', csv(...many(0, 5)))
  await control.fault(
    { path: '/12/accounts' },
    { kind: 'status', status: 403, body: { errors: [{ code: 'NO_ACCESS', message: 'no access' }] } },
  )
  expect(await engine.run('people')).toMatchObject({ status: 'failed', counts: { pending: 5 } })
  await control.clearFaults()
  const after = await engine.mark()
  const settled = await engine.run('people')
  const sent = (await engine.writes(after)).length
  expect(sent).toBeGreaterThan(0)
  expect(settled).toMatchObject({ status: 'succeeded', counts: { unchanged: 5, requests: sent } })
  expect(imbalance(settled.counts)).toEqual([])
})

test('after a full refresh with a new identifier, the next run sends nothing', async () => {
  await using engine = await engineUnderTest()
  await setUp(engine, ['k1,m1@example.com,,', 'k2,m2@example.com,,'])
  engine.write('people.csv', csv('k1,m1@example.com,,', 'k2,m2@example.com,n2@example.com,'))
  expect((await engine.run('people')).status).toBe('succeeded')
  engine.write('people.csv', csv('k1,m1@example.com,n1@example.com,', 'k2,m2@example.com,n2@example.com,o2@example.com'))
  expect((await engine.run('people', { full: true })).status).toBe('succeeded')
  expect((await engine.run('people')).counts.requests).toBe(0)
})

/** Makes all stored data older, here and at the service. */
async function monthLater(engine: EngineUnderTest): Promise<void> {
  const columns = await engine.db.query<{ table_name: string; column_name: string }>(
    `select table_name, column_name from information_schema.columns where table_schema = 'sluice' and data_type = 'timestamp with time zone'`,
  )
  const [before] = await engine.db.query<{ s: number }>(
    `select extract(epoch from clock_timestamp() - (clock_timestamp() - interval '31 days'))::float8 as s`,
  )
  // The daily retention has one tick per day. If the rows moved in the order of the heap, a tick could equal that of the month before.
  await engine.db.execute('delete from sluice.tick')
  for (const { table_name, column_name } of columns)
    await engine.db.execute(`update sluice.${table_name} set ${column_name} = ${column_name} - interval '31 days'`)
  await engine.sandbox.control.advance(before?.s ?? 0)
}

test.for([1, 3])(
  'a plan that is not applied causes no request for a person who gained an identifier in it (%i users per operation)',
  async (users) => {
    await using engine = await engineUnderTest()
    const yaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: [mail, second] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth, users_per_operation: ${users} }
`
    engine.pipeline('people', yaml)
    const write = (second: string) => engine.write('people.csv', `id,mail,second\nk1,ann@example.com,${second}\nk2,bob@example.com,\n`)
    write('')
    await engine.run('people')
    write('anna@example.com')
    expect(await engine.plan('people')).toMatchObject({ counts: { updates: 1 } })
    write('')
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { updates: 0, requests: 0 } })
    // The same plan, applied, leaves nothing to send.
    write('anna@example.com')
    const { planId } = await engine.plan('people')
    expect(await engine.apply(planId)).toMatchObject({ status: 'succeeded', counts: { updates: 1 } })
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { requests: 0 } })
    expect((await engine.sandbox.control.audience()).digest).toBe(
      audienceDigest(['ann@example.com', 'anna@example.com', 'bob@example.com'].map((one) => email(one))),
    )
  },
)

test('with monthly runs memberships are renewed in time: all are due 31 days before their end', async () => {
  await using engine = await engineUnderTest()
  await setUp(engine, many(0, 300))
  const endIn = async (interval: string) => {
    for (const table of ['remote', 'batch'])
      await engine.db.execute(`update sluice.${table} set expires_at = clock_timestamp() + interval '${interval}'`)
  }
  await endIn('46 days')
  expect((await engine.run('people')).counts).toMatchObject({ renewals: 0 })
  await endIn('31 days 1 hour')
  expect((await engine.run('people')).counts).toMatchObject({ renewals: 300 })
})

test('with a run every 31 days no membership expires', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest()
  const rows = many(0, 300)
  await setUp(engine, rows)
  for (let month = 1; month <= 15; month++) {
    await monthLater(engine)
    const [lapsed] = await engine.db.query<{ n: number }>(
      `select count(*)::int as n from ${everyKey} m where expires_at <= clock_timestamp()`,
    )
    expect([month, lapsed?.n]).toEqual([month, 0])
    expect((await engine.run('people')).status).toBe('succeeded')
  }
})

test('products kept by `missing: keep` are deleted when the policy becomes delete', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const rows = products(12)
  const feed = (some: typeof rows) => engine.write('feed.xml', rss(some.map((row) => item(row))))
  engine.pipeline('shop', catalogYaml('feed.xml', ', missing: keep'))
  feed(rows)
  await engine.run('shop')
  feed(rows.slice(3))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { deletes: 0 } })
  engine.pipeline('shop', catalogYaml('feed.xml'))
  expect(await engine.run('shop')).toMatchObject({ status: 'succeeded', counts: { deletes: 3 } })
  expect((await control.catalog()).digest).toBe(catalogDigest(rows.slice(3).map(expectedProduct)))
  expect((await engine.run('shop')).counts.requests).toBe(0)
})

test('after an incomplete read, products kept by `missing: keep` do not count as withheld deletes', async () => {
  await using engine = await engineUnderTest()
  const rows = ['A1', 'A2', 'A3'].map(
    (id) => `${id},Shirt ${id},All about it,in stock,new,9.00 EUR,https://shop.example.com/${id},https://shop.example.com/${id}.jpg,Acme\n`,
  )
  const feed = (lines: readonly string[], end: string) =>
    engine.write('feed.csv', `id,title,description,availability,condition,price,link,image_link,brand\n${lines.join('')}${end}`)
  const pipeline = (policy: string) =>
    engine.pipeline(
      'shop',
      catalogYaml('feed.csv', `, missing: ${policy}`).replace('feed.csv" }', 'feed.csv", complete: { trailer: "#rows={n}" } }'),
    )
  pipeline('keep')
  feed(rows, '#rows=3\n')
  expect((await engine.run('shop')).status).toBe('succeeded')
  feed(rows.slice(1), '')
  const kept = await engine.run('shop')
  expect(kept).toMatchObject({ status: 'withheld', counts: { withheld: 0 }, guards: [{ code: 'GUARD_INCOMPLETE', withheld: 0 }] })
  for (const policy of ['delete', 'out-of-stock']) {
    pipeline(policy)
    expect(await engine.run('shop')).toMatchObject({ counts: { withheld: 1 }, guards: [{ code: 'GUARD_INCOMPLETE', withheld: 1 }] })
  }
})

test('the counts add up when a person is suppressed between a lost answer and the second attempt', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('people', peopleYaml)
  engine.pipeline(
    'optouts',
    'source: { url: "{folder}/optouts.csv" }\nmap: { email: email }\ndestination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\n',
  )
  engine.write('optouts.csv', 'email\nother@example.org\n')
  await engine.run('optouts')
  engine.write('people.csv', csv(...many(0, 5)))
  engine.write('optouts.csv', 'email\nm3@example.com\nother@example.org\n')
  await control.fault({ path: '/12/accounts' }, { kind: 'commit_then_reset' })
  let listed = false
  const exchange: typeof engine.deps.transport.exchange = async (request) => {
    const answer = await engine.deps.transport.exchange(request)
    if (!listed) {
      listed = true
      await engine.run('optouts')
    }
    return answer
  }
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'people')
  const report = await runPipeline({ ...engine.deps, transport: { ...engine.deps.transport, exchange } }, pipeline, { trigger: 'manual' })
  expect(report).toMatchObject({ counts: { creates: 5, confirmed: 4, pending: 1 } })
  expect(imbalance(report.counts)).toEqual([])
  await engine.run('people')
  expect((await control.audience()).digest).toBe(mails(many(0, 5).filter((row) => !row.startsWith('k3,'))))
  expect(await control.violations()).toEqual([])
})

test('a queued run of a command whose process died is never executed by a worker, and blocks nothing', async () => {
  await using engine = await engineUnderTest()
  await setUp(engine, many(0, 2))
  const { service } = engine.deps
  const [destination] = await engine.db.query<{ id: number }>('select id from sluice.destination')
  const common = { pipeline: 'people', destinationId: destination?.id ?? 0 }
  for (const trigger of ['plan', 'apply', 'manual', 'backfill', 'rerun'] as const) await requestRun(engine.db, { ...common, trigger })
  await requestRun(engine.db, { ...common, trigger: 'manual', version: 'v1', options: { anyWorker: true } })
  await requestRun(engine.db, { ...common, trigger: 'schedule' })
  const queued = () => engine.db.query(`select trigger from sluice.run where status = 'queued' order by id`)
  await recoverRuns(engine.db, [], service)
  expect(await queued()).toHaveLength(7)
  await engine.db.execute(`update sluice.run set created_at = created_at - interval '31 seconds' where status = 'queued'`)
  expect(await findQueuedRuns(engine.db, service)).toHaveLength(2)
  // A live command may wait for the plan of a running run.
  await engine.db.execute(`update sluice.run set status = 'running', finished_at = null, lease_until = 'infinity' where id = 1`)
  await recoverRuns(engine.db, [], service)
  expect(await queued()).toHaveLength(7)
  await engine.db.execute(`update sluice.run set status = 'succeeded', finished_at = now() where id = 1`)
  await recoverRuns(engine.db, [], service)
  expect(await queued()).toEqual([{ trigger: 'manual' }, { trigger: 'schedule' }])
})

test('a run that is stopped while it settles or reads reports that it was stopped, not an internal error', async () => {
  await using engine = await engineUnderTest()
  await setUp(engine, many(0, 3))
  const stop = new AbortController()
  stop.abort()
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'people')
  engine.write('people.csv', csv(...many(0, 4)))
  expect(await runPipeline({ ...engine.deps, signal: stop.signal }, pipeline, { trigger: 'manual' })).toMatchObject({
    status: 'cancelled',
    error: { code: 'RUN_INTERRUPTED' },
  })
})

test('a person removed from the list by one of several identifiers is added to the audience again with an unchanged file', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline(
    'optouts',
    'source: { url: "{folder}/optouts.csv" }\nmap: { email: [e1, e2], remove: { column: status, values: ["back"] } }\ndestination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\n',
  )
  engine.write('optouts.csv', 'e1,e2,status\nm1@example.com,n1@example.com,out\nother@example.org,,out\n')
  await engine.run('optouts')
  await setUp(engine, many(0, 3))
  expect((await control.audience()).digest).toBe(mails(many(0, 3).filter((row) => !row.startsWith('k1,'))))
  engine.write('optouts.csv', 'e1,e2,status\nn1@example.com,,back\nother@example.org,,out\n')
  expect(await engine.run('optouts')).toMatchObject({ status: 'succeeded', counts: { deletes: 1 } })
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { creates: 1, suppressed: 0 } })
  expect((await control.audience()).digest).toBe(mails(many(0, 3)))
})

test('products kept by `missing: keep` go out of stock when the policy becomes out-of-stock', async () => {
  await using engine = await engineUnderTest()
  const rows = products(12)
  const feed = (some: typeof rows) => engine.write('feed.xml', rss(some.map((row) => item(row))))
  engine.pipeline('shop', catalogYaml('feed.xml', ', missing: keep'))
  feed(rows)
  await engine.run('shop')
  feed(rows.slice(3))
  await engine.run('shop')
  engine.pipeline('shop', catalogYaml('feed.xml', ', missing: out-of-stock'))
  const report = await engine.run('shop')
  expect(report).toMatchObject({ status: 'succeeded', counts: { deletes: 0 } })
  expect(imbalance(report.counts)).toEqual([])
  const gone = rows.slice(0, 3).map((row) => ({ ...expectedProduct(row), availability: 'out of stock' }))
  expect((await engine.sandbox.control.catalog()).digest).toBe(catalogDigest([...gone, ...rows.slice(3).map(expectedProduct)]))
  expect((await engine.run('shop')).counts.requests).toBe(0)
})

test('a change after the first 200 characters of a text is shown', async () => {
  await using engine = await engineUnderTest()
  const feed = (end: string) => engine.write('feed.csv', csvOf([{ ...shownProduct, description: `${'A long text. '.repeat(30)}${end}` }]))
  engine.pipeline('shop', catalogYaml('feed.csv'))
  feed('Red.')
  await engine.run('shop')
  feed('Blue.')
  const { planId } = await engine.plan('shop')
  expect((await loadReview(engine.db, planId)).samples).toMatchObject([
    {
      change: 'update',
      fields: [{ field: 'description', before: expect.stringMatching(/^….*text\. Red\.$/), after: expect.stringMatching(/Blue\.$/) }],
    },
  ])
})

test.for([
  ['first', (word: string) => `${word.slice(0, 1)}${'😀'.repeat(200)}`],
  ['last', (word: string) => `${'😀'.repeat(200)} ${word}`],
] as const)('texts that differ in the %s word are shown without half of an emoji', async ([, text]) => {
  await using engine = await engineUnderTest()
  const feed = (word: string) => engine.write('feed.csv', csvOf([{ ...shownProduct, description: text(word) }]))
  engine.pipeline('shop', catalogYaml('feed.csv'))
  feed('Red')
  await engine.run('shop')
  feed('Blue')
  const { planId } = await engine.plan('shop')
  const { samples } = await loadReview(engine.db, planId)
  const texts = samples.flatMap(({ fields }) => fields.flatMap(({ before, after }) => [before ?? '', after ?? '']))
  expect(texts.map((shown) => shown.isWellFormed())).toEqual([true, true])
})

test('content that is sent again unchanged has not expired', async () => {
  await using engine = await engineUnderTest()
  engine.write('feed.csv', csvOf([shownProduct]))
  engine.pipeline('shop', catalogYaml('feed.csv'))
  await engine.run('shop')
  const { planId } = await engine.plan('shop', { full: true })
  const samples = async () => (await loadReview(engine.db, planId)).samples
  expect(await samples()).toMatchObject([{ change: 'update', fields: [], hasExpired: false }])
  await engine.db.execute('update batch set body = null where plan_id = $1', [planId])
  expect(await samples()).toMatchObject([{ change: 'update', fields: [], hasExpired: true }])
})

test('a plan that conflicts with a late answer starts again instead of failing', async () => {
  await using engine = await engineUnderTest()
  await setUp(engine, many(0, 3))
  // Rows to lock: the keys of a first load have none.
  await engine.db.transaction((tx) => storeAllKeys(tx, 1))
  engine.write('people.csv', csv(...many(1, 4)))
  const other = await engine.db.connect()
  try {
    // Locks in the order of the code that records an answer: keys first, the destination last.
    await other.query('begin')
    await other.query('update sluice.remote set late_until = null')
    const report = engine.run('people')
    await waitFor(
      async () =>
        (await engine.db.query(`select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`)).length > 0,
    )
    // On a busy machine Postgres may check too late and end this transaction instead. The run must succeed then too.
    await other.query('update sluice.destination set state_version = state_version + 1').catch((error: unknown) => {
      expect(error).toMatchObject({ code: '40P01' })
    })
    await other.query('commit')
    expect(await report).toMatchObject({ status: 'succeeded', counts: { creates: 1, deletes: 1 } })
  } finally {
    other.release(true)
  }
})

test.for(['people', 'shop'])('%s: a plan that expires without an apply clears no deletes and refreshes nothing', async (name) => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.pipeline('shop', catalogYaml('feed.xml'))
  const write = (from: number) => {
    engine.write('people.csv', csv(...many(from, 100)))
    engine.write('feed.xml', rss(products(100 - from, from).map((row) => item(row))))
  }
  write(0)
  await engine.run(name)
  write(9)
  expect(await engine.plan(name, { full: true })).toMatchObject({ counts: { updates: 91, deletes: 9 } })
  await engine.db.execute(`update plan set created_at = created_at - interval '8 days', applied_at = applied_at - interval '8 days'`)
  await applyRetention(engine.db)
  expect(await engine.db.query(`select from plan where status = 'superseded'`)).toHaveLength(1)
  write(18)
  expect(await engine.run(name)).toMatchObject({ status: 'withheld', counts: { updates: 0, deletes: 0, withheld: 18, requests: 0 } })
})

test('a rerun of a backfill deletes nothing, and later reads are not compared with it', async () => {
  await using engine = await engineUnderTest()
  await setUp(engine, many(0, 8))
  engine.write('old.csv', csv(...many(4, 9)))
  const { runId } = await engine.backfill('people', 'old.csv')
  expect(await engine.rerun(runId)).toMatchObject({ status: 'succeeded', counts: { read: 5, deletes: 0, withheld: 0 } })
  expect((await engine.sandbox.control.audience()).digest).toBe(mails(many(0, 9)))
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { read: 8, valid: 8, deletes: 1 } })
  expect((await engine.sandbox.control.audience()).digest).toBe(mails(many(0, 8)))
})

test('a rerun of a `rerun --failed` repeats that one: it reads nothing, and deletes no row that only a backfill has', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.xml'))
  engine.write('feed.xml', rss(products(5).map((row) => item(row))))
  engine.write(
    'late.xml',
    rss(
      products(10)
        .slice(5)
        .map((row) => item(row)),
    ),
  )
  await engine.run('shop')
  const backfilled = await engine.backfill('shop', 'late.xml')
  const failedOnly = await engine.rerun(backfilled.runId, { failedOnly: true })
  expect(await engine.rerun(failedOnly.runId)).toMatchObject({ status: 'succeeded', counts: { read: 0, deletes: 0, withheld: 0 } })
  expect(await engine.db.query('select rerun_of from run order by id desc limit 1')).toEqual([{ rerun_of: backfilled.runId.slice(2) }])
})

async function waitFor(condition: () => Promise<boolean>): Promise<void> {
  while (!(await condition())) await new Promise(setImmediate)
}
