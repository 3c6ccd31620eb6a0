import { parse } from 'csv-parse/sync'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { withOriginalCells } from '../../../src/mapping/rejectsFile.ts'
import { csvLine } from '../../../src/sync/reports/rejectsCsv.ts'

test.for([
  '=1+1',
  '+49',
  '-5',
  '@SUM(A1)',
  '\t=1',
  '\r=1',
  '\u0000=1',
  '＝1',
  '＋1',
  '－1',
  '＠x',
  '  =1',
  '\u00a0=HYPERLINK("http://a.example.com")',
  '\u3000=1',
])('%j cannot be run as a formula', (cell) => {
  const [[read = '']] = parse(csvLine([cell, 'x'])) as [string[]]
  expect(read).toBe(`'${cell}`)
})

test.for(["'+49", "''=1", "' -5"])('%j keeps its own apostrophe when the corrected file is read', (cell) => {
  const [[read = '']] = parse(csvLine([cell, 'x'])) as [string[]]
  expect(withOriginalCells({ line: 2, columns: ['a'], cells: [read] }).cells).toEqual([cell])
})

test('leaves an ordinary cell as it is, and quotes commas, quotes and line breaks', () => {
  expect(csvLine(['a', 'b c', '1,5', 'say "x"', 'two\nlines', ''])).toBe('a,b c,"1,5","say ""x""","two\nlines",\r\n')
})

test('any cells are parsed back unchanged, except for the apostrophe before a formula', () => {
  fc.assert(
    fc.property(fc.array(fc.string({ unit: 'binary' }), { minLength: 2, maxLength: 5 }), (cells) => {
      const [read] = parse(csvLine(cells), { record_delimiter: '\r\n' }) as string[][]
      expect(read).toEqual(cells.map((cell) => (/^'*[ \u00a0\u3000]*[=+\-@\t\r\u0000＝＋－＠]/.test(cell) ? `'${cell}` : cell)))
    }),
  )
})
