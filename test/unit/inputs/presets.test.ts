import { expect, test } from 'vitest'
import { classifyColumnName, isDetailOf } from '../../../src/mapping/consent/columnName.ts'
import { presets } from '../../../src/mapping/presets/index.ts'
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
    const kind = preset.records === 'products'
    const row: Record<string, string> = {}
    for (const column of preset.typicalColumns)
      row[column] = values[column.toLowerCase()] ?? (/(?:^|[ _])id$|^(?:leid|euid)$/i.test(column) ? '42' : '')
    // Required fields that these two exports lack according to their presets: the user adds them.
    if (preset.name === 'shopify-products') Object.assign(row, { availability: 'in stock', link: 'https://shop.example.com/p' })
    if (preset.name === 'woocommerce-products') Object.assign(row, { link: 'https://shop.example.com/p' })
    const { refused, rejects, products, members } = await through(csvOf([row as Fields]), {
      name: 'export.csv',
      destination: kind ? catalog : audience,
      options: { default_currency: 'EUR' },
    })
    expect([refused, rejects]).toEqual([undefined, []])
    expect(products.length + members.filter(({ desired }) => desired).length).toBe(1)
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
  const { refused, hint } = await through(csvOf([{ ...others, [renamed]: value }]))
  expect(refused).toBe('FILE_COLUMN_MISSING')
  expect(hint).toBe(`map: { ${field}: "${renamed}" }`)
})

test('a renamed column of a contact export is suggested', async () => {
  const { refused, hint } = await through('id,emial\n1,jane@example.com\n', {
    name: 'crm.csv',
    destination: audience,
    map: { key: 'id', email: 'email' },
  })
  expect([refused, hint]).toEqual(['FILE_COLUMN_MISSING', 'map: { email: "emial" }'])
})

const doNotReach = { kind: 'do-not-reach', account_id: '18ce54d4x5t', list_id: '2dnr' } as const
const shopify = 'Customer ID,First Name,Last Name,Email,Accepts Email Marketing,Default Address Country Code,Default Address Phone,Phone'
const oldShopify = 'First Name,Last Name,Email,Company,Country,Country Code,Zip,Phone,Accepts Marketing,Total Spent,Total Orders,Tags'
const mailchimp = (more: string) => `Email Address,First Name,MEMBER_RATING,OPTIN_TIME,CC,LAST_CHANGED,${more}LEID,EUID,NOTES,TAGS`
const klaviyo = 'Email,Klaviyo ID,First Name,Last Name,Phone Number,Email Marketing Consent,Email Suppressions,SMS Marketing Consent'
const report = 'Contact ID,Salutation,First Name,Last Name,Email,Mobile,Mailing Country,Email Opt Out,Contact Owner'
const hubspot = 'Record ID,First Name,Last Name,Email,Phone Number,Country/Region,Unsubscribed from all email,Email hard bounce reason'

