import { describe, expect, test } from 'vitest'
import { createMapper } from '../../../src/destinations/createMapper.ts'
import type { Cell } from '../../../src/model/record.ts'
import { resolvePipeline } from '../../../src/pipeline/resolve.ts'

/** The day has no effect on products. */
const today = new Date('2026-06-15')

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
type Fields = Readonly<Record<string, Cell | undefined>>

function mappedBy(definition: object, fields: Fields) {
  const { pipeline, problems } = resolvePipeline(
    { source: 'feed.xml', destination: { kind: 'catalog', catalog_id: '1' }, ...definition },
    'shop',
    'shop.yaml',
  )
  if (pipeline === undefined) throw new Error(JSON.stringify(problems))
  const all: Fields = { ...good, ...fields }
  const columns = Object.keys(all)
  return createMapper(pipeline, today).map({ line: 7, columns, cells: columns.map((column) => all[column]) })
}

function mapped(fields: Fields, options: object = {}) {
  const { record, reject, warnings } = mappedBy({ options }, fields)
  const product: Record<string, unknown> = record?.kind === 'product' ? JSON.parse(record.json) : {}
  return { product, record, reject, warnings, codes: warnings.map(({ code }) => code), code: reject?.code }
}

test('except: of products does not match a cell that only looks like its value', () => {
  const options = { except: { brand: 'Acme' } }
  expect(mappedBy(options, { brand: 'Acme' }).filtered).toBe(true)
  expect(mappedBy(options, { brand: 'Ａｃｍｅ' }).record).toBeDefined()
})

test('a valid product is written with only its fields, in byte order', () => {
  const { record, codes } = mapped({ inventory: '3', item_group_id: 'G', product_key: '99', 'g:brand': 'Acme' })
  expect(record).toMatchObject({
    kind: 'product',
    line: 7,
    json: '{"availability":"in stock","brand":"Acme","condition":"new","description":"A red shoe.","id":"SKU-1","image_link":"https://shop.example/i/1.jpg","inventory":3,"item_group_id":"G","link":"https://shop.example/p/1","price":"12.99 USD","title":"Red shoe"}',
  })
  expect(codes).toEqual([])
})

test('the currency column also applies to a price in full-width digits', () => {
  const options = { allow: ['wide_digits'] }
  const fields = { price: '１２．５０', currency: 'EUR' }
  expect(mapped(fields, options).product['price']).toBe('12.50 EUR')
  expect(mapped(fields, { ...options, default_currency: 'USD' }).code).toBe('PRICE_CURRENCY_CONFLICT')
})

test.for<[text: string | readonly string[], sent: string]>([
  ['https://img.example/fetch/w_300,https://shop.example/b.jpg', 'https://img.example/fetch/w_300%2Chttps://shop.example/b.jpg'],
  [
    ['https://img.example/w_300,https://shop.example/b.jpg', 'https://shop.example/c.jpg'],
    'https://img.example/w_300%2Chttps://shop.example/b.jpg,https://shop.example/c.jpg',
  ],
])('an additional image of an image service is one address: %j', ([text, sent]) => {
  expect(mapped({ additional_image_link: text }).product['additional_image_link']).toBe(sent)
})

