/** Operations with several users: one answer confirms one content for all of them. */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { entriesOf } from '../../../src/db/entries/read.ts'
import { listReceipts } from '../../../src/db/erasures.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { forget } from '../../../src/sync/erasure/forget.ts'
import { erasedKeysOf } from '../../../src/sync/erasure/person.ts'
import { loadBatch } from '../../../src/sync/reports/batchDetails.ts'
import { explainKey } from '../../../src/sync/reports/explain.ts'
import { planCounts } from '../../../src/sync/reports/planCounts.ts'
import { loadReview } from '../../../src/sync/reports/review.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
import { engineUnderTest } from '../../support/agreement.ts'
import { audienceDigest, email } from '../../support/digests.ts'
import type { EngineUnderTest } from '../../support/engine.ts'
import { everyKey } from '../../support/everyKey.ts'
import { interruptedRun } from '../../support/interrupted.ts'

const yaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth, users_per_operation: 10 }
`
const names = ['ann', 'ben', 'cat', 'dan']

/** Number of operations and users that a run sent, by change. */
const sentBy = (engine: EngineUnderTest, runId: string) =>
  engine.db.query(
    `select e.change, count(*)::int as operations, sum(e.users)::int as users
     from sluice.run r join sluice.batch b on b.plan_id = r.plan_id cross join ${entriesOf('b.id')} e where r.id = $1 group by 1`,
    [runId.slice(2)],
  )

const outOfSync = (engine: EngineUnderTest) =>
  engine.db.query(`select from ${everyKey} m where m.ref_count > 0 and m.desired_hash is distinct from m.synced_hash`)

test('users with different desired contents are in different operations, so that each is confirmed with its own', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', yaml)
  const run = async (write: (name: string) => string, options = {}) => {
    engine.write('people.csv', `id,e1,e2\n${names.map((name) => `${write(name)}\n`).join('')}`)
    const report = await engine.run('people', options)
    expect(report).toMatchObject({ status: 'succeeded', counts: { confirmed: 4 } })
    expect(await outOfSync(engine)).toEqual([])
    expect((await engine.run('people')).counts).toMatchObject({ requests: 0 })
    return sentBy(engine, report.runId)
  }
  // New users have equal contents.
  expect(await run((name) => `${name},${name}@example.com,`)).toEqual([{ change: 'create', operations: 1, users: 4 }])
  // Each changed user gets a content of its own.
  const two = (name: string) => `${name},${name}@example.com,${name}@example.org`
  expect(await run(two)).toEqual([{ change: 'update', operations: 4, users: 4 }])
  expect(await run(two, { full: true })).toEqual([{ change: 'update', operations: 4, users: 4 }])
  expect((await engine.sandbox.control.audience()).digest).toBe(
    audienceDigest(names.flatMap((name) => [email(`${name}@example.com`), email(`${name}@example.org`)])),
  )
})

const refusal = { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } }
const people = (some: readonly string[]) => `id,e1,e2\n${some.map((name) => `${name},${name}@example.com,\n`).join('')}`
const refusing = (name: string) => ({ contains_key: email(`${name}@example.com`)[1] })
const mails = (some: readonly string[]) => audienceDigest(some.map((name) => email(`${name}@example.com`)))

describe('one refused user of an operation', () => {
  const eight = ['ann', 'ben', 'cat', 'dan', 'eve', 'fay', 'gus', 'hal']

  test('keeps no other out, in a first load and after it', async () => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    engine.pipeline('people', yaml)
    engine.write('people.csv', people(eight))
    await control.fault(refusing('ben'), refusal, 'always')
    expect(await engine.run('people')).toMatchObject({ status: 'partial', counts: { creates: 8, refused: 1, confirmed: 7, pending: 0 } })
    const others = eight.filter((name) => name !== 'ben')
    expect((await control.audience()).digest).toBe(mails(others))
    expect(await engine.run('people')).toMatchObject({ status: 'partial', counts: { refused: 1, confirmed: 0, requests: 1 } })
    // The next runs send new content of the others in one operation, and ben alone.
    const two = eight.map((name) => `${name},${name}@example.com,${name}@example.org\n`)
    engine.write('people.csv', `id,e1,e2\n${two.join('')}`)
    expect(await engine.run('people')).toMatchObject({ status: 'partial', counts: { refused: 1, confirmed: 7 } })
    await control.clearFaults()
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { confirmed: 1 } })
    expect((await control.audience()).members).toBe(8)
    expect(await control.violations()).toEqual([])
  })

  test('has a record of its own: each part has the key of the record of its first user', async () => {
    await using engine = await engineUnderTest()
    engine.pipeline('people', yaml)
    engine.write('people.csv', people(eight))
    await engine.sandbox.control.fault(refusing('fay'), refusal, 'always')
    await engine.run('people')
    const wrong = await engine.db.query(
      `select from entry e where not exists (
         select from record r where r.key = e.record_key and e.keys[1] = any(array(
           select substring(r.joined_identifiers from at for 33) from generate_series(1, length(r.joined_identifiers), 33) as at)))`,
    )
    expect(wrong).toEqual([])
    const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'people')
    const explained = async (name: string) => explainKey(engine.deps, pipeline, name)
    const fay = await explained('fay')
    expect(fay.headline).toMatch(/^Not live/)
    expect(fay.events.filter(({ what }) => what === 'planned')).toMatchObject([{ outcome: 'refused', code: 'INVALID_PARAMETER' }])
    // Each request with fay, from the first to the one of fay alone.
    const withFay = fay.events.filter(({ what }) => what === 'sent')
    expect(withFay.length).toBeGreaterThanOrEqual(2)
    expect((await explained('gus')).headline).toMatch(/^Live/)
    const [batch] = await engine.db.query<{ id: string }>(`select min(id)::text as id from batch where status = 'split'`)
    const first = await loadBatch(engine.db, batch!.id)
    expect(first).toMatchObject({ status: 'split', operations: 8, outcomes: [] })
    expect(first.children.length).toBeGreaterThanOrEqual(2)
  })

  test('is deleted when no row has it, if an earlier attempt without an answer may have added it', async () => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    engine.pipeline('people', yaml)
    engine.write('people.csv', people(eight))
    await control.fault({ path: '/users' }, { kind: 'commit_then_reset' }, 1)
    await control.fault(refusing('ben'), refusal, 'always')
    expect(await engine.run('people')).toMatchObject({ status: 'partial', counts: { refused: 1, confirmed: 7, ambiguous: 0 } })
    await control.clearFaults()
    // The service applied the first attempt. When no row has ben, he is deleted.
    expect((await control.audience()).digest).toBe(mails(eight))
    engine.write('people.csv', people(eight.filter((name) => name !== 'ben')))
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { deletes: 1 } })
    expect((await control.audience()).digest).toBe(mails(eight.filter((name) => name !== 'ben')))
    expect(await control.violations()).toEqual([])
  })

  test('is explained, and so are the others, with each request that had them', async () => {
    await using engine = await engineUnderTest()
    engine.pipeline('people', yaml)
    engine.write('people.csv', people(eight))
    const { planId } = await engine.plan('people')
    const [operation] = await engine.db.query<{ keys: Buffer[] }>(
      `select e.keys from batch b cross join ${entriesOf('b.id')} e where b.plan_id = $1`,
      [planId],
    )
    const digests = operation!.keys.map((key) => key.toString('hex', 1))
    await engine.sandbox.control.fault({ contains_key: digests[0] }, refusal, 'always')
    await engine.apply(planId!)
    const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'people')
    const sentWith = async (place: number) => {
      const name = eight.find((one) => email(`${one}@example.com`)[1] === digests[place])!
      return (await explainKey(engine.deps, pipeline, name)).events.filter(({ what }) => what === 'sent').length
    }
    // Requests: all 8; places 0 to 3; 0 and 1; 0; then 1, 2 and 3, 4 to 7, which were set aside one after the other.
    expect(await Promise.all([0, 1, 2, 4].map(sentWith))).toEqual([4, 4, 3, 2])
  })

  test('is found by the next run if the process dies between the split and the next request', async () => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    engine.pipeline('people', yaml)
    engine.write('people.csv', people(eight))
    await control.fault(refusing('ben'), refusal, 'always')
    await interruptedRun(engine, 'people', 'stop')
    expect(await engine.db.query(`select status, user_count from batch order by seq`)).toEqual([
      { status: 'split', user_count: 8 },
      { status: 'pending', user_count: 4 },
      { status: 'pending', user_count: 4 },
    ])
    expect(await engine.run('people')).toMatchObject({ status: 'partial', counts: { refused: 1, confirmed: 7, pending: 0 } })
    expect((await control.audience()).digest).toBe(mails(eight.filter((name) => name !== 'ben')))
    expect(await control.violations()).toEqual([])
  })

  test.for(['first', 'second'])('an erasure after the split removes a person of the %s half only', async (half) => {
    await using engine = await engineUnderTest()
    const { control } = engine.sandbox
    engine.pipeline('people', yaml)
    engine.write('people.csv', people(eight))
    // The answer to the first attempt is lost, so that the halves may have been applied.
    await control.fault({ path: '/users' }, { kind: 'commit_then_reset' }, 1)
    await control.fault({ path: '/users' }, refusal, 1)
    await interruptedAfter(engine, 'people', 2)
    expect(await engine.db.query(`select status from batch where status = 'ambiguous'`)).toHaveLength(2)
    const [erased] = (await engine.db.query<{ keys: Buffer[] }>(`select keys from entry order by batch_id`))[half === 'first' ? 0 : 1]!.keys
    const name = eight.find((one) => email(`${one}@example.com`)[1] === erased!.toString('hex', 1))!
    const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'people')
    const keys = await erasedKeysOf(engine.deps, { emails: [`${name}@example.com`], phones: [], keys: [] }, pipeline)
    await forget(engine.deps, keys, { actor: 'test', reason: 'request 1', wait: true })
    expect((await control.audience()).digest).not.toBe(mails(eight))
    expect(await engine.run('people')).toMatchObject({ counts: { suppressed: 1, refused: 0, ambiguous: 0 } })
    await engine.run('people')
    expect((await control.audience()).digest).toBe(mails(eight.filter((one) => one !== name)))
    expect(await control.violations()).toEqual([])
  })
})

test.for([1, 10])('a suppressed person whose deletes are refused is deleted by the next plan, %i users per operation', async (size) => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('people', yaml.replace('operation: 10', `operation: ${size}`))
  engine.pipeline(
    'optouts',
    `source: { url: "{folder}/optouts.csv" }
