import { describe, expect, test } from 'vitest'
import { guardResultsOfWarnings } from '../../../src/sync/plan/qualityGuard.ts'
import { csvOf, goodProduct, itemOf, manyProducts, rssOf, through, type Fields, type Settings } from '../../support/through.ts'

interface Expected {
  /** Code of the reject. */
  readonly reject?: string
  /** Fields of the product as they are sent; undefined if absent. */
  readonly product?: Readonly<Record<string, unknown>>
  /** Codes among the warnings. */
  readonly says?: readonly string[]
}
type Case = readonly [name: string, fields: Fields, expected: Expected, settings?: Settings]

const defaultGuards = { minRows: 1, maxDeleteCount: 10, maxDeletePercent: 10, maxRejectPercent: 50 }
const base = 'https://shop.example.com'
const R = (reject: string): Expected => ({ reject })
const becomes = (field: string, value: unknown, ...says: string[]): Expected => ({ product: { [field]: value }, says })
const allow = (...names: string[]): Settings => ({ options: { allow: names } })
const values = (given: object): Settings => ({ options: { values: given } })

const cases: readonly Case[] = [
  ['case 12: text decoded wrongly before it came is kept', { title: 'CafÃ© table' }, becomes('title', 'CafÃ© table')],
  [
    'case 15: direction marks in a title are removed, joiners stay',
    { title: 'Red\u202e क्\u200dष' },
    becomes('title', 'Red क्\u200dष', 'TEXT_CLEANED'),
  ],
  ['case 15: an invisible character in an id rejects the row', { id: 'A\u200bB' }, R('ID_INVALID')],
  ['case 30: an id changed by a spreadsheet rejects the row', { id: '1.23457E+12' }, R('SPREADSHEET_DAMAGE')],
  ['case 30: an id of hashes rejects the row', { id: '########' }, R('SPREADSHEET_DAMAGE')],
  ['case 30: an id that became a date rejects the row', { id: '2-Mar' }, R('SPREADSHEET_DAMAGE')],
  ['case 56: a row without id is rejected', { id: '  ' }, R('FIELD_MISSING')],
  ['case 59: an id is trimmed and brought to one Unicode form', { id: ' Cafe\u0301 ' }, becomes('id', 'Café', 'ID_NORMALIZED')],
  [
    'case 60: an id with separators and letters outside ASCII is kept with a warning',
    { id: 'ЅKU/1,😀%00' },
    becomes('id', 'ЅKU/1,😀%00', 'ID_UNUSUAL'),
  ],
  ['case 60: an id above the limit rejects the row', { id: 'x'.repeat(101) }, R('ID_TOO_LONG')],
  [
    'case 60: an id above the configured limit rejects the row',
    { id: 'x'.repeat(51) },
    R('ID_TOO_LONG'),
    { options: { max_id_length: 50 } },
  ],
  [
    'case 60: an id of the configured limit is kept',
    { id: 'x'.repeat(50) },
    becomes('id', 'x'.repeat(50)),
    { options: { max_id_length: 50 } },
  ],
  ['case 61: a title of 150 is kept', { title: 'x'.repeat(150) }, becomes('title', 'x'.repeat(150))],
  ['case 61: a title of 151 rejects the row', { title: 'x'.repeat(151) }, R('TITLE_TOO_LONG')],
  ['case 61: 150 emoji are too long', { title: '😀'.repeat(150) }, R('TITLE_TOO_LONG')],
  [
    'case 61: a title is cut between graphemes if allowed',
    { title: '👍🏽'.repeat(60) },
    becomes('title', '👍🏽'.repeat(37), 'TITLE_CUT'),
    allow('cut_title'),
  ],
  [
    'case 61: a title of one grapheme is cut between code points if allowed',
    { title: `a${'\u0301'.repeat(150)}` },
    becomes('title', `a${'\u0301'.repeat(149)}`, 'TITLE_CUT'),
    allow('cut_title'),
  ],
  [
    'case 61: a title of one grapheme is not cut within a code point',
    { title: `a${'\u{1f3fd}'.repeat(75)}` },
    becomes('title', `a${'\u{1f3fd}'.repeat(74)}`, 'TITLE_CUT'),
    allow('cut_title'),
  ],
  ['case 62: an empty title rejects the row', { title: '\u200b' }, R('FIELD_MISSING')],
  ['case 62: a title of capitals is kept', { title: 'RED SHOE' }, becomes('title', 'RED SHOE')],
  ['case 62: a title of punctuation is kept', { title: '!!!' }, becomes('title', '!!!')],
  ['case 63: a description of 5,000 is kept', { description: 'x'.repeat(5000) }, becomes('description', 'x'.repeat(5000))],
  ['case 63: a description of 5,001 rejects the row', { description: 'x'.repeat(5001) }, R('DESCRIPTION_TOO_LONG')],
  [
    'case 63: a description is cut if allowed',
    { description: 'x'.repeat(5001) },
    becomes('description', 'x'.repeat(5000), 'DESCRIPTION_CUT'),
    allow('cut_description'),
  ],
  ['case 64: a row without description is rejected', { description: '' }, R('FIELD_MISSING')],
  [
    'case 65: entities escaped twice are decoded once',
    { description: 'Salt &amp;amp; pepper' },
    becomes('description', 'Salt &amp; pepper', 'ENTITIES_DECODED'),
  ],
  [
    'case 66: HTML is removed, a less-than sign stays',
    { description: '<p>One</p> if a < b' },
    becomes('description', 'One if a < b', 'DESCRIPTION_HTML'),
  ],
  ...['Size <M>', '<Produkt> x', 'for </Kids> only'].map((description): Case => [
    `case 66: ${description} rejects the row, because the service takes it for HTML`,
    { description },
    R('DESCRIPTION_MARKUP'),
  ]),
  ...['a < b > c', 'under <3', '2 <-> 4'].map((description): Case => [
    `case 66: ${description} is text`,
    { description },
    becomes('description', description),
  ]),
  ...['\u2800 \u3164', '.\u200c'.slice(1) + '\u115f', '\u00ad\ufe0f'].map((description, at): Case => [
    `case 66: a description of invisible characters alone rejects the row (${at + 1})`,
    { description },
    R('DESCRIPTION_EMPTY'),
  ]),
  ['case 62: a title of invisible characters alone rejects the row', { title: '\u3164' }, R('FIELD_MISSING')],
  ['case 66: a description of HTML alone rejects the row', { description: '<p> </p><br/>' }, R('DESCRIPTION_EMPTY')],
  [
    'case 67: availability with underscore is normalized',
    { availability: 'In_Stock' },
    becomes('availability', 'in stock', 'WORD_NORMALIZED'),
  ],
  ['case 67: availability yes is rejected', { availability: 'yes' }, R('AVAILABILITY_UNKNOWN')],
  [
    'case 67: availability 1 maps by a configured word',
    { availability: '1' },
    becomes('availability', 'in stock', 'WORD_NORMALIZED'),
    values({ availability: { 1: 'in stock' } }),
  ],
  ['case 68: condition NEW is normalized', { condition: 'NEW' }, becomes('condition', 'new', 'WORD_NORMALIZED')],
  ['case 68: condition like new is rejected', { condition: 'like new' }, R('CONDITION_UNKNOWN')],
  ['case 69: a price without currency rejects the row', { price: '12.99' }, R('PRICE_CURRENCY_MISSING')],
  [
    'case 69: a price without currency takes the configured one',
    { price: '12.99' },
    becomes('price', '12.99 EUR', 'PRICE_CURRENCY_ADDED'),
    { options: { default_currency: 'EUR' } },
  ],
  [
    'case 69: a price without currency takes that of the currency column beside it',
    { price: '1290', currencyCode: 'jpy', sale_price: '990' },
    { product: { price: '1290 JPY', sale_price: '990 JPY' } },
  ],
  [
    'case 69: a currency column that contradicts the configured currency rejects the row',
    { price: '1290', currency: 'JPY' },
    R('PRICE_CURRENCY_CONFLICT'),
    { options: { default_currency: 'USD' } },
  ],
  [
    'case 69: a currency column that contradicts the configured currency rejects the row of a mapped price too',
    { amount: '1290', price: undefined, currency: 'JPY' },
    R('PRICE_CURRENCY_CONFLICT'),
    { options: { default_currency: 'USD' }, map: { price: 'amount' } },
  ],
  [
    'case 69: a currency column that contradicts the price transform rejects the row',
    { price: '1,290', currency: 'JPY' },
    R('PRICE_CURRENCY_CONFLICT'),
    { map: { price: { column: 'price', transform: { price: { group: ',', currency: 'USD' } } } } },
  ],
  [
    'case 69: an empty currency cell takes the configured currency',
    { price: '12.99', currency: '' },
    becomes('price', '12.99 EUR'),
    { options: { default_currency: 'EUR' } },
  ],
  ['case 69: a price with its own currency keeps it', { price: '12.99 USD', currency: 'EUR' }, becomes('price', '12.99 USD')],
  ['case 70: a price without space has one form', { price: '12.99usd' }, becomes('price', '12.99 USD', 'PRICE_NORMALIZED')],
  [
    'case 70: a price with a non-breaking space has one form',
    { price: '12.99\u00a0USD' },
    becomes('price', '12.99 USD', 'PRICE_NORMALIZED'),
  ],
  ['case 71: a currency sign rejects the row', { price: '$12.99' }, R('PRICE_INVALID')],
  ['case 71: a code first rejects the row', { price: 'USD 12.99' }, R('PRICE_INVALID')],
  ['case 71: a code first is read if allowed', { price: 'USD 12.99' }, becomes('price', '12.99 USD'), allow('price_code_first')],
  [
    'case 71: a currency sign is read by the price transform',
    { price: '$12.99' },
    becomes('price', '12.99 USD'),
    { map: { price: { column: 'price', transform: { price: { decimal: '.', currency: 'USD' } } } } },
  ],
  ...[
    ['JPY', '1299 JPY'],
    ['CNY', '1299.00 CNY'],
  ].map(([currency, price]): Case => [
    `case 71: a sign of yen and yuan is read as the configured ${currency}`,
    { price: '¥1299' },
    becomes('price', price),
    { map: { price: { column: 'price', transform: { price: { decimal: '.', currency } } } } },
  ]),
  [
    'case 71: a sign of yen and yuan without a configured currency rejects the row',
    { price: '¥1299' },
    R('TRANSFORM_FAILED'),
    { map: { price: { column: 'price', transform: { price: { decimal: '.' } } } } },
  ],
  ...['12,99 EUR', '1,299.00 USD', '1.299,00 EUR', "1'299.00 CHF"].map((price): Case => [
    `case 72: ${price} rejects the row`,
    { price },
    R('PRICE_INVALID'),
  ]),
  [
    'case 72: a decimal comma is read by the price transform',
    { price: '1.299,00 EUR' },
    becomes('price', '1299.00 EUR'),
    { map: { price: { column: 'price', transform: { price: { decimal: ',', group: '.' } } } } },
  ],
  ['case 73: a price of zero is sent with a note', { price: '0 USD' }, becomes('price', '0.00 USD', 'PRICE_ZERO')],
  [
    'case 73: a price of zero rejects the row if the user requests it',
    { price: '0 USD' },
    R('PRICE_ZERO_REFUSED'),
    { options: { refuse: ['zero_price'] } },
  ],
  ['case 73: a sale price of zero is left out', { sale_price: '0 USD' }, becomes('sale_price', undefined, 'SALE_PRICE_DROPPED')],
  ['case 73: a price of zero is sent if allowed', { price: '0 USD' }, becomes('price', '0.00 USD'), allow('zero_price')],
  ...['-5.00 USD', '1e3 USD', '0x1F USD', 'NaN USD', ' USD'].map((price): Case => [
    `case 73: ${price} rejects the row`,
    { price },
    R('PRICE_INVALID'),
  ]),
  ['case 73: a tenth of a cent rejects the row', { price: '0.001 USD' }, R('PRICE_PRECISION')],
  ['case 74: three decimals of a dollar reject the row', { price: '12.999 USD' }, R('PRICE_PRECISION')],
  ...['150.000 VND', '1.000 JPY', '12.500 KRW'].map((price): Case => [
    `case 74: ${price} rejects the row, because it may be in thousands`,
    { price },
    R('PRICE_INVALID'),
  ]),
  [
    'case 74: a sale price that may be in thousands is left out',
    { price: '2000 JPY', sale_price: '1.200 JPY' },
    becomes('sale_price', undefined, 'SALE_PRICE_DROPPED'),
  ],
  [
    'case 74: a third zero is dropped if the transform has the decimal sign',
    { price: '150.000 VND' },
    becomes('price', '150 VND'),
    { map: { price: { column: 'price', transform: { price: { decimal: '.' } } } } },
  ],
  ...[
    ['1.290 EUR', '1.29 EUR'],
    ['12.9900 USD', '12.99 USD'],
    ['0.990 USD', '0.99 USD'],
    ['1299.000 USD', '1299.00 USD'],
    ['1.290 KWD', '1.290 KWD'],
  ].map(([price = '', sent = '']): Case => [`case 74: the price ${price} is sent as ${sent}`, { price }, becomes('price', sent)]),
  ['case 74: decimals of a yen reject the row', { price: '1200.50 JPY' }, R('PRICE_PRECISION')],
  ['case 74: three decimals of a Kuwaiti dinar are kept', { price: '1.234 KWD' }, becomes('price', '1.234 KWD')],
  ...['9.99 XXX', '9.99 BTC', '9.99 DEM'].map((price): Case => [
    `case 75: ${price} rejects the row`,
    { price },
    R('PRICE_CURRENCY_UNKNOWN'),
  ]),
  ['case 76: Arabic digits reject the row', { price: '٣.٥ USD' }, R('PRICE_INVALID')],
  ['case 76: full-width digits reject the row', { price: '１２ USD' }, R('PRICE_INVALID')],
  [
    'case 76: full-width digits are read if allowed',
    { price: '１２．５０　ＵＳＤ' },
    becomes('price', '12.50 USD', 'PRICE_NORMALIZED'),
    allow('wide_digits'),
  ],
  [
    'case 76: a full-width sale price is read if allowed',
    { sale_price: '９ USD' },
    becomes('sale_price', '9.00 USD', 'PRICE_NORMALIZED'),
    allow('wide_digits'),
  ],
  ...['٣.٥ USD', '1² USD', '１²．００ USD', '１，２ USD'].map((price): Case => [
    `case 76: ${price} rejects the row although full width is allowed`,
    { price },
    R('PRICE_INVALID'),
    allow('wide_digits'),
  ]),
  ['case 77: a price of forty digits rejects the row', { price: `${'9'.repeat(40)} USD` }, R('PRICE_INVALID')],
  [
    'case 78: a sale price that is not below is left out',
    { sale_price: '12.99 USD' },
    becomes('sale_price', undefined, 'SALE_PRICE_DROPPED'),
  ],
  [
    'case 78: a sale price in another currency is left out',
    { sale_price: '9.99 EUR' },
    becomes('sale_price', undefined, 'SALE_PRICE_DROPPED'),
  ],
  ...[
    '2026-02-24T13:00/2026-03-01T00:00',
    '2026-02-30T00:00Z/2026-03-01T00:00Z',
    '2026-03-02T00:00Z/2026-03-01T00:00Z',
    '2026-03-01T00:00Z',
    '20260-01-01T00:00Z/20261-01-01T00:00Z',
  ].map((date): Case => [
    `case 79: the sale period ${date} is left out with the sale price`,
    { sale_price: '9.99 USD', sale_price_effective_date: date },
    { product: { sale_price: undefined, sale_price_effective_date: undefined }, says: ['SALE_DATE_DROPPED'] },
  ]),
  [
    'case 79: a sale price whose period a transform cannot read is left out',
    { sale_price: '9.99 USD', sale_price_effective_date: 'soon' },
    { product: { sale_price: undefined, sale_price_effective_date: undefined }, says: ['TRANSFORM_DROPPED', 'SALE_DATE_DROPPED'] },
    { map: { sale_price_effective_date: { column: 'sale_price_effective_date', transform: { date: { form: 'YYYY-MM-DD' } } } } },
  ],
  [
    'case 80: a sale that is over is kept',
    { sale_price_effective_date: '2020-01-01T00:00:00Z/2020-02-01T00:00:00Z' },
    becomes('sale_price_effective_date', '2020-01-01T00:00:00Z/2020-02-01T00:00:00Z'),
  ],
  ['case 81: an http link rejects the row', { link: 'http://shop.example.com/p' }, R('LINK_NOT_HTTPS')],
  [
    'case 81: an http link is upgraded if allowed',
    { link: 'http://shop.example.com/p' },
    becomes('link', `${base}/p`, 'LINK_UPGRADED'),
    allow('upgrade_http'),
  ],
  [
    'case 81: an http mobile link is left out',
    { mobile_link: 'http://m.shop.example.com/' },
    becomes('mobile_link', undefined, 'MOBILE_LINK_DROPPED'),
  ],
  ...[
    '/p/1',
    '//shop.example.com/p',
    'javascript:alert(1)',
    'data:text/html,x',
    'ftp://shop.example.com/p',
    `${base}/a b`,
    'https://user:pw@shop.example.com/',
    'https://shop.example.com@evil.test/',
  ].map((link): Case => [`case 82: the link ${link} rejects the row`, { link }, R('LINK_INVALID')]),
  [
    'case 83: an international host is written in ASCII',
    { link: 'https://bücher.example/p' },
    becomes('link', 'https://xn--bcher-kva.example/p', 'LINK_HOST_ASCII'),
  ],
  ['case 83: port, path and fragment stay as they are', { link: `${base}:8443/ü?a=1#b` }, becomes('link', `${base}:8443/ü?a=1#b`)],
  ['case 83: an overlong link rejects the row', { link: `${base}/${'x'.repeat(5000)}` }, R('LINK_INVALID')],
  [
    'case 84: a link to a host outside the list gives a warning',
    { link: 'https://other.example.com/p' },
    becomes('link', 'https://other.example.com/p', 'LINK_HOST_OTHER'),
    { options: { link_hosts: ['shop.example.com'] } },
  ],
  ['case 85: a row without image is rejected', { image_link: '' }, R('FIELD_MISSING')],
  ...['i.svg', 'i.bmp'].map((name): Case => [
    `case 85: the image ${name} rejects the row`,
    { image_link: `${base}/${name}` },
    R('IMAGE_INVALID'),
  ]),
  ['case 85: an image of data rejects the row', { image_link: 'data:image/png;base64,AA' }, R('IMAGE_INVALID')],
  [
    'case 85: an http image is kept with a warning',
    { image_link: 'http://shop.example.com/1.png' },
    becomes('image_link', 'http://shop.example.com/1.png', 'IMAGE_HTTP'),
  ],
  [
    'case 85: an http image rejects the row if options.refuse names http_image',
    { image_link: 'http://shop.example.com/1.png' },
    R('IMAGE_NOT_HTTPS'),
    { options: { refuse: ['http_image'] } },
  ],
  [
    'case 85: an additional http image is kept',
    { additional_image_link: `http://shop.example.com/2.png,${base}/3.png` },
    becomes('additional_image_link', `http://shop.example.com/2.png,${base}/3.png`),
  ],
  [
    'case 85: an additional http image is left out if options.refuse names http_image',
    { additional_image_link: `http://shop.example.com/2.png,${base}/3.png` },
    becomes('additional_image_link', `${base}/3.png`, 'IMAGES_DROPPED'),
    { options: { refuse: ['http_image'] } },
  ],
  [
    'case 85: an image of unknown type is kept with a warning',
    { image_link: `${base}/image?id=1` },
    becomes('image_link', `${base}/image?id=1`, 'IMAGE_TYPE_UNKNOWN'),
  ],
  [
    'case 86: of eleven extra images ten are sent',
    { additional_image_link: Array.from({ length: 11 }, (_, i) => `${base}/x${i}.jpg`).join(',') },
    becomes('additional_image_link', Array.from({ length: 10 }, (_, i) => `${base}/x${i}.jpg`).join(), 'IMAGES_DROPPED'),
  ],
  [
    'case 86: a copy of the main image and a bad one are left out',
    { additional_image_link: `${base}/i/1.jpg,${base}/2.jpg` },
    becomes('additional_image_link', `${base}/2.jpg`, 'IMAGES_DROPPED'),
  ],
  ['case 87: brand, gtin and mpn all absent reject the row', { brand: '' }, R('IDENTIFIER_MISSING')],
  ['case 88: spaces and hyphens are removed from a gtin', { gtin: '400-6381 333931' }, becomes('gtin', '4006381333931', 'GTIN_NORMALIZED')],
  ...[`'4006381333931`, '="4006381333931"'].map((gtin): Case => [
    `case 88: ${gtin} is a gtin in a form that a spreadsheet does not change`,
    { gtin },
    becomes('gtin', '4006381333931', 'GTIN_NORMALIZED'),
  ]),
  ['case 88: an ISBN-10 becomes an ISBN-13', { gtin: '080442957X' }, becomes('gtin', '9780804429573', 'GTIN_NORMALIZED')],
  ...[
    '4006381333932',
    '12345678901',
    '00000000',
    '2012345678900',
    '9812345678904',
    // One number for use inside a store, with and without leading zeros.
    '200000000004',
    '0200000000004',
    '00200000000004',
    '20000004',
    '00000020000004',
  ].map((gtin): Case => [`case 88: the gtin ${gtin} is left out beside a brand`, { gtin }, becomes('gtin', undefined, 'GTIN_DROPPED')]),
  ['case 88: a bad gtin alone rejects the row', { gtin: '4006381333932', brand: '' }, R('GTIN_INVALID')],
  ['case 89: a placeholder is not an mpn', { mpn: 'N/A' }, becomes('mpn', undefined)],
  ['case 89: the brand "unknown" counts as missing', { brand: 'unknown', mpn: '-' }, R('IDENTIFIER_MISSING')],
  ...['10.0', '1,000', 'many', '2147483648'].map((inventory): Case => [
    `case 90: the inventory ${inventory} is left out`,
    { inventory },
    becomes('inventory', undefined, 'INVENTORY_DROPPED'),
  ]),
  ['case 90: in stock with an inventory of 0 rejects the row', { inventory: '0' }, R('STOCK_CONTRADICTION')],
  ['case 92: a gender in other words is left out', { gender: 'Men' }, becomes('gender', undefined, 'VALUE_DROPPED')],
  [
    'case 92: a gender in other words maps by a configured word',
    { gender: 'Men' },
    becomes('gender', 'male', 'WORD_NORMALIZED'),
    values({ gender: { men: 'male' } }),
  ],
  ['case 93: a color code is left out', { color: '#FF0000' }, becomes('color', undefined, 'VALUE_DROPPED')],
  [
    'case 93: thirty colors are left out',
    { color: Array.from({ length: 30 }, () => 'red').join('/') },
    becomes('color', undefined, 'VALUE_DROPPED'),
  ],
  [
    'case 95: category 0 is kept with a warning',
    { google_product_category: '0' },
    becomes('google_product_category', '0', 'CATEGORY_UNUSUAL'),
  ],
  [
    'case 95: an unknown path is kept with a warning',
    { google_product_category: 'Shoes > Red' },
    becomes('google_product_category', 'Shoes > Red', 'CATEGORY_UNUSUAL'),
  ],
  [
    'case 96: levels get spaces around their separators',
    { product_type: 'Home>Garden >Pots' },
    becomes('product_type', 'Home > Garden > Pots', 'SEPARATOR_NORMALIZED'),
  ],
  [
    'case 97: an overlong label is left out',
    { custom_label_0: 'x'.repeat(10_000) },
    becomes('custom_label_0', undefined, 'VALUE_TOO_LONG'),
  ],
  [
    'case 98: a key of the service in the feed is ignored',
    { product_key: '77' },
    becomes('product_key', undefined, 'SERVICE_FIELD_IGNORED'),
  ],
  ['case 99: an unknown column is ignored and listed', { warehouse: 'B' }, becomes('warehouse', undefined, 'COLUMN_UNKNOWN')],
  ['case 148: a misspelt field is listed with the right name', { colour: 'red' }, becomes('color', undefined, 'COLUMN_UNKNOWN')],
  ['case 148: a misspelt field maps by setting', { colour: 'red' }, becomes('color', 'red'), { map: { color: 'colour' } }],
  ...['xx', 'XXXX', 'n/a', 'TBD', 'test'].flatMap((text): Case[] =>
    ['age_group', 'color', 'size', 'mpn', 'item_group_id', 'product_type', 'sale_price'].map((field) => [
      `case 150: the placeholder ${text} in ${field} is left out with a note`,
      { [field]: text },
      becomes(field, undefined, 'VALUE_PLACEHOLDER'),
    ]),
  ),
  ['case 150: a size is not a placeholder', { size: 'XXL' }, becomes('size', 'XXL')],
  ['case 150: a custom label may be test', { custom_label_0: 'test' }, becomes('custom_label_0', 'test')],
  [
    'case 151: an escaped > in a category is decoded',
    { product_type: 'Home &amp;gt; Garden' },
    becomes('product_type', 'Home &gt; Garden', 'ENTITIES_DECODED'),
  ],
  ['case 152: an empty description among HTML rejects its row', { description: '' }, R('FIELD_MISSING')],
  ['case 154: a currency is not borrowed from the sale price', { price: '12.99', sale_price: '9.99 USD' }, R('PRICE_CURRENCY_MISSING')],
  ['case 155: a bare price rejects the row', { price: '12' }, R('PRICE_CURRENCY_MISSING')],
  ['case 156: LKR 15000 rejects the row', { price: 'LKR 15000' }, R('PRICE_INVALID')],
  ['case 156: 49,00 TND rejects the row', { price: '49,00 TND' }, R('PRICE_INVALID')],
  ['case 157: 72.5 USD has one form', { price: '72.5 USD' }, becomes('price', '72.50 USD')],
  ['case 157: 11995 GBP has one form', { price: '11995 GBP' }, becomes('price', '11995.00 GBP')],
  ['case 157: 9 JPY is as it should be', { price: '9 JPY' }, becomes('price', '9 JPY')],
  ['case 158: a price that is a word rejects the row', { price: 'on request' }, R('PRICE_INVALID')],
  ['case 159: a retired currency rejects the row', { price: '9.99 BGN' }, R('PRICE_CURRENCY_UNKNOWN')],
  ['case 161: out_of_stock is normalized', { availability: 'out_of_stock' }, becomes('availability', 'out of stock', 'WORD_NORMALIZED')],
  ['case 162: Available is rejected', { availability: 'Available' }, R('AVAILABILITY_UNKNOWN')],
  [
    'case 162: a schema address is mapped by its last part',
    { availability: 'https://schema.org/InStock' },
    becomes('availability', 'in stock', 'WORD_NORMALIZED'),
    values({ availability: { instock: 'in stock' } }),
  ],
  ['case 163: backorder is rejected', { availability: 'backorder' }, R('AVAILABILITY_UNKNOWN')],
  [
    'case 163: backorder maps by a configured word',
    { availability: 'backorder', availability_date: '2027-01-01' },
    becomes('availability', 'available for order', 'COLUMN_UNKNOWN'),
    values({ availability: { backorder: 'available for order' } }),
  ],
  ['case 164: an empty condition rejects the row', { condition: '' }, R('FIELD_MISSING')],
  [
    'case 164: an empty condition takes a default by setting',
    { condition: '' },
    becomes('condition', 'new'),
    { map: { condition: { column: 'condition', default: 'new' } } },
  ],
  [
    'case 164: Brand new maps by a configured word',
    { condition: 'Brand new' },
    becomes('condition', 'new'),
    values({ condition: { 'brand new': 'new' } }),
  ],
  ['case 166: an empty sale price is absent', { sale_price: '' }, becomes('sale_price', undefined)],
  ['case 167: a gtin that became an exponent is left out', { gtin: '4.00638E+12' }, becomes('gtin', undefined, 'GTIN_DROPPED')],
  ['case 169: a relative image rejects the row', { image_link: '/i/1.jpg' }, R('IMAGE_INVALID')],
  [
    'case 169: a relative image is joined to a configured base',
    { image_link: '/i/1.jpg' },
    becomes('image_link', `${base}/i/1.jpg`),
    { map: { image_link: { column: 'image_link', transform: { prefix: { with: base } } } } },
  ],
  [
    'case 170: spaces in an image address are encoded',
    { image_link: `${base}/a b.jpg` },
    becomes('image_link', `${base}/a%20b.jpg`, 'IMAGE_ENCODED'),
  ],
  [
    'case 171: a joined image list is split before each address',
    { additional_image_link: `${base}/2.jpg, ${base}/3,4.jpg` },
    becomes('additional_image_link', `${base}/2.jpg,${base}/3%2C4.jpg`),
  ],
  [
    'case 171: an image list joined by | or ; is split before each address',
    {
      image_link: `${base}/a.jpg|${base}/b.jpg`,
      additional_image_link: `${base}/c.jpg ; ${base}/d.jpg;v=1|${base}/e.jpg`,
    },
    {
      product: { image_link: `${base}/a.jpg`, additional_image_link: [`${base}/c.jpg`, `${base}/d.jpg;v=1`, `${base}/e.jpg`].join(',') },
      says: ['IMAGES_DROPPED'],
    },
  ],
  [
    'case 171: a list of images without file types is split',
    { image_link: `${base}/i/123,${base}/i/124` },
    becomes('image_link', `${base}/i/123`, 'IMAGES_DROPPED'),
  ],
  [
    'case 171: an address behind the transform parameters of an image service is not a list',
    { image_link: `https://img.example/fetch/w_300,${base}/1.jpg` },
    becomes('image_link', `https://img.example/fetch/w_300%2C${base}/1.jpg`, 'IMAGE_ENCODED'),
  ],
  ['case 172: an id that is an address is kept with a warning', { id: `${base}/p/1` }, becomes('id', `${base}/p/1`, 'ID_UNUSUAL')],
  [
    'case 178: sale dates of several spellings have one form',
    { sale_price_effective_date: '2026-02-24T13:00-0800/2026-03-01T00:00Z' },
    becomes('sale_price_effective_date', '2026-02-24T13:00:00-08:00/2026-03-01T00:00:00Z', 'SALE_DATE_NORMALIZED'),
  ],
  ...(
    [
      // Winter and summer time of one zone. The repeated hour in autumn is the second one, and the skipped hour in spring is winter time.
      ['2026-03-01T00:00/2026-04-01T00:00', '2026-03-01T00:00:00+01:00/2026-04-01T00:00:00+02:00'],
      ['2026-10-25T02:30/2026-10-25T03:30', '2026-10-25T02:30:00+01:00/2026-10-25T03:30:00+01:00'],
      ['2026-03-29T02:30/2026-03-29T04:30', '2026-03-29T02:30:00+01:00/2026-03-29T04:30:00+02:00'],
      ['2026-03-01T00:00Z/2026-04-01T00:00', '2026-03-01T00:00:00Z/2026-04-01T00:00:00+02:00'],
    ] as const
  ).map(([given, sent]): Case => [
    `case 178: ${given} without offset is read in the zone that is set`,
    { sale_price_effective_date: given },
    becomes('sale_price_effective_date', sent, 'SALE_DATE_NORMALIZED'),
    { options: { timezone: 'Europe/Berlin' } },
  ]),
  ['case 180: identifier_exists no is not an identifier', { brand: '', identifier_exists: 'no' }, R('IDENTIFIER_MISSING')],
  [
    'case 181: ideographic spaces at the ends are removed, no-break hyphens stay',
    { title: '\u3000Red\u2011shoe\u3000' },
    becomes('title', 'Red\u2011shoe'),
  ],
  ['case 186: a link with #!/ is kept', { link: `${base}/#!/p` }, becomes('link', `${base}/#!/p`)],
  [
    'case 186: a free category is kept with a warning',
    { google_product_category: 'nice things' },
    becomes('google_product_category', 'nice things', 'CATEGORY_UNUSUAL'),
  ],
  [
    'case 187: columns of other kinds are ignored and listed',
    { store_code: 'S1', expiration_date: '2027-01-01' },
    becomes('expiration_date', undefined, 'COLUMN_UNKNOWN'),
  ],
  ['case 188: in stock without inventory leaves it out', { inventory: '' }, becomes('inventory', undefined)],
  [
    'case 188: a quantity under another name maps by setting',
    { quantity: '4' },
    becomes('inventory', 4),
    { map: { inventory: 'quantity' } },
  ],
]

