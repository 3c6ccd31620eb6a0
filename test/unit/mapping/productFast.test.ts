import fc from 'fast-check'
import { expect, test } from 'vitest'
import { createMapper } from '../../../src/destinations/createMapper.ts'
import { parseLinkInFull, parseLink } from '../../../src/mapping/products/links.ts'
import { mappableFields } from '../../../src/mapping/products/vocabulary.ts'
import { ValueMemo } from '../../../src/mapping/products/valueMemo.ts'
import { decodeEntities } from '../../../src/mapping/html.ts'
import { isBroken, isPlainText, stripControls } from '../../../src/mapping/text.ts'
import { looksGarbled } from '../../../src/mapping/garbled.ts'
import { resolvePipeline } from '../../../src/pipeline/resolve.ts'

function shop() {
  const { pipeline, problems } = resolvePipeline(
    {
      source: 'feed.xml',
      destination: { kind: 'catalog', catalog_id: '1' },
      options: { values: { availability: { ja: 'in stock' } }, allow: ['price_code_first'] },
    },
    'shop',
    'shop.yaml',
  )
  if (pipeline === undefined) throw new Error(JSON.stringify(problems))
  return createMapper(pipeline, new Date('2026-06-15'))
}

const values: Readonly<Record<string, readonly string[]>> = {
  id: ['1', 'A-1', '1-Mar', '1-Max', ' 1', 'a.b', 'é', '1E+10', 'x'.repeat(101)],
  availability: ['in stock', 'In_Stock', 'ja', 'x'],
  condition: ['new', 'NEW'],
  price: ['1 USD', '1.00 USD', 'EUR 1', '1', '0 USD', '1.00 XXX'],
  sale_price: ['0.50 USD', '2 USD', 'x', 'n/a'],
  link: ['https://a.example/1', 'https://a.example/?q="', 'HTTPS://a.example', 'http://a.example'],
  image_link: ['https://a.example/1.jpg', 'https://a.example/1.pdf', 'https://a.example/1.jpg?a.pdf', 'https://a.example/ü, 2'],
  gtin: ['4006381333931', '1'],
  sale_price_effective_date: ['2026-01-01T00:00Z/2026-02-01T00:00Z', '2026-01-01/2026'],
}
const texts = [
  'a',
  'Home &amp; Garden > Tools',
  'Toys & Games>x',
  'n/a',
  'xx',
  'a "b" \\',
  'Ã¼',
  'a\u200bb',
  '\u0000',
  '<b>c</b>',
  'x'.repeat(1_001),
  '#fff',
  'male',
  '',
]

test('a mapper returns for each row what a new mapper returns, although it knows the values of earlier rows', { tags: ['long'] }, () => {
  const required = ['title', 'description', ...Object.keys(values)]
  const row = fc.tuple(
    ...mappableFields.map((field) => {
      const value = fc.constantFrom(...(values[field] ?? texts))
      const first = fc.constant(values[field]?.[0] ?? 'a')
      const usual = required.includes(field) ? { weight: 80, arbitrary: first } : { weight: 3, arbitrary: fc.constant(undefined) }
      return fc.oneof(usual, { weight: 1, arbitrary: value }, { weight: 1, arbitrary: fc.array(value, { minLength: 1, maxLength: 2 }) })
    }),
  )
  let valid = 0
  fc.assert(
    fc.property(fc.array(row, { minLength: 2, maxLength: 6 }), (rows) => {
      const mapper = shop()
      for (const [line, cells] of rows.entries()) {
        const result = mapper.map({ line, columns: mappableFields, cells })
        expect(result).toEqual(shop().map({ line, columns: mappableFields, cells }))
        if (result.record?.kind !== 'product') continue
        valid++
        const fields = JSON.parse(result.record.json) as object
        expect(JSON.stringify(fields)).toBe(result.record.json)
        expect(Object.keys(fields)).toEqual(Object.keys(fields).toSorted())
      }
    }),
    { numRuns: 300 },
  )
  expect(valid).toBeGreaterThan(100)
})

test('an id is read with and without spaces around it alike', () => {
  const part = fc.constantFrom('1', '12', '-', 'M', 'Mar', 'Jan', 'a', '.', 'E', '+10', '_', '#', 'é', ',', 'x'.repeat(50))
  const columns = ['id', 'title']
  fc.assert(
    fc.property(fc.array(part, { maxLength: 4 }), (parts) => {
      const id = parts.join('')
      const outcome = (text: string) => shop().map({ line: 1, columns, cells: [text] })
      expect(outcome(id)).toEqual(outcome(` ${id} `))
    }),
  )
})

test('most links are recognized by one pattern, with the result of the whole parser', () => {
  const part = fc.constantFrom(
    'https://',
    'http://',
    'HTTPS://',
    'a',
    'b1',
    '-',
    '.',
    '..',
    'ü',
    ':',
    ':80',
    '@',
    '/',
    '?',
    '#',
    '%20',
    '"',
    ' ',
    '\\',
    'x.de',
  )
  let plain = 0
  fc.assert(
    fc.property(fc.array(part, { maxLength: 8 }), fc.boolean(), (parts, prefixed) => {
      const text = `${prefixed ? 'https://a.example' : ''}${parts.join('')}`
      expect(parseLink(text)).toEqual(parseLinkInFull(text))
      if ('link' in parseLink(text)) plain++
    }),
    { numRuns: 5_000 },
  )
  expect(plain).toBeGreaterThan(200)
  const long = `https://a.example/${'x'.repeat(2_048)}`
  expect(parseLink(long)).toEqual(parseLinkInFull(long))
})

test('plain text needs no cleaning', () => {
  let plain = 0
  fc.assert(
    fc.property(
      fc.string({ unit: fc.constantFrom('a', ' ', '&', '&lt;', '~', '\u0000', '\u007f', '\u0080', 'é', '\ud800', '\n'), maxLength: 5 }),
      (text) => {
        if (!isPlainText(text)) return
        plain++
        expect([isBroken(text), decodeEntities(text), looksGarbled(text), stripControls(text, '\n')]).toEqual([false, text, false, text])
      },
    ),
  )
  expect(plain).toBeGreaterThan(5)
})

test('a memo gives up a column whose values do not repeat, and keeps one whose values do', () => {
  const [unique, repeated] = [new ValueMemo<string>(), new ValueMemo<string>()]
  for (let i = 0; i < 3_000; i++) {
    const text = `value ${i}`
    if (unique.get(text) === undefined) unique.set(text, text)
    const again = `value ${i % 2_000}`
    for (let use = 0; use < 2; use++) if (repeated.get('first') === undefined) repeated.set('first', 'first')
    if (repeated.get(again) === undefined) repeated.set(again, again)
  }
  expect([unique.get('value 1'), repeated.get('value 1'), repeated.get('value 1500')]).toEqual([undefined, 'value 1', undefined])
})
