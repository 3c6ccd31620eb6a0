import { describe, expect, test } from 'vitest'
import { createMapper } from '../../../src/destinations/createMapper.ts'
import { spreadsheetCell } from '../../../src/mapping/rejectsFile.ts'
import type { SourceRow } from '../../../src/model/record.ts'
import { resolvePipeline } from '../../../src/pipeline/resolve.ts'
import { reasonColumns } from '../../../src/sync/reports/rejectsCsv.ts'

const { pipeline } = resolvePipeline({ source: 'feed.csv', destination: { kind: 'catalog', catalog_id: '1' } }, 'shop', 'shop.yaml')
if (pipeline === undefined) throw new Error('the pipeline is invalid')
const mapper = createMapper(pipeline, new Date('2026-06-15'))

const good = {
  id: 'SKU-1',
  title: 'Red shoe',
  description: 'A red shoe.',
  availability: 'in stock',
  condition: 'new',
  price: '12.99 USD',
  link: 'https://shop.example/p/1',
  image_link: 'https://shop.example/i/1.jpg',
  brand: 'Acme',
}
const rowOf = (fields: object): SourceRow => ({
  line: 2,
  columns: Object.keys({ ...good, ...fields }),
  cells: Object.values({ ...good, ...fields }),
})

/** Returns the row as a run reads it from the rejects file in which it was written. */
const rejectedAgain = (row: SourceRow): SourceRow => ({
  line: 2,
  columns: [...row.columns, ...reasonColumns(row.columns)],
  cells: [...mapper.mask(row).map(spreadsheetCell), '2', 'LINK_NOT_HTTPS', 'link', 'is http', 'Use https.'],
})

test('a row that is rejected several times keeps its cells', () => {
  let row = rowOf({ title: '-5 % shoe' })
  for (let times = 1; times <= 3; times++) {
    row = rejectedAgain(row)
    expect(mapper.mask(row)[1]).toBe('-5 % shoe')
  }
})

test('a rejects file that is rejected again has only unused columns of the merchant as unknown', () => {
  const row = rejectedAgain(rejectedAgain(rowOf({ note: 'x', code: '7' })))
  const unknown = mapper.bindHeader(row.columns).filter(({ code }) => code === 'COLUMN_UNKNOWN')
  expect(unknown.map(({ field }) => field)).toEqual(['note', 'code'])
})

test('a row of a rejects file is read as the row of the source', () => {
  const address = 'https://img.example/fetch/w_300,https://shop.example/a.jpg'
  for (const fields of [
    { image_link: address },
    { link: address },
    { title: '["Red","shoe"]' },
    { title: '["Red shoe"]' },
    { title: '["[\\"Red shoe\\"]"]' },
    { additional_image_link: 'https://shop.example/a.jpg,https://shop.example/b.jpg' },
    { additional_image_link: ['https://shop.example/a.jpg', 'https://shop.example/b.jpg'] },
    { additional_image_link: ['https://img.example/fetch/w_300', 'https://shop.example/a.jpg'] },
    { additional_image_link: [address] },
    { image_link: ['https://img.example/fetch/w_300', 'https://shop.example/a.jpg'] },
    { title: ['["Red shoe"]'] },
  ]) {
    const row = rowOf(fields)
    expect(mapper.map(rejectedAgain(row))).toEqual(mapper.map(row))
    expect(mapper.map(rejectedAgain(rejectedAgain(row)))).toEqual(mapper.map(row))
  }
})

describe('a cell of people that is still masked', () => {
  const map = { key: 'id', email: 'email', phone_number: 'phone' }
  const audience = { kind: 'audience', account_id: 'a1', audience_id: 'b2' }
  const person = { id: 'C1', email: 'jane@example.com', phone: '+1 202 555 0143', sms: 'yes', segment: 'staff', birthday: '2019-05-01' }
  /** Maps a row of a rejects file with these cells. */
  const again = (cells: object, definition: object) => {
    const resolved = resolvePipeline({ source: 'crm.csv', map, destination: audience, ...definition }, 'crm', 'crm.yaml')
    if (resolved.pipeline === undefined) throw new Error(JSON.stringify(resolved.problems))
    const columns = Object.keys(cells)
    const reasons = ['2', 'EMAIL_INVALID', 'email', 'is not valid', 'Correct it.']
    return createMapper(resolved.pipeline, new Date('2026-06-15')).map({
      line: 2,
      columns: [...columns, ...reasonColumns(columns)],
      cells: [...Object.values(cells), ...reasons],
    })
  }
  const phones = { consent: { column: 'sms', not_values: ['yes', 'y'], for: 'phone_number' } }

  test.for([
    ['a test of consent', 'sms', { sms: 'v***' }, { consent: { column: 'sms', not_values: ['yes'] } }],
    ['a test for phone numbers', 'sms', { sms: 'y***' }, phones],
    ['a row filter', 'segment', { segment: 's***' }, { except: { segment: 'staff' } }],
    ['a date of birth', 'birthday', { birthday: '2***' }, {}],
    ['the key', 'key', { id: 'C***' }, {}],
  ] as const)('rejects its row if %s reads it', ([, field, cells, definition]) => {
    const { reject, record, optedOut } = again({ ...person, sms: 'no', segment: '', birthday: '', ...cells }, definition)
    expect([record, optedOut, reject?.code, reject?.field]).toEqual([undefined, undefined, 'CELL_MASKED', field])
    // The record with this key is kept as it was.
    expect(reject?.key === undefined).toBe(field === 'key')
  })

  test('is left out if it is one of several identifiers, and has no effect if no setting reads it', () => {
    const { record, warnings } = again({ ...person, sms: 'no', birthday: '', phone: '***43', note: 'v***' }, phones)
    expect([record?.kind, warnings.map(({ code }) => code)]).toEqual(['member', ['IDENTIFIER_DROPPED']])
  })

  test('does not keep its person off a do-not-reach list', () => {
    const list = { kind: 'do-not-reach', account_id: 'a1', list_id: 'c3' }
    const remove = { map: { ...map, remove: { column: 'sms', values: ['back'] } }, destination: list }
    expect(again({ ...person, id: 'C***', sms: 'b***' }, remove).record).toMatchObject({ desired: true })
  })

  test('rejects its row on a do-not-reach list only if the filter would leave the row out', () => {
    const destination = { kind: 'do-not-reach', account_id: 'a1', list_id: 'c3' }
    const row = { ...person, segment: 'b***' }
    const { reject, filtered } = again(row, { only: { segment: 'blocked' }, destination })
    expect([filtered, reject?.code, reject?.field]).toEqual([undefined, 'CELL_MASKED', 'segment'])
    expect(again(row, { except: { segment: 'customer' }, destination }).record).toMatchObject({ desired: true })
  })
})