describe('rejects', () => {
  test.for<[row: number, fields: Fields, code: string]>([
    [56, { id: ' ' }, 'FIELD_MISSING'],
    [15, { id: 'A\u202eB' }, 'ID_INVALID'],
    [15, { id: 'A\u200bB' }, 'ID_INVALID'],
    [14, { id: 'A\u0000' }, 'TEXT_BROKEN'],
    [13, { title: 'x\ud800' }, 'TEXT_BROKEN'],
    [30, { id: '1.23457E+12' }, 'SPREADSHEET_DAMAGE'],
    [30, { id: '########' }, 'SPREADSHEET_DAMAGE'],
    [30, { id: '2-Mar' }, 'SPREADSHEET_DAMAGE'],
    [30, { title: '#N/A' }, 'SPREADSHEET_DAMAGE'],
    [60, { id: 'x'.repeat(101) }, 'ID_TOO_LONG'],
    [61, { title: 'x'.repeat(151) }, 'TITLE_TOO_LONG'],
    [61, { title: '😀'.repeat(76) }, 'TITLE_TOO_LONG'],
    [62, { title: '\u200b' }, 'FIELD_MISSING'],
    [63, { description: 'x'.repeat(5001) }, 'DESCRIPTION_TOO_LONG'],
    [64, { description: undefined }, 'FIELD_MISSING'],
    [66, { description: '<p> </p><br/>' }, 'DESCRIPTION_EMPTY'],
    [67, { availability: 'yes' }, 'AVAILABILITY_UNKNOWN'],
    [67, { availability: 'backorder' }, 'AVAILABILITY_UNKNOWN'],
    [162, { availability: 'https://schema.org/InStock' }, 'AVAILABILITY_UNKNOWN'],
    [68, { condition: 'like new' }, 'CONDITION_UNKNOWN'],
    [164, { condition: '' }, 'FIELD_MISSING'],
    [69, { price: '12.99' }, 'PRICE_CURRENCY_MISSING'],
    [71, { price: '$12.99' }, 'PRICE_INVALID'],
    [71, { price: 'USD 12.99' }, 'PRICE_INVALID'],
    [72, { price: '12,99 EUR' }, 'PRICE_INVALID'],
    [72, { price: '1,299.00 USD' }, 'PRICE_INVALID'],
    [72, { price: "1'299.00 CHF" }, 'PRICE_INVALID'],
    [73, { price: '-5.00 USD' }, 'PRICE_INVALID'],
    [73, { price: '0.001 USD' }, 'PRICE_PRECISION'],
    [73, { price: '1e3 USD' }, 'PRICE_INVALID'],
    [73, { price: '0x1F USD' }, 'PRICE_INVALID'],
    [73, { price: 'NaN USD' }, 'PRICE_INVALID'],
    [73, { price: ' USD' }, 'PRICE_INVALID'],
    [74, { price: '12.999 USD' }, 'PRICE_PRECISION'],
    [74, { price: '1200.50 JPY' }, 'PRICE_PRECISION'],
    [74, { price: '1.2345 KWD' }, 'PRICE_PRECISION'],
    [75, { price: '9.99 XXX' }, 'PRICE_CURRENCY_UNKNOWN'],
    [75, { price: '9.99 BTC' }, 'PRICE_CURRENCY_UNKNOWN'],
    [75, { price: '9.99 DEM' }, 'PRICE_CURRENCY_UNKNOWN'],
    [75, { price: '9.99 EURO' }, 'PRICE_INVALID'],
    [159, { price: '9.99 BGN' }, 'PRICE_CURRENCY_UNKNOWN'],
    [76, { price: '٣.٥ USD' }, 'PRICE_INVALID'],
    [76, { price: '１２ USD' }, 'PRICE_INVALID'],
    [77, { price: `${'9'.repeat(40)} USD` }, 'PRICE_INVALID'],
    [81, { link: 'http://shop.example/p' }, 'LINK_NOT_HTTPS'],
    [82, { link: '/p/1' }, 'LINK_INVALID'],
    [82, { link: '//shop.example/p' }, 'LINK_INVALID'],
    [82, { link: 'javascript:alert(1)' }, 'LINK_INVALID'],
    [82, { link: 'https://shop.example/a b' }, 'LINK_INVALID'],
    [82, { link: 'https://user:pw@shop.example/' }, 'LINK_INVALID'],
    [82, { link: 'https://shop.example@evil.test/' }, 'LINK_INVALID'],
    [82, { link: 'https:\\\\shop.example' }, 'LINK_INVALID'],
    [82, { link: 'https:///x' }, 'LINK_INVALID'],
    [82, { link: 'https://shop..example/x' }, 'LINK_INVALID'],
    [82, { link: 'https://.shop.example/x' }, 'LINK_INVALID'],
    [83, { link: `https://shop.example/${'x'.repeat(2048)}` }, 'LINK_INVALID'],
    [83, { link: 'https://shop.example:99999/p' }, 'LINK_INVALID'],
    [85, { image_link: undefined }, 'FIELD_MISSING'],
    [85, { image_link: 'https://shop.example/i.svg' }, 'IMAGE_INVALID'],
    [85, { image_link: 'data:image/png;base64,AA' }, 'IMAGE_INVALID'],
    [169, { image_link: '/i/1.jpg' }, 'IMAGE_INVALID'],
    [87, { brand: undefined }, 'IDENTIFIER_MISSING'],
    [89, { brand: 'unknown', mpn: 'N/A' }, 'IDENTIFIER_MISSING'],
    [88, { brand: '', gtin: '4006381333932' }, 'GTIN_INVALID'],
    [167, { brand: '', gtin: '4.00638E+12' }, 'GTIN_INVALID'],
    [90, { inventory: '0' }, 'STOCK_CONTRADICTION'],
    [90, { inventory: '-3' }, 'STOCK_CONTRADICTION'],
  ])('row %i: %j is %s', ([, fields, code]) => expect(mapped(fields).code).toBe(code))
})

