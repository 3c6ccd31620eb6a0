/** Two forms of one identifier (docs/decisions/both-forms.md): counted, deleted and suppressed together. */
import { createHash } from 'node:crypto'
import { expect, test } from 'vitest'
import { audienceDigest, email, phone, type Identifier } from '../../support/digests.ts'
import { engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'
import { everyKey } from '../../support/everyKey.ts'

const audience = (more = '') => `source: { url: "{folder}/people.csv" }
map: { key: id, email: email, phone_number: phone }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { max_delete_count: 1000, min_rows: 0 }
${more}`
const list = (more = '') => `source: { url: "{folder}/optouts.csv" }
map: { email: email, phone_number: phone }
destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }
${more}`
const both = 'options: { allow: [both_phone_forms, both_idn_forms] }\n'

const written = (rows: readonly (readonly [id: string, email: string, phone: string])[]) =>
  `id,email,phone\n${rows.map((row) => `${row.join(',')}\n`).join('')}`
const listed = (rows: readonly (readonly [email: string, phone: string])[]) =>
  `email,phone\n${rows.map((row) => `${row.join(',')}\n`).join('')}`

const number = '+12015550143'
const forms = [phone(number), phone(number.slice(1))]
const idn = [email('jane@bücher.example'), email('jane@xn--bcher-kva.example')]

async function run(engine: EngineUnderTest, name: string) {
  const report = await engine.run(name, { approveDeletes: 1_000 })
  expect([report.error, imbalance(report.counts)]).toEqual([undefined, []])
  return report
}

async function held(engine: EngineUnderTest, expected: readonly Identifier[], id = '1nmth') {
  expect((await engine.sandbox.control.audience(id)).digest).toBe(audienceDigest(expected))
}

test('case 121: both forms are kept while a row has the number, and deleted with the last one', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', audience(both))
  engine.write(
    'people.csv',
    written([
      ['C1', 'jane@bücher.example', number],
      ['C2', 'p2@example.org', number],
    ]),
  )
  await run(engine, 'people')
  await held(engine, [...forms, ...idn, email('p2@example.org')])
  engine.write('people.csv', written([['C2', 'p2@example.org', number]]))
  await run(engine, 'people')
  await held(engine, [...forms, email('p2@example.org')])
  // With one form again, only the other form is deleted.
  engine.pipeline('people', audience())
  await run(engine, 'people')
  await held(engine, [phone(number), email('p2@example.org')])
  engine.write('people.csv', written([['C2', 'p2@example.org', '']]))
  await run(engine, 'people')
  await held(engine, [email('p2@example.org')])
})

test.for([
  ['as written against ASCII', 'jane@bücher.example', 'jane@xn--bcher-kva.example', ''],
  ['ASCII against as written', 'jane@xn--bcher-kva.example', 'jane@bücher.example', ''],
  ['as written, sent in ASCII', 'jane@bücher.example', 'jane@bücher.example', 'options: { allow: [idn_to_ascii] }\n'],
  ['both forms against one', 'jane@xn--bcher-kva.example', 'jane@bücher.example', both],
] as const)('case 106: a suppressed person is not sent, with any forms of list and audience: %s', async ([, off, on, options]) => {
  await using engine = await engineUnderTest()
  engine.pipeline('optouts', list())
  engine.write('optouts.csv', listed([[off, '']]))
  await run(engine, 'optouts')
  await held(engine, idn, '2dnr')
  engine.pipeline('people', audience(options))
  engine.write(
    'people.csv',
    written([
      ['C1', on, number],
      ['C2', 'p2@example.org', ''],
    ]),
  )
  expect((await run(engine, 'people')).counts).toMatchObject({ read: 2, suppressed: 1, valid: 1 })
  await held(engine, [email('p2@example.org')])
})