/** Expected result of each row: in the audience or not; on a do-not-reach list, the reverse. */
test.for([
  [
    'Shopify customers',
    shopify,
    ['1,J,D,p1@example.com,yes,US,,,', '2,J,D,p2@example.com,no,US,,,', '3,J,D,p3@example.com,,US,,,'],
    [true, false, false],
  ],
  [
    'Shopify customers without id',
    oldShopify,
    ['J,D,p1@example.com,,US,US,,2025550143,yes,,,', 'J,D,p2@example.com,,US,US,,,no,,,'],
    [true, false],
  ],
  ['a subscribed Mailchimp export', mailchimp(''), ['p1@example.com,J,2,,US,,1,a,,'], [true]],
  [
    'an unsubscribed Mailchimp export',
    mailchimp('UNSUB_TIME,UNSUB_REASON,'),
    ['p1@example.com,J,2,,US,,2026-01-02 10:00:00,x,1,a,,'],
    [false],
  ],
  [
    'a cleaned Mailchimp export',
    mailchimp('CLEAN_TIME,CLEAN_CAMPAIGN_ID,'),
    ['p1@example.com,J,2,,US,,2026-01-02 10:00:00,x,1,a,,'],
    [false],
  ],
  [
    'Klaviyo profiles',
    klaviyo,
    [
      'p1@example.com,K1,J,D,,SUBSCRIBED,[],UNSUBSCRIBED',
      'p2@example.com,K2,J,D,,NEVER_SUBSCRIBED,,',
      'p3@example.com,K3,J,D,,UNSUBSCRIBED,,',
      'p4@example.com,K4,J,D,,SUBSCRIBED,HARD_BOUNCE,',
    ],
    [true, false, false, false],
  ],
  ['a Salesforce report', report, ['003A,Ms,J,D,p1@example.com,,US,0,Rep', '003B,Ms,J,D,p2@example.com,,US,1,Rep'], [true, false]],
  [
    'HubSpot contacts',
    hubspot,
    [
      '1,J,D,p1@example.com,,US,false,',
      '2,J,D,p2@example.com,,US,true,',
      '3,J,D,p3@example.com,,US,,',
      '4,J,D,p4@example.com,,US,false,UNKNOWN_USER',
    ],
    [true, false, true, false],
  ],
] as const)('case 201: the states of %s decide who is sent', async ([, header, rows, reachable]) => {
  // Rows of the test have or omit the commas of empty cells at their ends.
  const width = header.split(',').length
  const text = [header, ...rows.map((row) => [...row.split(','), ...Array<string>(width).fill('')].slice(0, width).join(','))].join('\n')
  const audienceOf = await through(`${text}\n`, { name: 'export.csv', destination: audience })
  expect([audienceOf.refused, audienceOf.rejects]).toEqual([undefined, []])
  expect(audienceOf.members.map(({ desired }) => desired)).toEqual(reachable)
  expect(audienceOf.codes.filter((code) => code.startsWith('CONSENT_UNKNOWN') || code === 'LEFT_UNMAPPED')).toEqual([])
  const list = await through(`${text}\n`, { name: 'export.csv', destination: doNotReach })
  // Without a column of states the file is the list.
  const states = text.includes('UNSUB_') || text.includes('CLEAN_') || !text.includes('MEMBER_RATING')
  expect(list.members.map(({ desired }) => desired)).toEqual(states ? reachable.map((yes) => !yes) : reachable)
})

test('case 201: every preset reads the states of its own sample', () => {
  for (const { name, records, typicalColumns, consent = [], ignore = [] } of presets)
    if (records === 'members') {
      const read = [...consent.flatMap(({ columns }) => columns), ...ignore]
      const states = typicalColumns.filter((column) => classifyColumnName(column)?.certain === true && !isDetailOf(column, typicalColumns))
      expect([name, states.filter((column) => !read.includes(column))]).toEqual([name, []])
    }
})

test('the template of a customer list is mapped by position', async () => {
  const header = 'email,email,email,phone,phone,phone,madid,fn,ln,zip,ct,st,country,dob,doby,gen,age,uid,value'
  const row =
    'p1@example.com,p2@example.com,,1-(202)-555-0143,,,aece52e7-03ee-455a-b3c4-e57283966239,J,D,10001,NYC,NY,US,10/21/68,1968,F,48,1234567890,20.1'
  const columns = ['email_1', 'email_2', 'email_3', 'phone_1', 'phone_2', 'phone_3', ...header.split(',').slice(6)]
  const { members, rejects } = await through(`${header}\n${row}\n`, {
    name: 'list.csv',
    destination: audience,
    source: { csv: { header_row: 1, columns } },
  })
  expect(rejects).toEqual([])
  expect(members.map(({ desired, identifiers }) => [desired, identifiers.map((one) => one.split(' ')[0])])).toEqual([
    [true, ['email', 'email', 'device_id', 'phone_number']],
  ])
})

const shopifyNew =
  'Title,URL handle,Description,Vendor,Product category,Type,Tags,Published on online store,Status,SKU,Barcode,Option1 name,Option1 value,Price,Compare-at price,Inventory tracker,Inventory quantity,Continue selling when out of stock,Product image URL,Image position,Google Shopping / Condition'
const shopifyOld =
  'Handle,Title,Body (HTML),Vendor,Type,Published,Variant SKU,Variant Inventory Tracker,Variant Inventory Qty,Variant Inventory Policy,Variant Price,Image Src,Google Shopping / Condition,Status'
const woo =
  'ID,Type,SKU,"GTIN, UPC, EAN, or ISBN",Name,Published,"Is featured?","Visibility in catalog","Short description",Description,"In stock?",Stock,"Sale price","Regular price",Categories,Images,Brands'
