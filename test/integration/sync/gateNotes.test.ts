/**
 * Warnings, notes on the whole source, and their guards. A gated read maps only new rows and must report all rows; the oracle has no
 * stored digests and reads every row.
 */
import fc from 'fast-check'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { qualityCodes } from '../../../src/mapping/statistics/qualityCodes.ts'
import type { RunReport } from '../../../src/model/report.ts'
import { catalogYaml, engineUnderTest, type EngineUnderTest } from '../../support/engine.ts'
import { forgetAll, histories } from '../../support/histories.ts'

let gated: EngineUnderTest
let slow: EngineUnderTest
beforeAll(async () => {
  gated = await engineUnderTest()
  slow = await engineUnderTest()
})
afterAll(async () => {
  await gated[Symbol.asyncDispose]()
  await slow[Symbol.asyncDispose]()
})

/** Everything that is reported. The message of a warning is that of one row, and the gate does not promise which. */
function reported({ counts, status, guards, error, warnings }: RunReport) {
  return {
    counts,
    status,
    error: error?.code,
    guards: guards.map(({ code, message }) => `${code} ${message}`),
    warnings: (warnings ?? []).map(({ message, ...rest }) => ({ ...rest, message: rest.code in qualityCodes ? message : '' })),
  }
}

/** Plays the days on both engines. Returns the number of gated reads. */
async function sameReports(name: string, yaml: string, file: string, days: readonly string[]): Promise<number> {
  await forgetAll(gated, slow)
  let passed = 0
  const chunks = async () =>
    (await gated.db.query<{ n: number }>('select coalesce(max(chunk), 0)::int as n from sluice.record_digest'))[0]?.n ?? 0
  for (const [day, content] of days.entries()) {
    await slow.db.execute('delete from sluice.record_digest')
    await slow.db.execute('delete from sluice.record_quality')
    const before = await chunks()
    const ends = []
    for (const engine of [gated, slow]) {
      engine.pipeline(name, yaml)
      engine.write(file, content)
      ends.push(reported(await engine.run(name)))
    }
    expect(ends[0], `run ${day + 1}`).toEqual(ends[1])
    if ((await chunks()) > before) passed++
  }
  return passed
}

const loose = 'max_delete_count: 1000, max_reject_percent: 100, max_out_of_stock_percent: 100'

/** Irregular values of a row by small numbers, so that few of them give a warning, a note or a guard. */
interface Odd {
  readonly price: number
  readonly stock: number
  readonly brand: number
  readonly group: number
  readonly title: number
  readonly gtin: number
}

const plain: Odd = { price: 0, stock: 0, brand: 0, group: 0, title: 0, gtin: 0 }
const odd = fc.record({ price: fc.nat(3), stock: fc.nat(3), brand: fc.nat(1), group: fc.nat(2), title: fc.nat(3), gtin: fc.nat(2) })

const product = (id: number, row: Odd): Readonly<Record<string, string>> => ({
  id: `SKU-${id}`,
  title: ['Cup', 'Cup  &amp;amp; saucer', 'cafÃ©', 'Cup'][row.title] ?? '',
  description: 'A cup',
  availability: ['in stock', 'In_Stock', 'out of stock', 'perhaps'][row.stock] ?? '',
  condition: 'new',
  price: ['12.00 EUR', '12.00eur', '12.00 USD', 'dear'][row.price] ?? '',
  link: 'https://shop.example.com/cup',
  image_link: ['https://shop.example.com/cup.png', 'http://shop.example.com/cup.png'][row.brand] ?? '',
  brand: ['Acme', 'Zenith'][row.brand] ?? '',
  gtin: ['', '12345', '4006381333931'][row.gtin] ?? '',
  item_group_id: ['', 'xx', `SKU-${id}`][row.group] ?? '',
  colour: 'red',
})

type Row = readonly [id: number, row: Odd]

