/** `sluice check` on undescribed files: its output, and whether its hints are right when pasted. */
import { mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { csvOf, manyProducts } from '../../support/through.ts'
import { emptyFolder, sluiceHere } from '../cli/support.ts'
import { workspace } from '../cli/workspace.ts'

const catalog = (id: string) => `destination: { kind: catalog, catalog_id: "${id}" }\n`
const audience = 'destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }\n'

function folderWith(files: Readonly<Record<string, string>>): string {
  const folder = emptyFolder()
  mkdirSync(join(folder, 'pipelines'), { recursive: true })
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text)
  return folder
}

test.for([
  [
    'German',
    'Artikelnummer;Bezeichnung;Beschreibung;Preis;Bestand;Bild;URL;Marke;EAN\n1;Tasse;Eine Tasse;9.50 EUR;12;https://shop.example.com/1.jpg;https://shop.example.com/1;Acme;4006381333931\n',
    { id: '1', title: 'Tasse', availability: 'in stock', brand: 'Acme', gtin: '4006381333931', inventory: 12 },
  ],
  [
    'of another make',
    'sku,name,body,url,image_url,stock,amount,currency,vendor\n1,Cup,A cup,https://shop.example.com/1,https://shop.example.com/1.jpg,0,9.50,EUR,Acme\n',
    { id: '1', title: 'Cup', availability: 'out of stock', price: '9.50 EUR', brand: 'Acme' },
  ],
  [
    'half that of a feed, with the currency beside the price',
    'Product ID,Title,Description,Link,Image Link,Stock,Condition,Price,Currency,Brand\n1,Cup,A cup,https://shop.example.com/1,https://shop.example.com/1.jpg,4,new,9.5,EUR,Acme\n',
    { id: '1', price: '9.50 EUR', availability: 'in stock' },
  ],
] as const)('the hint for a header that is %s maps it once pasted', async ([, text, expected]) => {
  const source = 'source: { url: feed.csv }\n'
  const cwd = folderWith({ 'feed.csv': text, 'pipelines/shop.yaml': `${source}${catalog('4001')}` })
  const first = await sluiceHere(['check', '--json'], { cwd })
  expect(first.code).toBe(1)
  const { error } = JSON.parse(first.stdout)[0].sources[0]
  expect([error.code, error.where]).toEqual(['FILE_COLUMN_MISSING', 'feed.csv'])
  writeFileSync(join(cwd, 'pipelines/shop.yaml'), `${source}${error.hint}\n${catalog('4001')}`)
  const second = await sluiceHere(['check', '--json'], { cwd })
  expect(second.code).toBe(0)
  expect(JSON.parse(second.stdout)[0].sources[0]).toMatchObject({ rejects: [], records: [{ fields: expected }] })
  expect((await sluiceHere(['check'], { cwd })).stdout).toMatch(/mapping .*id ← [\s\S]*\nNext {2}sluice plan shop\n$/)
})

test.for([
  [
    'answer.json',
    '{"products":[{"id":"1","title":"Cup","price":"9 EUR"}]}',
    /answer\.json {3}json, utf-8, the records are the array at "products"/,
    4,
  ],
  [
    'answers.json',
    '{"products":[{"id":"1","title":"Cup","price":"9 EUR"}],"users":[{"id":"1"}]}',
    /hint {6}The records are inside "products": source: \{ json: \{ records: products \} \}/,
    4,
  ],
  ['login.csv', 'Please log in\n', /the source has a single column[^]*\nhint {3}Check that this is the right file/, 1],
  ['empty.json', '[]', /no rows: a run would send nothing, and delete nothing/, 0],
] as const)('%s is not a feed, and the error says what it is', async ([file, text, said, expected]) => {
  const cwd = folderWith({ [file]: text, 'pipelines/shop.yaml': `source: { url: ${file} }\n${catalog('4001')}` })
  const { code, stdout } = await sluiceHere(['check'], { cwd })
  expect([code, stdout]).toEqual([expected, expect.stringMatching(said)])
})

test('check and run name the same place, as it is written in the pipeline', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', `source: { url: feed.csv }\n${catalog('4001')}`)
  shop.write('feed.csv', `${csvOf(manyProducts(2))}x,"never closed\n`)
  const checked = JSON.parse((await shop.here(['check', '--json'])).stdout)[0].sources[0].error
  const { error } = JSON.parse((await shop.here(['run', 'shop', '--json'])).stdout)
  expect([checked.where, error.where]).toEqual(['feed.csv, line 4', 'feed.csv, line 4'])
  expect((await shop.here(['run', 'shop'])).stdout).toContain('\nwhere  feed.csv, line 4\n')
})