describe('values that are repaired or dropped with a warning', () => {
  test.for<[row: number, fields: Fields, field: string, value: unknown, code: string | undefined]>([
    [59, { id: ' SKU-1 ' }, 'id', 'SKU-1', undefined],
    [59, { id: 'e\u0301' }, 'id', 'é', 'ID_NORMALIZED'],
    [60, { id: 'a/b' }, 'id', 'a/b', 'ID_UNUSUAL'],
    [15, { title: 'Red\u202e shoe\u0007' }, 'title', 'Red shoe', 'TEXT_CLEANED'],
    [181, { title: '\u3000Red\u2011shoe\u3000' }, 'title', 'Red\u2011shoe', undefined],
    [15, { title: 'क्\u200dष' }, 'title', 'क्\u200dष', undefined],
    [65, { description: 'Salt &amp;amp; pepper' }, 'description', 'Salt &amp; pepper', 'ENTITIES_DECODED'],
    [65, { title: 'Men&#146;s shirt &#x96; blue' }, 'title', 'Men’s shirt – blue', 'ENTITIES_DECODED'],
    [65, { description: 'From &alpha; to &omega;, &ge; 4 cm' }, 'description', 'From α to ω, ≥ 4 cm', 'ENTITIES_DECODED'],
    [65, { description: '&lt;b&gt;bold&lt;/b&gt;' }, 'description', 'bold', 'DESCRIPTION_HTML'],
    [66, { description: '<p>One</p><p>Two</p>' }, 'description', 'One Two', 'DESCRIPTION_HTML'],
    [66, { description: 'a <script>x()</script> b' }, 'description', 'a b', 'DESCRIPTION_HTML'],
    [66, { description: 'a < b and <3' }, 'description', 'a < b and <3', undefined],
    [161, { availability: 'IN_STOCK' }, 'availability', 'in stock', 'WORD_NORMALIZED'],
    [161, { availability: 'in stock ' }, 'availability', 'in stock', undefined],
    [68, { condition: 'NEW' }, 'condition', 'new', 'WORD_NORMALIZED'],
    [70, { price: '12.99USD' }, 'price', '12.99 USD', 'PRICE_NORMALIZED'],
    [70, { price: '12.99 usd' }, 'price', '12.99 USD', 'PRICE_NORMALIZED'],
    [70, { price: '12.99\u00a0USD' }, 'price', '12.99 USD', 'PRICE_NORMALIZED'],
    [157, { price: '72.5 USD' }, 'price', '72.50 USD', 'PRICE_NORMALIZED'],
    [157, { price: '11995 GBP' }, 'price', '11995.00 GBP', 'PRICE_NORMALIZED'],
    [157, { price: '9 JPY' }, 'price', '9 JPY', undefined],
    [74, { price: '1.234 KWD' }, 'price', '1.234 KWD', undefined],
    [78, { sale_price: '12.99 USD' }, 'sale_price', undefined, 'SALE_PRICE_DROPPED'],
    [78, { sale_price: '9.99 EUR' }, 'sale_price', undefined, 'SALE_PRICE_DROPPED'],
    [154, { sale_price: '9.99' }, 'sale_price', undefined, 'SALE_PRICE_DROPPED'],
    [78, { sale_price: '9.9 USD' }, 'sale_price', '9.90 USD', 'PRICE_NORMALIZED'],
    [166, { sale_price: '' }, 'sale_price', undefined, undefined],
    [
      178,
      { sale_price_effective_date: '2026-02-24T13:00-0800/2026-03-01T00:00Z' },
      'sale_price_effective_date',
      '2026-02-24T13:00:00-08:00/2026-03-01T00:00:00Z',
      'SALE_DATE_NORMALIZED',
    ],
    ...[
      '2026-02-24T13:00/2026-03-01T00:00',
      '2026-02-30T00:00Z/2026-03-01T00:00Z',
      '2026-03-02T00:00Z/2026-03-01T00:00Z',
      '2026-03-01T00:00Z',
      '2026-03-01/2026-04-01',
      '20260-01-01T00:00Z/20261-01-01T00:00Z',
    ].map((date): [number, Fields, string, unknown, string] => [
      79,
      { sale_price_effective_date: date },
      'sale_price_effective_date',
      undefined,
      'SALE_DATE_DROPPED',
    ]),
    [81, { mobile_link: 'http://m.shop.example/' }, 'mobile_link', undefined, 'MOBILE_LINK_DROPPED'],
    [83, { link: 'https://bücher.example/p' }, 'link', 'https://xn--bcher-kva.example/p', 'LINK_HOST_ASCII'],
    [83, { link: 'https://shop.example:8443/ü?a=1#b' }, 'link', 'https://shop.example:8443/ü?a=1#b', undefined],
    [83, { link: 'https://shop.example:65535/p' }, 'link', 'https://shop.example:65535/p', undefined],
    [186, { link: 'https://shop.example/#!/p' }, 'link', 'https://shop.example/#!/p', undefined],
    [85, { image_link: 'http://shop.example/1.png' }, 'image_link', 'http://shop.example/1.png', 'IMAGE_HTTP'],
    [85, { image_link: 'https://shop.example/image?id=1' }, 'image_link', 'https://shop.example/image?id=1', 'IMAGE_TYPE_UNKNOWN'],
    [
      170,
      { image_link: 'https://img.example/fetch/w_300,https://shop.example/a.jpg' },
      'image_link',
      'https://img.example/fetch/w_300%2Chttps://shop.example/a.jpg',
      'IMAGE_ENCODED',
    ],
    [
      171,
      { image_link: 'https://img.example/fetch/c_fill,w_300,https://shop.example/a' },
      'image_link',
      'https://img.example/fetch/c_fill%2Cw_300%2Chttps://shop.example/a',
      'IMAGE_ENCODED',
    ],
    [
      171,
      { image_link: 'https://cdn.shop.example/img/123,https://cdn.shop.example/img/124' },
      'image_link',
      'https://cdn.shop.example/img/123',
      'IMAGES_DROPPED',
    ],
    [170, { image_link: 'https://shop.example/a b.jpg' }, 'image_link', 'https://shop.example/a%20b.jpg', 'IMAGE_ENCODED'],
    [
      171,
      { image_link: 'https://shop.example/1.jpg, https://shop.example/2.jpg' },
      'image_link',
      'https://shop.example/1.jpg',
      'IMAGES_DROPPED',
    ],
    [
      86,
      { additional_image_link: ['https://shop.example/2.jpg', 'nope', 'https://shop.example/i/1.jpg', 'https://shop.example/3,4.jpg'] },
      'additional_image_link',
      'https://shop.example/2.jpg,https://shop.example/3%2C4.jpg',
      'IMAGES_DROPPED',
    ],
    [
      171,
      { additional_image_link: 'https://shop.example/2.jpg, https://shop.example/3.jpg' },
      'additional_image_link',
      'https://shop.example/2.jpg,https://shop.example/3.jpg',
      undefined,
    ],
    [
      86,
      { additional_image_link: Array.from({ length: 11 }, (_, i) => `https://shop.example/x${i}.jpg`) },
      'additional_image_link',
      Array.from({ length: 10 }, (_, i) => `https://shop.example/x${i}.jpg`).join(),
      'IMAGES_DROPPED',
    ],
    [88, { gtin: '400-6381 333931' }, 'gtin', '4006381333931', 'GTIN_NORMALIZED'],
    [88, { gtin: '4006381333932' }, 'gtin', undefined, 'GTIN_DROPPED'],
    [88, { gtin: '00000000' }, 'gtin', undefined, 'GTIN_DROPPED'],
    [88, { gtin: '12345678901' }, 'gtin', undefined, 'GTIN_DROPPED'],
    [88, { gtin: '080442957X' }, 'gtin', '9780804429573', 'GTIN_NORMALIZED'],
    [88, { gtin: '2012345678900' }, 'gtin', undefined, 'GTIN_DROPPED'],
    [88, { gtin: '9812345678904' }, 'gtin', undefined, 'GTIN_DROPPED'],
    [89, { mpn: 'none' }, 'mpn', undefined, 'VALUE_PLACEHOLDER'],
    [90, { inventory: '10.0' }, 'inventory', undefined, 'INVENTORY_DROPPED'],
    [90, { inventory: '1,000' }, 'inventory', undefined, 'INVENTORY_DROPPED'],
    [90, { inventory: 'many' }, 'inventory', undefined, 'INVENTORY_DROPPED'],
    [90, { inventory: '2147483648' }, 'inventory', undefined, 'INVENTORY_DROPPED'],
    [90, { inventory: '0', availability: 'out of stock' }, 'inventory', 0, undefined],
    [92, { gender: 'Men' }, 'gender', undefined, 'VALUE_DROPPED'],
    [92, { age_group: 'All_Ages' }, 'age_group', 'all ages', 'WORD_NORMALIZED'],
    [150, { age_group: 'xx' }, 'age_group', undefined, 'VALUE_PLACEHOLDER'],
    [93, { color: '#FF0000' }, 'color', undefined, 'VALUE_DROPPED'],
    [93, { color: '00ff00' }, 'color', undefined, 'VALUE_DROPPED'],
    [93, { color: Array.from({ length: 30 }, () => 'red').join('/') }, 'color', undefined, 'VALUE_DROPPED'],
    [93, { color: 'Red/Blue' }, 'color', 'Red/Blue', undefined],
    [96, { product_type: 'Home>Garden >Pots' }, 'product_type', 'Home > Garden > Pots', 'SEPARATOR_NORMALIZED'],
    [151, { product_type: 'Home &gt; Garden' }, 'product_type', 'Home > Garden', 'ENTITIES_DECODED'],
    [95, { google_product_category: '0' }, 'google_product_category', '0', 'CATEGORY_UNUSUAL'],
    [97, { custom_label_0: 'x'.repeat(10_000) }, 'custom_label_0', undefined, 'VALUE_TOO_LONG'],
    [142, { 'g:title': 'Other' }, 'title', 'Other', undefined],
    [61, { title: 'x'.repeat(150) }, 'title', 'x'.repeat(150), undefined],
  ])('row %i: %j gives %s %j', ([, fields, field, value, code]) => {
    const { product, reject, codes } = mapped(fields)
    expect(reject).toBeUndefined()
    expect(product[field]).toEqual(value)
    expect(code === undefined ? codes : codes.filter((one) => one === code).slice(0, 1)).toEqual(code === undefined ? [] : [code])
  })
})