const image = 'https://shop.example.com/1.jpg'

/** Expected availability: in stock, available for order, and not published. */
test.for([
  [
    'Shopify, today',
    shopifyNew,
    (published: string, status: string, tracker: string, qty: string, goesOn: string, i: number) =>
      `Cup,cup-${i},A cup,Acme,,,,${published},${status},S${i},,,,9.50,,${tracker},${qty},${goesOn},${image},1,`,
    [
      [['true', 'active', 'shopify', '3', 'false'], 'in stock', 3],
      [['true', 'active', 'shopify', '0', 'false'], 'out of stock', 0],
      [['true', 'active', 'shopify', '-2', 'true'], 'available for order', undefined],
      [['true', 'active', '', '0', 'false'], 'in stock', undefined],
      [['true', 'draft', 'shopify', '3', 'false'], 'discontinued', 3],
      [['false', 'active', 'shopify', '3', 'false'], 'discontinued', 3],
    ],
    'https://shop.example.com/products/cup-0',
  ],
  [
    'Shopify, before',
    shopifyOld,
    (published: string, status: string, tracker: string, qty: string, policy: string, i: number) =>
      `cup-${i},Cup,<p>A cup</p>,Acme,,${published},S${i},${tracker},${qty},${policy},9.50,${image},new,${status}`,
    [
      [['TRUE', 'active', 'shopify', '3', 'deny'], 'in stock', 3],
      [['TRUE', 'active', 'shopify', '0', 'continue'], 'available for order', 0],
      [['TRUE', 'archived', 'shopify', '3', 'deny'], 'discontinued', 3],
    ],
    'https://shop.example.com/products/cup-0',
  ],
  [
    'WooCommerce',
    woo,
    (published: string, stock: string, qty: string, _: string, __: string, i: number) =>
      `${i},simple,S${i},,Cup,${published},0,visible,,A cup,${stock},${qty},,9.50,,${image},Acme`,
    [
      [['1', '1', '4', '', ''], 'in stock', 4],
      [['1', '0', '', '', ''], 'out of stock', undefined],
      [['1', 'backorder', '', '', ''], 'available for order', undefined],
      [['-1', '1', '4', '', ''], 'discontinued', 4],
      [['0', '1', '4', '', ''], 'discontinued', 4],
    ],
    'https://shop.example.com/?p=0',
  ],
] as const)(
  'products of %s: the missing column is a required answer, and stock and publication are applied',
  async ([, header, line, rows, link]) => {
    const text = `${header}\n${rows.map(([[a, b, c, d, e]], i) => line(a, b, c, d, e, i)).join('\n')}\n`
    const options = { default_currency: 'EUR' }
    const asked = await through(text, { name: 'export.csv', options })
    expect([asked.refused, asked.hint]).toEqual(['FILE_COLUMN_MISSING', expect.stringContaining('map: { link: { column: "')])
    const [, column = '', before = ''] = /column: "([^"]+)".*with: "([^"]+)"/.exec(asked.hint ?? '') ?? []
    const map = { link: { column, transform: { prefix: { with: before } } } }
    const { products, rejects, refused } = await through(text, { name: 'export.csv', options, map })
    expect([refused, rejects]).toEqual([undefined, []])
    expect(products.map(({ availability, inventory }) => [availability, inventory])).toEqual(rows.map(([, word, pieces]) => [word, pieces]))
    expect(products[0]).toMatchObject({
      id: 'S0',
      title: 'Cup',
      description: 'A cup',
      price: '9.50 EUR',
      condition: 'new',
      brand: 'Acme',
      link,
    })
  },
)

const wooSettings = {
  name: 'export.csv',
  map: { link: { column: 'ID', transform: { prefix: { with: 'https://shop.example.com/?p=' } } } },
  options: { default_currency: 'EUR', timezone: 'Europe/Berlin' },
}