test('two files with one destination are both shown with the conflict', async () => {
  const yaml = `source: { url: feed.csv }\n${catalog('4001')}`
  const cwd = folderWith({ 'feed.csv': csvOf(manyProducts(3)), 'pipelines/a.yaml': yaml, 'pipelines/b.yaml': yaml })
  for (const name of ['a', 'b']) {
    const { code, stdout } = await sluiceHere(['check', name], { cwd })
    expect(code).toBe(2)
    expect(stdout).toContain('3 valid')
    expect(stdout).toMatch(/error {2}PIPELINE_INVALID .*writes to the same destination[^]*\nhint .*\nNext {2}sluice check\n$/)
    expect((await sluiceHere(['plan', name], { cwd })).code).toBe(2)
  }
  const [first, second] = JSON.parse((await sluiceHere(['check', '--json'], { cwd })).stdout)
  expect([first.problems[0].path, second.problems[0].path]).toEqual(['destination', 'destination'])
})

test('check shows what would withhold a run, and the people who would not be sent', async () => {
  const rows = 'id,email,ok,UNSUB_TIME\n1,a1@example.com,yes,\n2,a2@example.com,no,\n'
  const map = 'map: { key: id, email: email }\n'
  const cwd = folderWith({
    'crm.csv': rows,
    'pipelines/crm.yaml': `source: { url: crm.csv }\n${map}${audience}`,
    'bad.csv': csvOf(manyProducts(3, () => ({ price: 'free' }))),
    'pipelines/shop.yaml': `source: { url: bad.csv }\n${catalog('4001')}`,
  })
  const { code, stdout } = await sluiceHere(['check', 'crm'], { cwd })
  expect(code).toBe(4)
  expect(stdout).toMatch(/WOULD STOP {2}crm {2}GUARD_CONSENT_UNMAPPED .*UNSUB_TIME/)
  expect(stdout).not.toContain('Next')
  expect((await sluiceHere(['check', 'shop'], { cwd })).stdout).toMatch(/WOULD STOP {2}shop {2}GUARD_REJECTS/)
  writeFileSync(
    join(cwd, 'pipelines/crm.yaml'),
    `source: { url: crm.csv }\n${map}consent: { column: ok, values: ["yes"] }\nignore: [UNSUB_TIME]\n${audience}`,
  )
  const asked = await sluiceHere(['check', 'crm'], { cwd })
  expect(asked.stdout).toContain('2 read: 1 valid, 0 rejects, 1 suppressed')
  expect(asked.stdout).toContain('Next  sluice plan crm')
})

test('check has the rejects, duplicates and exit code of a run, and reports every fault of a row', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', `source: { url: feed.csv }\n${catalog('4001')}`)
  const good = manyProducts(10)
  const bad = { id: 'BAD', title: '', price: '12', link: 'http://shop.example.com/p', availability: 'maybe' }
  shop.write('feed.csv', csvOf([...good, { ...good[0], ...bad }, { ...good[0] }, { ...good[1], title: 'Another' }]))
  const codes = ['AVAILABILITY_UNKNOWN', 'FIELD_MISSING', 'LINK_NOT_HTTPS', 'PRICE_CURRENCY_MISSING']
  const checked = await shop.here(['check', '--json'])
  const source = JSON.parse(checked.stdout)[0].sources[0]
  expect([checked.code, source.rows, source.valid, source.rejected, source.duplicates]).toEqual([0, 13, 9, 3, 1])
  const codesOf = (rejects: { line: number; code: string }[], line: number) =>
    rejects.flatMap((reject) => (reject.line === line ? [reject.code] : [])).toSorted()
  expect(codesOf(source.rejects, 12)).toEqual(codes)
  const ran = await shop.here(['run', 'shop', '--json'])
  const { runId, counts } = JSON.parse(ran.stdout)
  expect([ran.code, counts.read, counts.valid, counts.rejected, counts.duplicates]).toEqual([0, 13, 9, 3, 1])
  const rejects = JSON.parse((await shop.here(['rejects', runId, '--json'])).stdout)
  expect(codesOf(rejects, 12)).toEqual(codes)
  expect([codesOf(rejects, 3), codesOf(rejects, 14)]).toEqual([['DUPLICATE_CONFLICT'], ['DUPLICATE_CONFLICT']])
  expect(rejects.toSorted((a: { line: number }, b: { line: number }) => a.line - b.line).map(withoutHint)).toEqual(
    source.rejects.map(withoutHint),
  )
  const csv = await shop.here(['rejects', runId, '--csv', '-'])
  const line = csv.stdout.split('\n').find((text) => text.startsWith('BAD,'))
  for (const code of codes) expect(line).toContain(code)
  expect(csv.stdout.trim().split('\n')).toHaveLength(4)

  shop.write('feed.csv', csvOf([...good.slice(0, 2), ...good.slice(2).map((row) => ({ ...row, price: '12' }))]))
  for (const command of [['check'], ['run', 'shop']]) {
    const { code, stdout } = await shop.here(command)
    expect([code, stdout.replace(/\s+/g, ' ')]).toEqual([4, expect.stringContaining('above 50 %, for PRICE_CURRENCY_MISSING 8')])
  }
})

