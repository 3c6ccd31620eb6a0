/** People who stay and change their phone number do not count as deleted people, and have a guard of their own. */
import { expect, test } from 'vitest'
import { audienceDigest, email, phone } from '../../support/digests.ts'
import { engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'

const yaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: mail, phone_number: phone }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`
const numberOf = (n: number, block: number) => `+1 212 555 0${100 + (n % 100)}`.replace('212', String(212 + block))
/** Writes people 0 to 39 without the first `gone`. The phones of the last `renewed` are from another block. */
const write = (engine: EngineUnderTest, { gone = 0, renewed = 0 }) => {
  const people = Array.from({ length: 40 }, (_, n) => n).filter((n) => n >= gone)
  const rows = people.map((n) => ({ n, phone: numberOf(n, n >= 40 - renewed ? 3 : 0) }))
  engine.write('people.csv', `id,mail,phone\n${rows.map(({ n, phone: p }) => `k${n},m${n}@example.com,${p}\n`).join('')}`)
  return audienceDigest(rows.flatMap(({ n, phone: p }) => [email(`m${n}@example.com`), phone(p.replaceAll(' ', ''))]))
}

test('replaced phone numbers of present rows do not count as deleted people', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', yaml)
  write(engine, {})
  await engine.run('people')

  const desired = write(engine, { renewed: 30 })
  const held = await engine.run('people')
  expect(held).toMatchObject({ status: 'withheld', counts: { withheld: 30 } })
  expect(held.guards).toEqual([
    {
      code: 'GUARD_IDENTIFIERS',
      message: expect.stringContaining('30 of 40 synced people would lose identifiers') as string,
      hint: 'sluice run people --approve-deletes 30',
      withheld: 30,
      examples: expect.any(Array) as string[],
    },
  ])
  expect(held.guards[0]?.examples).toHaveLength(5)
  for (const example of held.guards[0]?.examples ?? []) expect(example).toMatch(/^line \d+, key [0-9a-f]{12}…: phone_number [0-9a-f]{12}…$/)
  expect(held.guards[0]?.message).not.toMatch(/deleted/)
  expect(imbalance(held.counts)).toEqual([])

  expect(await engine.run('people', { approveDeletes: 30 })).toMatchObject({ status: 'succeeded', guards: [] })
  expect((await engine.sandbox.control.audience()).digest).toBe(desired)
})

test('missing people and replaced identifiers are counted separately, and one number approves both', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', yaml)
  write(engine, {})
  await engine.run('people')
  const desired = write(engine, { gone: 12, renewed: 20 })
  const held = await engine.run('people')
  expect(held.guards.map(({ code, message, hint }) => [code, message.split(' synced')[0], hint])).toEqual([
    ['GUARD_DELETES', '12 of 40', 'sluice run people --approve-deletes 32'],
    ['GUARD_IDENTIFIERS', '20 of 40', 'sluice run people --approve-deletes 32'],
  ])
  expect(await engine.run('people', { approveDeletes: 31 })).toMatchObject({ status: 'withheld' })
  expect(await engine.run('people', { approveDeletes: 32 })).toMatchObject({ status: 'succeeded' })
  expect((await engine.sandbox.control.audience()).digest).toBe(desired)
})
