/**
 * Whoever came back from the do-not-reach list stays listed until the service has said so (docs/guarantees.md#suppression-wins): until then an Update of
 * theirs would be one of somebody listed, and behind that word nobody is forgotten (docs/guarantees.md#nothing-lost).
 */
import { expect, test } from 'vitest'
import { audienceDigest, email } from '../../support/digests.ts'
import { engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'

const list = '/do_not_reach_lists/'
const people = 'id,email\nk1,ann@example.com\nk2,bob@example.com\n'

async function setUp(): Promise<EngineUnderTest> {
  const engine = await engineUnderTest({ settings: { maxAttempts: 2 } })
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }
map: { key: id, email: email }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`,
  )
  engine.pipeline(
    'optouts',
    `source: { url: "{folder}/optouts.csv" }
map: { email: email, remove: { column: status, values: ["back"] } }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`,
  )
  engine.write('people.csv', people)
  return engine
}

const says = (engine: EngineUnderTest, status: 'out' | 'back') =>
  engine.write('optouts.csv', `email,status\nann@example.com,${status}\nzoe@example.com,out\n`)

/** Both are run as one command runs them; the audience's file stays as it is. */
async function expectBack(engine: EngineUnderTest): Promise<void> {
  const { control } = engine.sandbox
  expect(await engine.run('optouts')).toMatchObject({ status: 'succeeded' })
  expect((await control.audience('2dnr')).digest).toBe(audienceDigest([email('zoe@example.com')]))
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { suppressed: 0, creates: 1, confirmed: 1 } })
  expect((await control.audience()).digest).toBe(audienceDigest(['ann@example.com', 'bob@example.com'].map(email)))
  expect(await control.violations()).toEqual([])
  const after = await engine.mark()
  for (const name of ['optouts', 'people']) await engine.run(name)
  expect(await engine.writes(after)).toEqual([])
}

test.each(['not applied', 'refused'])('whose removal was %s is not sent before it was', async (how) => {
  await using engine = await setUp()
  const { control } = engine.sandbox
  says(engine, 'out')
  await engine.run('optouts')
  says(engine, 'back')
  await control.fault(
    { path: list },
    how === 'refused'
      ? { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'not now' }] } }
      : { kind: 'status', status: 503 },
    'always',
  )
  expect(await engine.run('optouts')).toMatchObject({ status: 'partial', counts: { deletes: 1, confirmed: 0 } })
  const run = await engine.run('people')
  expect(run.counts).toMatchObject({ read: 2, suppressed: 1, valid: 1, confirmed: 1 })
  expect(imbalance(run.counts)).toEqual([])
  expect(await control.violations()).toEqual([])
  await control.clearFaults()
  await expectBack(engine)
})

test('is cut out of what was planned before they were listed, too', async () => {
  await using engine = await setUp()
  const { control } = engine.sandbox
  const { planId } = await engine.plan('people')
  says(engine, 'out')
  await engine.run('optouts')
  says(engine, 'back')
  await control.fault({ path: list }, { kind: 'status', status: 503 }, 'always')
  await engine.run('optouts')
  expect(await engine.apply(planId)).toMatchObject({ counts: { creates: 2, confirmed: 1, pending: 1 } })
  expect(await control.violations()).toEqual([])
  await control.clearFaults()
  await expectBack(engine)
})

test('whose listing may have been applied is not sent before that is settled', async () => {
  await using engine = await setUp()
  const { control } = engine.sandbox
  says(engine, 'out')
  await control.fault({ path: list }, { kind: 'commit_then_reset' }, 'always')
  expect(await engine.run('optouts')).toMatchObject({ counts: { confirmed: 0, ambiguous: 2 } })
  says(engine, 'back')
  expect(await engine.run('optouts')).toMatchObject({ counts: { confirmed: 0 } })
  const run = await engine.run('people')
  expect(run.counts).toMatchObject({ read: 2, suppressed: 1, valid: 1, confirmed: 1 })
  expect(await control.violations()).toEqual([])
  await control.clearFaults()
  await expectBack(engine)
})

test('whose listing the service refused in the end may be sent', async () => {
  await using engine = await setUp()
  const { control } = engine.sandbox
  says(engine, 'out')
  await control.fault({ path: list }, { kind: 'reset' }, 'always')
  await engine.run('optouts')
  says(engine, 'back')
  await engine.run('optouts')
  expect((await engine.run('people')).counts).toMatchObject({ suppressed: 1 })
  await control.clearFaults()
  await control.fault(
    { path: list },
    { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'never' }] } },
    'always',
  )
  await engine.run('optouts')
  await control.clearFaults()
  expect(await engine.run('people')).toMatchObject({ counts: { suppressed: 0, creates: 1, confirmed: 1 } })
  expect(await control.violations()).toEqual([])
})
