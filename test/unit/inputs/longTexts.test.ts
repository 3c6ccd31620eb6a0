/**
 * Calls functions with long texts of one repeated piece. A pattern finds a start everywhere and an end nowhere. A search in quadratic time
 * takes at least half a minute for each of these texts, which is longer than the timeout. In linear time, none takes four seconds.
 */
import { expect, test } from 'vitest'
import { fold } from '../../../src/cli/terminal/text.ts'
import { createMapper } from '../../../src/destinations/createMapper.ts'
import { findRecords } from '../../../src/formats/json/findRecords.ts'
import { AmpersandEscaper, escapeAmpersands } from '../../../src/formats/xml/ampersands.ts'
import { likelyItem } from '../../../src/formats/xml/likelyItem.ts'
import { findRawAmpersand, findXmlFault, swallowedItemFinder } from '../../../src/formats/xml/xmlFault.ts'
import { normalizeHeader } from '../../../src/mapping/fields.ts'
import { looksGarbled } from '../../../src/mapping/garbled.ts'
import { stripHtml } from '../../../src/mapping/html.ts'
import { addressesIn } from '../../../src/mapping/identifiers/email.ts'
import { normalizePhone } from '../../../src/mapping/identifiers/phone.ts'
import { redactPersonalData } from '../../../src/mapping/redactPersonalData.ts'
import { splitImages } from '../../../src/mapping/products/links.ts'
import { parsePrice } from '../../../src/mapping/products/price.ts'
import { applyTransforms } from '../../../src/mapping/transforms.ts'
import { resolvePipeline } from '../../../src/pipeline/resolve.ts'
import { hasHtml } from '../../../src/sandbox/catalogs/productRules.ts'
import { looksLikeEmail } from '../../../src/sandbox/ledger/rawIdentifiers.ts'
import { parseAuthorization } from '../../../src/sandbox/verify/signature.ts'
import { refusal } from '../formats/support.ts'

const most = 262_144
const run = (piece: string, length = most) => piece.repeat(Math.ceil(length / piece.length))
const spaces = run(' ')

function mapperOf(definition: object) {
  const { pipeline, problems } = resolvePipeline(definition, 'long', 'long.yaml')
  if (pipeline === undefined) throw new Error(JSON.stringify(problems))
  return createMapper(pipeline, new Date('2026-06-15'))
}

function mapRow(definition: object, fields: Readonly<Record<string, string>>): unknown {
  const mapper = mapperOf(definition)
  const columns = Object.keys(fields)
  mapper.bindHeader(columns)
  return mapper.map({ line: 2, columns, cells: Object.values(fields) })
}

const catalog = { source: 'feed.xml', destination: { kind: 'catalog', catalog_id: '1' } }
const audience = { source: 'crm.csv', destination: { kind: 'audience', account_id: '18ce54d4x5t', audience_id: '1nmth' } }
const consent = { column: 'agreed', values: ['yes'] }
const product = {
  id: '1',
  title: 'Shoe',
  availability: 'in stock',
  condition: 'new',
  price: '1 EUR',
  link: 'https://a.example/',
  image_link: 'https://a.example/i.jpg',
  brand: 'Acme',
}
const priceOptions = { codeFirstAllowed: true, fullWidthAllowed: true }

