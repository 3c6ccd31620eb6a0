/** Operations with several users: one answer confirms one content for all of them. */
import { expect, test } from 'vitest'
import { entriesOf } from '../../../src/db/entries/read.ts'
import { loadReview } from '../../../src/sync/reports/review.ts'
import { audienceDigest, email } from '../../support/digests.ts'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { everyKey } from '../../support/everyKey.ts'

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

test('one refused user keeps the others of the operation out for one run only', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  engine.pipeline('people', yaml)
  engine.write('people.csv', `id,e1,e2\n${names.map((name) => `${name},${name}@example.com,\n`).join('')}`)
  const refusesBen = { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } }
  await control.fault({ contains_key: email('ben@example.com')[1] }, refusesBen, 'always')
  expect(await engine.run('people')).toMatchObject({ status: 'partial', counts: { refused: 4, confirmed: 0 } })
  expect(await engine.run('people')).toMatchObject({ status: 'partial', counts: { refused: 1, confirmed: 3 } })
  await control.clearFaults()
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { confirmed: 1 } })
})

test('the review names the number of people of an operation', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', yaml)
  engine.write('people.csv', `id,e1,e2\n${names.map((name) => `${name},${name}@example.com,\n`).join('')}`)
  const { planId } = await engine.plan('people')
  expect((await loadReview(engine.db, planId!)).samples).toEqual([
    { change: 'create', name: '4 people, 4 identifiers', fields: [], hasExpired: false },
  ])
})
