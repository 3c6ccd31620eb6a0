/** Exports with row groups, from day to day: a change in one row changes the other rows of its product. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { engineUnderTest, imbalance, type EngineUnderTest } from '../../support/engine.ts'

interface Product {
  readonly handle: number
  readonly title: number
  readonly sizes: readonly number[]
  readonly images: number
  readonly broken: boolean
}

const product = fc.record({
  handle: fc.nat(4),
  title: fc.nat(2),
  sizes: fc.uniqueArray(fc.nat(3), { minLength: 1, maxLength: 3 }),
  images: fc.nat(2),
  broken: fc.boolean(),
})
// Each handle occurs once in a file; a product that is exported twice is not tested here.
const day = fc.uniqueArray(product, { selector: ({ handle }) => handle, minLength: 1, maxLength: 4 })
const days = fc.array(day, { minLength: 2, maxLength: 4 })

const header = 'Handle,Title,Body (HTML),Vendor,Published,Variant SKU,Variant Inventory Tracker,Variant Price,Image Src,Status'
const image = (handle: number, n: number) => `https://shop.example.com/${handle}-${n}.jpg`

const exported = (products: readonly Product[]): string =>
  [
    header,
    ...products.flatMap(({ handle, title, sizes, images, broken }) => [
      ...sizes.map((size, i) =>
        i === 0
          ? `h${handle},Cup ${title},A cup,Acme,true,h${handle}-${size},,${broken ? 'dear' : '9.50'},${image(handle, 0)},active`
          : `h${handle},,,,,h${handle}-${size},,10,,`,
      ),
      ...Array.from({ length: images }, (_, n) => `h${handle},,,,,,,,${image(handle, n + 1)},`),
    ]),
    '',
  ].join('\n')

/** The same products as a feed with one full row each. */
const flat = (products: readonly Product[]): string =>
  [
    'id,title,description,brand,availability,condition,price,link,image_link,additional_image_link,item_group_id',
    ...products.flatMap(({ handle, title, sizes, images, broken }) =>
      sizes.map((size, i) =>
        [
          `h${handle}-${size}`,
          `Cup ${title}`,
          'A cup',
          'Acme',
          'in stock',
          'new',
          i > 0 ? '10.00 EUR' : broken ? 'dear' : '9.50 EUR',
          `https://shop.example.com/products/h${handle}`,
          image(handle, 0),
          `"${Array.from({ length: images }, (_, n) => image(handle, n + 1)).join(',')}"`,
          `h${handle}`,
        ].join(','),
      ),
    ),
    '',
  ].join('\n')

const destination = 'destination: { kind: catalog, catalog_id: "4001" }\nguards: { max_delete_count: 1000, max_reject_percent: 100 }\n'
const spread = `source: { url: "{folder}/export.csv" }
options: { default_currency: EUR }
map: { link: { column: Handle, transform: { prefix: { with: "https://shop.example.com/products/" } } } }
${destination}`

async function state({ db, sandbox }: EngineUnderTest): Promise<unknown> {
  return {
    records: await db.query(`select convert_from(key, 'UTF8') as key, status, body from sluice.record order by key`),
    digest: (await sandbox.control.catalog()).digest,
  }
}

test(
  'an export with row groups has the result of a feed of the same products, day by day',
  { tags: ['long'], timeout: 240_000 },
  async () => {
    await fc.assert(
      fc.asyncProperty(days, async (history) => {
        await using rows = await engineUnderTest()
        await using feed = await engineUnderTest()
        rows.pipeline('shop', spread)
        feed.pipeline('shop', `source: { url: "{folder}/feed.csv" }\n${destination}`)
        for (const products of history) {
          rows.write('export.csv', exported(products))
          feed.write('feed.csv', flat(products))
          // The oracle deletes its digests, so that it reads every record.
          await feed.db.execute('delete from sluice.record_digest')
          const [one, other] = [await rows.run('shop'), await feed.run('shop')]
          expect(one.counts).toEqual(other.counts)
          expect(imbalance(one.counts)).toEqual([])
          expect(await state(rows)).toEqual(await state(feed))
        }
      }),
      {
        numRuns: Number(process.env['SLUICE_RUNS'] ?? 4),
        examples: [
          // Only the first row changes, and with it the content of its variants; then an image in a row of its own.
          [
            [
              [{ handle: 1, title: 0, sizes: [0, 1, 2], images: 0, broken: false }],
              [{ handle: 1, title: 1, sizes: [0, 1, 2], images: 0, broken: false }],
              [{ handle: 1, title: 1, sizes: [0, 1, 2], images: 1, broken: false }],
            ],
          ],
        ],
      },
    )
  },
)

/** Renames the column `Body (HTML)`. The table is then not recognized as an export of a shop, and its rows are read one by one. */
const renamed = (text: string) => text.replace('Body (HTML)', 'Text')

test('a table that has row groups only on some days has the result of a full read', { tags: ['long'] }, async () => {
  await using gated = await engineUnderTest()
  await using slow = await engineUnderTest()
  const yaml = `source: { url: "{folder}/export.csv" }
options: { default_currency: EUR }
map:
  id: Variant SKU
  title: Title
  description: ["Body (HTML)", Text]
  price: Variant Price
  brand: Vendor
  image_link: Image Src
  availability: { const: in stock }
  condition: { const: new }
  link: { column: Handle, transform: { prefix: { with: "https://shop.example.com/products/" } } }
${destination}`
  const products = (title: number): Product[] => [0, 1, 2].map((handle) => ({ handle, title, sizes: [0, 1], images: 1, broken: false }))
  const history = [
    renamed(exported(products(0))),
    exported(products(0)),
    exported(products(1)),
    renamed(exported(products(1))),
    renamed(exported([...products(1).slice(1), ...products(2).slice(0, 1)])),
    exported(products(1).slice(0, 2)),
  ]
  for (const [nth, text] of history.entries()) {
    await slow.db.execute('delete from sluice.record_digest')
    const ends = []
    for (const engine of [gated, slow]) {
      engine.pipeline('shop', yaml)
      engine.write('export.csv', text)
      const { counts, status } = await engine.run('shop')
      expect(imbalance(counts)).toEqual([])
      ends.push({ counts, status, state: await state(engine) })
    }
    expect(ends[0], `run ${nth + 1}`).toEqual(ends[1])
  }
})