test.for([
  [['1.jpg', '2.jpg', '2.jpg', ' '], [], 1],
  [['1.jpg', '2.jpg'], { join: { with: ',' } }, 1],
  [['1.jpg,https://shop.example/2.jpg', '3.jpg'], 'trim', 2],
] as const)('of the images %j with the transform %j the lost ones are counted', ([names, transform, count]) => {
  const images = names.map((name) => (name === ' ' ? name : `https://shop.example/${name}`))
  const columns = Object.keys(good)
  const map = Object.fromEntries(columns.map((column) => [column, column]))
  const { record, warnings } = mappedBy({ map: { ...map, image_link: { column: 'image_link', transform } } }, { image_link: images })
  expect(record).toBeDefined()
  expect(warnings.map(({ code, message }) => [code, /lost (\d+)/.exec(message)?.[1]])).toEqual([['IMAGES_DROPPED', String(count)]])
})

test('optional settings', () => {
  expect(mapped({ price: '12.99' }, { default_currency: 'eur' }).product['price']).toBe('12.99 EUR')
  expect(mapped({ price: 'LKR 15000' }, { allow: ['price_code_first'] }).product['price']).toBe('15000.00 LKR')
  expect(mapped({ price: '0 USD' }, { allow: ['zero_price'] }).product['price']).toBe('0.00 USD')
  expect(mapped({ link: 'http://shop.example/p' }, { allow: ['upgrade_http'] }).product['link']).toBe('https://shop.example/p')
  const longest = 'http://shop.example/'.padEnd(2047, 'p')
  expect(mapped({ link: longest }, { allow: ['upgrade_http'] }).product['link']).toHaveLength(2048)
  expect(mapped({ link: `${longest}p` }, { allow: ['upgrade_http'] }).code).toBe('LINK_INVALID')
  expect(mapped({ title: '👍🏽'.repeat(60) }, { allow: ['cut_title'] }).product['title']).toBe('👍🏽'.repeat(37))
  expect(mapped({ availability: 'Available' }, { values: { availability: { available: 'in stock' } } }).product['availability']).toBe(
    'in stock',
  )
  expect(
    mapped({ availability: 'https://schema.org/InStock' }, { values: { availability: { instock: 'in stock' } } }).product['availability'],
  ).toBe('in stock')
})