test.for([
  ['2026-12-01 0:00:00', '2026-12-24 23:59:59', '2026-12-01T00:00:00+01:00/2026-12-24T23:59:59+01:00'],
  ['2026-12-01 10:30:00', '2026-12-24 9:05:00', '2026-12-01T10:30:00+01:00/2026-12-24T09:05:00+01:00'],
  // A sale with one date has no other bound.
  ['2026-12-01 0:00:00', '', '2026-12-01T00:00:00+01:00/2099-12-31T23:59:59+01:00'],
  ['', '2026-12-24 23:59:59', '2000-01-01T00:00:00+01:00/2026-12-24T23:59:59+01:00'],
  ['', '', undefined],
])('the period %j to %j of a WooCommerce sale is sent with its price', async ([starts, ends, period]) => {
  const row = `7,simple,S7,,Cup,1,0,visible,,A cup,1,,7.00,9.50,,${image},Acme`
  const text = `${woo},"Date sale price starts","Date sale price ends"\n${row},${starts},${ends}\n`
  const { products } = await through(text, wooSettings)
  expect([products[0]?.['sale_price'], products[0]?.['sale_price_effective_date']]).toEqual(['7.00 EUR', period])
})

test('images of a WooCommerce export are one address each, also with commas in them', async () => {
  const [main, other] = ['https://shop.example.com/w_300,h_200/a.jpg', 'https://shop.example.com/b.jpg']
  const { products } = await through(`${woo}\n7,simple,S7,,Cup,1,0,visible,,A cup,1,,,9.50,,"${main}, ${other}",Acme\n`, wooSettings)
  expect([products[0]?.['image_link'], products[0]?.['additional_image_link']]).toEqual([main.replace(',', '%2C'), other])
})

test('line ends in texts of a WooCommerce export are line ends again', async () => {
  const row = (id: string, short: string, long: string) => `${id},simple,S${id},,Cup,1,0,visible,${short},${long},1,,,9.50,,${image},Acme`
  const rows = [row('1', '', String.raw`First line\nSecond line`), row('2', String.raw`Short\nText`, ''), row('3', '', String.raw`C:\\new`)]
  const { products } = await through(`${woo}\n${rows.join('\n')}\n`, wooSettings)
  expect(products.map(({ description }) => description)).toEqual(['First line\nSecond line', 'Short\nText', String.raw`C:\new`])
})

test('the apostrophe that a WooCommerce export puts before =, +, - and @ is not part of a text', async () => {
  const rows = [
    `1,simple,'-A1,,'+Size tee,1,0,visible,,'=A tee,1,,,9.50,'-Tees,${image},'@Acme,,'-small`,
    `2,variation,'-A2,,'Tis,1,0,visible,,A tee,1,,,9.50,,${image},Acme,'-G1,`,
    // A draft is -1.
    `3,simple,A3,,Cup,'-1,0,visible,,A cup,1,,,9.50,,${image},Acme,,`,
    `4,simple,A4,,Cup,1,0,visible,,A cup,backorder,'-2,,9.50,,${image},Acme,,`,
  ]
  const header = `${woo},Parent,"Attribute 1 value(s)","Attribute 1 name"`
  const { products, codes } = await through(`${header}\n${rows.map((row) => `${row},Size`).join('\n')}\n`, wooSettings)
  expect(products[0]).toMatchObject({
    id: '-A1',
    title: '+Size tee',
    description: '=A tee',
    product_type: '-Tees',
    brand: '@Acme',
    size: '-small',
  })
  expect(products[1]).toMatchObject({ id: '-A2', title: "'Tis", item_group_id: '-G1' })
  expect(products.map(({ availability }) => availability)).toEqual(['in stock', 'in stock', 'discontinued', 'available for order'])
  expect(codes.filter((code) => code === 'INVENTORY_DROPPED')).toHaveLength(1)
})

test('a phone number of Mailchimp is sent only with a subscription to SMS, if the export has that column', async () => {
  const header = (more: string) => `Email Address,SMS Phone Number,MEMBER_RATING,CC,${more}LEID,EUID\n`
  const typesOf = async (text: string) => {
    const { members, codes } = await through(text, { name: 'crm.csv', destination: audience })
    return [codes.filter((code) => code.startsWith('CONSENT')), members.map(({ identifiers }) => identifiers.length)]
  }
  const rows = ['Subscribed', 'Non-subscribed', ''].map((state, i) => `p${i}@example.com,+1202555014${i},2,US,${state},${i},e${i}\n`)
  expect(await typesOf(header('SMS_MARKETING_STATUS,') + rows.join(''))).toEqual([[], [2, 1, 1]])
  expect(await typesOf(`${header('')}p0@example.com,+12025550140,2,US,0,e0\n`)).toEqual([[], [2]])
})
