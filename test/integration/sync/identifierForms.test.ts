/** Records of an earlier version have their identifiers in an array. They behave like those whose identifiers are concatenated. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { rowIdentifiers } from '../../../src/db/identifiers.ts'
import { engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { everyKey } from '../../support/everyKey.ts'
import { histories } from '../../support/histories.ts'

const yaml = `source: { url: "{folder}/people.csv" }
map: { key: id, email: [e1, e2], partner_user_id: partner }
consent: { column: consent, values: ["yes"] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { min_rows: 0 }
`
const address = fc.integer({ min: 0, max: 24 }).map((n) => `a${n}@example.com`)
const row = fc.record({
  emails: fc.uniqueArray(address, { minLength: 1, maxLength: 2 }),
  consent: fc.constantFrom('yes', 'yes', 'yes', 'yes', 'no'),
  partner: fc.constantFrom('', '', '', 'p'),
})
const rowsOf = fc.array(row, { minLength: 1, maxLength: 20 })
type Rows = typeof rowsOf extends fc.Arbitrary<infer Value> ? Value : never

function write(engine: EngineUnderTest, rows: Rows, partners: boolean): void {
  const lines = rows.map(
    ({ emails: [a = '', b = ''], consent, partner }, i) => `k${i},${a},${b},${partner && partners ? `${partner}${i}` : ''},${consent}\n`,
  )
  engine.write('people.csv', `id,e1,e2,partner,consent\nfirst,first@example.com,,,yes\n${lines.join('')}`)
}

/** Writes the records with an even key as an earlier version wrote them. */
async function makeOlder({ db }: EngineUnderTest): Promise<void> {
  await db.execute(`update record set identifiers = ${rowIdentifiers('record')}, joined_identifiers = null where get_byte(key, 0) % 2 = 0`)
}

async function stateOf({ db, sandbox }: EngineUnderTest): Promise<object> {
  return {
    records: await db.query(`select key, hash, ${rowIdentifiers('record')} as identifiers, status from record order by key`),
    keys: await db.query(`select key, ref_count, group_key, synced_hash = desired_hash as in_sync from ${everyKey} m order by key`),
    members: (await sandbox.control.audience()).digest,
  }
}

test('records in both forms are changed, removed, opted out and refreshed alike', { tags: ['model'], timeout: 120_000 }, async () => {
  await fc.assert(
    fc.asyncProperty(rowsOf, rowsOf, fc.boolean(), async (rows, later, partners) => {
      await using engine = await engineUnderTest({ settings: { horizonMs: 20 } })
      await using older = await engineUnderTest({ settings: { horizonMs: 20 } })
      for (const one of [engine, older]) {
        one.pipeline('people', yaml)
        write(one, rows, partners)
        await one.run('people')
      }
      await makeOlder(older)
      for (const full of [false, true]) {
        const states: object[] = []
        for (const one of [engine, older]) {
          write(one, full ? rows : later, partners)
          const { status, counts } = await one.run('people', { approveDeletes: 1_000, full })
          states.push({ status, counts, ...(await stateOf(one)) })
        }
        expect(states[1]).toEqual(states[0])
      }
    }),
    histories(10),
  )
})

test('concatenates digests, and keeps identifiers with a partner id in an array', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('people', yaml)
  write(
    engine,
    [
      { emails: ['a@example.com', 'b@example.com'], consent: 'yes', partner: '' },
      { emails: ['c@example.com'], consent: 'yes', partner: 'p' },
    ],
    true,
  )
  await engine.run('people')
  expect(
    await engine.db.query(
      `select cardinality(identifiers) as listed, length(joined_identifiers) as joined, cardinality(${rowIdentifiers('record')}) as n
       from record order by 2, 1`,
    ),
  ).toEqual([
    { listed: null, joined: 33, n: 1 },
    { listed: null, joined: 66, n: 2 },
    { listed: 2, joined: null, n: 2 },
  ])
})
