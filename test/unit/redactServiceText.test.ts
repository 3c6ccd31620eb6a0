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

test('emails and phone numbers are removed, also in full-width characters', () => {
  expect(redactServiceText('bad jane@example.com, +1-212-555-0100')).toBe('bad [email] [phone]')
  expect(redactServiceText('bad jane＠example.com ＋１ ２１２ ５５５ ０１０１')).toBe('bad [email] [phone]')
})
