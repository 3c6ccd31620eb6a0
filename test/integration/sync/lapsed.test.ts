/**
 * Memberships that expire while their request is unresolved (docs/guarantees.md#freshness). They are not sent any more, and records that
 * waited for them are planned again. No membership lasts longer than its row says.
 */
import { expect, test } from 'vitest'
import { listRuns } from '../../../src/sync/reports/history.ts'
import { loadPlanChanges } from '../../../src/sync/reports/planChanges.ts'
import { audienceDigest, email } from '../../support/digests.ts'
import { engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'

const peopleYaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2], expires_at: ends }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`
const day = 86_400_000
const inDays = (days: number) => `${new Date(Date.now() + days * day).toISOString().slice(0, 10)}T00:00:00Z`
const lists = '/do_not_reach_lists/'
const audiences = '/custom_audiences/'

/** Makes all stored data `days` older, so that ends come nearer and pass. */
async function pass(engine: EngineUnderTest, days: number): Promise<void> {
  for (const [table, ...columns] of [
    ['remote', 'expires_at', 'late_until', 'synced_at'],
    ['record', 'expires_at', 'effective_at'],
    ['batch', 'expires_at', 'next_attempt_at', 'settled_at'],
    ['entry', 'expires_at'],
    ['batch_entries', 'expires_at'],
  ])
    await engine.db.execute(
      `update sluice.${table} set ${columns.map((column) => `${column} = ${column} - $1 * interval '1 day'`).join(', ')}`,
      [days],
    )
}

test('a person suppressed by an unresolved listing is sent once the listing has expired, with an unchanged file', async () => {
  await using engine = await engineUnderTest({ settings: { maxAttempts: 2 } })
  const { control } = engine.sandbox
  engine.pipeline('people', peopleYaml)
  engine.pipeline(
    'optouts',
    `source: { url: "{folder}/optouts.csv" }
map: { email: email, remove: { column: status, values: ["back"] } }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr, expires_in: 30 days }
`,
  )
  engine.write('people.csv', 'id,e1,e2,ends\nk1,ann@example.com,,\nk2,bob@example.com,,\n')
  engine.write('optouts.csv', 'email,status\nann@example.com,out\n')
  await control.fault({ path: lists }, { kind: 'reset' }, 'always')
  expect((await engine.run('optouts')).counts).toMatchObject({ ambiguous: 1 })
  engine.write('optouts.csv', 'email,status\nann@example.com,back\n')
  await engine.run('optouts')
  expect((await engine.run('people')).counts).toMatchObject({ suppressed: 1, confirmed: 1 })
  await control.clearFaults()
  await pass(engine, 31)
  const after = await engine.mark()
  await engine.run('optouts')
  expect((await engine.run('people')).counts).toMatchObject({ suppressed: 0, creates: 1, confirmed: 1 })
  expect((await engine.writes(after)).map(({ path }) => path.includes(lists))).toEqual([false])
  expect((await control.audience()).digest).toBe(audienceDigest(['ann@example.com', 'bob@example.com'].map(email)))
  expect(await control.violations()).toEqual([])
})

test('an update that expired without an answer is planned again, counted, and audited at each step', async () => {
  await using engine = await engineUnderTest({ settings: { maxAttempts: 2 } })
  const { control } = engine.sandbox
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', 'id,e1,e2,ends\nk1,ann@example.com,,\nk2,bob@example.com,,\n')
  await control.fault({ path: audiences }, { kind: 'reset' }, 'always')
  expect((await engine.run('people')).counts).toMatchObject({ creates: 2, ambiguous: 2 })
  await control.clearFaults()
  await pass(engine, 400)
  const run = await engine.run('people')
  expect(run).toMatchObject({ status: 'succeeded', counts: { creates: 2, confirmed: 2, requests: 1 } })
  const [, first] = await listRuns(engine.db, { limit: 2 })
  expect(first).toMatchObject({ counts: { creates: 2, ambiguous: 0, pending: 2 } })
  expect(imbalance(first!.counts)).toEqual([])
  expect(
    await engine.db.query(`select what, detail ->> 'reason' as reason from sluice.audit where run_id = $1 order by id`, [
      run.runId.slice(2),
    ]),
  ).toMatchObject([{ what: 'batch.superseded', reason: 'expired' }, { what: 'batch.settled' }])
})

test.for(['lost', 'refused'] as const)(
  'a membership is deleted at its shorter end, although the answer to that end was %s',
  { tags: ['long'] },
  async (how) => {
    await using engine = await engineUnderTest({ settings: { maxAttempts: 2 } })
    const { control } = engine.sandbox
    engine.pipeline('people', peopleYaml)
    const write = (ends: string) =>
      engine.write(
        'people.csv',
        `id,e1,e2,ends\nk1,ann@example.com,own@example.com,${ends}\nk2,bob@example.com,own@example.com,\nk3,cat@example.com,,\n`,
      )
    write(inDays(90))
    await engine.run('people')
    write(inDays(50))
    await control.fault(
      { path: audiences },
      how === 'lost'
        ? { kind: 'reset' }
        : { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } },
      'always',
    )
    await engine.run('people')
    await control.clearFaults()
    await pass(engine, 60)
    // The row is unchanged, and its end has passed.
    write(inDays(-10))
    const run = await engine.run('people')
    expect(run).toMatchObject({ counts: { rejected: 1, stale: 1, deletes: 1 } })
    expect(imbalance(run.counts)).toEqual([])
    expect(await Array.fromAsync(loadPlanChanges(engine.db, run.planId ?? ''))).toMatchObject([
      { action: 'delete', reason: 'its membership now ends earlier, and that end has passed', line: 2 },
    ])
    // Identifiers of another row stay.
    expect((await control.audience()).digest).toBe(audienceDigest(['bob@example.com', 'own@example.com', 'cat@example.com'].map(email)))
    const after = await engine.mark()
    for (let i = 0; i < 2; i++)
      expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { requests: 0, deletes: 0 } })
    expect(await engine.writes(after)).toEqual([])
    expect(await control.violations()).toEqual([])
  },
)

test('an unconfirmed shorter end removes no one from a do-not-reach list', async () => {
  await using engine = await engineUnderTest({ settings: { maxAttempts: 2 } })
  const { control } = engine.sandbox
  engine.pipeline(
    'optouts',
    `source: { url: "{folder}/optouts.csv" }
