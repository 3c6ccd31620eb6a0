/** Row groups of shop exports: one product over several rows. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { createRowJoiner } from '../../../src/mapping/rowGroups/joinRowGroups.ts'
import type { SourceRow } from '../../../src/model/record.ts'
import { workbook } from '../formats/workbookOf.ts'
import { catalog, csvOf, through, type Fields, type Settings } from '../../support/through.ts'

const shop = (column: string, path: string): Settings => ({
  name: 'export.csv',
  destination: catalog,
  options: { default_currency: 'EUR' },
  map: { link: { column, transform: { prefix: { with: `https://shop.example.com/${path}` } } } },
})
const shopify = shop('Handle', 'products/')
const woo = shop('ID', '?p=')
const image = (name: string) => `https://shop.example.com/${name}.jpg`

const empty: Fields = {
  Handle: '',
  Title: '',
  'Body (HTML)': '',
  Vendor: '',
  Type: '',
  Published: '',
  'Option1 Name': '',
  'Option1 Value': '',
  'Option2 Name': '',
  'Option2 Value': '',
  'Variant SKU': '',
  'Variant Inventory Tracker': '',
  'Variant Inventory Qty': '',
  'Variant Inventory Policy': '',
  'Variant Price': '',
  'Variant Barcode': '',
  'Image Src': '',
  'Image Position': '',
  'Variant Image': '',
  'Google Shopping / MPN': '',
  'Colour (product.metafields.custom.colour)': '',
  Status: '',
}
const first = (handle: string, more: Fields = {}): Fields => ({
  ...empty,
  Handle: handle,
  Title: `The ${handle}`,
  'Body (HTML)': `<p>A ${handle}</p>`,
  Vendor: 'Acme',
  Type: 'Cups',
  Published: 'true',
  'Option1 Name': 'Size',
  'Option1 Value': 'S',
  'Option2 Name': 'Color',
  'Option2 Value': 'Red',
  'Variant SKU': `${handle}-S`,
  'Variant Inventory Tracker': 'shopify',
  'Variant Inventory Qty': '3',
  'Variant Inventory Policy': 'deny',
  'Variant Price': '9.50',
  'Image Src': image(`${handle}-1`),
  'Image Position': '1',
  Status: 'active',
  ...more,
})
const variant = (handle: string, size: string, more: Fields = {}): Fields => ({
  ...empty,
  Handle: handle,
  'Option1 Value': size,
  'Option2 Value': 'Blue',
  'Variant SKU': `${handle}-${size}`,
  'Variant Inventory Tracker': 'shopify',
  'Variant Inventory Qty': '0',
  'Variant Inventory Policy': 'deny',
  'Variant Price': '11',
  ...more,
})
const further = (handle: string, n: number): Fields => ({
  ...empty,
  Handle: handle,
  'Image Src': image(`${handle}-${n}`),
  'Image Position': String(n),
})

describe('a Shopify export', () => {
  test('variants are products of one group with the values of the first row and all images', async () => {
    const rows = [
      first('cup'),
      variant('cup', 'M', { 'Image Src': image('cup-2'), 'Image Position': '2' }),
      variant('cup', 'L', { 'Variant Image': image('cup-blue') }),
      further('cup', 3),
      further('cup', 4),
      first('mug'),
    ]
    const { products, rejects, read, codes, sourceNotes, refused } = await through(csvOf(rows), shopify)
    expect([refused, rejects]).toEqual([undefined, []])
    expect(codes.filter((code) => code === 'IMAGES_DROPPED' || code === 'ROWS_JOINED')).toEqual(['ROWS_JOINED', 'ROWS_JOINED'])
    // Rows with images only are not products.
    expect(read).toBe(4)
    const said = {
      title: 'The cup',
      description: 'A cup',
      brand: 'Acme',
      product_type: 'Cups',
      item_group_id: 'cup',
      link: 'https://shop.example.com/products/cup',
    }
    const [one, two, three, four] = [1, 2, 3, 4].map((n) => image(`cup-${n}`))
    const rest = [two, three, four].join(',')
    expect(products).toMatchObject([
      { ...said, id: 'cup-S', size: 'S', color: 'Red', availability: 'in stock', price: '9.50 EUR', image_link: one },
      { ...said, id: 'cup-M', size: 'M', color: 'Blue', availability: 'out of stock', price: '11.00 EUR', image_link: one },
      { ...said, id: 'cup-L', size: 'L', image_link: image('cup-blue'), additional_image_link: [one, rest].join(',') },
      { id: 'mug-S', title: 'The mug', image_link: image('mug-1') },
    ])
    expect(products.slice(0, 2).map((product) => product['additional_image_link'])).toEqual([rest, rest])
    expect(products[3]).not.toHaveProperty('additional_image_link')
    expect(sourceNotes).toContain('image-only rows joined to the product above them: 2')
  })

  test('the same export saved as a workbook gives the same products', async () => {
    const rows = [first('cup'), variant('cup', 'M'), further('cup', 2)]
    const cells = (texts: readonly string[], nth: number) =>
      `<row r="${nth}">${texts
        .map((text) => `<c t="inlineStr"><is><t>${text.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</t></is></c>`)
        .join('')}</row>`
    const sheet = [Object.keys(empty), ...rows.map((row) => Object.values(row).map((text) => text ?? ''))].map((texts, i) =>
      cells(texts, i + 1),
    )
    const saved = await through(workbook(sheet.join('')), { ...shopify, name: 'export.xlsx' })
    const plain = await through(csvOf(rows), shopify)
    expect([saved.refused, saved.products.length, saved.read]).toEqual([undefined, 2, 2])
    expect(saved.products).toEqual(plain.products)
  })

  test('an option with a decimal comma is one value', async () => {
    const { products } = await through(csvOf([first('shoe', { 'Option1 Value': '42,5', 'Option2 Value': 'Red, Blue' })]), shopify)
    expect(products).toMatchObject([{ size: '42,5', color: 'Red, Blue' }])
  })

  test('values of a variant are never used for its neighbour', async () => {
    const own = { 'Variant Barcode': '4006381333931', 'Google Shopping / MPN': 'M-1' }
    const { products } = await through(csvOf([first('cup', own), variant('cup', 'M')]), shopify)
    expect(products.map(({ gtin, mpn }) => [gtin, mpn])).toEqual([
      ['4006381333931', 'M-1'],
      [undefined, undefined],
    ])
  })

  test('apostrophes that the export adds before digits are removed', async () => {
    const { products } = await through(csvOf([first('cup', { 'Variant SKU': "'00123", 'Variant Barcode': "'4006381333931" })]), shopify)
    expect(products).toMatchObject([{ id: '00123', gtin: '4006381333931' }])
  })

  test.for([
    ['9.50', '12', '12.00 EUR', '9.50 EUR'],
    ['9.50', '9.50', '9.50 EUR', undefined],
    ['9.50', '0', '9.50 EUR', undefined],
    ['9.50', '', '9.50 EUR', undefined],
    ['10', '9.999', '10.00 EUR', undefined],
    ['9.50', 'was 12', '9.50 EUR', undefined],
  ] as const)('sold at %s and compared with %s it costs %s, on sale %s', async ([price, struck, regular, sale]) => {
    const { products } = await through(csvOf([first('cup', { 'Variant Price': price, 'Variant Compare At Price': struck })]), shopify)
    expect(products[0]).toMatchObject({ price: regular })
    expect(products[0]?.['sale_price']).toBe(sale)
  })

  test('columns named like fields of the service fill fields that the export lacks', async () => {
    const bare = Object.fromEntries(
      Object.entries(first('cup')).filter(([name]) => !['Status', 'Published'].includes(name) && !name.startsWith('Variant Inventory')),
    )
    const without = await through(csvOf([bare]), shopify)
    expect([without.refused, without.hint]).toEqual(['FILE_COLUMN_MISSING', expect.stringContaining('availability') as string])
    const { products } = await through(csvOf([{ ...bare, availability: 'preorder', color: 'teal' }]), shopify)
    expect(products).toMatchObject([{ availability: 'preorder', color: 'Red' }])
  })

  test('variants without SKU are distinguished by a map', async () => {
    const rows = [first('cup', { 'Variant SKU': '' }), variant('cup', 'M', { 'Variant SKU': '' })]
    const map = { ...shopify.map, id: { columns: ['Handle', 'Option1 Value'], transform: { join: '-' } } }
    const { products, rejects } = await through(csvOf(rows), { ...shopify, map })
    expect([products.map(({ id }) => id), rejects]).toEqual([['cup-S', 'cup-M'], []])
  })

  test('columns that the shop adds to its products apply to the variants too', async () => {
    const rows = [first('cup', { 'Colour (product.metafields.custom.colour)': 'teal' }), variant('cup', 'M')]
    const map = { ...shopify.map, custom_label_0: 'Colour (product.metafields.custom.colour)' }
    const { products } = await through(csvOf(rows), { ...shopify, map })
    expect(products.map((product) => product['custom_label_0'])).toEqual(['teal', 'teal'])
  })

  test.for([
    ['a draft', { Status: 'draft' }],
    ['an archived product', { Status: 'archived' }],
    ['what is not published', { Published: 'false' }],
  ] as const)('%s has discontinued variants', async ([, state]) => {
    const { products } = await through(csvOf([first('cup', state), variant('cup', 'M')]), shopify)
    expect(products.map(({ availability }) => availability)).toEqual(['discontinued', 'discontinued'])
  })

  test('a handle that is repeated elsewhere has no first row there, and gets no values of its neighbours', async () => {
    const rows = [first('cup'), first('mug'), variant('cup', 'M'), further('cup', 2), variant('mug', 'M')]
    const { products, rejects, read } = await through(csvOf(rows), shopify)
    expect(products.map(({ id, image_link }) => [id, image_link])).toEqual([
      ['cup-S', image('cup-1')],
      ['mug-S', image('mug-1')],
    ])
    expect(rejects.map(({ code, line, key }) => [code, line, key?.toString()])).toEqual([
      ['PRODUCT_ROW_MISSING', 4, 'cup-M'],
      ['PRODUCT_ROW_MISSING', 5, undefined],
      ['PRODUCT_ROW_MISSING', 6, 'mug-M'],
    ])
    expect(read).toBe(products.length + rejects.length)
  })

  test('a damaged row is rejected and does not change its neighbours', async () => {
    const lines = csvOf([first('cup'), variant('cup', 'M'), further('cup', 2), first('mug')]).split('\n')
    lines.splice(2, 0, 'cup,x')
    const { products, rejects } = await through(lines.join('\n'), shopify)
    expect(rejects.map(({ code, line }) => [code, line])).toEqual([['ROW_RAGGED', 3]])
    expect(products.map(({ id, additional_image_link }) => [id, additional_image_link])).toEqual([
      ['cup-S', image('cup-2')],
      ['cup-M', image('cup-2')],
      ['mug-S', undefined],
    ])
  })

  test('a corrected copy of the rejects is read like a correct export', async () => {
    const rows = [first('cup', { 'Variant Price': 'dear' }), variant('cup', 'M', { 'Variant Price': 'dear' }), further('cup', 2)]
    const copy = [1, 2].map((n) => ({
      ...first('cup'),
      'Variant SKU': `cup-${n}`,
      'Image Src': `${image('cup-1')},${image('cup-2')}`,
      line: String(n + 1),
      code: 'PRICE_INVALID',
      field: 'price',
      message: 'x',
      hint: 'y',
    }))
    expect((await through(csvOf(rows), shopify)).rejects.map(({ code }) => code)).toEqual(['PRICE_INVALID', 'PRICE_INVALID'])
    const { products } = await through(csvOf(copy), shopify)
    expect(products).toMatchObject(
      [1, 2].map((n) => ({ id: `cup-${n}`, image_link: image('cup-1'), additional_image_link: image('cup-2') })),
    )
  })

  test('any export is read like the same products with one full row each', async () => {
    const variants = fc.array(fc.record({ own: fc.boolean(), image: fc.boolean() }), { maxLength: 4 })
    const product = fc.record({ variants, images: fc.nat(3), draft: fc.boolean() })
    await fc.assert(
      fc.asyncProperty(fc.array(product, { minLength: 1, maxLength: 6 }), async (shown) => {
        const rows: Fields[] = []
        const expected: Fields[] = []
        for (const [i, { variants: more, images, draft }] of shown.entries()) {
          const handle = `p${i}`
          let last = 1
          const state = { Status: draft ? 'draft' : 'active' }
          rows.push(first(handle, state))
          for (const [n, { own, image: has }] of more.entries())
            rows.push(
              variant(handle, `V${n}`, {
                ...(own ? { 'Variant Image': image(`${handle}-v${n}`) } : {}),
                ...(has ? { 'Image Src': image(`${handle}-${++last}`) } : {}),
              }),
            )
          for (let n = 0; n < images; n++) rows.push(further(handle, ++last))
          const all = Array.from({ length: last }, (_, n) => image(`${handle}-${n + 1}`))
          const line = (id: string, main: string): Fields => ({
            id,
            image_link: main,
            additional_image_link: all.filter((one) => one !== main).join(',') || undefined,
            title: `The ${handle}`,
            item_group_id: handle,
          })
          expected.push(line(`${handle}-S`, all[0]!))
          for (const [n, { own }] of more.entries()) expected.push(line(`${handle}-V${n}`, own ? image(`${handle}-v${n}`) : all[0]!))
        }
        const { products, rejects, read } = await through(csvOf(rows), shopify)
        expect(rejects).toEqual([])
        expect(read).toBe(products.length)
        expect(
          products.map(({ id, image_link, additional_image_link, title, item_group_id }) => ({
            id,
            image_link,
            additional_image_link,
            title,
            item_group_id,
          })),
        ).toEqual(expected)
      }),
      { numRuns: 60 },
    )
  })

  test('a product with very many rows is passed on in parts: memory is bounded, and lost images are reported', () => {
    const columns = Object.keys(empty)
    const row = (fields: Fields, line: number): SourceRow => ({ line, columns, cells: columns.map((column) => fields[column]) })
    const joiner = createRowJoiner(columns, undefined)!
    joiner.push(row(first('cup'), 2))
    let line = 2
    let waiting = 1
    let most = 0
    for (let n = 0; n < 10_000; n++) {
      waiting += 1 - joiner.push(row(variant('cup', `V${n}`), ++line)).length
      most = Math.max(most, waiting)
    }
    expect(most).toBe(4_095)
    expect(joiner.push(row(further('cup', 2), ++line))).toEqual([])
    expect(joiner.push(row(variant('cup', 'last'), ++line))[0]?.cells[columns.indexOf('Title')]).toBe('The cup')
    expect(joiner.end()).toEqual([])
    expect(joiner.notes()).toEqual(['image-only rows left out, because their products have over 4096 rows or 8388608 characters: 1'])
  })

  test('a product with very long rows is passed on before its end', () => {
    const columns = Object.keys(empty)
    const row = (fields: Fields): SourceRow => ({ line: 2, columns, cells: columns.map((column) => fields[column]) })
    const joiner = createRowJoiner(columns, undefined)!
    const long = 'x'.repeat(100_000)
    joiner.push(row(first('cup', { 'Body (HTML)': long })))
    const freed = Array.from({ length: 100 }, (_, n) => joiner.push(row(variant('cup', `V${n}`, { 'Variant Barcode': long }))).length)
    expect(freed.findIndex((count) => count > 0)).toBe(82)
  })
})

describe('a WooCommerce export', () => {
  const none: Fields = {
    ID: '',
    Type: '',
    SKU: '',
    Name: '',
    Published: '1',
    'Short description': '',
    Description: '',
    'In stock?': '1',
    Stock: '',
    'Regular price': '',
    Categories: '',
    Images: '',
    Parent: '',
    Brands: '',
    'Attribute 1 name': '',
    'Attribute 1 value(s)': '',
  }
  const variable = (id: number, more: Fields = {}): Fields => ({
    ...none,
    ID: String(id),
    Type: 'variable',
    SKU: `P${id}`,
    Name: `Cup ${id}`,
    Description: 'A cup',
    Categories: 'Kitchen > Cups',
    Images: `${image(`cup-${id}`)}, ${image(`cup-${id}-2`)}`,
    Brands: 'Acme',
    'Attribute 1 name': 'Color',
    'Attribute 1 value(s)': 'Red, Blue',
    ...more,
  })
  const variation = (id: number, parent: string, more: Fields = {}): Fields => ({
    ...none,
    ID: String(id),
    Type: 'variation',
    SKU: `V${id}`,
    Name: `Cup - ${id}`,
    'Regular price': '9.50',
    Stock: 'parent',
    Parent: parent,
    'Attribute 1 name': 'Color',
    'Attribute 1 value(s)': 'Red',
    ...more,
  })

  test('variations get the values of their product, by its id or SKU, anywhere after it', async () => {
    const simple = { ...variable(3), Type: 'simple', 'Regular price': '5' }
    const rows = [
      variable(1),
      variable(2),
      simple,
      variation(11, 'id:1'),
      variation(21, 'P2', { Description: 'Its own' }),
      variation(12, 'P1'),
    ]
    const { products, rejects, read, codes, sourceNotes, refused } = await through(csvOf(rows), woo)
    expect([refused, rejects]).toEqual([undefined, []])
    expect([read, codes.includes('IMAGES_DROPPED'), codes.includes('INVENTORY_DROPPED')]).toEqual([4, false, false])
    expect(codes.filter((code) => code === 'ROWS_JOINED')).toHaveLength(2)
    const shared = { brand: 'Acme', product_type: 'Kitchen > Cups', color: 'Red', condition: 'new' }
    expect(products).toMatchObject([
      { id: 'P3', title: 'Cup 3' },
      { ...shared, id: 'V11', title: 'Cup - 11', description: 'A cup', item_group_id: 'id:1', image_link: image('cup-1') },
      { ...shared, id: 'V21', description: 'Its own', item_group_id: 'P2', image_link: image('cup-2') },
      { ...shared, id: 'V12', item_group_id: 'P1', additional_image_link: image('cup-1-2') },
    ])
    expect(products[0]).not.toHaveProperty('color')
    expect(sourceNotes).toContain('rows of products with variations, which are not records themselves: 2')
  })

  test('an escaped comma is part of one value of an option', async () => {
    const { products } = await through(csvOf([variable(1), variation(11, 'id:1', { 'Attribute 1 value(s)': 'Red\\, dark' })]), woo)
    expect(products).toMatchObject([{ color: 'Red, dark' }])
  })

  test('variations of an unpublished product are not published', async () => {
    const rows = [variable(1, { Published: '0' }), variation(11, 'id:1')]
    const { products } = await through(csvOf(rows), woo)
    expect(products.map(({ availability }) => availability)).toEqual(['discontinued'])
  })

  test('a variation before its product is mapped from its own row only', async () => {
    const { products, rejects, sourceNotes } = await through(csvOf([variation(11, 'id:1'), variable(1)]), woo)
    expect([products, rejects.map(({ code, field }) => [code, field])]).toEqual([[], [['FIELD_MISSING', 'description']]])
    expect(sourceNotes).toContain('variations without the values of their product, because its row is not above them or too far above: 1')
  })

  test('products that were read long ago are removed from memory', () => {
    const columns = Object.keys(none)
    const row = (fields: Fields): SourceRow => ({ line: 2, columns, cells: columns.map((column) => fields[column]) })
    const joiner = createRowJoiner(columns, undefined)!
    const long = 'x'.repeat(1_000_000)
    for (let id = 1; id <= 40; id++) joiner.push(row(variable(id, { Description: long })))
    const descriptions = [1, 25, 40].map(
      (id) => joiner.push(row(variation(id + 100, `id:${id}`)))[0]?.cells[columns.indexOf('Description')]?.length,
    )
    expect(descriptions).toEqual([0, 1_000_000, 1_000_000])
  })
})
