import { expect, test } from 'vitest'
import { resolvePipeline } from '../../../src/pipeline/resolve.ts'
import { createMapper } from '../../../src/destinations/createMapper.ts'
import { applyTransforms, argumentFault, TransformError, transforms } from '../../../src/mapping/transforms.ts'

const today = new Date('2026-06-15')

const faultOf = (name: string, args: Record<string, unknown>) => {
  const entry = transforms[name]
  if (entry === undefined) throw new Error(`no transform ${name}`)
  return argumentFault(entry, args)
}

const cases: [name: string, args: Record<string, unknown>, texts: string[], expected: string[]][] = [
  ['trim', {}, ['\u200b Red\u00a0'], ['Red']],
  ['lower', {}, ['NEW'], ['new']],
  ['upper', {}, ['eur'], ['EUR']],
  ['replace', { from: '.', to: '$&' }, ['1.2.3'], ['1$&2$&3']],
  ['split', { at: ';' }, ['a; b ;;c'], ['a', 'b', 'c']],
  ['split', { at: ',', part: 2 }, ['a,b,c'], ['b']],
  ['join', { with: ' ' }, ['9.99', '', 'EUR'], ['9.99 EUR']],
  ['map', { values: { yes: 'in stock' } }, [' YES ', 'no'], ['in stock', 'no']],
  ['map', { values: { yes: 'a' }, otherwise: 'b' }, ['x'], ['b']],
  ['prefix', { with: 'https://a.example' }, ['/p', 'https://a.example/q', ''], ['https://a.example/p', 'https://a.example/q', '']],
  ['date', { form: 'DD.MM.YYYY', offset: '+01:00' }, ['31.12.2025', ''], ['2025-12-31T00:00:00+01:00', '']],
  ['date', { form: 'MM/DD/YYYY HH:mm' }, ['12/31/2025 23:59'], ['2025-12-31T23:59:00Z']],
  [
    'price',
    { decimal: ',', group: '.', currency: 'EUR' },
    ['1.299,00', '1.299,00 €', '€ 5,00', 'USD 5,00'],
    ['1299.00 EUR', '1299.00 EUR', '5.00 EUR', '5.00 USD'],
  ],
  [
    'price',
    { decimal: ',', group: ' ', currency: 'SEK' },
    ['1 299,50 kr', '1\u00a0299,50\u00a0kr', 'kr. 12,00', '12,-', '12:-'.replace(':', ',')],
    ['1299.50 SEK', '1299.50 SEK', '12.00 SEK', '12 SEK', '12 SEK'],
  ],
  ['price', { group: "'", currency: 'CHF' }, ['CHF 1’299.50', "Fr. 1'299.50"], ['1299.50 CHF', '1299.50 CHF']],
  ['price', { group: ',', currency: 'INR' }, ['₹12,34,567.00', 'Rs. 1,299'], ['1234567.00 INR', '1299 INR']],
  // The first two signs are Cyrillic, the third is Latin.
  ['price', { currency: 'RUB' }, ['100 р.', '100 руб.', '100 p.'], ['100 RUB', '100 RUB', '100 RUB']],
  ['price', { group: ',', currency: 'USD' }, ['$2,030', '$12.99'], ['2030 USD', '12.99 USD']],
  ['stock', {}, ['12', '0', '-3', ' 4.0 ', ''], ['in stock', 'out of stock', 'out of stock', 'in stock', '']],
  ['strip_html', {}, ['<p>Red &amp; blue</p>'], ['Red & blue']],
  ['first', {}, ['', ' ', 'x', 'y'], ['x']],
  ['digits', {}, ['40-06 3'], ['40063']],
]

test('every transform has an example in this file', () => {
  expect(new Set(cases.map(([name]) => name))).toEqual(new Set(Object.keys(transforms)))
})

test.for(cases)('%s %j turns %j into %j', ([name, args, texts, expected]) => {
  expect(faultOf(name, args)).toBeUndefined()
  expect(applyTransforms(texts, [{ name, args }])).toEqual(expected)
})

