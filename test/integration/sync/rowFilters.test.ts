/** `only:` and `except:`: the count of filtered rows, and the deletes of their records. */
import { expect, test } from 'vitest'
import { loadPlanChanges } from '../../../src/sync/reports/planChanges.ts'
import { engineUnderTest } from '../../support/engine.ts'

const header = 'customer_id,email,country,segment\n'
const row = (n: number, country: string, segment = 'customers') => `c${n},person${n}@example.com,${country},${segment}\n`
const people = (more: string) =>
  `source: { url: "{folder}/crm.csv" }
map: { key: customer_id, email: email }
${more}
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
`
const filters = 'only: { country: [DE, at] }\nexcept: { segment: employees }'

test('rows that do not pass a filter count as filtered, and the counts add up', async () => {
  await using engine = await engineUnderTest()
  engine.write(
    'crm.csv',
    header + row(1, 'DE') + row(2, ' de ') + row(3, 'AT') + row(4, 'FR') + row(5, 'DE', 'Employees') + 'c6,broken,DE,x\n',
  )
  engine.pipeline('people', people(filters))
  const { counts, status } = await engine.run('people')
  expect(status).toBe('succeeded')
  expect(counts).toMatchObject({ read: 6, filtered: 2, rejected: 1, valid: 3, creates: 3, confirmed: 3 })
  expect(counts.read).toBe(counts.rejected + counts.duplicates + counts.suppressed + (counts.filtered ?? 0) + counts.valid)
})

test.for([
  ['consent: { column: ok, values: ["yes"] }', 1],
  ['consent: { column: ok, values: ["yes"], for: phone_number }', 3],
] as const)('a no in a filtered row is not sent for another row either: %s', async ([consent, members]) => {
  await using engine = await engineUnderTest()
  const table = 'customer_id,email,phone,country,segment,ok\n'
  const person = (n: number, email: number, country: string, ok: string) =>
    `c${n},person${email}@example.com,+1415555010${email},${country},customers,${ok}\n`
  const rows = [person(1, 1, 'DE', 'yes'), person(2, 2, 'DE', 'yes'), person(3, 1, 'FR', 'no'), person(4, 3, 'FR', 'no')]
  engine.pipeline(
    'people',
    people(`${filters}\n${consent}\nguards: { min_rows: 0 }`).replace('email: email', 'email: email, phone_number: phone'),
  )
  engine.write('crm.csv', table + rows.join(''))
  expect((await engine.run('people')).counts).toMatchObject({ read: 4, filtered: 2, rejected: 0 })
  const sent = async () => {
    const { identifiers } = await engine.sandbox.control.audience()
    return Object.values(identifiers).reduce((sum, n) => sum + n, 0)
  }
  expect(await sent()).toBe(members === 1 ? 2 : 3)
  // Unchanged rows are skipped, but a new no in a filtered row counts.
  engine.write('crm.csv', table + rows.join('') + person(5, 2, 'FR', 'no'))
  expect((await engine.run('people', { approveDeletes: 10 })).counts).toMatchObject({ read: 5, filtered: 3 })
  expect(await sent()).toBe(members === 1 ? 0 : 2)
  engine.write('crm.csv', table + rows.slice(0, 2).join(''))
  expect((await engine.run('people')).counts).toMatchObject({ read: 2, filtered: 0, valid: 2 })
  expect(await sent()).toBe(4)
})

test('a pipeline without filters has no count of filtered rows', async () => {
  await using engine = await engineUnderTest()
  engine.write('crm.csv', header + row(1, 'FR'))
  engine.pipeline('people', people(''))
  expect((await engine.run('people')).counts).not.toHaveProperty('filtered')
})

test('a synced member whose row is filtered is deleted, under the guards', async () => {
  await using engine = await engineUnderTest()
  const rows = (moved: number) => header + Array.from({ length: 40 }, (_, n) => row(n, n < moved ? 'FR' : 'DE')).join('')
  engine.write('crm.csv', rows(0))
  engine.pipeline('people', people(filters))
  await engine.run('people')
  engine.write('crm.csv', rows(2))
  expect((await engine.run('people')).counts).toMatchObject({ read: 40, filtered: 2, valid: 38, deletes: 2, confirmed: 2 })
  engine.write('crm.csv', rows(20))
  expect(await engine.run('people')).toMatchObject({ status: 'withheld', counts: { filtered: 20, deletes: 0, withheld: 18 } })
})

test('a new filter applies to rows that were read before', async () => {
  await using engine = await engineUnderTest()
  engine.write('crm.csv', header + row(1, 'DE') + row(2, 'FR'))
  engine.pipeline('people', people(''))
  await engine.run('people')
  engine.pipeline('people', people('except: { country: FR }'))
  const { counts, planId = '' } = await engine.run('people')
  expect(counts).toMatchObject({ read: 2, filtered: 1, unchanged: 1, deletes: 1 })
  expect(await Array.fromAsync(loadPlanChanges(engine.db, planId))).toMatchObject([
    { reason: 'no row that may be sent has these identifiers (row missing, left out by only: or except:, or without consent)' },
  ])
})

test('a filter on a column that the file lacks stops the run and names the nearest column', async () => {
  await using engine = await engineUnderTest()
  engine.write('crm.csv', header + row(1, 'DE'))
  engine.pipeline('people', people('only: { contry: DE }'))
  expect(await engine.run('people')).toMatchObject({
    status: 'failed',
    error: { code: 'FILE_COLUMN_MISSING', hint: expect.stringContaining('"country"') as string },
  })
})

test.for(['except: { segment: employees }', 'only: { segment: ["", customers] }'])(
  'JSON in which no row has the column of a filter withholds the run: %s',
  async (filter) => {
    await using engine = await engineUnderTest()
    const yaml = (more: string) => people(`${filter}\n${more}`).replace('crm.csv', 'crm.jsonl').replace('customer_id', 'id')
    const write = (cells: (i: number) => object) =>
      engine.write(
        'crm.jsonl',
        Array.from({ length: 30 }, (_, i) => `${JSON.stringify({ id: i, email: `person${i}@example.com`, ...cells(i) })}\n`).join(''),
      )
    engine.pipeline('people', yaml(''))
    // Rows may omit the column.
    write((i) => (i < 25 ? {} : { segment: 'employees' }))
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { filtered: 5, valid: 25 } })
    write((i) => (i < 24 ? {} : { segment: 'employees' }))
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { filtered: 6, valid: 24 } })
    // The export renames the column.
    write((i) => (i < 24 ? { kind: 'customers' } : { kind: 'employees' }))
    expect(await engine.run('people')).toMatchObject({
      status: 'withheld',
      guards: [
        {
          code: 'GUARD_FILTER_UNKNOWN',
          message: expect.stringContaining('no row has the column "segment"') as string,
          hint: expect.stringMatching(/only: or except:.*accept: \[FILTER_UNKNOWN\]/) as string,
        },
      ],
    })
    expect((await engine.sandbox.control.audience()).members).toBe(24)
    engine.pipeline('people', yaml('guards: { accept: [FILTER_UNKNOWN] }\n'))
    expect(await engine.run('people')).toMatchObject({ status: 'succeeded', counts: { filtered: 0, valid: 30 } })
  },
)