test('a key in two sources is resolved as by a run', async () => {
  await using shop = await workspace()
  shop.write('pipelines/shop.yaml', `source:\n  - { url: a.csv }\n  - { url: b.csv }\n${catalog('4001')}`)
  const [first = {}, second = {}, ...others] = manyProducts(10)
  shop.write('a.csv', csvOf([first, second, ...others]))
  shop.write('b.csv', csvOf([{ ...first, title: 'Another' }, second]))
  const { sources } = JSON.parse((await shop.here(['check', '--json'])).stdout)[0]
  const { runId, counts } = JSON.parse((await shop.here(['run', 'shop', '--json'])).stdout)
  const rejects = JSON.parse((await shop.here(['rejects', runId, '--json'])).stdout)
  expect(sources.flatMap((source: { rejects: object[] }) => source.rejects)).toMatchObject(rejects.map(withoutHint))
  expect(counts).toMatchObject({ read: 12, valid: 9, rejected: 2, duplicates: 1 })
  expect(sources).toMatchObject([
    { valid: 9, rejected: 1, duplicates: 0, rejects: [{ line: 2, code: 'DUPLICATE_CONFLICT' }] },
    { valid: 0, rejected: 1, duplicates: 1, rejects: [{ line: 2, code: 'DUPLICATE_CONFLICT' }] },
  ])
})

test('the note about a source without rows says what a run does', async () => {
  await using shop = await workspace()
  const write = (source: string, guards: string) => shop.write('pipelines/shop.yaml', `source: ${source}\n${guards}${catalog('4001')}`)
  const noteOf = async () => /note +(no rows.*)/.exec((await shop.here(['check'])).stdout)?.[1]
  const counts = async () => JSON.parse((await shop.here(['run', 'shop', '--json'])).stdout).counts
  write('{ url: feed.csv }', 'guards: { min_rows: 0 }\n')
  shop.write('feed.csv', csvOf(manyProducts(3)))
  await counts()
  const [header] = csvOf(manyProducts(1)).split('\n')
  shop.write('feed.csv', `${header}\n`)
  expect(await noteOf()).toBe('no rows: a run would send nothing, but may delete what was sent before, because guards.min_rows is 0')
  expect(await counts()).toMatchObject({ read: 0, deletes: 3, withheld: 0 })
  const unchanged = 'no rows: a run would send nothing, and delete nothing'
  const list = 'destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\n'
  for (const [destination, note] of [
    ['destination: { kind: catalog, catalog_id: "4001", missing: keep }\n', unchanged],
    [`map: { key: id, email: title }\n${list}`, unchanged],
    [
      'destination: { kind: catalog, catalog_id: "4001", missing: out-of-stock }\n',
      'no rows: a run may set out of stock what was sent before, because guards.min_rows is 0',
    ],
  ]) {
    shop.write('pipelines/shop.yaml', `source: feed.csv\nguards: { min_rows: 0 }\n${destination}`)
    expect(await noteOf()).toBe(note)
  }
  shop.write('more.csv', csvOf(manyProducts(2)))
  write('[{ url: feed.csv }, { url: more.csv }]', '')
  expect(await noteOf()).toBe('no rows')
  expect(await counts()).toMatchObject({ read: 2, creates: 2 })
  write('{ url: feed.csv }', '')
  expect(await noteOf()).toBe('no rows: a run would send nothing, and delete nothing (guards.min_rows)')
  expect(await counts()).toMatchObject({ read: 0, deletes: 0, withheld: 2 })
})

test('rows of one key of a do-not-reach list are duplicates, as in a run', async () => {
  await using crm = await workspace()
  const list = 'destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\n'
  crm.write('pipelines/optouts.yaml', `source: { url: optouts.csv }\nmap: { key: id, email: email }\n${list}`)
  crm.write('optouts.csv', 'id,email\n1,ann@example.com\n1,ann.other@example.com\n2,ben@example.com\n')
  const [{ sources }] = JSON.parse((await crm.here(['check', '--json'])).stdout)
  const { counts } = JSON.parse((await crm.here(['run', 'optouts', '--json'])).stdout)
  expect(counts).toMatchObject({ read: 3, valid: 2, rejected: 0, duplicates: 1 })
  expect(sources).toMatchObject([{ rows: 3, valid: 2, rejected: 0, duplicates: 1 }])
})

