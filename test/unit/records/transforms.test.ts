import { expect, test } from 'vitest'
import { applyTransforms, TransformFault, transforms } from '../../../src/records/transforms.ts'

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
  ['strip_html', {}, ['<p>Red &amp; blue</p>'], ['Red & blue']],
  ['first', {}, ['', ' ', 'x', 'y'], ['x']],
  ['digits', {}, ['40-06 3'], ['40063']],
]

test('every transform has an example here', () => {
  expect(new Set(cases.map(([name]) => name))).toEqual(new Set(Object.keys(transforms)))
})

test.for(cases)('%s %j turns %j into %j', ([name, args, texts, expected]) => {
  expect(transforms[name]?.check(args)).toBeUndefined()
  expect(applyTransforms(texts, [{ name, args }])).toEqual(expected)
})

test.for([
  ['date', { form: 'DD.MM.YYYY' }, '2025-12-31'],
  ['price', {}, '1,299.00'],
  ['price', { decimal: ',' }, 'free'],
] as const)('%s %j refuses %s without repeating it', ([name, args, text]) => {
  expect(() => applyTransforms([text], [{ name, args }])).toThrow(TransformFault)
  expect(() => applyTransforms([text], [{ name, args }])).not.toThrow(text)
})

test('names of objects are no transforms', () => {
  for (const name of ['constructor', '__proto__', 'toString']) expect(transforms[name]).toBeUndefined()
})
