/**
 * A suppressed person is deleted from the account's audiences, whatever the guards withhold (docs/guarantees.md#mass-delete-guard,
 * docs/guarantees.md#suppression-wins). The guards neither count nor withhold these deletes. The reason for the plan and the number of
 * failures do not matter.
 */
import { expect, test } from 'vitest'
import { audienceDigest, email } from '../../support/digests.ts'
import { engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'

const numbers = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)
const refusal = { kind: 'status', status: 400, body: { errors: [{ code: 'INVALID_PARAMETER', message: 'no' }] } }
const address = (n: number) => `m${n}@example.com`

async function setUp(more = ''): Promise<EngineUnderTest> {
  const engine = await engineUnderTest({ settings: { maxAttempts: 2 } })
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }
map: { key: id, email: [mail, other] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
${more}`,
  )
  engine.pipeline(
    'optouts',
    `source: { url: "{folder}/optouts.csv" }
map: { email: email, remove: { column: status, values: ["back"] } }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
`,
  )
  write(engine, numbers(0, 60))
  await engine.run('people')
  return engine
}

const write = (engine: EngineUnderTest, some: readonly (number | string)[]) =>
  engine.write(
    'people.csv',
    `id,mail,other\n${some.map((row) => (typeof row === 'string' ? row : `k${row},${address(row)},`)).join('\n')}\n`,
  )

async function list(engine: EngineUnderTest, rows: Readonly<Record<number, 'out' | 'back'>>): Promise<void> {
  engine.write(
    'optouts.csv',
    `email,status\n${Object.entries(rows)
      .map(([n, status]) => `${address(Number(n))},${status}\n`)
      .join('')}`,
  )
  await engine.run('optouts')
}

const held = async (engine: EngineUnderTest) => (await engine.sandbox.control.audience()).digest
const expected = (some: readonly number[]) => audienceDigest(some.map((n) => email(address(n))))

test.for([
  ['a withheld delete', numbers(20, 60)],
  ['a feed that ends early', numbers(0, 3)],
] as const)('a suppressed person is deleted despite %s', async ([, rest]) => {
  await using engine = await setUp()
  write(engine, rest)
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', counts: { deletes: 0 } })
  await list(engine, { 7: 'out' })
  const run = await engine.run('people')
  expect(run).toMatchObject({ status: 'withheld', counts: { deletes: 1, confirmed: 1, withheld: 59 - rest.length } })
  expect(imbalance(run.counts)).toEqual([])
  expect(await held(engine)).toBe(expected(numbers(0, 60).filter((n) => n !== 7)))
})

test('a suppressed person is deleted although their row is rejected', async () => {
  await using engine = await setUp()
  const rows = [...numbers(0, 7), 'k7,m7 at example.com,', ...numbers(8, 60)]
  write(engine, rows)
  expect(await engine.run('people')).toMatchObject({ counts: { rejected: 1, stale: 1, deletes: 0 } })
  await list(engine, { 7: 'out' })
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { stale: 0, deletes: 1, confirmed: 1 } })
  expect(await held(engine)).toBe(expected(numbers(0, 60).filter((n) => n !== 7)))
})

test('a backfill without the person deletes a suppressed person too', async () => {
  await using engine = await setUp()
  await list(engine, { 7: 'out' })
  engine.write('more.csv', `id,mail,other\nk90,${address(90)},\n`)
  expect(await engine.backfill('people', 'more.csv')).toMatchObject({ status: 'succeeded', counts: { creates: 1, deletes: 1 } })
  expect(await held(engine)).toBe(expected([...numbers(0, 60).filter((n) => n !== 7), 90]))
})

test.for([
  ['still listed', numbers(20, 60)],
  ['still listed', []],
  ['coming off', numbers(20, 60)],
  ['coming off', []],
  ['off', numbers(20, 60)],
] as const)(
  'the next run sends a failed delete of a suppressed person, by then %s, although other deletes are withheld',
  { tags: ['long'] },
  async ([state, rest]) => {
    await using engine = await setUp()
    const { control } = engine.sandbox
    await list(engine, { 7: 'out', 99: 'out' })
    await control.fault({ path: '/custom_audiences/' }, refusal, 'always')
    expect(await engine.run('people')).toMatchObject({ status: 'partial', counts: { deletes: 1, refused: 1 } })
    await control.clearFaults()
    if (state === 'coming off') await control.fault({ path: '/do_not_reach_lists/' }, { kind: 'status', status: 503 }, 'always')
    if (state !== 'still listed') await list(engine, { 7: 'back', 99: 'out' })
    await control.clearFaults()
    // Their row is missing too, and so are others: only those need an approval.
    write(engine, rest)
    const withheld = 59 - rest.length
    const run = await engine.run('people')
    expect(run).toMatchObject({ status: 'withheld', guards: [{ withheld }], counts: { deletes: 1, confirmed: 1, withheld } })
    expect(await held(engine)).toBe(expected(numbers(0, 60).filter((n) => n !== 7)))
  },
)

test.for(['out', 'back'] as const)(
  'a suppressed person with an outstanding delete is deleted although the feed is empty: %s',
  async (state) => {
    await using engine = await setUp()
    const { control } = engine.sandbox
    write(engine, [...numbers(0, 7), ...numbers(8, 60)])
    await control.fault({ path: '/custom_audiences/' }, refusal, 'always')
    expect(await engine.run('people')).toMatchObject({ status: 'partial', counts: { deletes: 1, refused: 1 } })
    await control.clearFaults()
    await list(engine, { 7: 'out', 99: 'out' })
    if (state === 'back') {
      // The person stays suppressed until the service confirms the removal.
      await control.fault({ path: '/do_not_reach_lists/' }, { kind: 'status', status: 503 }, 'always')
      await list(engine, { 7: 'back', 99: 'out' })
      await control.clearFaults()
    }
    write(engine, [])
    expect(await engine.run('people')).toMatchObject({ status: 'withheld', counts: { deletes: 1, confirmed: 1, withheld: 59 } })
    expect(await held(engine)).toBe(expected(numbers(0, 60).filter((n) => n !== 7)))
  },
)

test('the other identifiers of a suppressed person are deleted with the listed one, also if sent under another row', async () => {
  await using engine = await setUp()
  const { control } = engine.sandbox
  // The address of k8 moves to k7 and stays there. It is sent under the row of k8, and belongs to the row of k7.
  write(engine, [...numbers(0, 7), `k7,${address(7)},${address(8)}`, ...numbers(9, 60)])
  await engine.run('people')
  await list(engine, { 7: 'out' })
  await control.fault({ path: '/custom_audiences/' }, refusal, 'always')
  await engine.run('people')
  await control.clearFaults()
  // A feed with only its header: all deletes are withheld, and none counts as checked any more.
  write(engine, [])
  await engine.run('people')
  expect(await held(engine)).toBe(expected(numbers(9, 60).concat(numbers(0, 7))))
})

test('a person who was removed from the list counts for the guards again when they are deleted', async () => {
  await using engine = await setUp()
  const { control } = engine.sandbox
  await list(engine, { 7: 'out', 99: 'out' })
  await control.fault({ path: '/custom_audiences/' }, refusal, 'always')
  await engine.run('people')
  await control.clearFaults()
  await list(engine, { 7: 'back', 99: 'out' })
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { deletes: 0 } })
  write(engine, numbers(20, 60))
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', counts: { deletes: 0, withheld: 20 } })
})

test('people whom a list suppresses do not count as a fall of the rows', async () => {
  await using engine = await setUp()
  await list(engine, Object.fromEntries(numbers(0, 40).map((n) => [n, 'out' as const])))
  write(engine, numbers(0, 59))
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', guards: [], counts: { valid: 19, deletes: 41, confirmed: 41 } })
  // A later drop of rows is compared with the remaining people.
  write(engine, numbers(40, 45))
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', counts: { withheld: 14 } })
})

test('a plan that waited is sent without the people whom a replaced list of the account suppresses since', async () => {
  await using engine = await setUp()
  await list(engine, { 99: 'out' })
  write(engine, numbers(0, 62))
  const { planId } = await engine.plan('people')
  const { body } = await engine.sandbox.call('DELETE', '/12/accounts/18ce54d4x5t/do_not_reach_lists/2dnr')
  expect(body.data.deleted).toBe(true)
  const made = await engine.sandbox.call('POST', '/12/accounts/18ce54d4x5t/do_not_reach_lists')
  engine.pipeline(
    'newlist',
    `source: { url: "{folder}/newlist.csv" }
map: { email: email }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: ${made.body.data.id} }
`,
  )
  engine.write('newlist.csv', `email\n${address(61)}\n`)
  expect(await engine.run('newlist')).toMatchObject({ status: 'succeeded' })
  expect((await engine.apply(planId)).counts).toMatchObject({ creates: 2, confirmed: 1 })
  expect(await held(engine)).toBe(expected(numbers(0, 61)))
})