const searches: readonly [name: string, search: () => unknown][] = [
  ['comments without an end', () => stripHtml(run('<!--', 4 * most))],
  ['scripts without an end', () => stripHtml(run('<script>', 8 * most))],
  ['a description with a tag without an end', () => mapRow(catalog, { ...product, description: `A <z${spaces}x` })],
  ['a line of one accented letter', () => looksGarbled(run('é'))],
  ['a list of images', () => splitImages(`x${spaces}x`)],
  ['a price of zeros', () => parsePrice(`1.${run('0')}1 EUR`, priceOptions)],
  ['a phone number of digits', () => normalizePhone(run('1'), 'DE')],
  ['a list of emails', () => addressesIn(`x${spaces}x`)],
  [
    'the emails of a row that opts out',
    () =>
      mapRow(
        { ...audience, map: { key: 'id', email: 'mail', phone_number: 'tel' }, consent },
        { id: '1', mail: '', tel: Array.from({ length: 26_000 }, (_, i) => `a${i}@b.co`).join(), agreed: 'no' },
      ),
  ],
  ...[
    spaces,
    '1',
    '1 2 ',
    '12 34 57 ',
    'a@',
    'a @ ',
    ' at ',
    '(at)',
    ' dot ',
    '@b.co',
    "a'@b.co ",
    'a1@b.co,',
    '.@.',
    '(',
    'a',
    '+49 170 5550100',
    '٠١٧٠ ',
  ].map((piece): [string, () => unknown] => [
    `a cell of a row that opts out: ${piece.slice(0, 9)}`,
    () =>
      mapRow(
        { ...audience, map: { key: 'id', email: 'mail', phone_number: { column: 'tel', default_country: 'DE' } }, consent },
        { id: '1', mail: run(piece), tel: `x${run(piece)}x`, agreed: 'no' },
      ),
  ]),
  [
    'different groups of digits in a row that opts out',
    () =>
      mapRow(
        { ...audience, map: { key: 'id', phone_number: { column: 'tel', default_country: 'DE' } }, consent },
        { id: '1', tel: Array.from({ length: 80_000 }, (_, i) => (i * 7919) % 1000).join(' '), agreed: 'no' },
      ),
  ],
  ['a cell of the phone column', () => mapRow({ ...audience, map: { key: 'id', phone_number: 'tel' } }, { id: '1', tel: `(${spaces}x` })],
  [
    'a cell of digests',
    () => mapRow({ ...audience, map: { key: 'id', email: { column: 'mail', hashed: true } } }, { id: '1', mail: `x${spaces}x` }),
  ],
  [
    'the transform price',
    () => {
      try {
        return applyTransforms([`1${spaces}xxxxx`], [{ name: 'price', args: {} }])
      } catch (error) {
        return error
      }
    },
  ],
  ['a column name', () => normalizeHeader(`x${run('_')}x`)],
  ['a masked column name', () => redactPersonalData(`@ ${run('a')}`)],
  [
    'a header, four times',
    async () => {
      for (let i = 0; i < 4; i++) await refusal(`id,a@${run('.', 100_000)} \n1,2\n`)
    },
  ],
  ['the first line of JSON lines', () => refusal(`{"a":${spaces}x\n{"a":1}\n`, { format: 'jsonl' })],
  ['an open string in JSON lines', () => refusal(`{"a":"${run(String.raw`\"`)}\n{"a":1}\n`, { format: 'jsonl' })],
  ['a JSON sample of brackets', () => findRecords(Buffer.from(run('{"a":')))],
  ['a JSON sample with an open string', () => findRecords(Buffer.from(`"${run(String.raw`\"`)}`))],
  ['an XML sample of tags without an end', () => likelyItem(run('<a'))],
  ['an XML item of comments without an end', () => swallowedItemFinder('item', false)(`<d x="${run('<!--')}">`)],
  ['an XML sample with one long name', () => likelyItem(`<${run('a')}`)],
  ['an XML sample of open quotes', () => likelyItem(run('<a"'))],
  ['a raw & in a long name', () => findRawAmpersand(`<${run('&')}`)],
  ['an XML fault among tags without an end', () => findXmlFault(run('<a '))],
  ['an XML fault among end tags without an end', () => findXmlFault(run('</a '))],
  ['repaired tags without an end', () => escapeAmpersands(`&${run('<a')}`)],
  [
    'repaired pieces of a comment',
    () => {
      const escaper = new AmpersandEscaper()
      return Array.from({ length: 30 }, () => escaper.write(run('&<!-', 65_536)))
    },
  ],
  ['a folded line', () => fold(`a${spaces}`, 80)],
  ['a line of cells', () => fold(run('a  b', 4 * most), 80)],
  ['the Authorization header', () => parseAuthorization(`OAuth ${run('a')}`)],
  ['a product of the emulator', () => hasHtml(`<z${spaces}x`)],
  ['an email in a request of the emulator', () => looksLikeEmail(`@ ${run('a')}`)],
]

test.each(searches)('takes linear time: %s', { tags: ['long'], timeout: 30_000 }, async (_, search) => {
  await search()
})

test('the last string of a JSON sample is not an object', () => {
  expect(findRecords(Buffer.from('{"a":1,"b":["'))).toBeUndefined()
  expect(findRecords(Buffer.from('{"b":[{"id":"1","t":"\\"'))).toEqual({ path: ['b'], isDetected: true })
})

test('an address in a comment that arrives in pieces is not repaired', () => {
  const escaper = new AmpersandEscaper()
  expect(escaper.write('<a><!-- <b>') + escaper.write('http://x/?a&b</b> -->') + escaper.end()).toBe('<a><!-- <b>http://x/?a&b</b> -->')
})