test.for([
  ['2026-03-02T00:00Z/2026-03-01T00:00Z', 'does not end after it starts'],
  ['2026-03-01T00:00Z/2026-03-01T01:00+01:00', 'does not end after it starts'],
  ['2026-03-01T00:00:00.1Z/2026-03-01T00:00:00.9Z', 'does not end after it starts'],
  ['2026-03-01/2026-04-01', 'has a date without a time'],
  ['2026-03-01T00:00/2026-04-01T00:00', 'has a time without offset'],
  ['2026-03-01T00:00Z', 'is not two times with / between them'],
  ['2026-02-30T00:00Z/2026-03-01T00:00Z', 'is not two ISO 8601 times'],
])('the warning about the sale period %s says what is wrong and what is left out', ([period, fault]) => {
  const { product, warnings } = mapped({ sale_price: '9.99 USD', sale_price_effective_date: period })
  expect(product['sale_price']).toBeUndefined()
  expect(warnings.map(({ code, message }) => [code, message])).toEqual([
    ['SALE_DATE_DROPPED', `sale_price_effective_date "${period}" ${fault}; it was left out, and sale_price with it`],
  ])
})

test('a sale period from 1900 in `options.timezone` is read', () => {
  const period = '1900-01-01T00:00:00/2099-12-31T00:00:00'
  const { product } = mapped({ sale_price: '9.99 USD', sale_price_effective_date: period }, { timezone: 'Europe/Paris' })
  expect(product['sale_price_effective_date']).toBe('1900-01-01T00:00:00+00:09/2099-12-31T00:00:00+01:00')
})

