/** Feeds and exports with oddities of real ones, written by hand, and their expected records. All data is invented. */
import { gzipSync } from 'node:zlib'
import { createHash } from 'node:crypto'
import { csvOf, goodProduct, itemOf, manyProducts, rssOf, type Fields, type Settings } from './through.ts'

export interface WildFile {
  readonly name: string
  readonly file: string
  readonly content: string | Uint8Array
  readonly settings?: Settings
  /** Ids of the products, or identifiers of the members, that are accepted, in the file's order. */
  readonly accepted: readonly string[]
  readonly rejected?: number
  readonly duplicates?: number
  readonly suppressed?: number
}

const three = manyProducts(3)
const ids = (count: number) => Array.from({ length: count }, (_, i) => `P-${i}`)
const items = (rows: readonly Fields[] = three, more = '') => rows.map((row) => itemOf(row, more))
const plainItem = (fields: Fields) => itemOf(fields).replaceAll('g:', '')
const xml = (body: string, attributes = 'version="2.0" xmlns:g="http://base.google.com/ns/1.0"') =>
  `<rss ${attributes}><channel>${body}</channel></rss>`
const wrap = (list: readonly string[]) => list.map((item) => `<item>${item}</item>`).join('')
const shipping = '<g:shipping><g:country>DE</g:country><g:price>4.90 EUR</g:price></g:shipping>'
const map = { key: 'id', email: 'email' }
const crm = { destination: { kind: 'audience', account_id: '18ce54d4x5t', audience_id: '1nmth' }, map } satisfies Settings
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
const mail = (...texts: string[]) => texts.map((text) => `email ${sha256(text)}`)
const phone = (...texts: string[]) => texts.map((text) => `phone_number ${sha256(text)}`)
const json = (rows: readonly object[]) => rows.map((row) => `${JSON.stringify(row)}\n`).join('')
const rename = (rows: readonly Fields[], names: Readonly<Record<string, string>>) =>
  rows.map((row) => Object.fromEntries(Object.entries(row).map(([key, value]) => [names[key] ?? key, value])))

