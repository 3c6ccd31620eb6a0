/** A rejects file that was corrected by hand leaves no reject after its `backfill`. */
import { readFileSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { parse } from 'csv-parse/sync'
import { expect, test } from 'vitest'
import { catalogYaml, engineUnderTest, imbalance } from '../../support/engine.ts'
import { csvOf, itemOf, manyProducts, rssOf, type Fields } from '../../support/through.ts'
import { sluiceHere } from '../cli/support.ts'

type Cells = Record<string, string>

/** Reads the copy as a spreadsheet would, corrects it, and writes it with its five columns of reasons. */
function correct(file: string, hint: (row: Cells) => Cells): Cells[] {
  const rows = parse<Cells>(readFileSync(file), { columns: true })
  writeFileSync(file, csvOf(rows.map(hint) as Fields[]))
  return rows
}

const faults: readonly Fields[] = [
  { price: '12,99 EUR' },
  { link: 'http://shop.example.com/x' },
  { condition: 'like new' },
  { title: '-20 % on shoes', availability: 'maybe' },
]
const corrected = (row: Cells): Cells => ({
  ...row,
  price: '12.99 EUR',
  link: (row['link'] ?? '').replace('http:', 'https:'),
  condition: 'new',
  availability: 'in stock',
})

for (const format of ['csv', 'xml'] as const) {
  test(`catalog from ${format}: the corrected rejects leave no reject, and what was escaped is itself again`, async () => {
    await using engine = await engineUnderTest()
    const rows = manyProducts(40, (i) => ({ ...(i < faults.length ? faults[i] : {}), ...(i === 2 ? { color: 'red' } : {}) }))
    engine.pipeline('shop', catalogYaml(`feed.${format}`))
    engine.write(`feed.${format}`, format === 'csv' ? csvOf(rows) : rssOf(rows.map((row) => itemOf(row))))
    const first = await engine.run('shop')
    expect(first.counts).toMatchObject({ rejected: 4, confirmed: 36 })

    const file = join(engine.folder, 'rejects.csv')
    const result = await sluiceHere(['rejects', first.runId, '--csv', file], { cwd: engine.folder, env: engine.env })
    expect(result.code).toBe(0)
    const rejects = correct(file, corrected)
    expect(Object.keys(rejects[0] ?? {}).slice(-5)).toEqual(['line', 'code', 'field', 'message', 'hint'])
    expect(rejects[3]?.['title']).toBe("'-20 % on shoes")

    const back = await sluiceHere(['backfill', 'shop', '--source', file, '--json'], { cwd: engine.folder, env: engine.env })
    const report = JSON.parse(back.stdout)
    expect([back.code, report.counts.read, report.counts.rejected, report.counts.confirmed]).toEqual([0, 4, 0, 4])
    expect(imbalance(report.counts)).toEqual([])
    expect(report.warnings.filter(({ code }: { code: string }) => code === 'COLUMN_UNKNOWN')).toEqual([])
    const sent = await engine.sandbox.control.products()
    expect(sent).toHaveLength(40)
    expect(sent.find(({ id }) => id === 'P-3')).toMatchObject({ title: '-20 % on shoes', price: '12.99 EUR' })
    expect(sent.find(({ id }) => id === 'P-2')).toMatchObject({ color: 'red' })
  }, 60_000)
}

/** An export of an old program: another encoding, other separators, titles above the header. */
const oldExport = {
  yaml: 'source: { url: "{folder}/alt.csv", encoding: windows-1252, csv: { delimiter: ";", header_row: 3 } }\ndestination: { kind: catalog, catalog_id: "4001" }\n',
  text: `Müller GmbH\n\n${csvOf(
    manyProducts(6, (i) => ({ title: `Größe ${i}`, ...(i < 2 ? { price: '12,99 EUR' } : {}) })),
    ';',
  )}`,
}
for (const [saved, encode] of [
  ['as Sluice wrote it', (text: string) => Buffer.from(text)],
  [
    'by a spreadsheet with semicolons and a mark',
    (text: string) => Buffer.from(`\ufeff${text.replaceAll(',', ';').replaceAll('12;99', '12,99')}`),
  ],
  ['by a spreadsheet in the encoding of the source', (text: string) => Buffer.from(text, 'latin1')],
] as const) {
  test(`catalog from windows-1252 with semicolons: the corrected rejects, saved ${saved}, are read as what they are`, async () => {
    await using engine = await engineUnderTest()
    engine.pipeline('alt', oldExport.yaml)
    engine.write('alt.csv', Buffer.from(oldExport.text, 'latin1'))
    const first = await engine.run('alt')
    expect(first.counts).toMatchObject({ rejected: 2, confirmed: 4 })
    const file = join(engine.folder, 'rejects.csv')
    await sluiceHere(['rejects', first.runId, '--csv', file], { cwd: engine.folder, env: engine.env })
    correct(file, (row) => ({ ...row, price: '12.99 EUR', message: '', hint: '' }))
    writeFileSync(file, encode(readFileSync(file, 'utf8')))
    const report = await engine.backfill('alt', 'rejects.csv')
    expect(report).toMatchObject({ status: 'succeeded', counts: { read: 2, rejected: 0, confirmed: 2 } })
    const titles = (await engine.sandbox.control.products()).map(({ title }) => title)
    expect(titles.toSorted()).toEqual(Array.from({ length: 6 }, (_, i) => `Größe ${i}`))
  }, 60_000)
}

test('another export of the same system is backfilled with the settings of the pipeline', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('alt', oldExport.yaml)
  engine.write('alt.csv', Buffer.from(oldExport.text, 'latin1'))
  engine.write('older.csv', Buffer.from(oldExport.text.replaceAll('P-', 'O-').replaceAll('12,99', '12.99'), 'latin1'))
  await engine.run('alt')
  expect(await engine.backfill('alt', 'older.csv')).toMatchObject({ counts: { read: 6, rejected: 0, confirmed: 6 } })
  const titles = (await engine.sandbox.control.products()).map(({ title }) => title)
  expect(titles.filter((title) => title === 'Größe 5')).toHaveLength(2)
}, 60_000)