test('a period that is only a placeholder leaves the sale price as it is', () => {
  expect(mapped({ sale_price: '9.99 USD', sale_price_effective_date: 'n/a' }).product['sale_price']).toBe('9.99 USD')
})

test('an upgraded link loses the port of http, and no other', () => {
  const upgraded = (link: string) => mapped({ link }, { allow: ['upgrade_http'] }).product['link']
  expect(upgraded('http://shop.example:80/p')).toBe('https://shop.example/p')
  expect(upgraded('http://bücher.example:80')).toBe('https://xn--bcher-kva.example')
  expect(upgraded('http://shop.example:8080/p:80')).toBe('https://shop.example:8080/p:80')
})

test('the other addresses of image_link are additional images if both fields have one column', () => {
  const { pipeline } = resolvePipeline(
    { source: 'feed.csv', map: { additional_image_link: 'image_link' }, destination: { kind: 'catalog', catalog_id: '1' } },
    'shop',
    'shop.yaml',
  )
  if (pipeline === undefined) throw new Error('no pipeline')
  const row = { ...good, image_link: 'https://shop.example/1.jpg,https://shop.example/2.jpg' }
  const { record, warnings } = createMapper(pipeline, today).map({ line: 2, columns: Object.keys(row), cells: Object.values(row) })
  expect(record).toMatchObject({ json: expect.stringContaining('"additional_image_link":"https://shop.example/2.jpg"') })
  expect(record).toMatchObject({ json: expect.stringContaining('"image_link":"https://shop.example/1.jpg"') })
  expect(warnings).toEqual([])
})

