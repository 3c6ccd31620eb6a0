import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { cellsOf, faultsOf, read, refusal } from './support.ts'

const good = (count: number) => Array.from({ length: count }, (_, at) => `{"id":"${at}"}\n`).join('')

describe('JSON and JSON lines (bad-inputs section 4)', () => {
  test('case 45: a truncated last line rejects the file', async () => {
    expect(await refusal('{"id":"1"}\n{"id":"2')).toBe('FILE_TRUNCATED')
    expect(await refusal('{"id":"1"}\n{"id":"2"}')).toBe('none')
  })
  test('a complete last line without a line end is one bad line', async () => {
    expect(await refusal(`${good(100)}{"id":"1","id":"2"}`)).toBe('none')
    expect(await refusal(`${good(100)}{"id":}`)).toBe('none')
  })
  test('case 46: one bad line is rejected; more than one in a hundred reject the file', async () => {
    expect(faultsOf(await read('{"id":"1"}\n{"id":}\n{"id":"3"}\n'))).toEqual([undefined, 'ROW_JSON', undefined])
    expect(await refusal(`${good(100)}{"id":}\n`)).toBe('none')
    expect(await refusal(`${good(100)}{"id":}\n{"id":}\n`)).toBe('FILE_FAULTY_ROWS')
  })
  test('case 47: an array is streamed if lines are configured, and lines if an array is', async () => {
    const array = await read('[{"id":"1"},{"id":"2"}]', { format: 'jsonl' })
    expect([array.rows.length, array.detected.format]).toEqual([2, 'json'])
    expect((await read('{"id":"1"}\n{"id":"2"}\n', { format: 'json' })).rows).toHaveLength(2)
    expect(await refusal('id,title\n1,a\n', { format: 'json' })).toBe('WRONG_FORMAT')
  })
  test('case 48: an object over several lines rejects the file', async () => {
    expect(await refusal('{\n  "id": "1",\n  "title": "a"\n}\n')).toBe('FILE_NOT_JSON_LINES')
    expect(await refusal('{"id":"1",\n"tags": [\n"a",\n"b"\n]}\n')).toBe('FILE_NOT_JSON_LINES')
    expect(await refusal('{"id":"1",\n"title":"a"}')).toBe('FILE_NOT_JSON_LINES')
    // But an object around records is read as its records.
    expect((await read('{"items": [\n{"id":"1"},\n{"id":"2"}\n]}\n')).rows.map(cellsOf)).toEqual([{ id: '1' }, { id: '2' }])
  })
  test('case 49: numbers keep their source text', async () => {
    expect(cellsOf((await read('{"id":12345678901234567890,"price":1.50,"x":1e3}\n')).rows[0])).toEqual({
      id: '12345678901234567890',
      price: '1.50',
      x: '1e3',
    })
  })
  test('case 50: duplicate keys reject the row', async () => {
    expect(faultsOf(await read('{"id":"1","id":"2"}\n'))).toEqual(['ROW_JSON_KEYS'])
    expect(faultsOf(await read('{"a":{"b":"1"},"a.b":"2"}\n{"a":{"b":"1"}}\n'))).toEqual(['ROW_JSON_KEYS', undefined])
    expect(faultsOf(await read('{"a":{"id":"1"},"b":{"id":"2"}}\n'))).toEqual([undefined])
  })
  // Quadratic time would be longer than the timeout, as in the test of case 46: 25,000 texts took 22 s.
  test('a list of 100,000 texts is read in linear time', async () => {
    const { rows } = await read(`{"id":"1","tags":[${'7,'.repeat(99_999)}7]}\n`)
    expect(cellsOf(rows[0])['tags']).toHaveLength(100_000)
  })
  test('a key whose path is longer than 1,000 characters rejects the row', async () => {
    const long = await read(`{"${'k'.repeat(990)}":{"a":"1","${'b'.repeat(10)}":"2"}}\n`)
    expect([faultsOf(long), long.end.columns.length]).toEqual([['ROW_COLUMNS'], 1])
  })
  test('an email or phone number as a key rejects the row, because keys become names of columns', async () => {
    const good = Array.from({ length: 400 }, (_, i) => `{"id":"${i}"}\n`).join('')
    const odd = ['{"id":"1","jane@example.com":{"ok":true}}', '{"a":{"+1 202 555 0143":"x"}}', '{"images":{"hero@2x.png":"x"},"@type":"y"}']
    const result = await read(`${good}${odd.join('\n')}\n`)
    expect(faultsOf(result).slice(400)).toEqual(['ROW_JSON_NAME', 'ROW_JSON_NAME', undefined])
    expect(result.rows.at(-1)?.columns).toEqual(['id', 'images.hero@2x.png', '@type'])
  })
  test.each([
    ['{"id":NaN}'],
    ['{"id":Infinity}'],
    ['{"id":1} // note'],
    ['{"id":1,}'],
    ['{id:1}'],
    ["{'id':1}"],
    ['{"id":01}'],
    ['"id"'],
    ['17'],
    ['{"id":"a\tb"}'],
    ['{"id":1}}'],
  ])('case 51: %s is rejected', async (line) => {
    expect(faultsOf(await read(`{"id":"0"}\n${line}\n`))).toEqual([undefined, 'ROW_JSON'])
  })
  test.for([
    '{"a":NaN,"b":{"id":"9"},"id":"7"}',
    '{"a":{"x":-Infinity,"id":"9"},"c":[{"id":"8"}],"id":"7"}',
    '{"a":"\\ud800","id":"7"}',
    '{"a":"1","a":"2","id":"7"}',
    '{"a":"tab\there","id":"7"}',
    '{"a":\'single\',"id":"7"}',
    `{"a":${'['.repeat(40)}${']'.repeat(40)},"id":"7"}`,
    '{"jane@example.com":"1","id":"7"}',
    '{"a":"5" nail","id":"7"}',
  ])('cases 13 and 46 to 52: the id after the fault is read: %s', async (line) => {
    const { rows } = await read(`{"id":"0"}\n${line}\n`)
    expect([
      rows[1]?.fault !== undefined,
      cellsOf(rows[1])['id'],
      Object.keys(cellsOf(rows[1])).filter((name) => name.includes('@')),
    ]).toEqual([true, '7', []])
  })
  test('case 46: a long record with a fault is searched in linear time', async () => {
    const { rows } = await read(`{"id":"0"}\n{"a":x"${'\\"'.repeat(500_000)}\n`)
    expect(rows.map(({ fault }) => fault !== undefined)).toEqual([false, true])
  })
  test('case 52: a depth above 32 rejects the row, and a depth bomb rejects the file by its size', async () => {
    expect(faultsOf(await read(`{"id":"0"}\n{"a":${'['.repeat(32)}${']'.repeat(32)}}\n`))).toEqual([undefined, 'ROW_JSON_DEPTH'])
    expect(await refusal(`{"a":${'['.repeat(5_000_000)}`)).toBe('FILE_RECORD_TOO_LARGE')
  })
  test('case 53: null counts as absent, and an object is not text', async () => {
    expect(cellsOf((await read('{"id":{"a":"1"},"title":null}\n')).rows[0])).toEqual({ 'id.a': '1' })
  })
  test('case 54: a __proto__ key is ignored', async () => {
    expect(cellsOf((await read('{"__proto__":{"polluted":"yes"},"id":"1"}\n')).rows[0])).toEqual({ id: '1' })
    expect(cellsOf((await read('{"a":{"__proto__":{"b":"x"},"c":"2"}}\n')).rows[0])).toEqual({ 'a.c': '2' })
  })
  test('keys above the limit reject their rows, and are not kept', async () => {
    const file = Array.from({ length: 90 }, (_, at) => `{"id":"${at}","key${at}":"x"}\n`).join('')
    const result = await read(file, { limits: { columns: 2 } })
    expect(faultsOf(result).filter((code) => code === 'ROW_COLUMNS')).toHaveLength(90 - 15)
    expect(result.end.columns).toHaveLength(16)
  })
  test('case 55: CRLF, empty lines and record separators', async () => {
    const result = await read('\u001e{"id":"1"}\r\n\r\n  \n\u001e{"id":"2"}\r\n', { chunkBytes: 3 })
    expect(result.rows.map((row) => [row.line, row.cells[0]])).toEqual([
      [1, '1'],
      [4, '2'],
    ])
  })
  test('case 13: an escaped lone surrogate rejects the row', async () => {
    expect(faultsOf(await read('{"id":"\\ud800"}\n'))).toEqual(['TEXT_BROKEN'])
  })
  test.for(['{"a\\u0000b":1}\n', '{"x":{"\\u0000":null}}\n'])('case 14: a key with a NUL character rejects the row: %s', async (text) => {
    expect(faultsOf(await read(text))).toEqual(['TEXT_BROKEN'])
  })
  test('case 179: nested prices and image lists', async () => {
    const row = (await read('{"price":{"currencyCode":"USD","price":12.50},"images":["a","b"],"variants":[{"sku":"1"},{"sku":"2"}]}\n'))
      .rows[0]
    expect(cellsOf(row)).toEqual({ 'price.currencyCode': 'USD', 'price.price': '12.50', images: ['a', 'b'], 'variants.sku': ['1', '2'] })
  })
  test('an array is read element by element with its lines', async () => {
    const result = await read('[\n  {"id":"1",\n   "title":"]},{"},\n  {"id":"2"}\n]\n', { chunkBytes: 2 })
    expect(result.rows.map((row) => [row.line, cellsOf(row)])).toEqual([
      [2, { id: '1', title: ']},{' }],
      [4, { id: '2' }],
    ])
    expect(result.end.proof).toBe('array closed')
  })
  test.each([
    ['[{"id":"1"}', 'FILE_TRUNCATED'],
    ['[{"id":"1"},', 'FILE_TRUNCATED'],
    ['[{"id":"1"}] {', 'FILE_MALFORMED'],
    ['[{"id":"1"} {"id":"2"}]', 'FILE_MALFORMED'],
    ['[{"id":"1"},]', 'FILE_MALFORMED'],
    ['[]', 'none'],
  ])('the array %s: %s', async (text, code) => {
    expect(await refusal(text)).toBe(code)
  })
  test('objects of texts and numbers are read as by JSON.parse', async () => {
    const scalar = fc.oneof(
      fc.string({ unit: 'grapheme' }),
      fc.double({ noNaN: true, noDefaultInfinity: true }),
      fc.boolean(),
      fc.constant(null),
    )
    const key = fc.string({ minLength: 1 }).filter((text) => text !== '__proto__' && !text.includes('.'))
    await fc.assert(
      fc.asyncProperty(fc.dictionary(key, scalar, { maxKeys: 6 }), fc.integer({ min: 1, max: 30 }), async (object, chunkBytes) => {
        const text = JSON.stringify(object)
        const row = (await read(`${text}\n`, { chunkBytes })).rows[0]
        expect(row?.fault).toBeUndefined()
        const expected = Object.entries(object)
          .filter(([, value]) => value !== null)
          .map(([name, value]) => [name, typeof value === 'number' ? JSON.stringify(value) : String(value)])
        expect(cellsOf(row)).toEqual(Object.fromEntries(expected))
      }),
      { numRuns: 300 },
    )
  })
  test('a text that JSON.parse rejects is never a row without a fault', async () => {
    const piece = fc.constantFrom('{', '}', '[', ']', '"a"', '"b"', ':', ',', '1', '-', 'true', 'null', ' ', '\\', '"')
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 10 }), async (pieces) => {
        const text = `{"a":1${pieces.join('')}`
        let valid = true
        try {
          JSON.parse(text)
        } catch {
          valid = false
        }
        const result = await read(`{"z":0}\n${text}\n`)
        expect(valid || result.rows[1]?.fault !== undefined).toBe(true)
      }),
      { numRuns: 1000 },
    )
  })
})
