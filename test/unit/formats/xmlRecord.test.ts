/** XML of any dialect with a configured element for each record (`xml: { item: … }`). */
import { XMLParser } from 'fast-xml-parser'
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { catalog, through } from '../../support/through.ts'
import { cellsOf, read, refusal, type Overrides } from './support.ts'

const named = (item: string): Overrides => ({ xml: { item } })
const rowsOf = async (text: string, settings: Overrides = named('product')) => (await read(text, settings)).rows.map(cellsOf)

const shop = `<?xml version="1.0" encoding="UTF-8"?>
<SHOP stand="2026-11-22">
  <head><product-count>2</product-count></head>
  <products>
    <product id="17" xmlns:x="http://example.com/x">
      <name><![CDATA[Cup & <b>saucer</b>]]></name>
      <price currency="EUR">9.50</price>
      <pictures><picture>https://shop.example.com/1.jpg</picture><picture main="1">https://shop.example.com/2.jpg</picture></pictures>
      <x:stock>3</x:stock><text>A <b>good</b> cup</text><empty/><blank> </blank>
      <related><product id="18"><name>Mug</name></product></related>
    </product>
    <product id='19'/>
  </products>
</SHOP>
`

describe('XML whose records have another name', () => {
  // Quadratic time would be longer than the timeout: 25,000 elements took 22 s.
  test.for([
    ['a record', (tags: string) => `<shop><product>${tags}</product></shop>`, named('product')],
    ['an item of a feed', (tags: string) => `<rss><channel><item>${tags}</item></channel></rss>`, {}],
  ] as const)('80,000 repeated elements of %s are read in linear time', async ([, xmlOf, settings]) => {
    const { rows } = await read(xmlOf('<tag>7</tag>'.repeat(80_000)), settings)
    expect(cellsOf(rows[0])['tag']).toHaveLength(80_000)
  })
  test('an element whose path is longer than 1,000 characters rejects the file', async () => {
    const shopOf = (name: string) => `<shop><product><${name}><b>1</b></${name}></product></shop>`
    expect(await refusal(shopOf('a'.repeat(998)), named('product'))).toBe('none')
    expect(await refusal(shopOf('a'.repeat(999)), named('product'))).toBe('FILE_MALFORMED')
  })
  test('the content of a record becomes columns by path, with @ for attributes', async () => {
    const { rows, detected, end } = await read(shop, named('product'))
    expect(rows.map(cellsOf)).toEqual([
      {
        '@id': '17',
        name: 'Cup & <b>saucer</b>',
        price: '9.50',
        'price.@currency': 'EUR',
        'pictures.picture': ['https://shop.example.com/1.jpg', 'https://shop.example.com/2.jpg'],
        'pictures.picture.@main': '1',
        stock: '3',
        text: 'A good cup',
        'text.b': 'good',
        'related.product.@id': '18',
        'related.product.name': 'Mug',
      },
      { '@id': '19' },
    ])
    expect(rows.map(({ line }) => line)).toEqual([5, 12])
    expect([detected.format, end.proof, end.notes]).toEqual(['xml', 'root element closed', []])
  })

  test('truncated at any byte it is rejected, in chunks of any size', async () => {
    const bytes = Buffer.from(shop.trimEnd())
    for (let at = 1; at < bytes.length; at++)
      expect([at, await refusal(bytes.subarray(0, at), named('product'))]).toEqual([
        at,
        expect.stringMatching(/^FILE_(?:TRUNCATED|MALFORMED)$/),
      ])
    for (const chunkBytes of [1, 2, 7, 64]) expect(await rowsOf(shop, { ...named('product'), chunkBytes })).toEqual(await rowsOf(shop))
  })

  test.for([
    ['a document type', '<!DOCTYPE x><x><product/></x>', 'FILE_DOCTYPE'],
    ['a style sheet', '<?xml-stylesheet href="a.xsl"?><x><product/></x>', 'FILE_DOCTYPE'],
    ['an entity of its own', '<x><product><name>&x;</name></product></x>', 'FILE_MALFORMED'],
    ['a prefix that nothing binds', '<x><product><z:name>1</z:name></product></x>', 'FILE_MALFORMED'],
    [
      'XInclude',
      '<x><product><xi:include xmlns:xi="http://www.w3.org/2001/XInclude" href="file:///etc/passwd"/></product></x>',
      'FILE_MALFORMED',
    ],
    ['crossed tags', '<x><product><a></product></a></x>', 'FILE_MALFORMED'],
    ['two roots', '<x><product/></x><x/>', 'FILE_MALFORMED'],
    ['a depth bomb', `<x><product>${'<a>'.repeat(100_000)}`, 'FILE_TOO_DEEP'],
    ['a web page', '<html><product/></html>', 'UNEXPECTED_CONTENT'],
  ] as const)('%s rejects the file as in every feed', async ([, text, code]) => {
    expect(await refusal(text, named('product'))).toBe(code)
  })

  test('a name that does not occur is reported, and a feed of another dialect gets a hint with the setting', async () => {
    const { rows, end } = await read(shop, named('offer'))
    expect([rows, end.notes]).toEqual([[], ['the file has no element <offer>']])
    await expect(read(shop)).rejects.toMatchObject({
      code: 'WRONG_FORMAT',
      hint: expect.stringContaining('xml: { item: product }') as string,
    })
  })

  test('entities of HTML and raw ampersands are repaired too', async () => {
    const text = '<x><product><name>a&nbsp;b</name><url>https://shop.example.com/?a=1&b=2</url></product></x>'
    const { rows } = await read(text, { xml: { item: 'product', htmlEntities: true, escapeAmpersands: true } })
    expect(cellsOf(rows[0])).toEqual({ name: 'a\u00a0b', url: 'https://shop.example.com/?a=1&b=2' })
    expect(rows[0]?.warnings?.map(({ code, field }) => `${code} ${field}`)).toEqual(['AMPERSAND_MENDED url', 'ENTITY_HTML name'])
  })

  test('case 174: a shop of such XML becomes products by a map', async () => {
    const { products, rejects, refused } = await through(shop, {
      name: 'export.php',
      destination: catalog,
      source: { xml: { item: 'product' } },
      map: {
        id: '@id',
        title: 'name',
        description: 'name',
        price: { columns: ['price', 'price.@currency'], transform: 'join' },
        availability: { column: 'stock', transform: 'stock' },
        condition: { const: 'new' },
        link: { column: '@id', transform: { prefix: { with: 'https://shop.example.com/p/' } } },
        image_link: 'pictures.picture',
        additional_image_link: 'pictures.picture',
        brand: { const: 'Acme' },
      },
    })
    expect([refused, rejects.map(({ code, field }) => [code, field])]).toEqual([undefined, [['FIELD_MISSING', 'title']]])
    expect(products).toMatchObject([
      {
        id: '17',
        price: '9.50 EUR',
        availability: 'in stock',
        image_link: 'https://shop.example.com/1.jpg',
        additional_image_link: 'https://shop.example.com/2.jpg',
      },
    ])
  })

  test('any records are read as by fast-xml-parser', async () => {
    const text = fc.string({ unit: fc.constantFrom('a', 'é', ' ', '<', '&', '>', '"', ']'), maxLength: 6 })
    const escape = (value: string) =>
      value.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;').replaceAll('"', '&quot;')
    interface Node {
      readonly name: string
      readonly attribute: string | undefined
      readonly children: string | readonly Node[]
    }
    const { node } = fc.letrec<{ node: Node }>((tie) => ({
      node: fc.record({
        name: fc.constantFrom('a', 'b', 'c'),
        attribute: fc.option(text, { nil: undefined }),
        children: fc.oneof({ depthSize: 'small', withCrossShrink: true }, text, fc.array(tie('node'), { minLength: 1, maxLength: 3 })),
      }),
    }))
    const xmlOf = ({ name, attribute, children }: Node): string =>
      `<${name}${attribute === undefined ? '' : ` k="${escape(attribute)}"`}>${typeof children === 'string' ? escape(children) : children.map(xmlOf).join('')}</${name}>`
    const parser = new XMLParser({
      preserveOrder: true,
      ignoreAttributes: false,
      parseTagValue: false,
      parseAttributeValue: false,
      trimValues: true,
    })
    const flat = (nodes: readonly Readonly<Record<string, unknown>>[], way: string, into: Map<string, string[]>) => {
      const put = (column: string, value: string) => {
        if (value.trim() !== '') into.set(column, [...(into.get(column) ?? []), value.trim()])
      }
      for (const one of nodes) {
        const [name = ''] = Object.keys(one).filter((key) => key !== ':@')
        const inner = one[name] as readonly Readonly<Record<string, unknown>>[]
        const path = way === '' ? name : `${way}.${name}`
        const attributes = (one[':@'] ?? {}) as Readonly<Record<string, string>>
        for (const [key, value] of Object.entries(attributes)) put(`${path}.@${key.slice(2)}`, value)
        if (inner.some((child) => !('#text' in child)))
          flat(
            inner.filter((child) => !('#text' in child)),
            path,
            into,
          )
        else put(path, inner.map((child) => String(child['#text'])).join(''))
      }
    }
    await fc.assert(
      fc.asyncProperty(
        fc.array(fc.array(node, { maxLength: 3 }), { maxLength: 3 }),
        fc.integer({ min: 1, max: 30 }),
        async (records, chunkBytes) => {
          const xml = `<shop>${records.map((nodes) => `<product>${nodes.map(xmlOf).join('')}</product>`).join('\n')}</shop>`
          const expected = records.map((nodes) => {
            const into = new Map<string, string[]>()
            flat(parser.parse(nodes.map(xmlOf).join('')) as readonly Readonly<Record<string, unknown>>[], '', into)
            return Object.fromEntries([...into].map(([column, texts]) => [column, texts.length === 1 ? texts[0] : texts]))
          })
          expect(await rowsOf(xml, { ...named('product'), chunkBytes })).toEqual(expected)
        },
      ),
      { numRuns: 300 },
    )
  })
})
