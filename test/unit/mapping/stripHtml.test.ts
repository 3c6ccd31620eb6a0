import fc from 'fast-check'
import { expect, test } from 'vitest'
import { stripHtml } from '../../../src/mapping/html.ts'

const blocks = 'p|br|td|script|style|h[1-6]|[a-z]+:[a-z]+|[a-z]+-[a-z-]+'
const inline = 'a|b|kbd|q|span'
const hidden = /<(script|style)(?:\s[^<>]*)?>[\s\S]*?<\/\1\s*>|<!--[\s\S]*?-->|<!doctype[^<>]*>|<!\[CDATA\[|\]\]>|<\?[a-z][^<>]*\?>/gi
const tag = new RegExp(`<(?:/\\s*)?(?:${blocks}|${inline})(?:\\s[^<>]*|/)?>`, 'gi')
const isInline = new RegExp(`^</?\\s*(?:${inline})(?![\\w:-])`, 'i')

/** Returns the expected text with one replace over the whole text. */
function oracle(text: string): string {
  if (!text.includes('<')) return text
  const plain = text.replace(hidden, ' ').replace(tag, (found) => (isInline.test(found) ? '' : ' '))
  return plain === text ? text : plain.replace(/\s+/g, ' ').trim()
}

const tags = '< > </ / <b> </b> <B> <br/> <a-foo> <q:x> <x-b> <kbd> <\u212abd> <script> </script> <!-- --> <![CDATA[ ]]> <3 b br text -'
const parts = [
  ...tags.split(' '),
  '</ br >',
  '<p class="x">',
  '<td\n>',
  '<style a>',
  '</style >',
  '<!doctype html>',
  '<?xml ?>',
  '< b>',
  ' ',
  '  ',
  '\n',
  '\t',
  '\u00a0',
  '\u2003',
]

test('keeps words apart at a tag whose name only begins like an inline element', () => {
  expect(stripHtml('one<a-card>two</a-card>three<b:x>four')).toBe('one two three four')
  expect(stripHtml('<b>one</b><a href="x">two</a><i/>three')).toBe('onetwothree')
})

test('removes the same tags as one regular expression over the text', () => {
  fc.assert(
    fc.property(fc.array(fc.constantFrom(...parts), { maxLength: 12 }), (chosen) => {
      const text = chosen.join('')
      expect(stripHtml(text)).toBe(oracle(text))
    }),
    { numRuns: 20_000 },
  )
})