test.for([
  ['replace', { from: 'yes', to: 1 }, 'needs "to" as text'],
  ['replace', { from: '' }, 'needs "from" with at least one character'],
  ['split', { at: ';', part: '1' }, 'needs part as a number from 1'],
  ['split', { at: ';', parts: 1 }, 'has no argument "parts" (did you mean "part"?)'],
  ['join', { with: 1 }, 'needs "with" as text'],
  ['map', { values: { yes: 'in stock' }, otherwise: 0 }, 'needs "otherwise" as text'],
  ['map', { values: { yes: 1 } }, 'needs "values" as a mapping from text to text'],
  ['date', { form: 'DD.MM.YYYY', offset: 1 }, 'needs "offset" as text'],
  ['price', { decimals: ',' }, 'has no argument "decimals" (did you mean "decimal"?)'],
  ['price', { value: 'EUR' }, 'has no argument "value" (its arguments are decimal, group, currency)'],
  ['price', { decimal: '' }, 'needs "decimal" as one character that is not a digit'],
  ['price', { decimal: '0' }, 'needs "decimal" as one character that is not a digit'],
  ['price', { group: '.' }, 'needs "decimal" and "group" to differ'],
  ['price', { decimal: ',', group: ',' }, 'needs "decimal" and "group" to differ'],
  ['price', { currency: 5 }, 'needs "currency" as text'],
  ['trim', { value: 'x' }, 'has no arguments'],
  ['trim', { constructor: 'x' }, 'has no arguments'],
] as const)('%s %j is rejected: %s', ([name, args, fault]) => expect(faultOf(name, args)).toBe(fault))

