import fc from 'fast-check'
import { expect, test } from 'vitest'
import { checkProduct, hasHtml } from '../../../src/sandbox/catalogs/productRules.ts'
import { product } from '../../support/product.ts'

const errorsOf = (change: Readonly<Record<string, unknown>>, unit: Parameters<typeof checkProduct>[2] = 'code_points'): readonly string[] =>
  checkProduct(product('a', change), undefined, unit).errors

test.for(['<!doctype> Mug', '<!DOCTYPE html> Mug', '<!-- Mug -->', '<b>Mug</b>', 'Mug<br/>'])('%s is HTML', (text) => {
  expect(hasHtml(text)).toBe(true)
})

test.for(['Mug < 5 cm', 'a <3 mug', '<! Mug', 'Mug'])('%s is plain text', (text) => {
  expect(hasHtml(text)).toBe(false)
})

test('a link is accepted only if it can be parsed', () => {
  const label = fc.constantFrom('a', 'shop', '-', 'a--b', '1', '256', '0x1', '0x', 'x1', 'xn--', 'XN--mgba', 'xn--bcher-kva', 'é')
  const port = fc.constantFrom('', ':', ':0', ':443', ':8443', ':65535', ':65536', ':99999', ':000080')
  const rest = fc.constantFrom('', '/', '/%zz?a=b#c', '?a', '#')
  const link = fc
    .tuple(fc.array(label, { minLength: 1, maxLength: 4 }), port, rest)
    .map(([host, ...end]) => [host.join('.'), ...end].join(''))
  fc.assert(
    fc.property(link, (text) => {
      const url = `https://${text}`
      expect(errorsOf({ link: url }), url).toEqual(URL.canParse(url) ? [] : ['link: must be an https URL'])
    }),
    { numRuns: 2000 },
  )
})

test.for(['https://shop.mov', 'https://shop.mov?a=b', 'https://shop.mov/a', 'http://shop.mov'])(
  'the image %s has no type, because only its host ends like a video',
  (link) => {
    expect(errorsOf({ image_link: link, additional_image_link: link })).toEqual([])
  },
)

test.for([
  'https://shop.mov/a.mov',
  'http://shop.example/a.b/c.SVG?x=/y.png',
  'https://shop.example/.pdf#a',
  'https://shop.example\\a.svg',
])('the image %s has another type than the accepted ones', (link) => {
  expect(errorsOf({ image_link: link, additional_image_link: link })).toEqual([
    'image_link: must be a JPG, GIF, WEBP or PNG',
    'additional_image_link: must be JPG, GIF, WEBP or PNG',
  ])
})

test.for(['http:shop/a.png', 'http:/shop/a.png', 'https:shop/a.png'])('%s is not an image URL', (link) => {
  expect(errorsOf({ image_link: link, additional_image_link: link })).toEqual([
    'image_link: must be a URL',
    'additional_image_link: must be URLs separated by commas',
  ])
})

test('an image URL may be http in any case', () => {
  expect(errorsOf({ image_link: 'HTTP://shop/a.png' })).toEqual([])
})

test.for([
  ['code_points', 151, 'characters'],
  ['utf16', 76, 'UTF-16 units'],
  ['bytes', 38, 'bytes'],
] as const)('with the unit %s, a title of %i mugs is longer than 150 %s', ([unit, count, name]) => {
  expect(errorsOf({ title: '\u{1F375}'.repeat(count) }, unit)).toEqual([`title: longer than 150 ${name}`])
})

test.for(['2027-01-02T00:00:00Z/2027-01-01T00:00:00Z', '2027-01-01T00:00:00Z/2027-01-01T00:00:00Z', '2027-01-01/2027-01-02'])(
  'the error of the sale dates %s names every rule about them',
  (dates) => {
    expect(errorsOf({ sale_price_effective_date: dates })).toEqual([
      'sale_price_effective_date: must be two ISO 8601 times with offset, the earlier one first, joined by /',
    ])
  },
)
