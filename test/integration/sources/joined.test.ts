/** A source with a joined file. Each row of its format names its columns. */
import { expect, test } from 'vitest'
import { readSource, sourceOf, temporaryFolder } from './support.ts'

const lines = (records: readonly object[]) => records.map((record) => `${JSON.stringify(record)}\n`).join('')

/** Reads 100 products with a price file. Only the last product has a sale price, so the first batches have no such column. */
async function joinPrices(columns?: readonly string[]) {
  await using folder = await temporaryFolder()
  const ids = Array.from({ length: 100 }, (_, at) => `A${at}`)
  const main = await folder.write('feed.jsonl', lines(ids.map((id) => ({ id, price: '9 EUR', sale_price: '8 EUR' }))))
  const prices = ids.map((sku, at) => ({ price: '7 CHF', sku, ...(at === 99 ? { sale_price: '6 CHF' } : {}) }))
  const source = sourceOf(await folder.write('prices.jsonl', lines(prices)))
  const join = { source, sourceColumn: 'id', fileColumn: 'sku', ...(columns === undefined ? {} : { columns }) }
  const { code, rows, facts } = await readSource(sourceOf(main, { join }))
  return {
    code,
    columns: facts?.columns,
    cells: [rows[0], rows[99]].map((row) => row && row.columns.map((name, at) => [name, row.cells[at]])),
  }
}

test.each([[undefined], [['price', 'sale_price']]])(
  'a column that only a later row of the joined file has is joined too: %j',
  async (columns) => {
    expect(await joinPrices(columns)).toEqual({
      code: 'read',
      columns: ['id', 'price', 'sale_price'],
      cells: [
        [
          ['id', 'A0'],
          ['price', '7 CHF'],
          ['sale_price', undefined],
        ],
        [
          ['id', 'A99'],
          ['price', '7 CHF'],
          ['sale_price', '6 CHF'],
        ],
      ],
    })
  },
)

test('a configured column that no row of the joined file has stops the read', async () => {
  expect((await joinPrices(['price', 'cost'])).code).toBe('FILE_COLUMN_MISSING')
})

test('a row without the column by which the file is joined is rejected with the name of the column', async () => {
  await using folder = await temporaryFolder()
  const source = sourceOf(await folder.write('prices.csv', 'sku,price\nA1,7 CHF\n'))
  const main = await folder.write('feed.csv', 'product,price\nA1,9 EUR\n')
  const { rows } = await readSource(sourceOf(main, { join: { source, sourceColumn: 'id', fileColumn: 'sku' } }))
  expect(rows.map(({ fault }) => [fault?.code, fault?.message])).toEqual([
    ['JOIN_ROW_MISSING', 'the row has no column "id", by which the file is joined'],
  ])
})
