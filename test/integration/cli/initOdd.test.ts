/** Files that need a setting to be read: `init` writes a pipeline with it, or requires one flag. */
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { zipOf } from '../../unit/formats/zipOf.ts'
import { csvOf, manyProducts } from '../../support/through.ts'
import { emptyFolder, sluiceHere } from './support.ts'

const columns = 'id,title,description,availability,condition,price,link,image_link,brand'
const row = (id: number) =>
  `P${id},Cup ${id},A cup,in stock,new,9.50 EUR,https://shop.example.com/${id},https://shop.example.com/${id}.jpg,Acme`
const item = (id: number, name: string, link = `https://shop.example.com/${id}`) =>
  `<${name}><id>P${id}</id><title>Cup ${id}</title><description>A cup</description><availability>in stock</availability><condition>new</condition><price>9.50 EUR</price><link>${link}</link><image_link>https://shop.example.com/${id}.jpg</image_link><brand>Acme</brand></${name}>`

const odd: readonly {
  readonly name: string
  readonly content: string | Buffer
  readonly says: string
  readonly flags?: readonly string[]
}[] = [
  { name: 'repeated.csv', content: `${columns},size,size\n${row(1)},S,S\n${row(2)},M,L\n`, says: 'size: [size, "size (column 11)"]' },
  { name: 'unmapped.csv', content: `${columns},note,note\n${row(1)},a,b\n${row(2)},c,d\n`, says: 'Not used: note' },
  {
    name: 'comment.csv',
    content: `# made by the shop,,,,,,,,\n${columns}\n${row(1)}\n${row(2)}\n`,
    says: 'csv: { header_row: 2 }',
  },
  {
    name: 'ampersand.xml',
    content: `<rss xmlns:g="http://base.google.com/ns/1.0"><channel>${item(1, 'item', 'https://shop.example.com/?a=1&b=2')}${item(2, 'item')}</channel></rss>`,
    says: 'xml: { repair_ampersands: true }',
  },
  {
    name: 'other.xml',
    content: `<shop><name>Cups</name><products>${item(1, 'product')}${item(2, 'product')}</products></shop>`,
    says: 'xml: { item: product }',
  },
  {
    name: 'two.zip',
    content: zipOf([
      { name: 'readme.txt', content: 'no table' },
      { name: '__MACOSX/._feed.csv', content: 'x' },
      { name: 'feed.csv', content: `${columns}\n${row(1)}\n${row(2)}\n` },
    ]),
    says: 'member: feed.csv',
    flags: ['--member', 'feed.csv'],
  },
]

test.for(odd)('$name is read by the pipeline that init writes', async ({ name, content, says, flags = [] }) => {
  const cwd = emptyFolder()
  mkdirSync(join(cwd, 'pipelines'))
  writeFileSync(join(cwd, name), content)
  const init = ['init', 'try', '--source', name, '--sandbox']
  if (flags.length > 0) {
    const asked = await sluiceHere(init, { cwd })
    expect([asked.code, asked.stderr]).toEqual([
      2,
      expect.stringContaining('the archive contains more than one file: readme.txt, feed.csv'),
    ])
    expect(asked.stderr).toContain('--member')
  }
  const made = await sluiceHere([...init, ...flags], { cwd })
  expect([made.code, made.stderr]).toEqual([0, ''])
  expect(readFileSync(join(cwd, 'pipelines/try.yaml'), 'utf8')).toContain(says)
  const checked = await sluiceHere(['check', 'try', '--json'], { cwd })
  expect(checked.code).toBe(0)
  expect(JSON.parse(checked.stdout)[0].sources[0]).toMatchObject({ rows: 2, valid: 2, rejects: [] })
})

test('case 22: of columns of one name none may be read alone; the hint, once pasted, reads them', async () => {
  const cwd = emptyFolder()
  mkdirSync(join(cwd, 'pipelines'))
  writeFileSync(join(cwd, 'crm.csv'), 'id,Email,Email\n1,,a@example.com\n2,b@example.com,c@example.com\n')
  const write = (map: string) =>
    writeFileSync(
      join(cwd, 'pipelines/crm.yaml'),
      `source: { url: crm.csv }\n${map}\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n`,
    )
  write('map: { key: id, email: Email }')
  const first = await sluiceHere(['check', '--json'], { cwd })
  const { error } = JSON.parse(first.stdout)[0].sources[0]
  expect([first.code, error.code]).toEqual([1, 'FILE_DUPLICATE_COLUMN'])
  write(`map: { key: id, ${/map: \{ (.*) \}$/.exec(error.hint)?.[1]} }`)
  expect(JSON.parse((await sluiceHere(['check', '--json'], { cwd })).stdout)[0].sources[0]).toMatchObject({ valid: 2, rejects: [] })
})

