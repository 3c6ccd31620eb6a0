/** Errors of XML are reported at the line of the fault, not at the line where the parser failed. */
import { describe, expect, test } from 'vitest'
import { excerptAt } from '../../../src/formats/xml/xmlFault.ts'
import { feed, feedHead, feedTail, read } from './support.ts'

const quoting = { products: {} }
/** An item of five lines: the first line of the items is 3. */
const item = (id: number, description: string) =>
  `<item>\n<g:id>${id}</g:id>\n<g:title>Cup ${id}</g:title>\n<g:description>${description}</g:description>\n</item>\n`
const feedOf = (...items: string[]) => feedHead + items.join('') + feedTail

async function failure(
  text: string,
  overrides: object = quoting,
): Promise<{ readonly where: string; readonly message: string; readonly code: string }> {
  for (const chunk of [7, 65_536]) {
    const error: unknown = await read(text, { ...overrides, chunkBytes: chunk }).catch((thrown: unknown) => thrown)
    expect(error, `chunks of ${chunk}`).toMatchObject({ where: expect.stringMatching(/line \d+$/) })
    if (chunk === 65_536) return error as Awaited<ReturnType<typeof failure>>
  }
  throw new Error('not reached')
}

describe('a construct that includes the next item is an error', () => {
  test('case 147: an unclosed CDATA section that ends in a later item', async () => {
    const text = feedOf(item(1, 'a'), item(2, '<![CDATA[A blue cup'), item(3, '<![CDATA[A red cup]]>'), item(4, 'd'))
    const { code, where, message } = await failure(text)
    expect([code, where]).toEqual(['FILE_MALFORMED', 'feed, line 11'])
    expect(message).toBe(
      'not well-formed XML: the CDATA section in <g:description> is not closed by ]]>: …escription><![CDATA[A blue cup</g:description>',
    )
  })
  test('case 147: a typing error in the end of a CDATA section is reported on its own line', async () => {
    const long = `<![CDATA[A blue\ncup\nfor tea]] >`
    const { where, message } = await failure(feedOf(item(1, long), item(2, '<![CDATA[A red cup]]>')))
    expect(where).toBe('feed, line 8')
    expect(message).toContain('for tea]] ></g:description>')
  })
  test('an unclosed CDATA section in the last item that includes the end of the channel', async () => {
    const { where } = await failure(`${feedHead}${item(1, 'a')}${item(2, '<![CDATA[b')}</channel><!-- ]]> --></rss>`)
    expect(where).toBe('feed, line 11')
  })
  test('an unclosed comment', async () => {
    const { where, message } = await failure(feedOf(item(1, 'a<!-- old'), item(2, 'b<!-- old -->')))
    expect([where, message]).toEqual(['feed, line 6', expect.stringContaining('a comment that is not closed includes the next item')])
  })
  test('an unclosed item', async () => {
    const { code, where, message } = await failure(feedOf(item(1, 'a'), '<item>\n<g:id>2</g:id>\n', item(3, 'c')))
    expect([code, where, message]).toEqual([
      'FILE_MALFORMED',
      'feed, line 8',
      'the item that starts on line 8 contains the start of another one',
    ])
  })
  test('the configured element may occur in a text, but not end there and start again', async () => {
    const named = { ...quoting, xml: { item: 'product' } }
    const of = (text: string) => `<shop>\n<product><name>${text}</name></product>\n<product><name><![CDATA[b]]></name></product></shop>`
    expect((await read(of('<![CDATA[see <product > here]]>'), named)).rows.length).toBe(2)
    expect((await failure(of('<![CDATA[a'), named)).where).toBe('feed, line 2')
  })
  test('case 42: an end of an item in a CDATA section is text', async () => {
    expect((await read(feed('<g:title><![CDATA[a </item> b]]></g:title>'))).rows.length).toBe(1)
  })
})

describe('the line of the fault is reported with its text', () => {
  test.each([
    ['case 146: a raw & in a text', 'Salt & pepper', 'line 6', 'a raw & instead of &amp;: <g:description>Salt & pepper</g:description>'],
    ['a raw & at the end of a text', 'Salt &', 'line 6', 'a raw &'],
    ['a raw & long before a semicolon', 'A&B\nC\nD;', 'line 6', 'a raw &'],
    ['a raw & in an attribute', '<a href="?a=1\n&b=2">x</a>', 'line 7', 'a raw &'],
    ['an element that is not closed', 'a\n<b>b\n\n', 'line 7', 'the element <b> is not closed'],
    ['an undefined entity', 'a\n\n&nbsp;', 'line 8', 'undefined entity'],
  ])('%s', async (_, text, line, message) => {
    const failed = await failure(feedOf(item(1, text), item(2, 'b')))
    expect([failed.where, failed.message]).toEqual([`feed, ${line}`, expect.stringContaining(message)])
  })
  test('a raw & outside the items', async () => {
    const failed = await failure(`${feedHead}${item(1, 'a')}<copyright>Salt &\nSons</copyright>\n${item(2, 'b')}${feedTail}`)
    expect([failed.where, failed.message]).toEqual(['feed, line 8', 'not well-formed XML: a raw & instead of &amp;: <copyright>Salt &'])
  })
  test('an email beside a fault is masked, and nothing of a file of people is quoted', async () => {
    const text = feedOf(item(1, 'jane.doe@example.com & co'))
    expect((await failure(text)).message).toContain('j***@e***.com & co')
    expect((await failure(text, {})).message).toBe('not well-formed XML: a raw & instead of &amp;')
  })
  test('a file that ends inside an item names the element that is open', async () => {
    const failed = await failure(`${feedHead}${item(1, 'a')}<item>\n<g:id>2</g:id>\n<g:title>Cu`)
    expect([failed.code, failed.where]).toEqual(['FILE_TRUNCATED', 'feed, line 8'])
  })
})

// Quadratic time would be longer than the timeout: 20,000 end tags took 17 s.
test('a text with 100,000 end tags of the record is read in linear time', async () => {
  const { rows } = await read(`<shop><product><a><![CDATA[${'</product>'.repeat(100_000)}]]></a></product></shop>`, {
    xml: { item: 'product' },
  })
  expect(rows).toHaveLength(1)
})

test('a quoted text is not cut inside a character', () => {
  const emojis = '😀'.repeat(20)
  for (const before of ['', 'a']) expect(excerptAt(`${emojis}${before}& ${emojis}`, 40 + before.length).isWellFormed()).toBe(true)
})