test.for([
  // Key 2 and 3 have only the address that key 1 opts out. Key 5 keeps its second address.
  [
    'of one address',
    'id,email,second,ok\n1,ann@example.com,,no\n2,ann@example.com,,yes\n3,ann@example.com,,yes\n4,ben@example.com,,yes\n5,ann@example.com,eve@example.com,yes\n',
    '',
  ],
  // A row of key 2 is emptied, so its other row is opted out too.
  [
    'of one row of a key',
    'id,email,second,ok\n1,ann@example.com,,no\n2,ann@example.com,,yes\n2,ben@example.com,,yes\n3,eve@example.com,,yes\n',
    '',
  ],
  [
    'of a filtered row',
    'id,email,second,ok\n1,ann@example.com,,no\n2,ann@example.com,,yes\n3,eve@example.com,,yes\n',
    'except: { id: "1" }\n',
  ],
  ['of a rejected row', 'id,email,second,ok\n,ann@example.com,,no\n2,ann@example.com,,yes\n3,eve@example.com,,yes\n', ''],
  [
    'that makes repeated rows equal or unequal',
    'id,email,second,ok\n1,ann@example.com,,no\n2,ann@example.com,eve@example.com,yes\n2,eve@example.com,,yes\n3,ann@example.com,fay@example.com,yes\n3,ann@example.com,fay@example.com,yes\n',
    '',
  ],
  [
    'before the last row of a key',
    'id,email,second,ok\n1,ann@example.com,,no\n2,ann@example.com,eve@example.com,yes\n2,gus@example.com,,yes\n',
    'duplicates: last\n',
  ],
] as const)('check counts an opt-out %s as a run does', async ([, rows, more]) => {
  await using crm = await workspace()
  const map = 'map: { key: id, email: [email, second] }\nconsent: { column: ok, values: ["yes"] }\n'
  crm.write('pipelines/crm.yaml', `source: { url: crm.csv }\n${map}guards: { max_reject_percent: 100 }\n${more}${audience}`)
  crm.write('crm.csv', rows)
  await expectEqualCounts(crm, 'crm')
})

test('check rejects a membership that has ended, as a run does', async () => {
  await using crm = await workspace()
  const map = 'map: { key: id, email: email, expires_at: until }\n'
  crm.write('pipelines/crm.yaml', `source: { url: crm.csv }\n${map}guards: { max_reject_percent: 100 }\n${audience}`)
  crm.write('crm.csv', 'id,email,until\n1,ann@example.com,2020-01-31\n2,ben@example.com,\n1,ann@example.com,\n')
  await expectEqualCounts(crm, 'crm')
  const [{ sources }] = JSON.parse((await crm.here(['check', 'crm', '--json'])).stdout)
  expect(sources[0]).toMatchObject({ valid: 2, rejects: [{ line: 2, code: 'EXPIRES_AT_INVALID', field: 'expires_at' }] })
})

test('check counts the removals of a do-not-reach list as a run does', async () => {
  await using crm = await workspace()
  const list = 'destination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\n'
  const map = 'map: { key: id, email: email, remove: { column: status, values: [back] } }\n'
  crm.write('pipelines/optouts.yaml', `source: { url: optouts.csv }\n${map}${list}`)
  crm.write(
    'optouts.csv',
    'id,email,status\n1,ann@example.com,back\n1,ben@example.com,\n2,ann@example.com,\n3,ben@example.com,\n4,eve@example.com,\n4,ann@example.com,\n4,fay@example.com,\n',
  )
  await expectEqualCounts(crm, 'optouts')
})

/** Expects the counts of `check` to equal those of a run. */
async function expectEqualCounts(crm: Awaited<ReturnType<typeof workspace>>, pipeline: string): Promise<void> {
  const [{ sources }] = JSON.parse((await crm.here(['check', pipeline, '--json'])).stdout)
  const [{ rows: read, valid, rejected, duplicates, suppressed, filtered = 0 }] = sources
  const { counts } = JSON.parse((await crm.here(['run', pipeline, '--json'])).stdout)
  expect(counts).toMatchObject({ read, valid, rejected, duplicates, suppressed, ...(filtered === 0 ? {} : { filtered }) })
}

function withoutHint({ line, code, field, message }: { line: number; code: string; field: string; message: string }) {
  return { line, code, field, message }
}

test('a reject of a file on one line names the id of its record', async () => {
  const items = [1, 2, 3].map((id) => ({ ...manyProducts(1)[0], id: `J${id}`, ...(id === 2 ? { price: '12' } : {}) }))
  const cwd = folderWith({ 'feed.json': JSON.stringify(items), 'pipelines/shop.yaml': `source: { url: feed.json }\n${catalog('4001')}` })
  const { sources } = JSON.parse((await sluiceHere(['check', '--json'], { cwd })).stdout)[0]
  expect(sources[0].rejects).toMatchObject([{ line: 1, code: 'PRICE_CURRENCY_MISSING', message: 'price "12" has no currency (id "J2")' }])
})
