/**
 * A person who was removed from a do-not-reach list stays suppressed until the service confirmed the removal
 * (docs/guarantees.md#suppression-wins). After that the person is sent (docs/guarantees.md#nothing-lost).
 */
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { resetAttempts } from '../../../src/db/batches/release.ts'
import { loadPipeline } from '../../../src/pipeline/load.ts'
import { runPipeline } from '../../../src/sync/run/run.ts'
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

/** Both run in the order of one command; the file of the audience stays unchanged. */
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

test.each(['not applied', 'refused'])(
  'a person is not sent before their removal from the list is confirmed: %s',
  { tags: ['long'] },
  async (how) => {
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
  },
)

test('an earlier plan does not send a person whose removal from the list is unconfirmed', async () => {
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

test('a person is not sent while their listing is unresolved', async () => {
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

test('a person is sent once the service refused their listing', async () => {
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

test('a person whose update may still arrive is deleted again after the horizon, even if the run that planned it has ended', async () => {
  await using engine = await setUp()
  const { control } = engine.sandbox
  await control.fault({ path: '/12/accounts/18ce54d4x5t/custom_audiences' }, { kind: 'commit_then_reset' }, 'always')
  expect(await engine.run('people')).toMatchObject({ counts: { confirmed: 0 } })
  says(engine, 'out')
  await engine.run('optouts')
  await control.clearFaults()
  const stop = new AbortController()
  const deps = { ...engine.deps, settings: { ...engine.deps.settings, horizonMs: 600_000 }, signal: stop.signal }
  const stopped = runPipeline(deps, await loadPipeline(join(engine.folder, 'pipelines'), 'people'), { trigger: 'manual' })
  const planned = () =>
    engine.db.query<{ destination_id: number; waits: boolean }>(
      `select destination_id, next_attempt_at > clock_timestamp() + interval '5 minutes' as waits from batch
       where operation = 'delete' and reason = 'suppressed'`,
    )
  await expect.poll(planned, { timeout: 10_000 }).toHaveLength(2)
  stop.abort()
  await stopped
  const [{ destination_id: destinationId } = { destination_id: 0 }] = await planned()
  await resetAttempts(engine.db, destinationId)
  expect((await planned()).map(({ waits }) => waits)).toEqual([true, true])
})

test('an audience run notes a do-not-reach pipeline that was never read, and guards.hold withholds it', async () => {
  await using engine = await setUp()
  says(engine, 'out')
  const notes = async () => {
    const { warnings, status, guards } = await engine.run('people')
    const found = (warnings ?? []).find(({ code }) => code === 'DO_NOT_REACH_UNREAD')
    return { status, message: found?.message, guards: guards.map(({ code }) => code) }
  }
  const message = 'the do-not-reach pipeline optouts was never read, so its people are sent: sluice run optouts first'
  const people = (more: string) =>
    engine.pipeline(
      'people',
      `source: { url: "{folder}/people.csv" }
map: { key: id, email: email }
${more}destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`,
    )
  people('guards: { hold: [DO_NOT_REACH_UNREAD] }\n')
  expect(await notes()).toEqual({ status: 'withheld', message, guards: ['GUARD_DO_NOT_REACH_UNREAD'] })
  people('')
  expect(await notes()).toEqual({ status: 'succeeded', message, guards: [] })
  // The source is unchanged.
  expect(await notes()).toEqual({ status: 'succeeded', message, guards: [] })
  await engine.run('optouts')
  expect(await notes()).toEqual({ status: 'succeeded', message: undefined, guards: [] })
})

describe('a do-not-reach list with keys', () => {
  async function setUpKeyed(): Promise<EngineUnderTest> {
    const engine = await setUp()
    engine.pipeline(
      'optouts',
      `source: { url: "{folder}/optouts.csv" }
map: { key: id, email: email, phone_number: phone, remove: { column: status, values: ["back"] } }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`,
    )
    return engine
  }
  const writeList = (engine: EngineUnderTest, ...rows: readonly string[]) =>
    engine.write('optouts.csv', `id,email,phone,status\n${[...rows, 'z,zoe@example.com,,out'].join('\n')}\n`)
  const listOf = (...names: readonly string[]) => audienceDigest([...names, 'zoe'].map((name) => email(`${name}@example.com`)))

  test('keeps the earlier address of a row whose address changed, until the row is removed', async () => {
    await using engine = await setUpKeyed()
    const { control } = engine.sandbox
    writeList(engine, '7,ann@example.com,,out')
    for (const name of ['optouts', 'people']) await engine.run(name)
    expect((await control.audience()).digest).toBe(audienceDigest([email('bob@example.com')]))

    writeList(engine, '7,new@example.com,,out')
    expect(await engine.run('optouts')).toMatchObject({ status: 'succeeded', counts: { deletes: 0 } })
    expect((await control.audience('2dnr')).digest).toBe(listOf('ann', 'new'))
    await engine.run('people', { full: true })
    expect((await control.audience()).digest).toBe(audienceDigest([email('bob@example.com')]))
    await engine.run('optouts', { full: true })
    // A read of all rows finds no change either.
    writeList(engine, '8,eve@example.com,,out', '7,new@example.com,,out')
    expect((await engine.run('optouts')).counts).toMatchObject({ creates: 1, updates: 0, deletes: 0 })

    writeList(engine, '7,,,back', '8,eve@example.com,,out')
    await engine.run('optouts')
    expect((await control.audience('2dnr')).digest).toBe(listOf('eve'))
    await engine.run('people')
    expect((await control.audience()).digest).toBe(audienceDigest(['ann@example.com', 'bob@example.com'].map(email)))
    expect(await control.violations()).toEqual([])
  })

  test('keeps the new address of a row if another row removes its earlier one', async () => {
    await using engine = await setUpKeyed()
    const { control } = engine.sandbox
    writeList(engine, '7,ann@example.com,,out')
    await engine.run('optouts')
    writeList(engine, '7,new@example.com,,out', '8,ann@example.com,,back')
    for (let runs = 0; runs < 2; runs++) {
      expect(await engine.run('optouts')).toMatchObject({ status: 'succeeded' })
      expect((await control.audience('2dnr')).digest).toBe(listOf('new'))
    }
  })

  test('keeps the address of a row if another row removes that of a further row with its key', async () => {
    await using engine = await setUpKeyed()
    const { control } = engine.sandbox
    const rows = ['7,ann@example.com,,out', '7,eve@example.com,,out']
    writeList(engine, ...rows)
    await engine.run('optouts')
    for (const order of [rows, rows.toReversed()]) {
      writeList(engine, '8,eve@example.com,,back', ...order)
      const report = await engine.run('optouts')
      expect(report).toMatchObject({ status: 'succeeded', counts: { read: 4, duplicates: 0, suppressed: 2, valid: 2 } })
      expect(imbalance(report.counts)).toEqual([])
      expect((await control.audience('2dnr')).digest).toBe(listOf('ann'))
    }
    expect(await engine.run('people')).toMatchObject({ counts: { suppressed: 1, creates: 1 } })
  })

  test('has the addresses of all rows with one key', async () => {
    await using engine = await setUpKeyed()
    const { control } = engine.sandbox
    const rows = ['7,ann@example.com,,out', '7,bob@example.com,+12025550143,out']
    for (const order of [rows, rows.toReversed()]) {
      writeList(engine, ...order)
      const report = await engine.run('optouts')
      expect(report).toMatchObject({ status: 'succeeded', counts: { read: 3, rejected: 0, duplicates: 1, valid: 2, deletes: 0 } })
      expect(imbalance(report.counts)).toEqual([])
      expect((await control.audience('2dnr')).identifiers).toMatchObject({ email: 3, phone_number: 1 })
    }
    expect(await engine.run('people')).toMatchObject({ counts: { suppressed: 2, creates: 0 } })
    const after = await engine.mark()
    await engine.run('optouts')
    expect(await engine.writes(after)).toEqual([])
  })
})