/** One day after another: rows are removed, changed, added and repeated. */
interface Turn {
  readonly leave: number
  readonly from: number
  readonly change: readonly (readonly [at: number, row: Odd])[]
  readonly come: readonly Odd[]
  readonly twice: readonly number[]
}

const turn: fc.Arbitrary<Turn> = fc.record({
  leave: fc.nat(30),
  from: fc.nat(150),
  change: fc.array(fc.tuple(fc.nat(150), odd), { maxLength: 6 }),
  come: fc.array(odd, { maxLength: 8 }),
  twice: fc.array(fc.nat(150), { maxLength: 1 }),
})

function history(first: readonly Odd[], turns: readonly Turn[]): Row[][] {
  let rows: Row[] = first.map((row, id) => [id, row])
  let next = rows.length
  const days = [rows]
  for (const { leave, from, change, come, twice } of turns) {
    rows = rows.filter((_, at) => at < from || at >= from + leave)
    rows = rows.map((row, at): Row => [row[0], change.find(([place]) => place === at)?.[1] ?? row[1]])
    rows = [...rows, ...come.map((row): Row => [next++, row])]
    days.push(rows.flatMap((row, at) => (twice.includes(at) ? [row, row] : [row])))
  }
  return days
}

const csv = (rows: readonly Readonly<Record<string, string>>[]) =>
  [Object.keys(rows[0]!), ...rows.map((row) => Object.values(row))]
    .map((cells) => `${cells.map((cell) => `"${cell}"`).join(',')}\n`)
    .join('')