test('a price has one form for all its spellings', () => {
  expect(new Set(['12.9 EUR', '12.90EUR', '012.900 eur', '12.90\u00a0EUR'].map((price) => mapped({ price }).product['price']))).toEqual(
    new Set(['12.90 EUR']),
  )
})

test('a reject repeats neither credentials nor emails of its row', () => {
  const link = mapped({ link: 'https://user:secret@shop.example/' })
  const word = mapped({ availability: 'ask canary@example.com' })
  expect(JSON.stringify([link.reject, word.reject])).not.toMatch(/secret|canary@/)
})

test.for([
  [['title', 'g:title'], 'g:title'],
  [['g:title', 'x:title'], 'g:title'],
  [['x:title', 'title', 'g:title'], 'x:title'],
] as const)('of the columns %j, the warning names the one that is used', ([titles, used]) => {
  const { pipeline } = resolvePipeline({ source: 'feed.csv', destination: { kind: 'catalog', catalog_id: '1' } }, 'shop', 'shop.yaml')
  if (pipeline === undefined) throw new Error('no pipeline')
  const all: Fields = { ...good, ...Object.fromEntries(titles.map((name) => [name, name])) }
  const columns = [...Object.keys(good).filter((name) => name !== 'title'), ...titles]
  const mapper = createMapper(pipeline, today)
  expect(mapper.bindHeader(columns).filter(({ code }) => code === 'PREFIX_CONFLICT')).toEqual([
    { line: 1, code: 'PREFIX_CONFLICT', field: 'title', message: `several columns match title; "${used}" is used` },
  ])
  const { record } = mapper.map({ line: 2, columns, cells: columns.map((name) => all[name]) })
  expect(record).toMatchObject({ json: expect.stringContaining(`"title":"${used}"`) })
})

test('headers in other spellings are mapped automatically, and the prefixed one takes precedence', () => {
  const { pipeline } = resolvePipeline({ source: 'feed.csv', destination: { kind: 'catalog', catalog_id: '1' } }, 'shop', 'shop.yaml')
  if (pipeline === undefined) throw new Error('no pipeline')
  const mapper = createMapper(pipeline, today)
  const columns = [
    'G:ID',
    'Title',
    'g:title',
    ' DESCRIPTION',
    'Availability',
    'condition',
    'g:price',
    'link',
    'Image Link',
    'brand',
    'colour',
    'product_key',
    '',
  ]
  const warnings = mapper.bindHeader(columns)
  const { record } = mapper.map({
    line: 2,
    columns,
    cells: [
      '1',
      'Plain',
      'Prefixed',
      'Text',
      'in stock',
      'new',
      '1.00 EUR',
      'https://a.example/',
      'https://a.example/1.jpg',
      'B',
      'red',
      '1',
      '',
    ],
  })
  expect(record).toMatchObject({ json: expect.stringContaining('"title":"Prefixed"') })
  expect(warnings.map(({ code, field, message }) => [code, field, /did you mean (\w+)/.exec(message)?.[1]])).toEqual([
    ['COLUMN_SPELLED', 'Availability', undefined],
    ['COLUMN_SPELLED', ' DESCRIPTION', undefined],
    ['COLUMN_SPELLED', 'Image Link', undefined],
    ['PREFIX_CONFLICT', 'title', undefined],
    ['COLUMN_UNKNOWN', 'colour', 'color'],
    ['SERVICE_FIELD_IGNORED', 'product_key', undefined],
  ])
})

