import { expect, test } from 'vitest'
import { createSourceStatistics } from '../../../../src/mapping/statistics/sourceStatistics.ts'
import { createReadStatistics, storedStatistics } from '../../../../src/mapping/statistics/readStatistics.ts'
import { FeatureSetCounts } from '../../../../src/mapping/statistics/featureSets.ts'
import { packedForms } from '../../../../src/mapping/lookupKeys.ts'
import type { MemberRecord, ProductRecord } from '../../../../src/model/record.ts'

const product = (line: number, fields: object): { record: ProductRecord; warnings: [] } => ({
  record: {
    kind: 'product',
    key: Buffer.from(String(line)),
    line,
    json: JSON.stringify(
      Object.fromEntries(Object.entries({ id: String(line), price: '1.00 EUR', ...fields }).toSorted(([a], [b]) => (a < b ? -1 : 1))),
    ),
  },
  warnings: [],
})
const member = (line: number, ...emails: string[]): { record: MemberRecord; warnings: [] } => ({
  record: {
    kind: 'member',
    key: Buffer.from(String(line)),
    line,
    identifiers: emails.flatMap((email) => packedForms('email', email)),
    desired: true,
  },
  warnings: [],
})
const codesOf = (quality: ReturnType<typeof createSourceStatistics>) => quality.finish().notes.map(({ code }) => code)

test('a group of hundreds, one stock word, one brand, two currencies and garbled text are reported', () => {
  const quality = createSourceStatistics()
  for (let i = 0; i < 150; i++)
    quality.add(
      product(i, {
        item_group_id: i === 5 ? 'g2' : 'g1',
        availability: 'out of stock',
        brand: 'MyShop',
        price: i === 3 ? '1.00 USD' : '1.00 EUR',
        title: i === 4 ? 'cafÃ©' : 'ok',
      }),
    )
  expect(codesOf(quality).sort()).toEqual(['ALL_OUT_OF_STOCK', 'BRAND_SAME', 'CURRENCIES_MIXED', 'GROUP_LARGE', 'MOJIBAKE'])
})

test('a usual catalog has no notes', () => {
  const quality = createSourceStatistics()
  for (let i = 0; i < 150; i++)
    quality.add(product(i, { item_group_id: `g${i % 40}`, availability: 'in stock', brand: `b${i % 5}`, title: 'Ärger' }))
  expect(codesOf(quality)).toEqual([])
})

test('a catalog without brands never requires that unchanged rows are read again', () => {
  const statistics = createReadStatistics()
  const first = createSourceStatistics(statistics)
  const known = new FeatureSetCounts()
  for (let i = 0; i < 199; i++) known.add(first.add(product(i, { gtin: '4006381333931' })), i)
  const { firstBrandField, firstGroup } = first.finish()
  const gated = createSourceStatistics(createReadStatistics(storedStatistics(statistics), { gated: true }), {
    brand: firstBrandField,
    group: firstGroup,
  })
  gated.add(product(199, { gtin: '4006381333931' }))
  expect(gated.finish(known).needsFullRead).toBe(false)
})

test('one identifier on many rows is reported even among a hundred thousand others', () => {
  const quality = createSourceStatistics()
  for (let i = 0; i < 100_000; i++) quality.add(member(i, i % 3 === 0 ? 'shared@example.com' : `p${i}@example.com`))
  const { notes, rowsByIdentifierType } = quality.finish()
  expect(notes.map(({ code }) => code)).toEqual(['IDENTIFIER_REPEATED', 'IDENTIFIER_SHARE'])
  expect(rowsByIdentifierType).toEqual({ email: 100_000 })
})

test('a row with two addresses of a role is one row of the warning, also when it is counted from its stored feature set', () => {
  const statistics = createReadStatistics()
  const quality = createSourceStatistics(statistics)
  const known = new FeatureSetCounts()
  const warning = (line: number) => ({ line, code: 'EMAIL_ROLE', field: 'email', message: 'i***@s***.example' })
  for (let line = 1; line <= 3; line++) known.add(quality.add({ ...member(line), warnings: [warning(line), warning(line)] }), line)
  const counted = [{ code: 'EMAIL_ROLE', count: 3, lines: [1, 2, 3] }]
  expect(quality.finish().items).toMatchObject(counted)
  expect(createSourceStatistics(createReadStatistics(storedStatistics(statistics), { gated: true })).finish(known).items).toMatchObject(
    counted,
  )
})

test('groups that differ after a quote in their name are different groups', () => {
  const quality = createSourceStatistics()
  for (let i = 0; i < 300; i++) quality.add(product(i, { item_group_id: `12" LP ${i}`, availability: 'in stock' }))
  expect(codesOf(quality)).not.toContain('GROUP_LARGE')
})
