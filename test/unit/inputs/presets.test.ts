import { expect, test } from 'vitest'
import { presets } from '../../../src/records/presets/index.ts'
import { audience, catalog, csvOf, goodProduct, through, type Fields } from '../../support/through.ts'

const values: Readonly<Record<string, string>> = {
  email: 'jane@example.com',
  'email address': 'jane@example.com',
  user_email: 'jane@example.com',
  billing_email: 'jane@example.com',
  phone: '+12025550143',
  'phone number': '+12025550143',
  billing_phone: '+12025550143',
  country: 'US',
  zip: '10001',
  'accepts email marketing': 'yes',
  'email marketing consent': 'SUBSCRIBED',
  hasoptedoutofemail: 'false',
  'unsubscribed from all email': 'false',
  handle: 'shoe',
  'body (html)': '<p>A shoe</p>',
  'image src': 'https://shop.example.com/1.jpg',
  images: 'https://shop.example.com/1.jpg',
  name: 'Shoe',
  'google shopping / condition': 'new',
  'variant price': '9.99',
  'regular price': '9.99',
  vendor: 'Acme',
  brands: 'Acme',
  sku: 'S1',
  'variant sku': 'S1',
  'in stock?': '1',
  ...Object.fromEntries(Object.entries(goodProduct).map(([name, value]) => [name, value ?? ''])),
}

test.for(presets.map((preset) => [preset.name, preset] as const))(
  'an export with the header of %s maps without map:',
  async ([, preset]) => {
    const kind = preset.kind === 'catalog'
    const row: Record<string, string> = {}
    for (const column of preset.sample)
      row[column] = values[column.toLowerCase()] ?? (/(?:^|[ _])id$|^(?:leid|euid)$/i.test(column) ? '42' : '')
    // What these two exports do not have, and say so (their presets): the owner adds it.
    if (preset.name === 'shopify-products') Object.assign(row, { availability: 'in stock', link: 'https://shop.example.com/p' })
    if (preset.name === 'woocommerce-products') Object.assign(row, { link: 'https://shop.example.com/p' })
    const { refused, rejects, products, members } = await through(csvOf([row as Fields]), {
      name: 'export.csv',
      destination: kind ? catalog : audience,
      options: { default_currency: 'EUR' },
    })
    expect([refused, rejects]).toEqual([undefined, []])
    expect(products.length + members.filter(({ wanted }) => wanted).length).toBe(1)
  },
)

test.for([
  ['titel', 'title'],
  ['descripton', 'description'],
  ['image_lnk', 'image_link'],
  ['availibility', 'availability'],
  ['conditon', 'condition'],
] as const)('the renamed column %s is suggested for %s', async ([renamed, field]) => {
  const { [field]: value, ...others } = goodProduct
  const { refused, mend } = await through(csvOf([{ ...others, [renamed]: value }]))
  expect(refused).toBe('FILE_COLUMN_MISSING')
  expect(mend).toBe(`map: { ${field}: "${renamed}" }`)
})

test('a renamed column of a contact export is suggested', async () => {
  const { refused, mend } = await through('id,emial\n1,jane@example.com\n', {
    name: 'crm.csv',
    destination: audience,
    map: { key: 'id', email: 'email' },
  })
  expect([refused, mend]).toEqual(['FILE_COLUMN_MISSING', 'map: { email: "emial" }'])
})