test('catalog from JSON lines and a table: columns that come late, lists, and those of the other source are in the copy', async () => {
  await using engine = await engineUnderTest()
  const map = 'map: { image_link: images, additional_image_link: images }'
  engine.pipeline(
    'two',
    `source: [{ url: "{folder}/a.jsonl" }, { url: "{folder}/b.csv" }]\n${map}\ndestination: { kind: catalog, catalog_id: "4001" }\n`,
  )
  const images = (i: number) => [`https://shop.example.com/${i}.jpg`, `https://shop.example.com/${i}b.jpg`]
  const plain = ({ image_link: _image, ...row }: Fields) => row
  const rows = manyProducts(1200).map((row, i) => ({ ...plain(row), images: images(i) }))
  const late = { ...rows[7], id: 'LATE', price: 'ask', mpn: 'M-1', color: 'red' }
  engine.write('a.jsonl', [...rows, late].map((row) => `${JSON.stringify(row)}\n`).join(''))
  engine.write(
    'b.csv',
    csvOf([{ size: 'L', ...plain(manyProducts(1)[0] ?? {}), id: 'OTHER', price: 'ask', images: 'https://shop.example.com/o.jpg' }]),
  )
  const { runId } = await engine.plan('two')
  const file = join(engine.folder, 'rejects.csv')
  for (const more of [[], ['--from-source']]) {
    await sluiceHere(['rejects', runId, '--csv', file, ...more], { cwd: engine.folder, env: engine.env })
    const copies = correct(file, (row) => ({ ...row, price: '1.00 USD' }))
    expect(copies.map(({ id, color, mpn, size }) => [id, color, mpn, size])).toEqual([
      ['LATE', 'red', 'M-1', ''],
      ['OTHER', '', '', 'L'],
    ])
  }
  expect(await engine.backfill('two', 'rejects.csv')).toMatchObject({ status: 'succeeded', counts: { read: 2, rejected: 0 } })
  const sent = await engine.sandbox.control.products()
  expect(sent.find(({ id }) => id === 'LATE')).toMatchObject({
    color: 'red',
    image_link: images(7)[0],
    additional_image_link: images(7)[1],
  })
}, 60_000)

test('audience from JSON lines: several addresses of one person come back as several', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'crm',
    'source: { url: "{folder}/crm.jsonl" }\nmap: { key: id, email: emails }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n',
  )
  engine.write('crm.jsonl', '{"id":"1","emails":["a@shop.example","b@shop.example"]}\n{"id":"2","emails":["c@","d@"]}\n')
  const first = await engine.run('crm')
  const file = join(engine.folder, 'full.csv')
  await sluiceHere(['rejects', first.runId, '--csv', file, '--from-source'], { cwd: engine.folder, env: engine.env })
  expect(correct(file, (row) => ({ ...row, emails: (row['emails'] ?? '').replaceAll('@', '@shop.example') }))[0]?.['emails']).toBe(
    '["c@","d@"]',
  )
  expect(await engine.backfill('crm', 'full.csv')).toMatchObject({ counts: { read: 1, rejected: 0, confirmed: 1 } })
  expect((await engine.sandbox.control.audience()).identifiers['email']).toBe(4)
}, 60_000)