describe('fields of products (sections 2, 5 and 8.1)', () => {
  test.for(cases)('%s', async ([, fields, expected, settings]) => {
    const outcome = await through(csvOf([{ ...goodProduct, ...fields }]), settings)
    expect([outcome.refused, outcome.rejects[0]?.code]).toEqual([undefined, expected.reject])
    for (const [field, value] of Object.entries(expected.product ?? {})) expect(outcome.products[0]?.[field]).toEqual(value)
    for (const code of expected.says ?? []) expect(outcome.codes).toContain(code)
  })
})

describe('whole product files', () => {
  test('case 12: text decoded wrongly is counted with its lines', async () => {
    const { notes, products } = await through(csvOf([{ ...goodProduct, title: 'CafÃ© table' }]))
    expect([products.length, notes.map(({ code }) => code)]).toEqual([1, ['ENCODING_DOUBTFUL']])
    const one = await through(csvOf(manyProducts(100, (i) => (i < 5 ? { title: 'CafÃ© table' } : {}))))
    expect(one.notes.map(({ code }) => code)).toEqual(['MOJIBAKE'])
    const six = await through(csvOf(manyProducts(100, (i) => (i < 6 ? { title: 'CafÃ© table' } : {}))))
    expect(guardResultsOfWarnings({ name: 'shop', guards: defaultGuards }, six.notes).map(({ code }) => code)).toEqual([
      'GUARD_ENCODING_DOUBTFUL',
    ])
  })
  test('a rejected row names every fault, one for each field', async () => {
    const { rejects } = await through(
      csvOf([{ ...goodProduct, title: '', price: '12', link: 'http://a.example.com/p', image_link: 'x', brand: '' }]),
    )
    const faults = rejects.flatMap((reject) => [reject, ...(reject.more ?? [])])
    expect([rejects.length, faults.map(({ code, field }) => `${field} ${code}`)]).toEqual([
      1,
      [
        'title FIELD_MISSING',
        'price PRICE_CURRENCY_MISSING',
        'link LINK_NOT_HTTPS',
        'image_link IMAGE_INVALID',
        'brand IDENTIFIER_MISSING',
      ],
    ])
    for (const { hint } of faults) expect(hint).not.toBe('')
  })
  test('case 30: more than one damaged row in two hundred rejects the file', async () => {
    expect((await through(csvOf(manyProducts(200, (i) => (i < 2 ? { id: `1.2E+${i + 5}` } : {}))))).refused).toBe('FILE_SPREADSHEET_DAMAGE')
    expect((await through(csvOf(manyProducts(200, (i) => (i < 1 ? { id: '1.2E+5' } : {}))))).refused).toBeUndefined()
  })
  test.for([
    ['case 23: a file without a required column is rejected with the most similar name', 'descripton'],
    ['case 165: a description is never filled from the title', 'text'],
  ] as const)('%s', async ([, name]) => {
    const { description, ...others } = goodProduct
    const { refused, hint } = await through(csvOf([{ ...others, [name]: description }]))
    expect(refused).toBe('FILE_COLUMN_MISSING')
    if (name === 'descripton') expect(hint).toContain('"descripton"')
  })
  test('of several different values in a field the first is used, with a warning', async () => {
    const rows = [
      { ...goodProduct, price: ['9.99 EUR', '1.00 EUR'], color: ['red', 'blue'], image_link: [goodProduct.image_link, `${base}/2.jpg`] },
      { ...goodProduct, id: 'SKU-2', price: ['9.99 EUR', ' 9.99 EUR'], color: ['red', ''], image_link: [goodProduct.image_link] },
    ]
    const { products, codes } = await through(JSON.stringify(rows), { name: 'feed.json' })
    expect(products.map(({ price, color }) => [price, color])).toEqual([
      ['9.99 EUR', 'red'],
      ['9.99 EUR', 'red'],
    ])
    expect(codes.toSorted()).toEqual(['IMAGES_DROPPED', 'VALUES_LEFT_OUT', 'VALUES_LEFT_OUT'])
  })
  test('the first of several values is the first that is not empty', async () => {
    const rows = [
      { ...goodProduct, title: ['', 'Cup'], color: [' ', 'red', 'red'], image_link: ['', goodProduct.image_link, `${base}/2.jpg`] },
      { ...goodProduct, id: 'SKU-2', color: ['', 'red', 'blue'] },
    ]
    const { products, codes } = await through(JSON.stringify(rows), { name: 'feed.json' })
    expect(products.map(({ title, color }) => [title, color])).toEqual([
      ['Cup', 'red'],
      [goodProduct.title, 'red'],
    ])
    expect(products[0]?.image_link).toBe(goodProduct.image_link)
    expect(codes.toSorted()).toEqual(['IMAGES_DROPPED', 'VALUES_LEFT_OUT'])
  })
  test('case 32: fifty thousand rows are read as a stream', async () => {
    const { read, products } = await through(csvOf(manyProducts(50_000)))
    expect([read, products.length]).toEqual([50_000, 50_000])
  })
  test('case 94: groups that equal the id are kept with a note, and a group of one product gives none', async () => {
    const { notes, products } = await through(
      csvOf([
        { ...goodProduct, item_group_id: 'SKU-1' },
        { ...goodProduct, id: 'SKU-2', item_group_id: 'G' },
      ]),
    )
    expect([products.length, notes.map(({ code, count }) => [code, count])]).toEqual([2, [['GROUP_OF_ITSELF', 1]]])
  })
  test('case 22: names in other case and spelling are mapped, and listed once', async () => {
    const { image_link, title, ...row } = goodProduct
    const { products, codes } = await through(
      csvOf([
        { ...row, 'Image Link': image_link, ' TITLE': title },
        { ...row, id: '2', 'Image Link': image_link, ' TITLE': title },
      ]),
    )
    expect(products).toHaveLength(2)
    expect(codes).toEqual(['COLUMN_SPELLED', 'COLUMN_SPELLED'])
  })
  test('case 99: an unknown column is listed once, for any number of rows', async () => {
    const { codes } = await through(csvOf(manyProducts(50, () => ({ warehouse: 'B' }))))
    expect(codes.filter((code) => code === 'COLUMN_UNKNOWN')).toHaveLength(1)
  })
  test('case 150: one group of many products is reported, one of all products withholds', async () => {
    const some = await through(csvOf(manyProducts(150, (i) => ({ item_group_id: i < 120 ? 'g1' : `g${i}` }))))
    expect(some.notes.map(({ code }) => code)).toEqual(['GROUP_LARGE'])
    const all = await through(csvOf(manyProducts(20, () => ({ item_group_id: 'g1' }))))
    expect(all.notes.map(({ code }) => code)).toEqual(['GROUP_SAME'])
    const guards = defaultGuards
    expect(guardResultsOfWarnings({ name: 'shop', guards }, all.notes).map(({ code }) => code)).toEqual(['GUARD_GROUP_SAME'])
    expect(guardResultsOfWarnings({ name: 'shop', guards: { ...guards, accept: ['GROUP_SAME'] } }, all.notes)).toEqual([])
    const dozen = await through(csvOf(manyProducts(12, () => ({ item_group_id: 'g1' }))))
    expect(dozen.notes).toEqual([])
  })
  test('case 150: a placeholder as group of every row is dropped', async () => {
    const { products, notes } = await through(csvOf(manyProducts(150, () => ({ item_group_id: 'xx' }))))
    expect([products.filter(({ item_group_id: group }) => group !== undefined), notes]).toEqual([[], []])
  })
  test('case 152: HTML in most descriptions is removed and counted', async () => {
    const { products, codes } = await through(
      csvOf(manyProducts(10, (i) => ({ description: i < 9 ? `<p>Shoe <b>${i}</b></p>` : 'Plain' }))),
    )
    expect(products.map(({ description }) => description)).toEqual([...Array.from({ length: 9 }, (_, i) => `Shoe ${i}`), 'Plain'])
    expect(codes.filter((code) => code === 'DESCRIPTION_HTML')).toHaveLength(9)
  })
  test('case 160: a mix of currencies is listed', async () => {
    const { notes, products } = await through(csvOf(manyProducts(9, (i) => ({ price: `9.99 ${['USD', 'EUR', 'GBP'][i % 3]}` }))))
    expect([products.length, notes.find(({ code }) => code === 'CURRENCIES_MIXED')?.count]).toEqual([9, 3])
  })
  test('case 166: sale prices that are not below are counted for the feed', async () => {
    const { codes } = await through(csvOf(manyProducts(14, (i) => (i % 7 === 0 ? { sale_price: '99.00 USD' } : {}))))
    expect(codes.filter((code) => code === 'SALE_PRICE_DROPPED')).toHaveLength(2)
  })
  test('case 176: other column names are rejected, and read with a mapping', async () => {
    const { id, title, link, ...others } = goodProduct
    const file = csvOf([{ ID: id, 'Item title': title, 'Final URL': link, ...others }])
    expect((await through(file)).refused).toBe('FILE_COLUMN_MISSING')
    expect((await through(file, { map: { title: 'Item title', link: 'Final URL' } })).products).toHaveLength(1)
  })
  test('case 177: windows-1251 with semicolons is rejected unless it is declared', async () => {
    const file = Buffer.concat([Buffer.from(csvOf([goodProduct], ';').replace('Red shoe', '#')).subarray(0)])
    const [before = '', behind = ''] = file.toString('latin1').split('#')
    const bytes = Buffer.concat([Buffer.from(before, 'latin1'), Buffer.from([0xd2, 0xf3, 0xf4, 0xeb, 0xff]), Buffer.from(behind, 'latin1')])
    expect((await through(bytes)).refused).toBe('FILE_ENCODING')
    expect((await through(bytes, { source: { encoding: 'windows-1251', csv: { delimiter: ';' } } })).products[0]?.['title']).toBe('Туфля')
  })
  test('case 179: nested prices and image lists of JSON lines are read by mapping', async () => {
    const { price: _, ...rest } = goodProduct
    const line = `${JSON.stringify({ ...rest, price: { currencyCode: 'EUR', price: 0 }, additional_image_link: [`${base}/2.jpg`, `${base}/3.jpg`] }).replace('"price":0', '"price":12.50')}\n`
    const { products } = await through(line, {
      name: 'feed.jsonl',
      map: { price: { columns: ['price.price', 'price.currencyCode'], transform: 'join' } },
    })
    expect(products[0]).toMatchObject({ price: '12.50 EUR', additional_image_link: `${base}/2.jpg,${base}/3.jpg` })
  })
  test('case 19: a misplaced quote rejects its row and names the setting; with it the row is kept with a warning', async () => {
    const file = `${csvOf([goodProduct])}${csvOf([{ ...goodProduct, id: 'SKU-2', title: '5 inch nail' }])
      .split('\n')[1]
      ?.replace('5 inch', '5"')}\n`
    const strict = await through(file)
    expect([strict.products.length, strict.rejects.map(({ code, hint }) => [code, hint])]).toEqual([
      1,
      [['ROW_QUOTE', expect.stringContaining('csv.relaxed_quotes')]],
    ])
    const relaxed = await through(file, { source: { csv: { relaxed_quotes: true } } })
    expect([relaxed.rejects, relaxed.products[1]?.['title'], relaxed.codes]).toEqual([[], '5" nail', ['QUOTE_KEPT']])
  })
  test('cases 44, 145 and 146: a file that needs a setting is rejected without it, with the setting as the hint', async () => {
    const item = itemOf(goodProduct)
    const entity = rssOf([item.replace('Red shoe', 'Red&nbsp;shoe')])
    const raw = rssOf([item.replace('/p/1', '/p/1?a=1&b=2')])
    const bare = `<channel><item>${item.replaceAll('g:', '')}</item></channel>`
    const name = 'feed.xml'
    const refusals = await Promise.all([entity, raw, bare].map((feed) => through(feed, { name })))
    expect(refusals.map(({ refused, hint }) => [refused, hint])).toEqual([
      ['FILE_MALFORMED', expect.stringContaining('xml.html_entities')],
      ['FILE_MALFORMED', expect.stringContaining('xml.repair_ampersands')],
      ['WRONG_FORMAT', expect.stringContaining('map:')],
    ])
    const accepted = await Promise.all([
      through(entity, { name, source: { xml: { html_entities: true } } }),
      through(raw, { name, source: { xml: { repair_ampersands: true } } }),
      through(bare, { name, map: { title: 'title' } }),
    ])
    expect(accepted.map(({ refused, products, codes }) => [refused, products[0]?.['title'], products[0]?.['link'], codes])).toEqual([
      [undefined, 'Red\u00a0shoe', goodProduct['link'], ['ENTITY_HTML']],
      [undefined, 'Red shoe', `${base}/p/1?a=1&b=2`, ['AMPERSAND_MENDED']],
      [undefined, 'Red shoe', goodProduct['link'], []],
    ])
  })
  test('case 185: one brand in every row is reported', async () => {
    const { notes, products } = await through(csvOf(manyProducts(120, () => ({ brand: 'Shop' }))))
    expect([products.length, notes.map(({ code }) => code)]).toEqual([120, ['BRAND_SAME']])
  })
  test('case 84: a link to a host of the list gives no warning, ignoring case', async () => {
    const file = csvOf([{ ...goodProduct, link: 'https://SHOP.example.com/p' }])
    const { products, codes } = await through(file, { options: { link_hosts: ['Shop.example.com'] } })
    expect([products.length, codes]).toEqual([1, []])
  })
  test('case 185: a brand on the configured list is dropped', async () => {
    const map = { brand: { column: 'brand', transform: { map: { Shop: '' } } } }
    const { products, rejects } = await through(
      csvOf([
        { ...goodProduct, brand: 'Shop', mpn: 'M-1' },
        { ...goodProduct, id: '2', brand: 'Shop' },
      ]),
      { map },
    )
    expect(products.map(({ brand, mpn }) => [brand, mpn])).toEqual([[undefined, 'M-1']])
    expect(rejects.map(({ code }) => code)).toEqual(['IDENTIFIER_MISSING'])
  })
  test('case 175: a comment row as wide as the header is skipped if the line of the header is set', async () => {
    const file = `# made,by,a shop,on,a,day,of,the,year\n${csvOf([goodProduct])}`
    expect((await through(file)).refused).toBe('FILE_COMMENT_HEADER')
    expect((await through(file, { source: { csv: { header_row: 2 } } })).products).toHaveLength(1)
  })
  test('case 186: every item out of stock is reported', async () => {
    expect((await through(csvOf(manyProducts(120, () => ({ availability: 'out of stock' }))))).notes.map(({ code }) => code)).toContain(
      'ALL_OUT_OF_STOCK',
    )
  })
  test('case 189: two of fourteen without image are rejected, the others are sent', async () => {
    const { products, rejects } = await through(csvOf(manyProducts(14, (i) => (i === 3 || i === 9 ? { image_link: '' } : {}))))
    expect([products.length, rejects.map(({ line }) => line)]).toEqual([12, [5, 11]])
  })
  test('case 86: repeated elements with a comma in one address are joined with it encoded', async () => {
    const images = ['2.jpg', '3,4.jpg'].map((name) => `<g:additional_image_link>${base}/${name}</g:additional_image_link>`).join('')
    const { products } = await through(rssOf([itemOf(goodProduct, images)]), { name: 'feed.xml' })
    expect(products[0]?.['additional_image_link']).toBe(`${base}/2.jpg,${base}/3%2C4.jpg`)
  })
  test('case 142: the prefixed title wins over a plain one that differs, with a warning', async () => {
    const { products, sourceNotes } = await through(rssOf([itemOf(goodProduct, '<title>Other</title>')]), { name: 'feed.xml' })
    expect(products[0]?.['title']).toBe('Red shoe')
    expect(sourceNotes.join()).toContain('differs from the product element')
  })
})

test.for([
  ['two variants in one record', ['A', 'B'], ['ID_INVALID'], []],
  ['one variant', ['A'], [], ['A']],
  ['the same id twice', ['A', ' A'], [], ['A']],
] as const)('case 53: a record whose id has %s', async ([, skus, codes, ids]) => {
  const { id: _, ...rest } = goodProduct
  const { products, rejects } = await through(`${JSON.stringify({ ...rest, variants: skus.map((sku) => ({ sku })) })}\n`, {
    name: 'feed.jsonl',
    map: { id: 'variants.sku' },
  })
  expect([rejects.map(({ code }) => code), products.map(({ id }) => id)]).toEqual([codes, ids])
})