test('a template of a marketplace with 509 columns is read, and one with 529 is rejected with their number', async () => {
  const cwd = emptyFolder()
  mkdirSync(join(cwd, 'pipelines'))
  writeFileSync(join(cwd, 'pipelines/shop.yaml'), 'source: { url: feed.csv }\ndestination: { kind: catalog, catalog_id: "4001" }\n')
  const check = async (bullets: number) => {
    const more = Object.fromEntries(Array.from({ length: bullets }, (_, i) => [`bullet_point_${i}`, 'x']))
    writeFileSync(join(cwd, 'feed.csv'), csvOf(manyProducts(3, () => more)))
    const { code, stdout } = await sluiceHere(['check', '--json'], { cwd })
    return { code, stdout }
  }
  const read = await check(500)
  expect([read.code, JSON.parse(read.stdout)[0].sources[0].valid]).toEqual([0, 3])
  const rejected = await check(520)
  expect([rejected.code, rejected.stdout]).toEqual([1, expect.stringContaining('the header has 529 columns, the limit is 512')])
})

test('personal data in the first row of a file without a header is masked', async () => {
  const cwd = emptyFolder()
  mkdirSync(join(cwd, 'pipelines'))
  const init = (file: string, ...more: readonly string[]) =>
    sluiceHere(['init', 'people', '--source', file, '--audience', '1nmth', '--account', '18ce54d4x5t', ...more], { cwd })
  const raw = /jo@example\.com|212-555-0101/
  // A table of fixed width has one column, so its first row counts as the header.
  writeFileSync(join(cwd, 'fixed.txt'), '0001 DOE   jo@example.com   +1-212-555-0101\n0002 ROE   al@example.com   +1-212-555-0102\n')
  writeFileSync(join(cwd, 'names.csv'), 'Jo <jo@example.com>;x\nAl <al@example.com>;y\n')
  for (const outcome of [await init('fixed.txt'), await init('names.csv'), await init('names.csv', '--map', 'email=mail')]) {
    expect(outcome).toMatchObject({ code: 2, stderr: expect.stringContaining('j***@e***.com') })
    expect(outcome.stderr).not.toMatch(raw)
  }
  writeFileSync(join(cwd, 'notes.csv'), 'id,email,"asked by jo@example.com"\n1,al@example.com,x\n2,bo@example.com,y\n')
  const written = await init('notes.csv', '--json')
  const texts = [written, await sluiceHere(['check', 'people'], { cwd })].map(({ stdout, stderr }) => stdout + stderr)
  for (const text of [...texts, readFileSync(join(cwd, 'pipelines', 'people.yaml'), 'utf8')]) {
    expect(text).not.toMatch(raw)
    expect(text).toContain('j***@e***.com')
  }
})

test('a sale price with a period in other columns is not mapped, because it would be sent outside of its period', async () => {
  const cwd = emptyFolder()
  mkdirSync(join(cwd, 'pipelines'))
  const head = 'sku,name,description,availability,condition,price,url,image,brand,special_price'
  const cells = 'P1,Cup,A cup,in stock,new,9.50 EUR,https://shop.example.com/1,https://shop.example.com/1.jpg,Acme,5.00 EUR'
  const written = async (name: string, more: readonly [string, string]) => {
    writeFileSync(join(cwd, `${name}.csv`), `${head}${more[0]}\n${cells}${more[1]}\n`)
    await sluiceHere(['init', name, '--source', `${name}.csv`, '--catalog', `4001${name}`], { cwd })
    return readFileSync(join(cwd, 'pipelines', `${name}.yaml`), 'utf8')
  }
  expect(await written('plain', ['', ''])).toMatch(/^ {2}sale_price: special_price$/m)
  const dated = await written('dated', [',special_price_from_date,special_price_to_date', ',2030-01-01,2030-02-01'])
  expect(dated).not.toMatch(/^ {2}sale_price:/m)
  expect(dated).toMatch(/# +sale_price: "special_price"/)
})
