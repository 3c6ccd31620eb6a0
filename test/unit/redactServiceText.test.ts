import { expect, test } from 'vitest'
import { redactServiceText } from '../../src/redactServiceText.ts'

test('a cut text has no half of a surrogate pair', () => {
  expect(redactServiceText(`${'x'.repeat(299)}😀`)).toBe('x'.repeat(299))
  expect(redactServiceText(`${'\u0001'.repeat(1_999)}😀`)).toBe('')
  expect(redactServiceText(`${'x'.repeat(298)}😀y`)).toBe(`${'x'.repeat(298)}😀`)
})

test('a text with a lone surrogate becomes well-formed', () => {
  expect(redactServiceText('bad \ud83d title')).toBe('bad \ufffd title')
})
