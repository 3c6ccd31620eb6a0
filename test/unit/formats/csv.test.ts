import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { splitRelaxedFields } from '../../../src/formats/csv/csvFields.ts'
import { cellsOf, faultsOf, read, refusal } from './support.ts'

const header = 'id,title,price\n'
const rowsOf = (count: number) => Array.from({ length: count }, (_, at) => `${at},t${at},1.00 USD\n`).join('')

describe('CSV and TSV (bad-inputs section 2)', () => {
  test('case 18: an unclosed quote that includes the rest of the file rejects it at the record limit', async () => {
    expect(await refusal(`${header}1,"open,2\n${rowsOf(200)}`, { limits: { recordBytes: 1024 }, chunkBytes: 512 })).toBe(
      'FILE_UNCLOSED_QUOTE',
    )
  })
  test('case 18: a small file with an unclosed quote counts as truncated', async () => {
    expect(await refusal(`${header}1,"open,2\n2,b,3\n`)).toBe('FILE_TRUNCATED')
  })
  test('case 19: a quote inside an unquoted field rejects that row alone', async () => {
    const result = await read(`${header}1,5" nail,2.00 USD\n2,b,3.00 USD\n`)
    expect(faultsOf(result)).toEqual(['ROW_QUOTE', undefined])
  })
  test('case 19: text after a closing quote rejects that row alone', async () => {
    expect(faultsOf(await read(`${header}1,"a"b,2.00 USD\n2,b,3.00 USD\n`))).toEqual(['ROW_QUOTE', undefined])
  })
  test('case 19: such a row has the cells that can be read', async () => {
    const { rows } = await read(`${header}1,5" nail,2.00 USD\n2,"a"b,3.00 USD\n3,c,4.00 USD\n`)
    expect(rows.map(({ cells }) => cells)).toEqual([['1', '5" nail', '2.00 USD'], ['2'], ['3', 'c', '4.00 USD']])
  })
  test('case 19: with relaxed quotes, a quote inside an unquoted field is text, with a warning', async () => {
    const file = `${header}1,5" nail,2.00 USD\n2,"a ""b"", c",3"\n3,"4 \n5",\n`
    for (const chunkBytes of [1, 7, 4096]) {
      const { rows } = await read(file, { csv: { relaxedQuotes: true }, chunkBytes })
      expect(
        rows.map(({ line, cells, fault, warnings }) => [line, cells, fault, warnings?.map(({ code, field }) => `${code} ${field}`)]),
      ).toEqual([
        [2, ['1', '5" nail', '2.00 USD'], undefined, ['QUOTE_KEPT title']],
        [3, ['2', 'a "b", c', '3"'], undefined, ['QUOTE_KEPT price']],
        [4, ['3', '4 \n5', ''], undefined, undefined],
      ])
    }
  })
  test('case 19: text after a closing quote and a row that is too long reject their rows, also with relaxed quotes', async () => {
    const result = await read(`${header}1,"a"b,2.00 USD\n2,5" a,5" b,5" c\n3,c,4.00 USD\n`, { csv: { relaxedQuotes: true } })
    expect(faultsOf(result)).toEqual(['ROW_QUOTE', 'ROW_RAGGED', undefined])
  })
  test('case 19: many such rows reject the file, but not with relaxed quotes', async () => {
    const file = `${header}${rowsOf(98)}x,5" a,1\ny,5" b,1\n`
    expect(await refusal(file)).toBe('FILE_FAULTY_ROWS')
    expect(await refusal(file, { csv: { relaxedQuotes: true } })).toBe('none')
  })
  test('case 19: a line end inside an unquoted field that only the splitter finds rejects the row', async () => {
    // The splitter recognizes a delimiter outside ASCII by its last byte, which \u0109 has too. So it reads the quote after it as the
    // start of a field.
    const result = await read('id\u00c9title\n1\u00c95" \u0109"a\nb"\n2\u00c9c\n', { csv: { delimiter: '\u00c9', relaxedQuotes: true } })
    expect(faultsOf(result)).toEqual(['ROW_QUOTE', undefined])
  })
  test('case 19: with relaxed quotes, a record without misplaced quotes has the same fields as from csv-parse', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'é', ',', '"', ' '), maxLength: 6 })
    fc.assert(
      fc.property(fc.array(cell, { minLength: 2, maxLength: 6 }), (cells) => {
        const text = cells.map((value) => `"${value.replaceAll('"', '""')}"`).join(',')
        expect(splitRelaxedFields(text, ',', '"')).toEqual({ fields: parse(text)[0], quoteFieldIndex: -1, isAmbiguous: false })
      }),
    )
  })
  test('case 20: a ragged row is rejected with its line', async () => {
    const result = await read(`${header}1,a\n2,b,3,4\n3,c,5\n`)
    expect(result.rows.map((row) => [row.line, row.fault?.code])).toEqual([
      [2, 'ROW_RAGGED'],
      [3, 'ROW_RAGGED'],
      [4, undefined],
    ])
  })
  test('case 20: more than one ragged row in a hundred rejects the file', async () => {
    expect(await refusal(`${header}${rowsOf(98)}x\ny\n`)).toBe('FILE_FAULTY_ROWS')
    expect(await refusal(`${header}${rowsOf(99)}x\n`)).toBe('none')
  })
  test.each([[';'], ['\t'], ['|']])('case 21: a file separated by %j is rejected if a comma is configured', async (delimiter) => {
    expect(await refusal(`id${delimiter}title\n1${delimiter}a\n`, { csv: { delimiter: ',' } })).toBe('HEADER_MISMATCH')
  })
  test.each([[','], [';'], ['\t'], ['|']])('the delimiter %j is detected', async (delimiter) => {
    const result = await read(`id${delimiter}title\n1${delimiter}"a, b; c"\n2${delimiter}b\n`)
    expect(result.detected.delimiter).toBe(delimiter)
    expect(result.rows[0]?.cells).toEqual(['1', 'a, b; c'])
  })
  test('a delimiter outside ASCII is supported, a quote outside ASCII is rejected', async () => {
    const result = await read('id§title\n1§"a\nb"\n2§§\n', { csv: { delimiter: '§' } })
    expect(result.rows.map((row) => [row.line, row.cells.length, row.cells[1]])).toEqual([
      [2, 2, 'a\nb'],
      [4, 3, ''],
    ])
    expect(await refusal('id,title\n', { csv: { quote: '“' } })).toBe('WRONG_FORMAT')
  })
  test('case 22: a column with a repeated name gets its position as suffix; names by position replace both', async () => {
    expect(cellsOf((await read('email,email\na,b\n')).rows[0])).toEqual({ email: 'a', 'email (column 2)': 'b' })
    const repaired = await read('email,email\na,b\n', { csv: { headerRow: 1, columns: ['first', 'second'] } })
    expect(cellsOf(repaired.rows[0])).toEqual({ first: 'a', second: 'b' })
  })
  test('case 22: a column without a name is left out', async () => {
    const result = await read('id,,title\n1,x,a\n')
    expect(result.rows[0]).toMatchObject({ columns: ['id', 'title'], cells: ['1', 'a'] })
    expect(result.end.notes).toContain('columns without a name are left out')
  })
  test('case 24: the header repeated among the data rejects that row', async () => {
    expect(faultsOf(await read(`${header}1,a,2\n${header}2,b,3\n`))).toEqual([undefined, 'HEADER_REPEATED', undefined])
  })
  test.each([
    ['an address of a person', 'a@example.com,Ann\nb@example.com,Ben\n'],
    ['a digest', `${'a'.repeat(64)}\n${'b'.repeat(64)}\n`],
    ['a web address', '1,https://shop.example.com/1\n2,https://shop.example.com/2\n'],
    ['a price', 'x,12.99 USD\ny,13.99 USD\n'],
    ['a national phone number', 'x,(202) 555-0143\ny,(202) 555-0144\n'],
    ['a phone number with spaces', 'x,0171 1234567\ny,0171 1234568\n'],
  ])('cases 25 and 206: data in the first row is rejected: %s', async (_, text) => {
    expect(await refusal(text)).toBe('FILE_NO_HEADER')
  })
  test('dates are names of columns', async () => {
    expect((await read('id,2026-01-02,2024/2025\n1,a,b\n')).rows).toHaveLength(1)
  })
  test('case 206: a file without a header is read if the columns are named', async () => {
    const result = await read(`${'a'.repeat(64)}\n${'b'.repeat(64)}\n`, { csv: { columns: ['email'] } })
    expect(result.rows.map((row) => row.cells[0])).toEqual(['a'.repeat(64), 'b'.repeat(64)])
  })
  test('case 26: ten million columns are rejected without storing them', async () => {
    expect(await refusal(`${header}${','.repeat(10_000_000)}\n`)).toBe('FILE_RECORD_TOO_LARGE')
    expect(await refusal(`${header}${','.repeat(600)}\n`)).toBe('FILE_TOO_MANY_COLUMNS')
  })
  test('case 26: 512 columns are read, and 513 reject the file', async () => {
    const table = (columns: number) => `${Array.from({ length: columns }, (_, at) => `c${at}`).join(',')}\n`
    expect(await refusal(table(512))).toBe('none')
    expect(await refusal(table(513))).toBe('FILE_TOO_MANY_COLUMNS')
  })
  test('case 26: a header longer than the sample is read, and one longer than a record rejects the file', async () => {
    const names = Array.from({ length: 500 }, (_, at) => `${'custom_attribute_of_the_marketplace_template_'.repeat(4)}${at}`)
    const file = `${names.join(',')}\n${names.map((_, at) => at).join(',')}\n`
    expect((await read(file)).rows[0]?.cells.at(-1)).toBe('499')
    expect(await refusal(`${'a,'.repeat(1_000_000)}\n`)).toBe('FILE_RECORD_TOO_LARGE')
  })
  test('case 27: a field above 128 KiB rejects the file', async () => {
    expect(await refusal(`${header}1,${'x'.repeat(131_073)},2\n`)).toBe('FILE_FIELD_TOO_LARGE')
    expect(await refusal(`${header}1,${'x'.repeat(131_072)},2\n`)).toBe('none')
  })
  test('case 28: line ends in quoted fields are data, and lines are counted through them', async () => {
    const result = await read(`${header}1,"a\nb\r\nc",2\n2,d,3\n`)
    expect(result.rows.map((row) => [row.line, row.cells[1]])).toEqual([
      [2, 'a\nb\r\nc'],
      [5, 'd'],
    ])
  })
  test('case 29: cells that look like formulas are data', async () => {
    const result = await read(`${header}1,"=HYPERLINK(""http://a"")",@SUM\n`)
    expect(result.rows[0]?.cells).toEqual(['1', '=HYPERLINK("http://a")', '@SUM'])
  })
  test('case 31: a comment among the data rejects that row', async () => {
    expect(faultsOf(await read(`${header}1,a,2\n# the end\n`))).toEqual([undefined, 'ROW_COMMENT'])
  })
  test('case 33: columns named like properties of objects are plain text keys', async () => {
    const result = await read('__proto__,constructor,toString\na,b,c\n')
    expect(result.rows[0]).toMatchObject({ columns: ['__proto__', 'constructor', 'toString'], cells: ['a', 'b', 'c'] })
  })
  test.each([['\r'], ['\n'], ['\r\n']])('case 16: %j ends records', async (end) => {
    const result = await read(['id,title', '1,a', '2,b', ''].join(end))
    expect(result.rows.map((row) => [row.line, ...row.cells])).toEqual([
      [2, '1', 'a'],
      [3, '2', 'b'],
    ])
  })
  test('case 16: mixed line ends', async () => {
    const result = await read('id,title\r\n1,a\r2,b\n3,c\r\n', { chunkBytes: 1 })
    expect(result.rows.map((row) => row.line)).toEqual([2, 3, 4])
  })
  test('case 14: a row with a NUL byte is rejected', async () => {
    expect(faultsOf(await read(`${header}1,a\0b,2\n2,b,3\n`))).toEqual(['TEXT_BROKEN', undefined])
  })
  test.for(['id,ti\0tle\n1,a\n', '\0id,title\n1,a\n'])('case 14: a NUL byte in the header rejects the file: %j', async (text) => {
    await expect(read(text)).rejects.toMatchObject({ code: 'FILE_MALFORMED', where: 'feed, line 1' })
  })
  test.for([
    ['as wide as the header', '# Required,# Required\nid,title\n1,a\n', 2],
    ['of one cell', '# made by hand\nid,title\n1,a\n', 2],
    ['below a title', 'Export of my shop\n# made by hand\nid,title\n1,a\n', 3],
    ['with a second one', '# made by hand\n# on a Monday\nid,title\n1,a\n', 3],
  ] as const)('case 175: a comment row %s is rejected with the setting for the line', async ([, text, line]) => {
    await expect(read(text)).rejects.toMatchObject({ code: 'FILE_COMMENT_HEADER', remedy: { csv: { header_row: line } } })
    await expect(read(text)).rejects.toMatchObject({ hint: expect.stringContaining(`csv: { header_row: ${line} }`) })
    expect((await read(text, { csv: { headerRow: line } })).rows).toMatchObject([{ line: line + 1, cells: ['1', 'a'] }])
  })
  test('title rows of one cell are skipped', async () => {
    const result = await read('Export of my shop\nmade by hand\nid,title\n1,a\n')
    expect(result.detected.headerLine).toBe(3)
    expect(result.rows[0]).toMatchObject({ line: 4, cells: ['1', 'a'] })
  })
  test('empty rows above the header are skipped', async () => {
    const result = await read(',,\nid,title,price\n1,a,2\n')
    expect(result.detected.headerLine).toBe(2)
    expect(result.rows[0]).toMatchObject({ line: 3, columns: ['id', 'title', 'price'], cells: ['1', 'a', '2'] })
    expect((await read('Report,,\n,,\nid,title,price\n1,a,2\n')).detected.headerLine).toBe(3)
  })
  test('case 198: a first row sep=; sets the delimiter', async () => {
    const result = await read('sep=;\nid;title\n1;a, b\n')
    expect(result.rows.map((row) => row.cells)).toEqual([['1', 'a, b']])
    expect(result.detected.notes).toEqual(['line 1 sets the delimiter to ";"'])
  })
  test('case 198: a first row sep=, has no effect on a configured delimiter', async () => {
    const result = await read('sep=,\nid;title\n1;a, b\n', { csv: { delimiter: ';' } })
    expect(result.rows.map((row) => row.cells)).toEqual([['1', 'a, b']])
    expect(result.detected.notes).toEqual(['line 1 names the delimiter ",", which is not the configured one, and is left out'])
  })
  test('case 204: empty lines are skipped and counted as lines', async () => {
    expect((await read(`${header}\n1,a,2\n\n\n2,b,3\n`)).rows.map((row) => row.line)).toEqual([3, 6])
  })
  test('case 205: a header named # is not a comment', async () => {
    expect((await read('#,What is your “name”?\n1,a\n')).rows[0]?.columns).toEqual(['#', 'What is your “name”?'])
  })
  test('cases 2 and 207: a header alone gives no rows', async () => {
    expect((await read(header)).rows).toEqual([])
  })
  test('a trailer row is not data and has the count; rows after it reject the file', async () => {
    const complete = { kind: 'trailer', pattern: '#rows={n}' } as const
    const result = await read(`${header}1,a,2\n#rows=1\n`, { complete })
    expect([result.rows.length, result.end.trailerRows]).toEqual([1, 1])
    expect(await refusal(`${header}1,a,2\n#rows=1\n2,b,3\n`, { complete })).toBe('FILE_MALFORMED')
  })
  test('a short last row without a line end may be truncated', async () => {
    expect((await read(`${header}1,a,2\n2,b`)).end.doubt).toBeDefined()
    expect((await read(`${header}1,a,2\n2,b\n`)).end.doubt).toBeUndefined()
  })
  test('any well-formed table is read as by csv-parse, in chunks of any size', async () => {
    const cell = fc.string({ unit: fc.constantFrom('a', 'é', '𝄞', ',', ';', '"', '\n', '\r', ' ', "'", '#'), maxLength: 6 })
    const quote = (text: string) => (/[",\n\r]/.test(text) || text === '' ? `"${text.replaceAll('"', '""')}"` : text)
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.tuple(cell, cell, cell), { minLength: 1, maxLength: 8 }),
        fc.constantFrom('\n', '\r\n', '\r'),
        fc.integer({ min: 1, max: 20 }),
        fc.boolean(),
        async (table, end, chunkBytes, finalEnd) => {
          const text = ['one,two,three', ...table.map((row) => row.map(quote).join(','))].join(end) + (finalEnd ? end : '')
          // Fixed names, so that no detection is part of this property.
          const result = await read(text, { chunkBytes, csv: { delimiter: ',', headerRow: 1 } })
          const expected = parse(text, { record_delimiter: ['\r\n', '\n', '\r'], from: 2 })
          expect(result.rows.map((row) => row.cells)).toEqual(expected)
        },
      ),
      { numRuns: 500 },
    )
  })
})