map: { email: email, remove: { column: status, values: ["back"] } }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`,
  )
  engine.write('people.csv', people(names))
  await control.fault({ path: '/users' }, { kind: 'commit_then_reset' }, 1)
  await interruptedRun(engine, 'people', 'stop')
  engine.write('optouts.csv', 'email,status\nben@example.com,out\n')
  await engine.run('optouts')
  // Two deletes of the users of his operation, because the update may have been applied. They are not split.
  await control.fault(refusing('ben'), refusal, 2)
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { deletes: 1, suppressed: 1 } })
  const [first] = await engine.db.query<{ id: string }>('select id from plan order by created_at limit 1')
  const deletes = await engine.db.query(`select status, user_count from batch where operation = 'delete' and plan_id = $1`, [first!.id])
  expect(deletes).toEqual([1, 2].map(() => ({ status: 'settled', user_count: size === 1 ? 1 : 4 })))
  // The counts of the plan leave these deletes out.
  expect(await planCounts(engine.db, first!.id)).toMatchObject({ confirmed: size === 1 ? 3 : 0, refused: 0, pending: size === 1 ? 1 : 4 })
  expect((await control.audience()).digest).toBe(mails(names.filter((name) => name !== 'ben')))
  expect(await control.violations()).toEqual([])
})

test('an erased person whose deletes are refused is deleted by the next plan, although a guard withholds other deletes', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('people', `${yaml}guards: { max_delete_count: 0, max_delete_percent: 0 }\n`)
  engine.write('people.csv', people(names))
  await control.fault({ path: '/users' }, { kind: 'commit_then_reset' }, 1)
  await interruptedRun(engine, 'people', 'stop')
  await control.fault(refusing('ben'), refusal, 2)
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), 'people')
  const keys = await erasedKeysOf(engine.deps, { emails: ['ben@example.com'], phones: [], keys: [] }, pipeline)
  const receipt = await forget(engine.deps, keys, { actor: 'test', reason: 'request 1', wait: true })
  expect(receipt).toMatchObject({ deletes: { planned: 2, confirmed: 0 }, purgedAt: null })
  engine.write('people.csv', people(names.filter((name) => name !== 'ann')))
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', counts: { deletes: 1, suppressed: 1, withheld: 1 } })
  expect((await control.audience()).digest).toBe(mails(names.filter((name) => name !== 'ben')))
  expect(await listReceipts(engine.db)).toMatchObject([{ purgedAt: expect.any(String) as string }])
  expect(await control.violations()).toEqual([])
})

/** Runs the pipeline, and stops it at its request number `nth`. */
async function interruptedAfter(engine: EngineUnderTest, name: string, nth: number): Promise<void> {
  const stop = new AbortController()
  let requests = 0
  const exchange: typeof engine.deps.transport.exchange = (request) => {
    if (++requests === nth) stop.abort()
    return engine.deps.transport.exchange(request)
  }
  const pipeline = await loadPipeline(join(engine.folder, 'pipelines'), name)
  await runPipeline({ ...engine.deps, transport: { ...engine.deps.transport, exchange }, signal: stop.signal }, pipeline, {
    trigger: 'manual',
  })
}

test('the review names the number of people of an operation', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', yaml)
  engine.write('people.csv', `id,e1,e2\n${names.map((name) => `${name},${name}@example.com,\n`).join('')}`)
  const { planId } = await engine.plan('people')
  expect((await loadReview(engine.db, planId!)).samples).toEqual([
    { change: 'create', name: '4 people, 4 identifiers', fields: [], hasExpired: false },
  ])
})