const jsonl = (rows: readonly Readonly<Record<string, string>>[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')

const many = (count: number, row: Partial<Odd>): Odd[] => Array.from({ length: count }, () => ({ ...plain, ...row }))
const still: Turn = { leave: 0, from: 0, change: [], come: [], twice: [] }

/** Cases that random files find late: notes that depend on one row, and large values that grow and shrink. */
const productExamples: [Odd[], Turn[]][] = [
  [
    many(120, { price: 1, group: 1 }),
    [
      { ...still, come: many(1, {}) },
      { ...still, come: many(1, {}) },
      { ...still, leave: 25, from: 5 },
    ],
  ],
  [
    many(110, { stock: 2 }),
    [
      { ...still, come: many(2, { stock: 2 }) },
      { ...still, change: [[3, plain]] },
    ],
  ],
  [
    [...many(1, { brand: 1 }), ...many(120, {})],
    [
      { ...still, leave: 1 },
      { ...still, come: many(3, {}) },
    ],
  ],
  [
    [...many(95, { group: 1 }), ...many(30, {})],
    [
      { ...still, come: many(5, { group: 1 }) },
      { ...still, come: many(1, { group: 1 }) },
    ],
  ],
  [
    many(105, { title: 2, gtin: 1 }),
    [
      { ...still, twice: [4], come: many(1, {}) },
      { ...still, leave: 3, from: 0 },
    ],
  ],
]

for (const [format, render] of Object.entries({ csv, jsonl })) {
  test(`a gated run reports of products what a run of every record reports: ${format}`, { tags: ['model'], timeout: 600_000 }, async () => {
    let passed = 0
    await fc.assert(
      fc.asyncProperty(
        fc.oneof(
          fc.array(odd, { minLength: 1, maxLength: 150 }),
          fc.tuple(odd, fc.integer({ min: 90, max: 150 })).map(([row, count]) => many(count, row)),
        ),
        fc.array(turn, { minLength: 1, maxLength: 4 }),
        async (first, turns) => {
          const days = history(first, turns).filter((rows) => rows.length > 0)
          const files = days.map((rows) => render(rows.map(([id, row]) => product(id, row))))
          const yaml = `${catalogYaml(`feed.${format}`)}guards: { ${loose} }\n`
          passed += await sameReports('shop', yaml, `feed.${format}`, files)
        },
      ),
      // The statistics of known rows are the same for both formats, so JSON lines need only some of the cases.
      format === 'csv'
        ? { ...histories(productExamples.length + 2), examples: productExamples }
        : { ...histories(3), examples: productExamples.slice(0, 3) },
    )
    expect(passed, 'readings must have passed the gate').toBeGreaterThan(process.env['MODE'] === 'quick' ? 0 : 5)
  })
}

interface Person {
  readonly email: number
  readonly phone: number
  readonly note: number
}
const one: Person = { email: 0, phone: 0, note: 0 }
const person = fc.record({ email: fc.nat(5), phone: fc.nat(4), note: fc.nat(20) })
const people = (count: number, row: Partial<Person>): Person[] => Array.from({ length: count }, () => ({ ...one, ...row }))

const member = (id: number, { email, phone, note }: Person): Readonly<Record<string, string>> => ({
  id: `C${id}`,
  email: [`p${id}@example.org`, `P${id}@Example.org`, `info@shop${id}.example.org`, 'one@example.org', 'nobody', ''][email] ?? '',
  phone: [`+1-201-555-01${String(id % 100).padStart(2, '0')}`, '+1-201-555-0100', 'none', `q${id}@example.org`, ''][phone] ?? '',
  note: note === 1 ? '4111 1111 1111 1111' : 'a',
})

const memberExamples: [Person[], Turned[], boolean][] = [
  [[...people(60, { phone: 1 }), ...people(80, {})], [come(people(1, {})), come(people(1, { phone: 1 })), leave(0, 20)], false],
  [[...people(40, { email: 3 }), ...people(100, {})], [come(people(5, { email: 3 })), come(people(6, { email: 3 })), leave(50, 60)], true],
  [[...people(45, { phone: 1 }), ...people(80, {})], [come(people(3, { phone: 1 })), come(people(4, { phone: 1 }))], false],
  [[...people(3, { email: 2 }), ...people(120, {})], [come(people(1, {})), leave(0, 1), come(people(2, { email: 2 }))], true],
  [[...people(6, { phone: 3 }), ...people(114, { phone: 4 })], [come(people(2, {})), come(people(30, {})), leave(0, 2)], false],
  [people(130, { note: 1 }), [come(people(1, {})), leave(0, 100)], false],
]

interface Turned {
  readonly leave: readonly [from: number, count: number]
  readonly come: readonly Person[]
}
function come(rows: readonly Person[]): Turned {
  return { leave: [0, 0], come: rows }
}
function leave(from: number, count: number): Turned {
  return { leave: [from, count], come: [] }
}
const turned: fc.Arbitrary<Turned> = fc.record({
  leave: fc.tuple(fc.nat(150), fc.nat(40)),
  come: fc.oneof(
    fc.array(person, { maxLength: 8 }),
    fc.tuple(person, fc.nat(30)).map(([row, count]) => people(count, row)),
  ),
})

test('a gated run has the same notes on members as a full read', { tags: ['model'], timeout: 600_000 }, async () => {
  let passed = 0
  await fc.assert(
    fc.asyncProperty(
      fc
        .array(
          fc.tuple(person, fc.integer({ min: 1, max: 70 })).map(([row, count]) => people(count, row)),
          { minLength: 1, maxLength: 5 },
        )
        .map((parts) => parts.flat()),
      fc.array(turned, { minLength: 1, maxLength: 4 }),
      fc.boolean(),
      async (first, turns, accepts) => {
        let rows = first.map((row, id): [number, Person] => [id, row])
        let next = rows.length
        const files = [rows]
        for (const { leave: gone, come: added } of turns) {
          rows = [
            ...rows.filter((_, at) => at < gone[0] || at >= gone[0] + gone[1]),
            ...added.map((row): [number, Person] => [next++, row]),
          ]
          if (rows.length > 0) files.push(rows)
        }
        const yaml = `source: { url: "{folder}/crm.csv" }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
map: { key: id, email: email, phone_number: phone }
guards: { ${loose}${accepts ? ', accept: [EMAIL_ROLE_SHARE, IDENTIFIER_SHARE]' : ''} }
`
        passed += await sameReports(
          'crm',
          yaml,
          'crm.csv',
          files.map((day) => csv(day.map(([id, row]) => member(id, row)))),
        )
      },
    ),
    { ...histories(memberExamples.length + 2), examples: memberExamples },
  )
  expect(passed, 'readings must have passed the gate').toBeGreaterThan(process.env['MODE'] === 'quick' ? 0 : 5)
})

test('a column that only a late row has is reported, whether that row is read or known', { timeout: 60_000 }, async () => {
  const row = (id: number) => ({ ...product(id, plain), ...(id === 90 ? { warehouse: 'B' } : {}) })
  const ids = Array.from({ length: 100 }, (_, id) => id)
  const days = [ids, [...ids, 100], [...ids, 100, 101]].map((day) => jsonl(day.map(row)))
  expect(await sameReports('shop', `${catalogYaml('feed.jsonl')}guards: { ${loose} }\n`, 'feed.jsonl', days)).toBe(2)
})

test('an accepted note is reported as long as a row has its cause', { timeout: 60_000 }, async () => {
  const state = (id: number, word: string) => ({ id: `C${id}`, email: `p${id}@example.org`, state: word })
  const rows = Array.from({ length: 20 }, (_, id) => state(id, id === 3 || id === 5 ? 'unsubscribed' : 'active'))
  const days = [
    rows,
    [...rows, state(20, 'active')],
    [...rows.toSpliced(3, 1), state(21, 'active')],
    [...rows.filter(({ state: word }) => word === 'active'), state(22, 'active')],
  ]
  const passed = await sameReports(
    'crm',
    `source: { url: "{folder}/crm.csv" }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
map: { key: id, email: email }
guards: { ${loose}, accept: [LEFT_UNMAPPED] }
`,
    'crm.csv',
    days.map(csv),
  )
  expect(passed).toBe(3)
})

test('a run over the same bytes has the notes of the read that it uses', { timeout: 60_000 }, async () => {
  await using engine: EngineUnderTest = await engineUnderTest()
  engine.pipeline('shop', `${catalogYaml('feed.csv')}guards: { ${loose} }\n`)
  engine.write('feed.csv', csv(many(3, { price: 1 }).map((row, id) => product(id, row))))
  const first = await engine.run('shop')
  const second = await engine.run('shop')
  expect(first.warnings?.map(({ code }) => code)).toContain('PRICE_NORMALIZED')
  expect(second.warnings).toEqual(first.warnings)
  engine.write('feed.csv', csv(many(3, { price: 2 }).map((row, id) => ({ ...product(id, row), price: '99.00 EUR' }))))
  expect((await engine.run('shop')).warnings?.map(({ code }) => code)).toContain('PRICE_MOVED')
  expect((await engine.run('shop')).warnings?.map(({ code }) => code)).toEqual(['COLUMN_UNKNOWN'])
})

test('a source is read whole if its stored digests have no row statistics', { timeout: 60_000 }, async () => {
  await using engine: EngineUnderTest = await engineUnderTest()
  engine.pipeline('shop', `${catalogYaml('feed.csv')}guards: { ${loose} }\n`)
  const rows = many(3, { price: 1 })
  const file = (more: readonly Odd[]) => csv([...rows, ...more].map((row, id) => product(id, row)))
  engine.write('feed.csv', file([]))
  await engine.run('shop')
  // As the version before stored it.
  await engine.db.execute(`update sluice.record_digest set feature_sets = ''`)
  await engine.db.execute('delete from sluice.record_quality')
  engine.write('feed.csv', file(many(1, { price: 1 })))
  const { counts, warnings } = await engine.run('shop')
  expect([counts.valid, warnings?.find(({ code }) => code === 'PRICE_NORMALIZED')?.count]).toEqual([4, 4])
})
