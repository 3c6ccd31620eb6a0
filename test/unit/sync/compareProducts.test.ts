/** Equal content in two spellings, and different content. */
import { expect, test } from 'vitest'
import { canonicalJsonOf, differingFields } from '../../../src/sync/audit/compareProducts.ts'
import { product } from '../../support/product.ts'

const ours = product('SKU-1', { inventory: 3 })
const fieldsOf = (mine: Record<string, unknown>, listed: Record<string, unknown>) =>
  differingFields({ ...ours, ...mine }, { ...ours, ...listed }).map(({ field }) => field)

test.for([
  ['price', '12.90 EUR', '12.9 EUR', 'trailing zeros'],
  ['price', '12 EUR', '012.000 eur', 'leading zeros, no decimals, case'],
  ['sale_price', '10.50 EUR', '10.5EUR', 'no blank before the currency'],
  ['link', 'https://Shop.Example/a', 'https://shop.example:443/a', 'host and default port'],
  ['link', 'https://shop.example', 'https://shop.example/', 'an empty path'],
  ['link', 'https://shop.example/caf%c3%a9', 'https://shop.example/café', 'percent-encoding'],
  [
    'additional_image_link',
    'https://a.example/1.jpg,https://a.example/2.jpg',
    'https://A.example/1.jpg, https://a.example/2.jpg',
    'blanks in a list',
  ],
  ['availability', 'in stock', 'IN_STOCK', 'words with a low line'],
  ['inventory', 3, '3', 'a number as text'],
  ['gtin', '4006381333931', '04006381333931', 'a padded number'],
  [
    'sale_price_effective_date',
    '2026-01-01T00:00:00+01:00/2026-02-01T00:00:00Z',
    '2025-12-31T23:00:00Z/2026-02-01T01:00:00+0100',
    'offsets',
  ],
  ['product_type', 'Home > Mugs', 'Home>Mugs', 'blanks around levels'],
  ['title', 'Cafe\u0301', 'Café', 'composed letters'],
  ['description', 'a\nb', 'a\r\nb ', 'line ends and a blank at the end'],
  ['color', undefined, '', 'unset and empty'],
  ['color', undefined, null, 'unset and null'],
] as const)('%s: %s equals %s (%s)', ([field, mine, listed]) => {
  expect(fieldsOf({ [field]: mine }, { [field]: listed })).toEqual([])
})

test.for([
  ['price', '12.90 EUR', '12.91 EUR'],
  ['price', '12.90 EUR', '12.90 USD'],
  ['price', '1.20 EUR', '12.0 EUR'],
  ['price', '10 EUR', '100 EUR'],
  ['link', 'https://shop.example/a', 'https://shop.example/A'],
  ['link', 'https://shop.example/a', 'https://shop.example/a?utm=1'],
  ['additional_image_link', 'https://a.example/1.jpg,https://a.example/2.jpg', 'https://a.example/2.jpg,https://a.example/1.jpg'],
  ['availability', 'in stock', 'out of stock'],
  ['inventory', 3, 0],
  ['inventory', 3, 30],
  ['gtin', '4006381333931', '4006381333930'],
  ['sale_price_effective_date', '2026-01-01T00:00:00Z/2026-02-01T00:00:00Z', '2026-01-01T00:00:00Z/2026-02-02T00:00:00Z'],
  ['title', 'Mug', 'mug'],
  ['color', 'red', null],
  ['color', undefined, 'red'],
  ['item_group_id', undefined, 'G-1'],
] as const)('%s: %s is not %s', ([field, mine, listed]) => {
  expect(fieldsOf({ [field]: mine }, { [field]: listed })).toEqual([field])
})

test('a field that the service does not return is not compared, and an empty returned field is', () => {
  const { title: _, ...without } = ours
  expect(differingFields(ours, without)).toEqual([])
  expect(differingFields(ours, { ...ours, title: null })).toEqual([{ field: 'title', ours: 'A mug', theirs: null }])
})

test('fields that the service computes, and unknown fields, are not compared', () => {
  expect(differingFields(ours, { ...ours, product_key: '17', item_group_key: '18', color_family: 'blue' })).toEqual([])
})

test('differences are in the order of the specification, as sent and as listed', () => {
  expect(differingFields(ours, { ...ours, price: '1 EUR', title: 'B', inventory: 4n })).toEqual([
    { field: 'title', ours: 'A mug', theirs: 'B' },
    { field: 'price', ours: '12.90 EUR', theirs: '1 EUR' },
    { field: 'inventory', ours: '3', theirs: '4' },
  ])
})

test('the canonical form equals the form of the hashed records', () => {
  const { id, ...rest } = ours
  expect(canonicalJsonOf({ product_key: '17', color: null, gtin: '', ...rest, id })).toBe(
    '{"availability":"in stock","brand":"Acme","condition":"new","description":"Stoneware","id":"SKU-1","image_link":"https://shop.example/SKU-1.jpg",' +
      '"inventory":3,"link":"https://shop.example/SKU-1","price":"12.90 EUR","title":"A mug"}',
  )
})
