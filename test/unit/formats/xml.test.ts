import { XMLParser } from 'fast-xml-parser'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import type { RunError } from '../../../src/errors.ts'
import { escapeAmpersands } from '../../../src/formats/xml/ampersands.ts'
import { ByteQueue } from '../../../src/formats/byteQueue.ts'
import { readLimits } from '../../../src/formats/limits.ts'
import { openFormat } from '../../../src/formats/openFormat.ts'
import { cellsOf, chunksOf, definitionOf, feed, feedHead, feedTail, read, refusal } from './support.ts'

const htmlAllowed = { xml: { htmlEntities: true } }
const repairedAmpersands = { xml: { escapeAmpersands: true } }
const rawLink = 'https://shop.example.com/?a=1&b=2'

const one = async (item: string, overrides = {}) => cellsOf((await read(feed(item), overrides)).rows[0])

describe('product feeds (bad-inputs sections 3 and 8.1)', () => {
  test.each([
    ['case 34: a document type', '<!DOCTYPE rss SYSTEM "http://evil.example.com/x.dtd">'],
    ['case 35: entities that grow', '<!DOCTYPE rss [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;&a;">]>'],
    ['case 35: parameter entities', '<!DOCTYPE rss [<!ENTITY % p SYSTEM "http://evil.example.com/p">%p;]>'],
    ['case 36: an external entity', '<!DOCTYPE rss [<!ENTITY x SYSTEM "file:///etc/passwd">]>'],
    ['case 36: a style sheet instruction', '<?xml-stylesheet href="http://evil.example.com/s.xsl"?>'],
    ['a document type after the fact', '<!-- x --><!doctype rss>'],
  ])('%s rejects the file', async (_, prolog) => {
    expect(await refusal(`<?xml version="1.0"?>${prolog}<rss><channel><item><id>&x;</id></item></channel></rss>`)).toBe('FILE_DOCTYPE')
  })
  test('cases 142 and 144: an undeclared g and a plain element that differs are noted, a declared g is not', async () => {
    const item = '<item><title>Cup</title><g:title>Mug</g:title><g:id>1</g:id></item>'
    const { end, rows } = await read(`<rss><channel>${item}</channel></rss>`)
    expect(cellsOf(rows[0])).toEqual({ title: 'Mug', id: '1' })
    expect(end.notes).toEqual([
      expect.stringContaining('a plain element differs'),
      'the prefix g is not declared; read as the product namespace',
    ])
    const bound = 'xmlns:g="http://base.google.com/ns/1.0"'
    for (const text of [
      `<rss ${bound}><channel><item><g:id>1</g:id></item></channel></rss>`,
      `<rss><channel><item ${bound}><g:id>1</g:id></item></channel></rss>`,
      `<rss><channel><item><g:id ${bound}>1</g:id></item></channel></rss>`,
    ])
      expect((await read(text)).end.notes).toEqual([])
  })
  test('case 36: XInclude rejects the file', async () => {
    expect(await refusal(feed('<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd"/>'))).toBe('FILE_MALFORMED')
    const include = '<xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="more-items.xml"/>'
    const items = (before: string, after: string) =>
      `<rss xmlns:g="http://base.google.com/ns/1.0"><channel>${before}<item><g:id>1</g:id></item>${after}</channel></rss>`
    expect([await refusal(items(include, '')), await refusal(items('', include))]).toEqual(['FILE_MALFORMED', 'FILE_MALFORMED'])
  })
  test('case 37: numeric character references are read', async () => {
    expect(await one(`<g:title>${'&#65;'.repeat(10_000)}</g:title>`)).toEqual({ title: 'A'.repeat(10_000) })
  })
  test('case 38: depth, attributes and tags above the limits reject the file', async () => {
    expect(await refusal(feed('<a>'.repeat(100_000)))).toBe('FILE_TOO_DEEP')
    expect(await refusal(feed(`<g:id ${Array.from({ length: 20_000 }, (_, at) => `a${at}="1"`).join(' ')}>1</g:id>`))).toBe(
      'FILE_FIELD_TOO_LARGE',
    )
    expect(await refusal(feed(`<g:id a="${'x'.repeat(3_000_000)}">1</g:id>`))).toBe('FILE_RECORD_TOO_LARGE')
  })
  test.each([
    ['an unclosed root', `${feedHead}<item><g:id>1</g:id></item></channel>`, 'FILE_TRUNCATED'],
    ['crossed tags in an item', feed('<g:id>1</g:title>'), 'FILE_MALFORMED'],
    ['crossed tags outside the items', '<rss><channel></rss></channel>', 'FILE_MALFORMED'],
    ['an item closed by another tag', `${feedHead}<item><g:id>1</g:id></items>${feedTail}`, 'FILE_MALFORMED'],
    ['two roots', '<rss><channel></channel></rss><rss></rss>', 'FILE_MALFORMED'],
    ['junk behind the root', '<rss><channel></channel></rss>junk', 'FILE_MALFORMED'],
    ['an end without a start', '<rss><channel></channel></rss></rss>', 'FILE_MALFORMED'],
  ])('case 39: %s rejects the file', async (_, text, code) => {
    expect(await refusal(text)).toBe(code)
    expect(await refusal(text, { chunkBytes: 3 })).toBe(code)
  })
  test.each([['&#0;'], ['&#xFFFE;'], ['\u0001'], ['&#xD800;']])('case 40: the character %j rejects the file', async (text) => {
    expect(await refusal(feed(`<g:id>${text}</g:id>`))).toBe('FILE_MALFORMED')
  })
  test('case 41: elements are recognized by namespace, not by prefix', async () => {
    const rss = (attribute: string, name: string) =>
      `<rss ${attribute}="http://base.google.com/ns/1.0"><channel><item><${name}>1</${name}></item></channel></rss>`
    for (const text of [rss('xmlns:ns0', 'ns0:id'), rss('xmlns:g', 'g:id')])
      expect(cellsOf((await read(text)).rows[0])).toEqual({ id: '1' })
    const inner = '<rss><channel><item><id xmlns="http://base.google.com/ns/1.0">1</id></item></channel></rss>'
    expect(cellsOf((await read(inner)).rows[0])).toEqual({ id: '1' })
  })
  test('case 42: CDATA that is split at its own end, that contains HTML, or an end of an item', async () => {
    expect(await one('<g:description><![CDATA[a ]]]]><![CDATA[> <b>b</b> </item>]]></g:description>')).toEqual({
      description: 'a ]]> <b>b</b> </item>',
    })
  })
  test('an end of an item in a comment and a > in an attribute are ignored', async () => {
    expect(await one('<!-- </item> --><g:id note="/item>">1</g:id>')).toEqual({ id: '1' })
  })
  test('case 43: Atom', async () => {
    const text =
      '<feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0"><title>Shop</title><entry><g:id>1</g:id><title>T</title><link href="https://shop.example.com/1"/></entry></feed>'
    const result = await read(text)
    expect(result.detected.format).toBe('google-atom')
    expect(cellsOf(result.rows[0])).toEqual({ id: '1', title: 'T', link: 'https://shop.example.com/1' })
  })
  test('cases 43 and 171: repeated elements are one cell of several texts', async () => {
    expect(await one('<g:additional_image_link>a</g:additional_image_link><g:additional_image_link>b</g:additional_image_link>')).toEqual({
      additional_image_link: ['a', 'b'],
    })
  })
  test('case 44: an undefined entity rejects the file', async () => {
    expect(await refusal(feed('<g:title>a&nbsp;b</g:title>'))).toBe('FILE_MALFORMED')
  })
  test('case 44: names of object properties are not entities', async () => {
    for (const name of ['constructor', 'toString', '__proto__']) {
      expect(await refusal(feed(`<g:title>a&${name};b</g:title>`))).toBe('FILE_MALFORMED')
      expect(await refusal(feed(`<g:title>a&${name};b</g:title>`), htmlAllowed)).toBe('FILE_MALFORMED')
    }
  })
  test('case 44: with entities of HTML allowed, each is a character, with one warning for a row and column', async () => {
    const item = '<g:title>a&nbsp;b &eacute;&amp;&euro;&gbreve;</g:title><g:brand>B&sup2;</g:brand><g:id note="&copy;">1</g:id>'
    const { rows } = await read(feed(item, '<g:id>2</g:id>').replace('<channel>', '<channel><title>Shop&nbsp;A</title>'), htmlAllowed)
    expect(cellsOf(rows[0])).toEqual({ title: 'a\u00a0b \u00e9&\u20ac\u011f', brand: 'B\u00b2', id: '1' })
    expect(rows.map(({ warnings }) => warnings?.map(({ code, field }) => `${code} ${field}`))).toEqual([
      ['ENTITY_HTML title', 'ENTITY_HTML brand'],
      undefined,
    ])
  })
  test('case 44: every item has the same entities', async () => {
    for (const item of ['<g:title>a&nbsp;b</g:title>', '<g:title lang="en">a&nbsp;b</g:title>'])
      expect((await read(feed(item, item, item), htmlAllowed)).rows.map(cellsOf)).toEqual(Array(3).fill({ title: 'a\u00a0b' }))
    for (const overrides of [{}, { xml: { item: 'item' } }, { xml: { item: 'item', htmlEntities: true } }])
      expect(await refusal(feed('<g:id>1</g:id>', '<g:id n="2">2</g:id>', '<g:id>&constructor;</g:id>'), overrides)).toBe('FILE_MALFORMED')
    const records = await read(feed('<g:title>a&nbsp;b</g:title>', '<g:title>c&nbsp;d</g:title>'), {
      xml: { item: 'item', htmlEntities: true },
    })
    expect(records.rows).toHaveLength(2)
  })
  test('case 44: entities of HTML in CDATA and in a document type stay unchanged', async () => {
    expect(cellsOf((await read(feed('<g:title><![CDATA[a&nbsp;b]]></g:title>'), htmlAllowed)).rows[0])).toEqual({ title: 'a&nbsp;b' })
    expect(await refusal(feed('<g:title>a&nosuch;b</g:title>'), htmlAllowed)).toBe('FILE_MALFORMED')
    const external = '<!DOCTYPE rss [<!ENTITY nbsp SYSTEM "file:///etc/passwd">]>'
    expect(await refusal(`${external}${feed('<g:title>&nbsp;</g:title>')}`, htmlAllowed)).toBe('FILE_DOCTYPE')
  })
  test('cases 44 and 146: the error names the setting that would read the item', async () => {
    const hintOf = (text: string, settings = {}) => read(text, settings).then(String, (error: RunError) => error.hint)
    expect(await hintOf(feed('<g:title>a&nbsp;b</g:title>'))).toContain('xml.html_entities')
    expect(await hintOf(feed('<g:id>1</g:id>').replace('<channel>', '<channel><title>A&nbsp;B</title>'))).toContain('xml.html_entities')
    expect(await hintOf(feed(`<g:link>${rawLink}</g:link>`))).toContain('xml.repair_ampersands')
    expect(await hintOf(feed('<g:title>Salt & pepper</g:title>'))).not.toContain('set `xml')
    expect(await hintOf(feed('<g:title>Salt &nbsp; & pepper</g:title>'), htmlAllowed)).not.toContain('set `xml')
  })
  test('case 141: nested elements never leak into the product', async () => {
    const shipping = '<g:shipping><g:country>US</g:country><g:price>9.99 USD</g:price></g:shipping>'.repeat(10)
    expect(await one(`<g:id>1</g:id>${shipping}<g:price>5.00 USD</g:price>`)).toEqual({ id: '1', price: '5.00 USD' })
  })
  test('case 141: text around nested elements is not a field either', async () => {
    expect(await one('<g:id>1</g:id><g:price>5.00 USD<g:unit>kg</g:unit></g:price>')).toEqual({ id: '1' })
  })
  test.each([
    ['<title>plain</title><g:title>product</g:title>', 1],
    ['<g:title>product</g:title><title>plain</title>', 1],
    ['<title>product</title><g:title>product</g:title>', 0],
  ])('case 142: the product element takes precedence over the plain one: %s', async (item, notes) => {
    const result = await read(feed(item))
    expect(cellsOf(result.rows[0])).toEqual({ title: 'product' })
    expect(result.end.notes).toHaveLength(notes)
  })
  test('case 143: no declaration, spaces before the root, spaces before a declaration', async () => {
    const body = '<rss><channel><item><id>1</id></item></channel></rss>'
    expect(await refusal(body)).toBe('none')
    expect(await refusal(`\n  ${body}`)).toBe('none')
    expect(await refusal(`\n<?xml version="1.0"?>${body}`)).toBe('FILE_MALFORMED')
  })
  test('case 144: g may be unbound, misdeclared or declared again; other unbound prefixes reject the file', async () => {
    const item = '<item><g:id>1</g:id></item>'
    expect(cellsOf((await read(`<rss><channel>${item}</channel></rss>`)).rows[0])).toEqual({ id: '1' })
    expect(cellsOf((await read(`<rss g="http://base.google.com/ns/1.0"><channel>${item}</channel></rss>`)).rows[0])).toEqual({ id: '1' })
    expect(await one('<g:id xmlns:g="http://base.google.com/ns/1.0">1</g:id>')).toEqual({ id: '1' })
    expect(await refusal(feed('<z:id>1</z:id>'))).toBe('FILE_MALFORMED')
  })
  test('case 145: a bare channel rejects the file, and is read by its own names in a pipeline with a map', async () => {
    const bare = '<channel><item><id>1</id></item></channel>'
    for (const text of [
      bare,
      `<?xml version="1.0"?>\n<!-- shop -->\n${bare}`,
      bare.replace('<channel>', '<channel xmlns:x="http://example.com/x">'),
    ]) {
      expect(await refusal(text)).toBe('WRONG_FORMAT')
      expect(await refusal(text, { chunkBytes: 3 })).toBe('WRONG_FORMAT')
      expect(cellsOf((await read(text, { mapped: true })).rows[0])).toEqual({ id: '1' })
    }
  })
  test.each([['xmlns:g'], ['xmlns'], ['g']])('case 145: a channel that names the product namespace by %s is read', async (attribute) => {
    const text = `<channel ${attribute}="http://base.google.com/ns/1.0"><item><id>1</id></item></channel>`
    expect(cellsOf((await read(text)).rows[0])).toEqual({ id: '1' })
    expect(cellsOf((await read(`<rss>${text}</rss>`)).rows[0])).toEqual({ id: '1' })
  })
  test('case 146: a raw & rejects the file', async () => {
    expect(await refusal(feed('<g:link>https://shop.example.com/?a=1&b=2</g:link>'))).toBe('FILE_MALFORMED')
  })
  test('case 146: repairs raw & in addresses and warns about the row', async () => {
    const items = [
      `<g:id>1</g:id><g:link>\n${rawLink}&amp;c=3&#38;d&</g:link>`,
      `<g:id>2</g:id><g:image_link>${rawLink}</g:image_link><g:image_link>${rawLink}</g:image_link><applink href='${rawLink}'/>`,
      '<g:id>3</g:id>',
    ]
    const whole = await read(feed(...items), repairedAmpersands)
    expect(whole.rows.map(cellsOf)).toEqual([
      { id: '1', link: `${rawLink}&c=3&d&` },
      { id: '2', image_link: [rawLink, rawLink] },
      { id: '3' },
    ])
    expect(whole.rows.map(({ warnings }) => warnings?.map(({ code, field }) => `${code} ${field}`))).toEqual([
      ['AMPERSAND_MENDED link'],
      ['AMPERSAND_MENDED image_link', 'AMPERSAND_MENDED applink'],
      undefined,
    ])
    const atom = `<feed xmlns="http://www.w3.org/2005/Atom"><entry><id>1</id><link rel="alternate" href="${rawLink}"/></entry></feed>`
    expect(cellsOf((await read(atom, repairedAmpersands)).rows[0])).toEqual({ id: '1', link: rawLink })
  })
  test.each([
    ['a title', '<g:title>R&D kit</g:title>'],
    ['a sentence that begins with an address', '<g:title>https://shop.example.com Salt & pepper</g:title>'],
    ['an address with an entity that XML does not know', '<g:link>https://shop.example.com/?a=1&nosuch;</g:link>'],
  ])('case 146: a raw & in %s rejects the file although addresses are repaired', async (_, item) => {
    expect(await refusal(feed(item), repairedAmpersands)).toBe('FILE_MALFORMED')
  })
  test('case 146: CDATA and comments are left as they are', async () => {
    const item = `<g:description><![CDATA[<a href="${rawLink}">${rawLink}</a>]]></g:description><!-- <g:link>${rawLink}</g:link> --><g:id>1</g:id>`
    const { rows } = await read(feed(item), repairedAmpersands)
    expect(cellsOf(rows[0])).toEqual({ description: `<a href="${rawLink}">${rawLink}</a>`, id: '1' })
    expect(rows[0]?.warnings).toBeUndefined()
  })
  test('case 146: well-formed items are read alike with and without the setting', () => {
    const value = fc.string({ unit: fc.constantFrom('a', 'https://', '?', '&', '<', '>', '"', "'", ' ', ';', ']]'), maxLength: 8 })
    fc.assert(
      fc.property(fc.array(value, { maxLength: 5 }), (values) => {
        const escape = (text: string) =>
          text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;').replaceAll("'", '&apos;').replaceAll('>', '&gt;')
        const item = `<item>${values.map((text) => `<link href="${escape(text)}">${escape(text)}</link>`).join('')}</item>`
        expect(escapeAmpersands(item)).toEqual({ text: item, elements: [] })
      }),
    )
  })
  test('cases 44 and 146: an item that is readable without the settings is read alike with them, without a warning', async () => {
    const parts = ['<g:link>', '</g:link>', '<a href="', '"/>', "<a href='", "'/>", '<![CDATA[', ']]>', '<!--', '-->', '<?xml ?>']
    const texts = ['https://', '&', '&amp;', '&nbsp;', '&#38;', ';', '"', "'", '>', ' ', '-', ']', 'a']
    let accepted = 0
    await fc.assert(
      fc.asyncProperty(fc.array(fc.constantFrom(...parts, ...texts), { maxLength: 8 }), async (joined) => {
        const file = feed(`<g:id>1</g:id><g:link>${joined.join('')}</g:link>`)
        if ((await refusal(file)) !== 'none') return
        accepted += 1
        const { rows } = await read(file, { xml: { htmlEntities: true, escapeAmpersands: true } })
        expect(rows).toEqual((await read(file)).rows)
      }),
      { numRuns: 2_000 },
    )
    expect(accepted).toBeGreaterThan(100)
  })
  test('case 146: repairs addresses outside the items too, in chunks of any size, with a note on the source', async () => {
    const head = `<title>Shop</title><link>${rawLink}&amp;c=3</link><image><url>\n${rawLink}</url></image>`
    const tail = `<link>${rawLink}</link><description>x</description>`
    const text = feed('<g:id>1</g:id>', '<g:id>2</g:id>').replace('<title>Shop</title>', head).replace('</channel>', `${tail}</channel>`)
    for (const chunkBytes of [1, 2, 3, 5, 8, 13, 34, 89, 65_536]) {
      const { rows, end } = await read(text, { ...repairedAmpersands, chunkBytes })
      expect(rows.map(cellsOf)).toEqual([{ id: '1' }, { id: '2' }])
      expect(end.notes).toEqual([
        'a raw & in the address of <link> outside the items was read as &amp;',
        'a raw & in the address of <url> outside the items was read as &amp;',
      ])
    }
    await expect(read(text)).rejects.toMatchObject({
      code: 'FILE_MALFORMED',
      hint: expect.stringContaining('xml.repair_ampersands') as string,
    })
  })
  test('case 146: repairs only addresses outside the items', async () => {
    for (const chunkBytes of [1, 7, 65_536]) {
      const titled = feed('<g:id>1</g:id>').replace('<title>Shop', `<title>Salt & pepper`)
      expect(await refusal(titled, { ...repairedAmpersands, chunkBytes })).toBe('FILE_MALFORMED')
      const kept = `<title><![CDATA[https://a.example.com/?a&b]]><!-- https://a.example.com/?a&b -->`
      const whole = feed('<g:id>1</g:id>').replace('<title>Shop', kept)
      expect((await read(whole, { ...repairedAmpersands, chunkBytes })).end.notes).toEqual([])
    }
  })
  test('case 41: if two channels, or elements around the items, bind one prefix to two namespaces, each is read by its own', async () => {
    const other = 'http://www.example.com/other'
    const [products, others] = [`xmlns:g="http://base.google.com/ns/1.0"`, `xmlns:g="${other}"`]
    const item = (id: number) => `<item><g:id>${id}</g:id><id>plain ${id}</id></item>`
    const read1 = async (text: string, chunkBytes: number) => (await read(text, { chunkBytes })).rows.map(cellsOf)
    const channels = `<rss><channel ${products}>${item(1)}${item(2)}</channel><channel ${others}>${item(3)}</channel><channel ${products}>${item(4)}</channel></rss>`
    for (const chunkBytes of [1, 10, 97, 65_536]) {
      expect(await read1(channels, chunkBytes)).toEqual([{ id: '1' }, { id: '2' }, { 'g:id': '3', id: 'plain 3' }, { id: '4' }])
    }
  })
  test('case 41: the gate gets each item with the bindings around it', async () => {
    const shapes: string[] = []
    const asked: string[] = []
    const gate = {
      beginShape: (shape: string) => void shapes.push(shape),
      skips: (bytes: Buffer, start: number, end: number) => {
        asked.push(`${shapes.length} ${bytes.toString('utf8', start, end)}`)
        return false
      },
    }
    const item = '<item><g:id>1</g:id></item>'
    const channel = (uri: string) => `<channel xmlns:g="${uri}">${item}</channel>`
    const text = `<rss>${channel('http://base.google.com/ns/1.0')}${channel('http://example.com/x')}${channel('http://example.com/x')}</rss>`
    const handed: number[] = []
    const { reader } = await openFormat(new ByteQueue(chunksOf(Buffer.from(text), 65_536)), definitionOf('feed'), {
      name: 'feed',
      limits: readLimits,
      gate,
    })
    // Rows are passed on before another shape begins, because the gate keeps their digests until then.
    for await (const rows of reader.rows) handed.push(shapes.length, ...rows.map(({ line }) => line))
    expect(asked).toEqual([`1 ${item}`, `2 ${item}`, `2 ${item}`])
    expect(handed).toEqual([1, 1, 2, 1, 2, 1])
  })
  test('case 147: CDATA opened more often than closed rejects the file', async () => {
    expect(await refusal(feed('<g:title><![CDATA[a</g:title>'))).toBe('FILE_TRUNCATED')
  })
  test('case 149: empty elements are absent, values are trimmed', async () => {
    expect(await one('<g:id>\n 1 \n</g:id><g:brand/><g:mpn></g:mpn><g:gtin> </g:gtin>')).toEqual({ id: '1' })
  })
  test('case 151: one layer of escaping is removed', async () => {
    expect(await one('<g:title>a &amp;gt; b&#13;</g:title>')).toEqual({ title: 'a &gt; b' })
  })
  test('case 153: a feed on one line, with byte order mark', async () => {
    const text = `\ufeff<?xml version="1.0"?>\r\n<rss><channel>${'<item><id>1</id></item>'.repeat(5000)}</channel></rss>`
    const result = await read(text)
    expect([result.rows.length, result.rows.at(-1)?.line]).toEqual([5000, 2])
  })
  test('case 172: unknown attributes are ignored', async () => {
    expect(await one('<g:id lang="en">1</g:id>')).toEqual({ id: '1' })
  })
  test('case 173: a feed without items has no rows', async () => {
    const result = await read(feed())
    expect([result.rows.length, result.end.proof]).toEqual([0, 'root element closed'])
  })
  test('case 174: another dialect is rejected', async () => {
    expect(await refusal('<?xml version="1.0"?><yml_catalog><shop/></yml_catalog>')).toBe('WRONG_FORMAT')
  })
  test('a web page is not a feed', async () => {
    expect(await refusal('<!DOCTYPE html><html><body>Sign in</body></html>')).toBe('UNEXPECTED_CONTENT')
    expect(await refusal('<?xml version="1.0"?><html><body>Sign in</body></html>')).toBe('UNEXPECTED_CONTENT')
  })
  test('rows carry the line on which their item starts', async () => {
    const result = await read('<rss>\r\n<channel>\n<item\n><id>1</id>\n</item>\n\n<item><id>2</id></item><item/>\n</channel></rss>', {
      chunkBytes: 2,
    })
    expect(result.rows.map((row) => row.line)).toEqual([3, 7, 7])
  })
  test('a fault names the line inside the item', async () => {
    await expect(read(`${feedHead}<item>\n<g:id>1</g:id>\n<g:title>a & b</g:title></item>${feedTail}`)).rejects.toMatchObject({
      where: 'feed, line 5',
    })
  })
  test('an item above 1 MiB rejects the file', async () => {
    expect(await refusal(feed(`<g:title>${'x'.repeat(1_400_000)}</g:title>`))).toBe('FILE_RECORD_TOO_LARGE')
  })
  test('any items are read as by fast-xml-parser, in chunks of any size', async () => {
    const parser = new XMLParser({
      ignoreAttributes: true,
      parseTagValue: false,
      processEntities: true,
      trimValues: true,
      isArray: (name) => name === 'item',
    })
    const text = fc.string({ unit: fc.constantFrom('a', 'é', '𝄞', ' ', '<', '&', '>', '"', ']'), maxLength: 8 })
    const escape = (value: string) => value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;')
    const element = fc.tuple(fc.constantFrom('id', 'title', 'price'), text, fc.boolean())
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.uniqueArray(element, { selector: ([name]) => name }), { maxLength: 5 }),
        fc.integer({ min: 1, max: 40 }),
        async (items, chunkBytes) => {
          const xml = feed(
            ...items.map((elements) =>
              elements
                .map(
                  ([name, value, cdata]) =>
                    `<g:${name}>${cdata && !value.includes(']]>') ? `<![CDATA[${value}]]>` : escape(value)}</g:${name}>`,
                )
                .join(''),
            ),
          )
          const result = await read(xml, { chunkBytes })
          const parsed = parser.parse(xml) as { rss: { channel: { item?: readonly (string | Readonly<Record<string, string>>)[] } } }
          const expected = (parsed.rss.channel.item ?? []).map((item) =>
            typeof item === 'string'
              ? {}
              : Object.fromEntries(
                  Object.entries(item).flatMap(([name, value]) => (value.trim() === '' ? [] : [[name.slice(2), value.trim()]])),
                ),
          )
          expect(result.rows.map(cellsOf)).toEqual(expected)
        },
      ),
      { numRuns: 300 },
    )
  })
})