test('audience: the full rows of --from-source, corrected, leave no reject', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'crm',
    'source: { url: "{folder}/crm.csv" }\nmap: { key: id, email: email, phone_number: phone }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n',
  )
  engine.write(
    'crm.csv',
    csvOf(
      Array.from({ length: 30 }, (_, i): Fields => ({
        id: `C-${i}`,
        email: i < 3 ? `p${i}@` : `p${i}@example.com`,
        phone: i === 1 ? '+1 202 CALL' : '',
      })),
    ),
  )
  const first = await engine.run('crm')
  expect(first.counts).toMatchObject({ rejected: 3, confirmed: 27 })

  const file = join(engine.folder, 'full.csv')
  const result = await sluiceHere(['rejects', first.runId, '--csv', file, '--from-source'], { cwd: engine.folder, env: engine.env })
  expect([result.code, statSync(file).mode & 0o777]).toEqual([0, 0o600])
  const rejects = correct(file, (row) => ({ ...row, email: `${row['email'] ?? ''}example.com`, phone: '' }))
  expect(rejects.map(({ email }) => email)).toEqual(['p0@', 'p1@', 'p2@'])

  const report = await engine.backfill('crm', 'full.csv')
  expect(report).toMatchObject({ status: 'succeeded', counts: { read: 3, rejected: 0, confirmed: 3 } })
  expect((await engine.sandbox.control.audience()).members).toBe(30)
}, 60_000)

test('--from-source of a corrected rejects file has the cells of the first source', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'crm',
    'source: { url: "{folder}/crm.csv" }\nmap: { key: id, email: email }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\nguards: { max_reject_percent: 100 }\n',
  )
  engine.write('crm.csv', csvOf([{ id: '-7', email: 'broken@' }]))
  let { runId } = await engine.run('crm')
  for (const name of ['one.csv', 'two.csv', 'three.csv']) {
    const file = join(engine.folder, name)
    await sluiceHere(['rejects', runId, '--csv', file, '--from-source'], { cwd: engine.folder, env: engine.env })
    expect(correct(file, (row) => row).map(({ id }) => id)).toEqual(["'-7"])
    runId = (await engine.backfill('crm', name)).runId
  }
}, 60_000)

test('audience on one line: only the rejected rows are written in clear', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline(
    'crm',
    'source: { url: "{folder}/crm.json" }\nmap: { key: id, email: email }\ndestination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\nguards: { max_reject_percent: 100 }\n',
  )
  const people = [
    { id: 'C-1', email: 'good@example.com' },
    { id: 'C-2', email: 'broken@' },
    { id: 'C-3', email: 'one@example.com' },
    { id: 'C-4', email: 'fine@example.com' },
    { id: 'C-3', email: 'other@example.com' },
    { email: 'nobody@example.com' },
  ]
  engine.write('crm.json', JSON.stringify(people))
  const { runId, counts } = await engine.run('crm')
  expect(counts).toMatchObject({ read: 6, rejected: 4 })
  const file = join(engine.folder, 'full.csv')
  await sluiceHere(['rejects', runId, '--csv', file, '--from-source'], { cwd: engine.folder, env: engine.env })
  expect(correct(file, (row) => row).map(({ id, email }) => [id, email])).toEqual([
    ['C-2', 'broken@'],
    ['C-3', 'one@example.com'],
    ['C-3', 'other@example.com'],
    ['', 'nobody@example.com'],
  ])
}, 60_000)

test('the file of --csv must not be a source, by its path or its content', async () => {
  await using engine = await engineUnderTest()
  engine.pipeline('shop', catalogYaml('feed.csv'))
  const content = csvOf(manyProducts(10, (i) => (i === 0 ? { price: 'much' } : {})))
  engine.write('feed.csv', content)
  const { runId } = await engine.run('shop')
  const rejects = (file: string, ...args: readonly string[]) =>
    sluiceHere(['rejects', runId, '--csv', file, ...args], { cwd: engine.folder, env: engine.env })
  const refused = {
    code: 2,
    stderr: expect.stringMatching(
      new RegExp(`^error {2}FILE_EXISTS .* is a source of shop.*\\nhint {3}sluice rejects ${runId} --csv rejects-${runId}.csv`, 'm'),
    ) as string,
  }
  expect(await rejects('feed.csv')).toMatchObject(refused)
  expect(await rejects('./feed.csv', '--from-source')).toMatchObject(refused)
  symlinkSync('feed.csv', join(engine.folder, 'link.csv'))
  expect(await rejects('link.csv')).toMatchObject(refused)
  engine.write('copy.csv', content)
  expect(await rejects('copy.csv')).toMatchObject(refused)
  expect(readFileSync(join(engine.folder, 'feed.csv'), 'utf8')).toBe(content)
  engine.pipeline('other', catalogYaml('other.csv').replace('4001', '4002'))
  engine.write('other.csv', content.replace('P-1', 'P-0'))
  expect(await rejects('other.csv')).toMatchObject({ code: 2, stderr: expect.stringContaining('is a source of other,') as string })
  // A source that changed after the run is still a source.
  engine.write('feed.csv', `${content}\n`)
  expect(await rejects('feed.csv')).toMatchObject(refused)
  engine.write('copy.csv', 'older rejects\n')
  expect(await rejects('copy.csv')).toMatchObject({ code: 0 })
}, 60_000)
