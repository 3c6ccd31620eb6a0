/** Records in an array inside an object: saved answers of shop APIs. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { catalog, goodProduct, through } from '../../support/through.ts'
import { cellsOf, read, refusal } from './support.ts'

const records = [
  { id: '1', title: 'Cup {[', price: '1.00 EUR' },
  { id: '2', title: 'Mug "]}', price: '2.00 EUR' },
]
const cells = records.map((record) => ({ ...record }))
const rowsOf = async (text: string, settings = {}) => (await read(text, settings)).rows.map(cellsOf)
const named = (path: string) => ({ json: { records: path } })

/** Layouts of APIs: one line, several lines, and one record in each line. */
const layouts: Readonly<Record<string, (value: object) => string>> = {
  'on one line': (value) => JSON.stringify(value),
  'over lines': (value) => `${JSON.stringify(value, null, 2)}\n`,
  'a member a line': (value) => `${JSON.stringify(value).replaceAll(',', ',\n')}\n`,
  'one record per line': (value) => `${JSON.stringify(value).replaceAll('},{', '},\n{').replace('[{', '[\n{').replace('}]', '}\n]')}\n`,
}

describe('an array of records inside an object', () => {
  test.for([
    ['items', { items: records }],
    ['data.products', { data: { products: records } }],
    ['results', { count: 2, next: 'https://shop.example.com/api?page=2', previous: null, results: records }],
    ['products', { meta: { page: 1, pages: [1, 2], shop: { name: 'S' } }, products: records, links: { self: 'x' }, errors: [] }],
    ['a"b.c\\d', { 'a"b': { 'c\\d': records } }],
  ] as const)('is detected at %s and reported', async ([path, value]) => {
    for (const [name, layout] of Object.entries(layouts))
      for (const chunkBytes of [1, 7, 65_536]) {
        const { rows, detected, end } = await read(layout(value), { chunkBytes })
        expect([name, rows.map(cellsOf)]).toEqual([name, cells])
        expect(detected).toMatchObject({ format: 'json', notes: [`the records are the array at "${path}"`] })
        expect([end.proof, end.finalNewline]).toEqual(['object closed', null])
      }
  })

  test('is read at the configured path, at any depth and beside anything else', async () => {
    const value = { included: records.slice(1), data: { shop: { products: { list: records } }, more: [{ a: 1 }, { a: 2 }] } }
    for (const layout of Object.values(layouts)) expect(await rowsOf(layout(value), named('data.shop.products.list'))).toEqual(cells)
    expect(await rowsOf(JSON.stringify(value), named('included'))).toEqual(cells.slice(1))
    expect(await rowsOf('{"products":[]}', named('products'))).toEqual([])
    expect(await refusal('{"products":{}}', named('products'))).toBe('WRONG_FORMAT')
    expect(await refusal('[{"id":"1"}]', named('products'))).toBe('WRONG_FORMAT')
  })

  test.for([
    ['JSON lines with arrays of objects', `${JSON.stringify({ ...records[0], images: records })}\n`.repeat(2), 2],
    ['one record with images', `${JSON.stringify({ ...goodProduct, images: [{ src: 'a', alt: 'b' }] })}\n`, 1],
    ['one record with a list of words', '{"id":"1","tags":["a","b"]}\n', 1],
  ] as const)('is not found in %s', async ([, text, count]) => {
    const { rows, detected } = await read(text)
    expect([detected.format, detected.notes, rows.length]).toEqual(['jsonl', [], count])
  })

  test('is read as JSON lines if these are configured', async () => {
    const { detected, rows } = await read(`${JSON.stringify({ items: records })}\n`, { format: 'jsonl' })
    expect([detected.format, rows.length]).toEqual(['jsonl', 1])
  })

  test('rejects the file if another array is at its end', async () => {
    const text = JSON.stringify({ products: Array.from({ length: 3000 }, () => ({ ...records[0], text: 'x'.repeat(30) })), users: records })
    expect(text.length).toBeGreaterThan(65_536 * 2)
    await expect(read(text)).rejects.toMatchObject({
      code: 'WRONG_FORMAT',
      message: 'records may be at "products" or at "users"',
      hint: expect.stringContaining('json: { records: products }') as string,
    })
    expect((await rowsOf(text, named('products'))).length).toBe(3000)
  })

  test.for([
    ['two arrays of one name', '{"items":[{"id":"1"}],"items":[{"id":"2"}]}', 'FILE_MALFORMED'],
    ['rubbish behind the object', '{"items":[{"id":"1"}]} x', 'FILE_MALFORMED'],
    ['another object behind it', '{"items":[{"id":"1"}]}\n{"items":[]}', 'FILE_MALFORMED'],
    ['a bracket too many', '{"items":[{"id":"1"}]}]', 'FILE_MALFORMED'],
    ['a missing comma around it', '{"items":[{"id":"1"}] "x":1}', 'FILE_MALFORMED'],
    ['a missing comma in it', '{"items":[{"id":"1"} {"id":"2"}]}', 'FILE_MALFORMED'],
    ['endless surroundings', `{"x":"${'y'.repeat(20_000)}","items":[]}`, 'FILE_RECORD_TOO_LARGE'],
  ] as const)('%s rejects the file', async ([, text, code]) => {
    for (const chunkBytes of [3, 65_536])
      expect(await refusal(text, { ...named('items'), chunkBytes, limits: { recordBytes: 10_000 } })).toBe(code)
  })

  test('T8: truncated at any byte it is rejected, detected or configured', async () => {
    const value = { total: 2, data: { products: records }, page: { next: null, url: 'https://x.example.com' } }
    for (const layout of Object.values(layouts)) {
      const bytes = Buffer.from(layout(value))
      for (const settings of [{}, named('data.products')])
        for (let at = 1; at < bytes.toString().trimEnd().length; at++) {
          const code = await refusal(bytes.subarray(0, at), settings)
          expect([at, code]).toEqual([at, expect.stringMatching(/^FILE_(?:TRUNCATED|NOT_JSON_LINES)$/)])
        }
    }
  })

  test('any object around any records is read as by JSON.parse', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', '"', '\\', '[', ']', '{', '}', ',', ':', '\n', 'é', ' '), maxLength: 6 })
    const around = fc.dictionary(
      text.filter((key) => !['records', '__proto__'].includes(key)),
      fc.oneof(text, fc.integer(), fc.constant(null), fc.array(text, { maxLength: 2 }), fc.dictionary(text, text, { maxKeys: 2 })),
      { maxKeys: 3 },
    )
    const record = fc.record({ id: text.filter((one) => one.trim() !== ''), title: text.filter((one) => one.trim() !== '') })
    await fc.assert(
      fc.asyncProperty(
        around,
        around,
        fc.array(record, { maxLength: 4 }),
        fc.integer({ min: 1, max: 40 }),
        fc.constantFrom(0, 1),
        async (before, after, list, chunkBytes, space) => {
          const json = JSON.stringify({ ...before, records: list, ...after }, null, space)
          expect(await rowsOf(json, { ...named('records'), chunkBytes })).toEqual(list)
        },
      ),
      { numRuns: 300 },
    )
  })

  test('a product feed inside an API answer becomes its products', async () => {
    const products = [1, 2].map((n) => ({ ...goodProduct, id: `P-${n}` }))
    const outcome = await through(JSON.stringify({ status: 'ok', data: { products } }, null, 1), {
      name: 'feed.json',
      destination: catalog,
    })
    expect([outcome.refused, outcome.rejects, outcome.complete]).toEqual([undefined, [], true])
    expect(outcome.products.map(({ id }) => id)).toEqual(['P-1', 'P-2'])
    expect(outcome.sourceNotes).toEqual(['the records are the array at "data.products"'])
  })
})

// Quadratic time would be longer than the timeout: 20,000 colons after a key of 50,000 characters took 14 s.
test('200,000 colons after a long key are rejected in linear time', async () => {
  expect(await refusal(`{"${'a'.repeat(50_000)}"${':'.repeat(200_000)}`, { json: { records: 'items' } })).toBe('FILE_TRUNCATED')
})
