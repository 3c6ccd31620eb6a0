/** Cleaning and trimming of texts. */
import { expect, test } from 'vitest'
import { normalizePhone } from '../../../src/mapping/identifiers/phone.ts'
import { addressesIn } from '../../../src/mapping/identifiers/email.ts'
import { normalizeHeader } from '../../../src/mapping/fields.ts'
import { parsePrice } from '../../../src/mapping/products/price.ts'
import { splitImages } from '../../../src/mapping/products/links.ts'
import { hasInvisible, stripControls, trimText } from '../../../src/mapping/text.ts'

test.for([
  ['', ''],
  [' \u00a0\u200b\ufeff', ''],
  ['\u2060 a b\u3000\u0085', 'a b'],
  ['é', 'é'],
  [' x', 'x'],
  ['x\t', 'x'],
] as const)('%j is trimmed to %j', ([text, trimmed]) => {
  expect(trimText(text)).toBe(trimmed)
})

// Nearly the largest field (128 KiB). In quadratic time, each of these takes over 10 s.
const long = 120_000
const spaces = ' '.repeat(long)
test.for<[what: string, run: () => unknown, result: unknown]>([
  ['a text', () => trimText(`é${spaces}é`).length, long + 2],
  ['a column name', () => normalizeHeader(`a${'_'.repeat(long)}b_`).length, long + 2],
  ['a list of emails', () => addressesIn(`a${spaces}b,jane@example.com`), ['jane@example.com']],
  ['a phone number', () => normalizePhone('1'.repeat(long), 'US'), { code: 'PHONE_INVALID', message: 'has too many characters' }],
  [
    'a price',
    () => parsePrice(`1.${'0'.repeat(long)}1 EUR`, { codeFirstAllowed: false, fullWidthAllowed: false }),
    { code: 'PRICE_PRECISION', message: 'has more than 2 decimals' },
  ],
  ['a list of images', () => splitImages(`a${spaces}b`).length, 1],
])('a long run of one character in %s does not take quadratic time', ([, run, result]) => {
  expect(run()).toEqual(result)
})

test.for(['\u061c', '\u115f', '\u1160', '\u180e', '\u3164', '\uffa0', '\u200b', '\u206a'])(
  '%j is removed from texts, and not allowed in ids',
  (char) => {
    expect(stripControls(`a${char}b`, ' ')).toBe('ab')
    expect(hasInvisible(`a${char}b`)).toBe(true)
  },
)

test('an empty Braille cell is a space in texts, and not allowed in ids', () => {
  expect(stripControls('a\u2800b', '\n')).toBe('a b')
  expect(hasInvisible('a\u2800b')).toBe(true)
})

test.for(['\u000b', '\u000c', '\u0085'])('%j is a line end or a space, so that the words beside it stay apart', (char) => {
  expect(stripControls(`Line one${char}Line two`, '\n')).toBe('Line one\nLine two')
  expect(stripControls(`Line one${char}Line two`, ' ')).toBe('Line one Line two')
})

test.for(['❤️', '\u0600١٢', '葛\u{e0100}'])('the visible id %j is valid', (id) => {
  expect(hasInvisible(id)).toBe(false)
})

test.for(['❤️', '👩‍💻', '🏴󠁧󠁢󠁥󠁮󠁧󠁿', '葛󠄀', 'क्\u200dष'])('%s stays as it is', (text) => {
  expect(stripControls(text, '\n')).toBe(text)
})
