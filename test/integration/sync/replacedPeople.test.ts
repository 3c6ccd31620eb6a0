/** A read that replaces most people of an audience sends no new people, until the deletes are approved. */
import { expect, test } from 'vitest'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'

const pipeline = (engine: EngineUnderTest, settings: string) =>
  engine.pipeline(
    'people',
    `source: { url: "{folder}/people.csv" }\n${settings}\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n`,
  )
const mapped = 'map: { key: id, email: mail }'
const write = (engine: EngineUnderTest, numbers: readonly number[], ok: (i: number) => boolean = () => true) =>
  engine.write(
    'people.csv',
    `id,number,mail,ok\n${numbers.map((i) => `c${i},${i},person${i}@example.com,${ok(i) ? 'yes' : 'no'}\n`).join('')}`,
  )
const range = (from: number, to: number) => Array.from({ length: to - from }, (_, i) => from + i)
const members = async (engine: EngineUnderTest) => (await engine.sandbox.control.audience()).members

test('a file of other people withholds the run, and an approval of the deletes replaces them', async () => {
  await using engine = await engineUnderTest()
  pipeline(engine, `${mapped}\nignore: [ok]`)
  write(engine, range(0, 150))
  await engine.run('people')
  write(engine, range(1000, 1150))
  const after = await engine.mark()
  expect(await engine.run('people')).toMatchObject({
    status: 'withheld',
    guards: [
      {
        code: 'GUARD_PEOPLE_CHANGED',
        message: '150 of 150 synced people would be removed, and 150 new people sent: nothing of this read was sent',
        hint: expect.stringContaining('sluice run people --approve-deletes 150') as string,
      },
    ],
  })
  expect(await engine.writes(after)).toEqual([])
  expect(await engine.run('people', { approveDeletes: 150 })).toMatchObject({ status: 'succeeded', counts: { deletes: 150, creates: 150 } })
  expect(await members(engine)).toBe(150)
})

test.for([
  ['', 140],
  ['guards: { max_delete_percent: 100 }', 140],
])('a reversed test of consent withholds the run (%s)', async ([guards, yes]) => {
  await using engine = await engineUnderTest()
  const consent = (test: string) => `${mapped}\nconsent: { column: ok, ${test} }\n${guards}`
  pipeline(engine, consent('values: ["yes"]'))
  write(engine, range(0, 200), (i) => i < Number(yes))
  expect((await engine.run('people')).counts).toMatchObject({ creates: 140, suppressed: 60 })
  pipeline(engine, consent('not_values: ["yes"]'))
  const after = await engine.mark()
  expect(await engine.run('people')).toMatchObject({
    status: 'withheld',
    guards: [
      {
        code: 'GUARD_PEOPLE_CHANGED',
        message: '140 of 140 synced people would be removed, of which 140 opt out, and 60 new people sent: nothing of this read was sent',
      },
    ],
  })
  expect(await engine.writes(after)).toEqual([])
  pipeline(engine, consent('values: ["yes"]'))
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { creates: 0, deletes: 0 } })
})

test('another key column for the same people withholds nothing', async () => {
  await using engine = await engineUnderTest()
  pipeline(engine, `${mapped}\nignore: [ok]`)
  write(engine, range(0, 150))
  await engine.run('people')
  pipeline(engine, 'map: { key: number, email: mail }\nignore: [ok]')
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { creates: 0, deletes: 0 } })
})

test('new people are sent while a guard withholds the deletes of most of the others', async () => {
  await using engine = await engineUnderTest()
  pipeline(engine, `${mapped}\nignore: [ok]`)
  write(engine, range(0, 150))
  await engine.run('people')
  write(engine, [...range(0, 40), ...range(1000, 1030)])
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', counts: { creates: 30, withheld: 110 } })
  expect(await members(engine)).toBe(180)
})

test('keys of people that get another form remove no one', async () => {
  await using engine = await engineUnderTest()
  engine.write(
    'people.csv',
    `home,work\n${range(0, 60)
      .map((i) => `Home${i}@Example.com,Work${i}@Example.com\n`)
      .join('')}`,
  )
  // With a transform, the text of the key stays as it is in the file. Earlier versions did this for a second column without a transform.
  pipeline(engine, 'map: { key: { column: work, transform: trim }, email: [home, work] }')
  await engine.run('people')
  expect(await members(engine)).toBe(60)
  const before = await engine.sandbox.control.audience()
  const raw = await engine.db.query<{ key: Buffer }>('select key from record order by key')
  pipeline(engine, 'map: { key: work, email: [home, work] }')
  expect(await engine.run('people')).toMatchObject({ status: 'succeeded', guards: [], counts: { deletes: 0 } })
  expect((await engine.sandbox.control.audience()).digest).toBe(before.digest)
  expect(await engine.db.query('select key from record order by key')).not.toEqual(raw)
})