test('a wrong argument is reported with its place and an example', () => {
  const { problems } = resolvePipeline(
    {
      source: 'feed.csv',
      map: { price: { column: 'Preis', transform: { price: { decimal: '' } } } },
      destination: { kind: 'catalog', catalog_id: '1' },
    },
    'shop',
    'shop.ts',
  )
  expect(problems).toMatchObject([
    {
      path: 'map.price.transform[0]',
      message: expect.stringMatching(/^price needs "decimal" as one character that is not a digit, for example \{ column: Preis/),
    },
  ])
})

test.for([
  ['date', { form: 'DD.MM.YYYY' }, '2025-12-31'],
  ['price', {}, '1,299.00'],
  ['price', { decimal: ',' }, 'free'],
  ['price', { decimal: ',', currency: 'EUR' }, '-5,00 EUR'],
  ['price', { decimal: ',', currency: 'EUR' }, '\u22125,00'],
  // With the group separator of the other locale, the price would be a hundred times too high.
  ['price', { decimal: ',', group: '.', currency: 'EUR' }, '9.99'],
  ['price', { group: ',', currency: 'USD' }, '12,99'],
  // A minus after the amount means a negative amount, as in exports of SAP. After a decimal sign it means no decimals.
  ['price', { decimal: ',', currency: 'EUR' }, '5,00-'],
  ['price', { currency: 'EUR' }, '12-'],
  ['price', { currency: 'EUR' }, '5.00- EUR'],
  // Three digits behind the sign of the other locale may be a group: 1.299 or 1299.
  ['price', { decimal: ',', currency: 'KWD' }, '1.299'],
  ['price', { currency: 'KWD' }, '1,299'],
  ['price', { currency: 'EUR' }, '$12.99'],
  ['price', { group: ',' }, '$2,030'],
  ['price', { currency: 'EUR' }, 'USD 5 EUR'],
  ['stock', {}, 'many'],
  ['stock', {}, '1,5'],
] as const)('%s %j rejects %s without repeating it', ([name, args, text]) => {
  expect(() => applyTransforms([text], [{ name, args }])).toThrow(TransformError)
  expect(() => applyTransforms([text], [{ name, args }])).not.toThrow(text)
})

test.for([
  ['DD.MM.', 'needs "form" with YYYY'],
  ['MM/YYYY', 'needs "form" with DD'],
  ['YYYY-DD-mm', 'needs "form" with MM'],
  ['YYYY-MM-DD', undefined],
])('the form %s of a date: %s', ([form, fault]) => {
  expect(faultOf('date', { form })).toBe(fault)
})

test('a prefix is not added to an absolute address', () => {
  const args = { with: 'https://shop.example.com' }
  expect(applyTransforms(['/p/1', 'https://cdn.example.com/x'], [{ name: 'prefix', args }])).toEqual([
    'https://shop.example.com/p/1',
    'https://cdn.example.com/x',
  ])
})

const feed = {
  id: 'SKU-1',
  title: 'Cup',
  description: 'A cup',
  availability: 'in stock',
  condition: 'new',
  link: 'https://shop.example.com/a',
  image_link: 'https://shop.example.com/a.png',
  brand: 'Acme',
}
const catalog = (map: Record<string, unknown>) => {
  const { pipeline, problems } = resolvePipeline(
    { source: 'feed.csv', map, destination: { kind: 'catalog', catalog_id: '1' } },
    'shop',
    'shop.ts',
  )
  if (pipeline === undefined) throw new Error(JSON.stringify(problems))
  const mapper = createMapper(pipeline, today)
  return (more: Record<string, string>) => {
    const row = { ...feed, price: '9.50 EUR', ...more }
    return mapper.map({ line: 7, columns: Object.keys(row), cells: Object.values(row) })
  }
}

test('a constant is transformed too', () => {
  const price = { const: '1.299,00', transform: { price: { decimal: ',', group: '.', currency: 'EUR' } } }
  const { record } = catalog({ price, title: { const: 'CUP', transform: 'lower' } })({})
  expect(record).toMatchObject({ kind: 'product', json: expect.stringMatching(/"price":"1299.00 EUR".*"title":"cup"/) as string })
  const failed = catalog({ price: { const: 'free', transform: { price: { decimal: ',' } } } })({})
  expect(failed.reject).toMatchObject({ code: 'TRANSFORM_FAILED', field: 'price' })
})

test('a failed transform of a required field rejects the row, by line, field and column, and its record is kept', () => {
  const mapped = catalog({ price: { column: 'Preis', transform: { price: { decimal: ',' } } } })({ Preis: 'auf Anfrage' })
  expect(mapped.reject).toMatchObject({
    line: 7,
    code: 'TRANSFORM_FAILED',
    field: 'price',
    message: 'price: the value of "Preis" is not an amount (price)',
  })
  expect(Buffer.from(mapped.reject?.key ?? []).toString()).toBe('SKU-1')
})

test('a failed transform of an optional field drops it', () => {
  const { record, warnings } = catalog({ sale_price: { column: 'Aktion', transform: { price: { decimal: ',' } } } })({ Aktion: 'bald' })
  expect(record?.kind === 'product' && JSON.parse(record.json).sale_price).toBeUndefined()
  expect(warnings).toMatchObject([{ line: 7, code: 'TRANSFORM_DROPPED', field: 'sale_price' }])
})

test('a function of a TypeScript pipeline that fails or does not return text rejects only its row', () => {
  const map = catalog({
    title: (row: Record<string, string>) => {
      if (row['title'] === 'bad') throw new Error(`secret ${row['title']}`)
      return row['title'] === 'odd'
        ? ({} as string)
        : row['title'] === 'seven'
          ? (7 as unknown as string)
          : `${row['brand']} ${row['title']}`
    },
  })
  expect(map({ title: 'Mug' }).record).toMatchObject({ json: expect.stringContaining('"title":"Acme Mug"') })
  expect(map({ title: 'seven' }).record).toMatchObject({ json: expect.stringContaining('"title":"7"') })
  for (const title of ['bad', 'odd']) {
    const { reject } = map({ title })
    expect(reject).toMatchObject({ line: 7, code: 'TRANSFORM_FAILED', field: 'title' })
    expect(reject?.message).not.toContain('secret')
  }
})

test('an identifier with a failed transform is dropped, and a person without another one stays as synced', () => {
  const { pipeline } = resolvePipeline(
    {
      source: 'crm.csv',
      map: { key: 'id', email: 'email', phone_number: { column: 'phone', transform: { date: { form: 'YYYY-MM-DD' } } } },
      destination: { kind: 'audience', account_id: 'a', audience_id: 'b' },
    },
    'crm',
    'crm.yaml',
  )
  if (pipeline === undefined) throw new Error('the pipeline is right')
  const mapper = createMapper(pipeline, today)
  const columns = ['id', 'email', 'phone']
  const both = mapper.map({ line: 2, columns, cells: ['1', 'jane@example.com', 'x'] })
  expect(both.record).toMatchObject({ identifiers: [expect.anything()], desired: true })
  expect(both.warnings.map(({ code }) => code)).toEqual(['IDENTIFIER_DROPPED'])
  const none = mapper.map({ line: 3, columns, cells: ['1', '', 'x'] })
  expect(none.reject).toMatchObject({ code: 'TRANSFORM_FAILED', field: 'phone_number' })
  expect(none.reject?.key).toEqual(both.record?.key)
})

test('names of object properties are not transforms', () => {
  for (const name of ['constructor', '__proto__', 'toString']) expect(transforms[name]).toBeUndefined()
})
