import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ColumnRegistry } from '../../../src/formats/columnRegistry.ts'
import { ItemCells } from '../../../src/formats/xml/itemCells.ts'
import { PlainItemReader } from '../../../src/formats/xml/plainItem.ts'
import { XmlItemError } from '../../../src/formats/xml/fragmentParser.ts'
import { StrictItemReader } from '../../../src/formats/xml/strictItem.ts'
import { FeedItemReader } from '../../../src/formats/xml/feedItem.ts'

const scopes = [
  { g: 'http://base.google.com/ns/1.0' },
  { g: 'http://base.google.com/ns/1.0', c: 'http://www.example.com/c', '': 'http://www.w3.org/2005/Atom' },
  { xi: 'http://www.w3.org/2001/XInclude', c: 'http://base.google.com/ns/2.0' },
  { g: 'http://www.example.com/g', '': 'http://base.google.com/ns/1.0' },
]
const names = [
  'g:id',
  'id',
  'c:id',
  'title',
  'g:title',
  'x:id',
  'xi:include',
  'xml:id',
  'xmlns:id',
  'a:b:c',
  '-a',
  'é',
  '__proto__',
  'g:shipping',
]
const texts = [
  'a',
  ' ',
  '\n',
  '\r',
  '\r\n',
  '&amp;',
  '&lt;',
  '&#65;',
  '&#13;',
  '&#x41;',
  '&#0;',
  '&#xD800;',
  '&#55296;',
  '&#1114112;',
  '&nbsp;',
]
const odd = [
  '&',
  ';',
  '>',
  ']',
  ']]>',
  '\u0001',
  '\u007f',
  '\ufffe',
  '𝄞',
  'é',
  '<',
  '<!-- c -->',
  '<?p x?>',
  '<!DOCTYPE a>',
  '</',
  '</item>',
]
const cdata = fc
  .array(fc.constantFrom('a', '<b>', ']', ']]', '>', '&', '\r\n', '\u0001', '</item>', '<![CDATA['), { maxLength: 4 })
  .map((parts) => `<![CDATA[${parts.join('')}]]>`)
const text = fc
  .array(
    fc.oneof(
      { weight: 8, arbitrary: fc.constantFrom(...texts.slice(0, 9)) },
      { weight: 1, arbitrary: fc.constantFrom(...texts, ...odd) },
      cdata,
    ),
    { maxLength: 4 },
  )
  .map((parts) => parts.join(''))
const name = fc.oneof({ weight: 5, arbitrary: fc.constantFrom('g:id', 'id', 'title', 'g:title') }, fc.constantFrom(...names))
const { element } = fc.letrec<{ element: string }>((tie) => ({
  element: fc.oneof(
    { weight: 8, arbitrary: fc.tuple(name, text).map(([tag, inner]) => `<${tag}>${inner}</${tag}>`) },
    fc.tuple(name, fc.array(tie('element'), { maxLength: 2 }), text).map(([tag, inner, more]) => `<${tag}>${inner.join(more)}</${tag}>`),
    name.map((tag) => `<${tag}/>`),
    name.map((tag) => `<${tag} href="a">b</${tag}>`),
    name.map((tag) => `<${tag} >b</${tag} >`),
    fc.tuple(name, name).map(([tag, other]) => `<${tag}>a</${other}>`),
    text,
  ),
}))
const item = fc
  .tuple(fc.constantFrom('item', 'item', 'item', 'g:item', 'x:item'), fc.array(element, { maxLength: 5 }))
  .map(([tag, inner]) => `<${tag}>${inner.join('')}</${tag}>`)

describe('items of plain XML', () => {
  test('are read as by the strict parser, one after the other', () => {
    let plain = 0
    let rejected = 0
    fc.assert(
      fc.property(fc.constantFrom(...scopes), fc.array(item, { minLength: 1, maxLength: 4 }), fc.boolean(), (scope, items, html) => {
        const [columns, strictColumns, cells] = [new ColumnRegistry(), new ColumnRegistry(), new ItemCells()]
        const findings = { overriddenCount: 0, prefixAssumed: false }
        let overriddenCount = 0
        const reader = new FeedItemReader(columns, scope, html, findings)
        const strict = new StrictItemReader(strictColumns, scope, cells, html)
        for (const one of items) {
          cells.begin()
          const expected = outcome(() => {
            strict.read(one)
            return cells.cells
          })
          expect(outcome(() => reader.read(one))).toEqual(expected)
          if (typeof expected === 'string') {
            rejected++
            return
          }
          expect(columns.names()).toEqual(strictColumns.names())
          overriddenCount += cells.overriddenCount
          expect(findings).toEqual({ overriddenCount, prefixAssumed: strict.prefixAssumed })
          expect(reader.htmlColumns).toEqual(strict.htmlColumns)
          if (new PlainItemReader(new ColumnRegistry(), scope, new ItemCells()).read(one)) plain++
        }
      }),
      { numRuns: 1_500 },
    )
    expect(plain).toBeGreaterThan(300)
    expect(rejected).toBeGreaterThan(300)
  })
  test('with HTML in CDATA, references, nested and empty elements need no strict parser', () => {
    const plain = new PlainItemReader(new ColumnRegistry(), { g: 'http://base.google.com/ns/1.0' }, new ItemCells())
    const shipping = '<g:shipping><g:price>1 EUR</g:price></g:shipping>'
    expect(plain.read(`<item>\r\n<g:id>1</g:id><title>a &amp; b&#39;s</title><g:brand/>${shipping}<g:size></g:size></item>`)).toBe(true)
    expect(plain.read('<item><g:description><![CDATA[<b>c</b>]]></g:description></item>')).toBe(true)
  })
  test('with attributes, comments, other references, unbound prefixes or control characters are left to the strict parser', () => {
    const plain = new PlainItemReader(new ColumnRegistry(), { g: 'http://base.google.com/ns/1.0' }, new ItemCells())
    for (const inner of [
      '<id a="1">1</id>',
      '<!-- c -->',
      '<id>&nbsp;</id>',
      '<x:id>1</x:id>',
      '<id>\u0001</id>',
      '<id>]]></id>',
      '<id>1</ID>',
    ])
      expect(plain.read(`<item>${inner}</item>`)).toBe(false)
  })
})

function outcome(read: () => unknown): unknown {
  try {
    return read()
  } catch (error) {
    if (!(error instanceof XmlItemError)) throw error
    return error.message
  }
}