test.each([number, number.slice(1)])('case 121: an opt-out of the digest of one form (%s) holds for the other form too', async (form) => {
  await using engine = await engineUnderTest()
  const hashed = (text: string) => createHash('sha256').update(text).digest('hex')
  engine.pipeline('people', `${audience(both)}consent: { column: ok, values: ["yes"] }\n`)
  const write = (...optOuts: readonly string[]) =>
    engine.write(
      'people.csv',
      ['id,email,phone,ok', ...optOuts, `C1,jane@bücher.example,${number},yes`, 'C2,p2@example.org,,yes', ''].join('\n'),
    )
  write()
  await run(engine, 'people')
  await held(engine, [...forms, ...idn, email('p2@example.org')])
  write(`C8,,${hashed(form)},no`, `C9,${hashed('jane@xn--bcher-kva.example')},,no`)
  expect((await run(engine, 'people')).counts).toMatchObject({ suppressed: 3, valid: 1 })
  await held(engine, [email('p2@example.org')])
  write(`C8,,${hashed(form)},no`)
  await run(engine, 'people')
  await held(engine, [...idn, email('p2@example.org')])
})

test('case 121: a do-not-reach list with the number in one form suppresses its other form too', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', audience(both))
  engine.write(
    'people.csv',
    written([
      ['C1', 'p1@example.org', number],
      ['C2', 'p2@example.org', ''],
    ]),
  )
  await run(engine, 'people')
  engine.pipeline('optouts', list())
  engine.write('optouts.csv', listed([['', number]]))
  await run(engine, 'optouts')
  await held(engine, [phone(number)], '2dnr')
  expect((await run(engine, 'people')).counts).toMatchObject({ suppressed: 1, valid: 1, deletes: 1 })
  await held(engine, [email('p2@example.org')])
})

/** Two record keys in the order in which groups are chosen. */
function ids(): readonly [first: string, second: string] {
  const key = (id: string) => createHash('sha256').update(id).digest('hex').slice(0, 32)
  const [first, second] = ['C1', 'C2'].toSorted((a, b) => (key(a) < key(b) ? -1 : 1)) as [string, string]
  return [first, second]
}

test.for([
  [
    'the same record',
    (later: string, earlier: string) => [
      [later, 'l@example.org', number],
      [earlier, 'e@example.org', number],
    ],
  ],
  // The record that had the form without plus has another number now. Another record still has the form.
  [
    'another record',
    (later: string, earlier: string) => [
      [later, 'l@example.org', number],
      [earlier, 'e@example.org', ''],
      ['C9', 'n@example.org', number],
    ],
  ],
] as const)(
  'case 121: a number added to the list after the plan was made is not sent in its other form under %s',
  { tags: ['long'] },
  async ([, rows]) => {
    await using engine = await engineUnderTest()
    const [earlier, later] = ids()
    const people = (some: readonly (readonly string[])[]) => written(some as readonly (readonly [string, string, string])[])
    // The form with plus is sent under one record first. Then the other form is sent under the other record.
    engine.pipeline('people', audience())
    engine.write('people.csv', people([[later, 'l@example.org', number]]))
    await run(engine, 'people')
    engine.pipeline('people', audience(both))
    engine.write(
      'people.csv',
      people([
        [later, 'l@example.org', number],
        [earlier, 'e@example.org', number],
      ]),
    )
    await engine.plan('people')
    engine.write('people.csv', people(rows(later, earlier)))
    const plan = await engine.plan('people')
    const [other] = await engine.db.query<{ apart: boolean }>(
      `select count(distinct group_key) = 2 as apart from ${everyKey} m where key = any($1)`,
      [forms.map(([, hex]) => Buffer.from(`05${hex}`, 'hex'))],
    )
    expect(other?.apart, 'the two forms must stand under two records').toBe(true)
    engine.pipeline('optouts', list())
    engine.write('optouts.csv', listed([['', number]]))
    await run(engine, 'optouts')
    await engine.apply(plan.planId)
    expect(await engine.sandbox.control.identifiers()).not.toContain(forms[1]?.[1])
    await run(engine, 'people')
    await held(
      engine,
      rows(later, earlier).flatMap(([, address = '', its]) => (its === '' ? [email(address)] : [])),
    )
  },
)
