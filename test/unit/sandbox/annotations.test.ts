import { expect, test } from 'vitest'
import { annotationsOf } from '../../../src/sandbox/posts/annotations.ts'

test('a long text without spaces is searched in linear time', () => {
  expect(annotationsOf('a'.repeat(500_000))).toBeUndefined()
})

test.for([
  ['Spring mugs for Berlin', ['Spring mugs', 'Berlin']],
  ['Spring mugs, Spring mugs', ['Spring mugs']],
  ['Spring mugs and other mugs', ['Spring mugs', 'mugs']],
  ['😀 mugs', ['mugs']],
  ['東京Tokyoで会う', ['Tokyo']],
  ['Tokyo@9pm', ['Tokyo']],
  ['See https://example.com/spring-mugs?city=Berlin', []],
  ['mugs@example.com London.example #caféParis #mugs @Berlin Großmugs', []],
] as const)('the names in %j are %j', ([text, names]) => {
  const found = annotationsOf(text) ?? []
  expect(found.map((one) => one.normalized_text)).toEqual(names)
  // Positions are in code points.
  expect(found.map(({ start, end }) => Array.from(text).slice(start, end).join(''))).toEqual(names)
})