export const wildFeeds: readonly WildFile[] = [
  {
    name: 'ten shipping blocks with prices in every item',
    file: 'a.xml',
    content: rssOf(items(three, shipping.repeat(10))),
    accepted: ids(3),
  },
  { name: 'plain and prefixed titles in one item', file: 'a.xml', content: rssOf(items(three, '<title>Other</title>')), accepted: ids(3) },
  { name: 'no XML declaration, blanks before the root', file: 'a.xml', content: `\n  ${xml(wrap(items()))}`, accepted: ids(3) },
  { name: 'g: used without being bound', file: 'a.xml', content: xml(wrap(items()), 'version="2.0"'), accepted: ids(3) },
  {
    name: 'g bound as an attribute g=',
    file: 'a.xml',
    content: xml(wrap(items()), 'version="2.0" g="http://base.google.com/ns/1.0"'),
    accepted: ids(3),
  },
  {
    name: 'the namespace declared again on every element',
    file: 'a.xml',
    content: rssOf(items().map((item) => item.replace(/<g:(\w+)>/g, '<g:$1 xmlns:g="http://base.google.com/ns/1.0">'))),
    accepted: ids(3),
  },
  {
    name: 'another prefix for the product namespace',
    file: 'a.xml',
    content: rssOf(items()).replaceAll('xmlns:g', 'xmlns:ns0').replaceAll('<g:', '<ns0:').replaceAll('</g:', '</ns0:'),
    accepted: ids(3),
  },
  {
    name: 'a bare channel of plain elements',
    file: 'a.xml',
    content: `<channel>${wrap(three.map(plainItem))}</channel>`,
    settings: { map: { title: 'title' } },
    accepted: ids(3),
  },
  {
    name: 'Atom with entries',
    file: 'a.xml',
    content: `<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0"><title>Shop</title>${items()
      .map((item) => `<entry>${item}</entry>`)
      .join('')}</feed>`,
    accepted: ids(3),
  },
  {
    name: 'the whole feed on one line',
    file: 'a.xml',
    content: rssOf(items(manyProducts(2000))).replaceAll('\n', ''),
    accepted: ids(2000),
  },
  { name: 'byte order mark and CRLF in XML', file: 'a.xml', content: `\ufeff${rssOf(items())}`.replaceAll('\n', '\r\n'), accepted: ids(3) },
  {
    name: 'CDATA around everything, HTML inside',
    file: 'a.xml',
    content: rssOf(
      items(
        three.map((row) => ({ ...row, description: '' })),
        '<g:description><![CDATA[<p>Nice <b>shoe</b></p>]]></g:description>',
      ).map((item) => item.replace('<g:description></g:description>', '')),
    ),
    accepted: ids(3),
  },
  {
    name: 'values wrapped in line ends, empty and self-closed elements',
    file: 'a.xml',
    content: rssOf(items(three, '<g:mpn/><g:color></g:color>').map((item) => item.replaceAll('<g:title>', '<g:title>\n    '))),
    accepted: ids(3),
  },
  {
    name: 'extra images as repeated elements',
    file: 'a.xml',
    content: rssOf(items(three, '<g:additional_image_link>https://shop.example.com/2.jpg</g:additional_image_link>'.repeat(2))),
    accepted: ids(3),
  },
  {
    name: 'categories escaped twice, as editors leave them',
    file: 'a.xml',
    content: rssOf(items(three.map((row) => ({ ...row, product_type: 'Home &gt; Garden' })))),
    accepted: ids(3),
  },
  {
    name: 'stock words with underscores and capitals',
    file: 'a.xml',
    content: rssOf(items(three.map((row, i) => ({ ...row, availability: ['IN_STOCK', 'out_of_stock', 'in stock '][i] })))),
    accepted: ids(3),
  },
  {
    name: 'two of fourteen without image',
    file: 'a.xml',
    content: rssOf(items(manyProducts(14, (i) => (i === 3 || i === 9 ? { image_link: undefined } : {})))),
    accepted: ids(14).filter((id) => id !== 'P-3' && id !== 'P-9'),
    rejected: 2,
  },
  {
    name: 'prices without currency in every second item',
    file: 'a.xml',
    content: rssOf(items(manyProducts(4, (i) => (i % 2 === 1 ? { price: '12.99' } : {})))),
    accepted: ['P-0', 'P-2'],
    rejected: 2,
  },
  {
    name: 'the currency by setting, code first',
    file: 'a.csv',
    content: csvOf(manyProducts(3, (i) => ({ price: i === 0 ? '15000' : 'LKR 15000' }))),
    settings: { options: { default_currency: 'LKR', allow: ['price_code_first'] } },
    accepted: ids(3),
  },
  {
    name: 'three currencies in one feed',
    file: 'a.csv',
    content: csvOf(manyProducts(3, (i) => ({ price: `9.99 ${['USD', 'EUR', 'GBP'][i]}` }))),
    accepted: ids(3),
  },
  {
    name: 'sale prices that are not below in one of seven',
    file: 'a.csv',
    content: csvOf(manyProducts(7, (i) => (i === 2 ? { sale_price: '20.00 USD' } : { sale_price: '' }))),
    accepted: ids(7),
  },
  {
    name: 'an id twice with the same row, and once with another',
    file: 'a.csv',
    content: csvOf([...three, three[0] ?? {}, goodProduct, { ...goodProduct, title: 'Other' }]),
    accepted: ids(3),
    duplicates: 1,
    rejected: 2,
  },
  {
    name: 'a totals line and a comment at the end',
    file: 'a.csv',
    content: `${csvOf(three)}# exported by hand,,,,,,,,\n`,
    accepted: ids(3),
    rejected: 1,
  },
  { name: 'title rows above the header', file: 'a.csv', content: `My shop\nexported today\n${csvOf(three)}`, accepted: ids(3) },
  {
    name: 'a comment row as wide as the table, header on line 2',
    file: 'a.csv',
    content: `${Array.from({ length: 9 }, () => '# required').join(',')}\n${csvOf(three)}`,
    settings: { source: { csv: { header_row: 2 } } },
    accepted: ids(3),
  },
  { name: 'semicolons behind sep=;', file: 'a.csv', content: `sep=;\n${csvOf(three, ';')}`, accepted: ids(3) },
  { name: 'tabs and the ending .txt', file: 'a.txt', content: csvOf(three, '\t'), accepted: ids(3) },
  { name: 'pipes between the cells', file: 'a.csv', content: csvOf(three, '|'), accepted: ids(3) },
  {
    name: 'header names with blanks and capitals',
    file: 'a.csv',
    content: csvOf(rename(three, { image_link: 'Image Link', id: 'ID', title: ' Title ' })),
    accepted: ids(3),
  },
  { name: 'gzip that is called .csv', file: 'a.csv', content: gzipSync(csvOf(three)), accepted: ids(3) },
  {
    name: 'two gzip members',
    file: 'a.csv.gz',
    content: Buffer.concat([gzipSync(csvOf(three.slice(0, 2))), gzipSync(csvOf(three).split('\n').slice(3).join('\n'))]),
    accepted: ids(3),
  },
  { name: 'UTF-16 with mark', file: 'a.csv', content: Buffer.from(`\ufeff${csvOf(three)}`, 'utf16le'), accepted: ids(3) },
  {
    name: 'Windows-1252 by setting',
    file: 'a.csv',
    content: Buffer.from(csvOf(manyProducts(2, () => ({ title: 'Café' }))), 'latin1'),
    settings: { source: { encoding: 'windows-1252' } },
    accepted: ids(2),
  },
  {
    name: 'JSON lines with CRLF, blank lines and one broken line',
    file: 'a.jsonl',
    content: `${json(three).replaceAll('\n', '\r\n')}\r\n{"id":\r\n`,
    accepted: ids(3),
    rejected: 1,
  },
  { name: 'a JSON array, pretty', file: 'a.json', content: JSON.stringify(three, null, 2), accepted: ids(3) },
  {
    name: 'nested prices in JSON',
    file: 'a.jsonl',
    content: json(three.map((row) => ({ ...row, price: { value: '9.50', currency: 'EUR' } }))),
    settings: { map: { price: { columns: ['price.value', 'price.currency'], transform: 'join' } } },
    accepted: ids(3),
  },
  {
    name: 'the shop product export: variants of one handle',
    file: 'a.csv',
    content: csvOf(
      three.map((row, i) => ({
        Handle: 'shoe',
        Title: 'Shoe',
        'Body (HTML)': '<p>A shoe</p>',
        Vendor: 'Acme',
        'Variant SKU': row['id'],
        'Variant Price': '9.99',
        'Image Src': `https://shop.example.com/${i}.jpg`,
        availability: 'in stock',
        link: 'https://shop.example.com/shoe',
        'Google Shopping / Condition': 'new',
      })),
    ),
    settings: { preset: 'shopify-products', options: { default_currency: 'EUR' } },
    accepted: ids(3),
  },
  {
    name: 'contact export: apostrophes, p:, hard hyphens in phones',
    file: 'c.csv',
    content: csvOf([
      { id: '1', phone: "'+12025550143" },
      { id: '2', phone: 'p:+12025550144' },
      { id: '3', phone: '+1\u2011202\u2011555\u20110145' },
      { id: '4', phone: '+' },
    ]),
    settings: { ...crm, map: { key: 'id', phone_number: 'phone' } },
    accepted: phone('+12025550143', '+12025550144', '+12025550145'),
    rejected: 1,
  },
  {
    name: 'two addresses in a cell joined by :::',
    file: 'c.csv',
    content: csvOf([{ id: '1', email: 'a@example.com ::: b@example.com' }]),
    settings: { ...crm, options: { allow: ['split_lists'] } },
    accepted: mail('a@example.com', 'b@example.com').toSorted(),
  },
  {
    name: 'email_1 to email_3 with the one person in many cases',
    file: 'c.csv',
    content: csvOf([
      { id: '1', email_1: 'a@example.com', email_2: ' A@EXAMPLE.com', email_3: '' },
      { id: '2', email_1: '', email_2: 'b@example.com', email_3: '' },
    ]),
    settings: { ...crm, map: { key: 'id', email: ['email_1', 'email_2', 'email_3'] } },
    accepted: mail('a@example.com', 'b@example.com'),
  },
  {
    name: 'consent in words, one revoked',
    file: 'c.csv',
    content: csvOf(['Yes', 'no', 'TRUE'].map((ok, i) => ({ id: String(i), email: `p${i}@example.com`, ok }))),
    settings: { ...crm, consent: { column: 'ok', values: ['yes', 'true'] } },
    accepted: mail('p0@example.com', 'p2@example.com'),
    suppressed: 1,
  },
  {
    name: 'unsubscribed contacts of the contact export preset',
    file: 'c.csv',
    content: csvOf(
      ['false', 'true'].map((left, i) => ({
        'Record ID': String(i),
        Email: `p${i}@example.com`,
        'Phone Number': '',
        'Contact owner': 'Rep',
        'Unsubscribed from all email': left,
      })),
    ),
    settings: { destination: crm.destination },
    accepted: mail('p0@example.com'),
    suppressed: 1,
  },
  {
    name: 'five rows: two good, one invalid, one empty, one repeated',
    file: 'c.csv',
    content: csvOf(['a@example.com', 'b@example.com', 'b@', '', 'A@Example.com'].map((email, i) => ({ id: String(i), email }))),
    settings: { ...crm, map: { key: 'email', email: 'email' } },
    accepted: mail('a@example.com', 'b@example.com'),
    rejected: 2,
    duplicates: 1,
  },
  {
    name: 'blank lines, line ends in cells, doubled quotes, no final line end',
    file: 'c.csv',
    content: 'id,email,note\n\n1,a@example.com,"two\nlines"\n\n2,b@example.com,"a ""good"" one"',
    settings: crm,
    accepted: mail('a@example.com', 'b@example.com'),
  },
  {
    name: 'digests in capitals and one per line without header',
    file: 'c.csv',
    content: `${sha256('a@example.com').toUpperCase()}\n${sha256('b@example.com')}\n`,
    settings: { ...crm, source: { csv: { columns: ['email'] } }, map: { key: 'email', email: { column: 'email', hashed: true } } },
    accepted: mail('a@example.com', 'b@example.com'),
  },
  {
    name: 'headers in another language',
    file: 'c.csv',
    content: csvOf([{ Kundennummer: '1', 'E-Mail': 'a@example.com', Straße: 'Weg 1' }], ';'),
    settings: { ...crm, map: { key: 'Kundennummer', email: 'E-Mail' } },
    accepted: mail('a@example.com'),
  },
  {
    name: 'cards, addresses of machines and coordinates beside the email',
    file: 'c.csv',
    content: csvOf([{ id: '1', email: 'a@example.com', card: '4111 1111 1111 1111', ip: '203.0.113.9', lat: '52.5' }]),
    settings: crm,
    accepted: mail('a@example.com'),
  },
  {
    name: 'placeholders of every kind among emails',
    file: 'c.csv',
    content: csvOf(['N/A', 'none', 'test@test.com', 'a@example.com'].map((email, i) => ({ id: String(i), email }))),
    settings: crm,
    accepted: mail('a@example.com'),
    rejected: 3,
  },
]
