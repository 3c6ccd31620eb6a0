import { expect, test } from 'vitest'
import { isShowable } from '../../../src/mapping/consent/columnValues.ts'
import { maskUnknown, redactPersonalData, maskedExcerpt } from '../../../src/mapping/redactPersonalData.ts'

test('a long password or email is masked, also if its @ is after the cut', () => {
  const password = 'p'.repeat(80)
  expect(maskedExcerpt(`https://user:${password}@shop.example.com/x`)).toBe('https://***@shop.example.com/x')
  expect(maskedExcerpt(`${'j'.repeat(70)}@example.com`)).toBe('j***@e***.com')
  expect(maskedExcerpt('x'.repeat(100))).toBe(`${'x'.repeat(60)}…`)
})

test('a value is not cut within a surrogate pair', () => {
  expect(maskedExcerpt(`${'x'.repeat(59)}😀 and more`)).toBe(`${'x'.repeat(59)}…`)
})

test.for(['06 12 34 56 78', '31.01.24', '212-555-01', 'jane@example.com', '12345', '+٢١٢ ٥٥٥ ٠١٠٠', '２０ ７９ ４６ ０１'])(
  '"%s" is not shown',
  (value) => {
    expect(isShowable(value)).toBe(false)
  },
)

test.for(['yes', 'Opt-in (web)', '1', 'tier 2, v1.2', ''])('"%s" is shown', (value) => {
  expect(isShowable(value)).toBe(true)
})

test.for([
  ['https://user:p@sswort@shop.example.com/x', 'https://***@shop.example.com/x'],
  ['https://user:p@ss:w@rt@shop.example.com/x?to=jane@example.com', 'https://***@shop.example.com/x?to=j***@e***.com'],
  ['call +49 170/5550100 now', 'call ***00 now'],
  ['call +49 170 – 5550100', 'call ***00'],
  ['call +49 (0) 170 / 555 01 00', 'call ***00'],
])('%s: a password or a number with other marks is masked', ([value = '', shown]) => {
  expect(redactPersonalData(value)).toBe(shown)
})

test.for([
  ['call +٢١٢ ٥٥٥ ٠١٠٠ now', 'call ***٠٠ now'],
  ['call ＋１ ２１２ ５５５ ０１０１', 'call ***０１'],
  ['mail jane＠example.com', 'mail j***@e***.com'],
])('%s: a number or an email in characters of another script is masked', ([value = '', shown]) => {
  expect(maskedExcerpt(value)).toBe(shown)
})

test('a value of unknown type is masked by its digits of any script', () => {
  expect(maskUnknown('٢١٢٥٥٥٠١٠٠')).toBe('***٠٠')
})