map: { email: email, expires_at: ends }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`,
  )
  const write = (days: number) => engine.write('optouts.csv', `email,ends\nann@example.com,${inDays(days)}\nzoe@example.com,\n`)
  write(90)
  await engine.run('optouts')
  write(50)
  await control.fault({ path: lists }, { kind: 'reset' }, 'always')
  await engine.run('optouts')
  await control.clearFaults()
  await pass(engine, 60)
  write(-10)
  expect(await engine.run('optouts')).toMatchObject({ counts: { stale: 1, deletes: 0, requests: 0 } })
  expect((await control.audience('2dnr')).digest).toBe(audienceDigest(['ann@example.com', 'zoe@example.com'].map(email)))
})

test('a service whose clock is behind takes every entry of a do-not-reach list, also of rows that end years later or never', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  await control.setClock(new Date(Date.now() - day / 2).toISOString())
  engine.pipeline(
    'optouts',
    `source: { url: "{folder}/optouts.csv" }
map: { email: email, expires_at: ends }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`,
  )
  const write = (days: number) =>
    engine.write('optouts.csv', `email,ends\nann@example.com,${inDays(days)}\nbob@example.com,9999-12-31\nzoe@example.com,\n`)
  write(600)
  expect(await engine.run('optouts')).toMatchObject({ status: 'succeeded', counts: { confirmed: 3 } })
  expect((await control.audience('2dnr')).members).toBe(3)
  // The end of the row is near enough to be sent.
  await pass(engine, 300)
  write(300)
  expect(await engine.run('optouts')).toMatchObject({ status: 'succeeded', counts: { updates: 1, confirmed: 1 } })
  expect(await control.violations()).toEqual([])
})

test('a membership that ends in 9999 has no end: it gets expires_in, and is renewed', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', peopleYaml)
  engine.write('people.csv', 'id,e1,e2,ends\nk1,ann@example.com,,9999-12-31\nk2,bob@example.com,,9999-12-31T23:59:59Z\n')
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { confirmed: 2 } })
  await pass(engine, 380)
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { renewals: 2, confirmed: 2 } })
})

test('a shorter expires_in shortens the memberships that would last longer', { tags: ['long'] }, async () => {
  await using engine = await engineUnderTest()
  const yaml = (more: string) => `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2], expires_at: ends }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth${more} }
`
  const people = Array.from({ length: 30 }, (_, i) => `k${i},p${i}@example.com,,`)
  const write = (first: string) => engine.write('people.csv', `id,e1,e2,ends\n${[first, ...people].join('\n')}\n`)
  for (const own of ['', `own,own@example.com,,${inDays(200)}`]) {
    write(own)
    engine.pipeline('people', yaml(''))
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded' })
    engine.pipeline('people', yaml(', expires_in: 60 days'))
    // The end of a row is not that of expires_in.
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { renewals: 30, confirmed: 30 } })
    const ends = (await engine.sandbox.control.identifiers()).split('\n').map((line) => line.split('\t')[2] ?? '')
    expect(ends.filter((end) => end > inDays(62))).toHaveLength(own === '' ? 0 : 1)
    expect(await engine.run('people')).toMatchObject({ counts: { requests: 0 } })
    await engine.run('people', { full: true })
    engine.pipeline('people', yaml(''))
    await engine.run('people', { full: true })
  }
})
