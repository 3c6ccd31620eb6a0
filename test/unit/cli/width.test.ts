/** Widths are counted in columns of the terminal, and no letter is split. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { cut, fold } from '../../../src/cli/terminal/text.ts'
import { fitting, padded, width } from '../../../src/cli/terminal/width.ts'

test.for([
  ['shop', 4, 'plain'],
  ['漢字', 4, 'two columns a letter'],
  ['ｱｲｳ', 3, 'half-width forms'],
  ['ＡＢ', 4, 'full-width forms'],
  ['한국', 4, 'syllables'],
  ['\u1112\u1161\u11ab', 2, 'a syllable in its parts'],
  ['é', 1, 'one letter'],
  ['e\u0301', 1, 'a letter and its accent'],
  ['👕', 2, 'an emoji'],
  ['a\u200db', 2, 'a joiner between'],
  ['Größe', 5, 'Latin'],
  ['артикул', 7, 'Cyrillic'],
  ['', 0, 'nothing'],
] as const)('%s takes %i columns: %s', ([text, columns]) => {
  expect(width(text)).toBe(columns)
})

test('a text that is cut fits, keeps its accents, and ends with a sign of the cut', () => {
  expect(cut('漢字漢字', 5)).toBe('漢字…')
  expect(cut('漢字漢字', 6)).toBe('漢字…')
  expect(cut('cafe\u0301s', 5)).toBe('cafe\u0301s')
  expect(cut('cafe\u0301s', 4)).toBe('caf…')
  expect(fitting('e\u0301e\u0301', 1)).toBe('e\u0301')
  const letters = fc.string({ unit: fc.constantFrom('a', '漢', 'e\u0301', '👕', 'ｱ', 'ß') })
  fc.assert(
    fc.property(letters, fc.integer({ min: 1, max: 30 }), (text, columns) => {
      expect(width(cut(text, columns))).toBeLessThanOrEqual(columns)
      expect(text.startsWith(fitting(text, columns))).toBe(true)
      expect(width(padded(text, columns))).toBe(Math.max(columns, width(text)))
    }),
  )
})

test('lines wrap by columns', () => {
  expect(fold('商品 商品 商品', 10)).toBe('商品 商品\n  商品')
})