test('no column is suggested for a mapped field, or reported as unused if a function may read it', () => {
  const columns = [...Object.keys(good), 'titel', 'brand name', 'constructor']
  const notes = (map: Record<string, unknown>) => {
    const { pipeline } = resolvePipeline({ source: 'feed.csv', map, destination: { kind: 'catalog', catalog_id: '1' } }, 'shop', 'shop.ts')
    if (pipeline === undefined) throw new Error('no pipeline')
    return createMapper(pipeline, today)
      .bindHeader(columns)
      .filter(({ code }) => code === 'COLUMN_UNKNOWN')
      .map(({ message }) => message)
  }
  const other = ['the column "brand name" is not used', 'the column "constructor" is not used']
  expect(notes({ title: (row: Record<string, string>) => `${row['title']}!` })).toEqual(['the column "titel" is not used', ...other])
  expect(notes({ title: 'titel' })).toEqual(['the column "title" is not used', ...other])
})

test('a table without a required column is rejected as a whole, with the most similar column', () => {
  const { pipeline } = resolvePipeline({ source: 'feed.csv', destination: { kind: 'catalog', catalog_id: '1' } }, 'shop', 'shop.yaml')
  if (pipeline === undefined) throw new Error('no pipeline')
  expect(() =>
    createMapper(pipeline, today).bindHeader(Object.keys(good).map((name) => (name === 'description' ? 'descripton' : name))),
  ).toThrow(expect.objectContaining({ code: 'FILE_COLUMN_MISSING', hint: 'map: { description: "descripton" }' }))
})

test.for(['SK\u200bU-9', 'SKU-9\u200e', '\u2066SKU-9\u2069', 'SKU\u00ad-9', 'SKU-9\u0000', 'SKU-\u00079'])(
  'a row is rejected for the invisible characters of its id %j, and its product stays as it was',
  (id) => {
    const { pipeline } = resolvePipeline({ source: 'feed.csv', destination: { kind: 'catalog', catalog_id: '1' } }, 'shop', 'shop.yaml')
    if (pipeline === undefined) throw new Error('no pipeline')
    const row = { line: 9, columns: Object.keys(good), cells: Object.values({ ...good, id }) }
    const fault = { code: 'ROW_RAGGED', message: 'the row has 10 cells, the header 9' }
    for (const one of [row, { ...row, fault }]) expect(createMapper(pipeline, today).map(one).reject?.key).toEqual(Buffer.from('SKU-9'))
  },
)

test('a row with a fault of the reader is rejected and keeps its key', () => {
  const { pipeline } = resolvePipeline({ source: 'feed.csv', destination: { kind: 'catalog', catalog_id: '1' } }, 'shop', 'shop.yaml')
  if (pipeline === undefined) throw new Error('no pipeline')
  const columns = Object.keys(good)
  const { reject } = createMapper(pipeline, today).map({
    line: 9,
    columns,
    cells: ['SKU-9'],
    fault: { code: 'ROW_RAGGED', message: 'the row has 1 cells, the header 9' },
  })
  expect(reject).toMatchObject({ line: 9, code: 'ROW_RAGGED', key: Buffer.from('SKU-9'), hint: expect.stringContaining('as many cells') })
})

test('a stored reject masks credentials, emails and phone numbers in its row', () => {
  const { pipeline } = resolvePipeline({ source: 'feed.csv', destination: { kind: 'catalog', catalog_id: '1' } }, 'shop', 'shop.yaml')
  if (pipeline === undefined) throw new Error('no pipeline')
  const columns = ['id', 'link', 'note', 'price']
  expect(
    createMapper(pipeline, today).mask({
      line: 2,
      columns,
      cells: ['1', 'https://user:secret@shop.example/p', 'ask canary.person@example.com or +1 202 555 0143', '-5.00 USD'],
    }),
  ).toEqual(['1', 'https://***@shop.example/p', 'ask c***@e***.com or ***43', '-5.00 USD'])
})
