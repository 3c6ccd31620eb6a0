/** The five commands of the README: from a new source file to products and people at the service. */
import { mkdirSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { spawn, spawnSync } from 'node:child_process'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { workbook } from '../../unit/formats/workbookOf.ts'
import { emptyFolder, ended, launcher, sluice, sluiceHere } from './support.ts'
import { encodeAs } from '../../support/encodeAs.ts'
import { json, workspace } from './workspace.ts'

const count = 12
const numbers = Array.from({ length: count }, (_, i) => i)
const link = (i: number) => `https://shop.example.com/${i}`
const google = (i: number) =>
  `<g:id>P${i}</g:id><g:image_link>${link(i)}.jpg</g:image_link><g:price>19.99 EUR</g:price><g:availability>in stock</g:availability><g:condition>new</g:condition><g:brand>Acme</g:brand>`
const row = (cells: readonly string[]) => `<row>${cells.map((text) => `<c t="inlineStr"><is><t>${text}</t></is></c>`).join('')}</row>`

/** Files of users, with the answers that `init` needs and only the owner of the file has. */
const unknown: readonly {
  readonly file: string
  readonly content: string | Uint8Array
  readonly flags?: readonly string[]
  readonly members?: number
}[] = [
  {
    file: 'Kunden Export.csv',
    content: Buffer.from(
      [
        'Kundennummer;Vorname;E-Mail;Telefon;Land;Newsletter',
        ...numbers.map((i) => `K${i};Jörg;joerg.${i}@example.com;+1-202-555-01${10 + i};US;${i % 3 ? 'ja' : 'nein'}`),
        '',
      ].join('\r\n'),
      'latin1',
    ),
    flags: ['--encoding', 'windows-1252', '--consent', 'Newsletter=ja'],
    members: 8,
  },
  {
    file: 'catalog-sjis.csv',
    content: encodeAs(
      [
        'id,title,description,availability,condition,price,link,image_link,brand',
        ...numbers.map(
          (i) =>
            `J${i},${['赤い靴', '青いカップ', '木製のテーブル', '夏用の帽子'][i % 4]},柔らかい革で作られた靴です。,in stock,new,${990 + i} JPY,${link(i)},${link(i)}.jpg,Acme`,
        ),
        '',
      ].join('\n'),
      'shift_jis',
    ),
  },
  {
    file: 'products_export_1.csv',
    content: [
      'Handle,Title,Body (HTML),Vendor,Type,Published,Variant SKU,Variant Inventory Qty,Variant Price,Image Src,Status',
      ...numbers.map((i) => `cup-${i},Cup ${i},A cup,Acme,Cups,true,C${i},5,19.99,${link(i)}.jpg,active`),
      '',
    ].join('\n'),
    flags: ['--shop', 'https://cups.example.com', '--currency', 'EUR'],
  },
  {
    file: 'feed.xml',
    content: `<?xml version="1.0"?><rss version="2.0" xmlns:g="http://base.google.com/ns/1.0"><channel><title>Shop</title>${numbers
      .map((i) => `<item><title>Cup ${i}</title><description>A cup</description><link>${link(i)}</link>${google(i)}</item>`)
      .join('')}</channel></rss>`,
  },
  {
    file: 'atom.xml',
    content: `<?xml version="1.0"?><feed xmlns="http://www.w3.org/2005/Atom" xmlns:g="http://base.google.com/ns/1.0"><title>Shop</title>${numbers
      .map((i) => `<entry><title>Cup ${i}</title><summary>A cup</summary><link href="${link(i)}"/>${google(i)}</entry>`)
      .join('')}</feed>`,
  },
  {
    file: 'items.jsonl',
    content: numbers
      .map(
        (i) =>
          `${JSON.stringify({ sku: `J${i}`, name: `Lamp ${i}`, text: 'A lamp', url: link(i), image: `${link(i)}.jpg`, price: { amount: '12.50', currency: 'EUR' }, qty: i % 4 })}\n`,
      )
      .join(''),
    flags: ['--set', 'brand=Acme'],
  },
  {
    file: 'Bestand.xlsx',
    content: workbook(
      [
        row(['Artikelnummer', 'Bezeichnung', 'Beschreibung', 'Preis', 'Bestand', 'URL', 'Bild', 'Marke']),
        ...numbers.map((i) => row([`A${i}`, `Tasse ${i}`, 'Eine Tasse', '9.50', '3', link(i), `${link(i)}.jpg`, 'Acme'])),
      ].join(''),
    ),
    flags: ['--currency', 'EUR'],
  },
]

test.for(unknown)('$file runs by the five commands of the README', { tags: ['long'] }, async ({ file, content, flags = [], members }) => {
  await using shop = await workspace()
  writeFileSync(join(shop.folder, file), content)
  const made = json(await shop.here(['init', 'try', '--source', file, '--sandbox', '--json', ...flags]))
  expect(made).toMatchObject({ pipeline: 'try', source: { rows: count, rejected: 0 }, next: 'sluice check try' })
  const checked = await shop.here(['check', 'try', '--json'])
  expect(checked.code).toBe(0)
  expect(json(checked)[0].sources[0]).toMatchObject({ rows: count, valid: members ?? count, rejects: [], holds: [] })
  const planned = await shop.here(['plan', 'try', '--json'])
  expect([planned.code, json(planned).counts.creates]).toEqual([0, members ?? count])
  const ran = await shop.here(['run', 'try', '--json'])
  expect([ran.code, json(ran).counts.confirmed]).toEqual([0, members ?? count])
  const at = members === undefined ? await shop.sandbox.control.catalog() : await shop.sandbox.control.audience()
  expect(at).toMatchObject(members === undefined ? { products: count } : { members })
  expect(await shop.sandbox.control.violations()).toEqual([])
})

describe('by flags alone', () => {
  const folder = (csv = 'id,email,phone\n1,a@example.com,+12025550101\n') => {
    const cwd = emptyFolder()
    writeFileSync(join(cwd, 'crm.csv'), csv)
    return cwd
  }

  test.for([
    [['init'], '--source FILE', 'sluice init --source exports/crm.csv'],
    [
      ['init', '--source', 'crm.csv'],
      '--catalog ID | --audience ID --account ID | --do-not-reach ID --account ID | --sandbox',
      'sluice init --source crm.csv --audience ID --account ID',
    ],
    [['init', '--source', 'crm.csv', '--audience', 'a1'], '--account ID', 'sluice init --source crm.csv --audience a1 --account ID'],
    [['init', '--source', 'crm.csv', '--catalog', '1'], '--map description=COLUMN', undefined],
  ] as const)('%j is refused by the name of the flag, and writes nothing', async ([argv, where, hint]) => {
    const cwd = folder()
    const { code, stdout } = await sluiceHere([...argv, '--json'], { cwd })
    const { error } = JSON.parse(stdout)
    expect([code, error.code]).toEqual([2, 'MISSING_OPTION'])
    expect(error.where).toContain(where)
    if (hint !== undefined) expect(error.hint).toBe(hint)
    expect(readdirSync(cwd)).toEqual(['crm.csv'])
  })

  test('a file is replaced only with --force, and no second file has the same destination', async () => {
    const cwd = folder()
    const call = ['init', '--source', 'crm.csv', '--sandbox']
    expect((await sluiceHere(call, { cwd })).code).toBe(0)
    const file = join(cwd, 'pipelines/crm.yaml')
    writeFileSync(file, '# mine\n')
    const again = await sluiceHere(call, { cwd })
    expect(again.stderr).toMatch(/FILE_EXISTS.*\nhint {3}sluice init --source crm\.csv --sandbox --force /)
    expect([again.code, readFileSync(file, 'utf8')]).toEqual([2, '# mine\n'])
    expect((await sluiceHere([...call, '--force'], { cwd })).code).toBe(0)
    expect(readFileSync(file, 'utf8')).toContain('audience_id: "1nmth"')
    const conflict = await sluiceHere(['init', 'other', ...call.slice(1)], { cwd })
    expect(conflict.code).toBe(2)
    expect(conflict.stderr).toContain('error  DESTINATION_TAKEN  pipelines/crm.yaml already writes to audience 1nmth')
    const own = readFileSync(file, 'utf8')
    const set = 'consumer_key: "k", consumer_secret: "s", access_token: "1-t", access_token_secret: "t"'
    writeFileSync(join(cwd, 'sluice.yaml'), `credentials: { eu: { base_url: "http://127.0.0.1:9", ${set} } }\n`)
    writeFileSync(file, `${own}credentials: eu\n`)
    // The same id with other credentials is another destination, as for the loader.
    expect((await sluiceHere(['init', 'other', ...call.slice(1)], { cwd })).stderr).not.toContain('DESTINATION_TAKEN')
    rmSync(join(cwd, 'pipelines/other.yaml'))
    writeFileSync(join(cwd, 'pipelines/shop.ts'), '')
    expect((await sluiceHere(['init', 'shop', ...call.slice(1), '--force'], { cwd })).stderr).toContain('pipelines/shop.ts exists already')
    expect(readdirSync(join(cwd, 'pipelines')).toSorted()).toEqual(['crm.yaml', 'shop.ts'])
  })

  test('.env gets mode 0600, keeps its values, and is completed once', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, '.env'), 'OTHER=1\nSLUICE_ACCESS_TOKEN=\n', { mode: 0o644 })
    const made = json(await sluiceHere(['init', '--source', 'crm.csv', '--sandbox', '--json'], { cwd }))
    expect(made.env.added).toHaveLength(7)
    const text = readFileSync(join(cwd, '.env'), 'utf8')
    expect(text).toMatch(/^OTHER=1\nSLUICE_ACCESS_TOKEN=1001-sandbox-access-token\n/)
    expect(statSync(join(cwd, '.env')).mode & 0o777).toBe(0o600)
    const again = json(await sluiceHere(['init', '--source', 'crm.csv', '--sandbox', '--force', '--json'], { cwd }))
    expect([again.env.added, again.env.kept.length]).toEqual([[], 7])
    expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe(text)
  })

  test('a .env for another service is not changed, and init says so', async () => {
    const cwd = folder()
    const mine = 'SLUICE_BASE_URL=https://service.example.com\n'
    writeFileSync(join(cwd, '.env'), mine)
    const { code, stdout } = await sluiceHere(['init', '--source', 'crm.csv', '--sandbox'], { cwd })
    expect(code).toBe(0)
    expect(stdout).toContain('note   .env was not changed: SLUICE_BASE_URL')
    expect(readFileSync(join(cwd, '.env'), 'utf8')).toBe(mine)
  })

  test('repeats neither names nor tokens of an address', async () => {
    const cwd = folder()
    const server = createServer((_, response) => response.writeHead(404).end())
    onTestFinished(() => void server.close())
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
    const { port } = server.address() as AddressInfo
    for (const source of [
      'https://canary-user:canary-pass@127.0.0.1:9/x.csv',
      `http://127.0.0.1:${port}/x.csv?token=canary-token`,
      'sftp://canary-user:canary@127.0.0.1:9/x.csv',
      'postgres://canary:canary@127.0.0.1:9/x',
    ])
      for (const flags of [['--sandbox'], ['--sandbox', '--json'], []]) {
        const { code, stdout, stderr } = await sluiceHere(['init', 'crm', '--source', source, ...flags], { cwd })
        expect(code).not.toBe(0)
        expect(stdout + stderr).not.toContain('canary')
      }
    const call = ['init', 'x', '--source', 'https://canary-user:canary-pass@shop.example.com/x.csv?token=canary', '--sandbox']
    mkdirSync(join(cwd, 'pipelines'))
    writeFileSync(join(cwd, 'pipelines/x.yaml'), '')
    const { stderr } = await sluiceHere(call, { cwd })
    expect(stderr).toContain("sluice init x --source 'https://shop.example.com/x.csv?…' --sandbox --force")
  })

  test.each([
    ['sftp://export@127.0.0.1:9/crm.csv', 'an sftp source needs its host_key and credentials'],
    ['postgres://reader@127.0.0.1:9/shop', 'source.query'],
  ])('a source whose settings it does not ask for is written by hand: %s', async (source, message) => {
    const { code, stderr } = await sluiceHere(['init', 'crm', '--source', source, '--sandbox'], { cwd: folder() })
    expect([code, stderr]).toEqual([2, expect.stringContaining(message)])
    expect(stderr).toContain('write the pipeline file by hand, as docs/sources.md shows')
  })

  test('reads stdin, and prints no address from it', async () => {
    const cwd = folder()
    const args = ['init', 'crm', '--source', '-', '--audience', 'a1', '--account', '18ce54d4x5t']
    const { code, stdout, stderr } = await sluice(args, { cwd, input: 'id,email\n1,jane.doe@example.com\n' })
    expect([code, stderr]).toEqual([0, ''])
    expect(stdout + readFileSync(join(cwd, 'pipelines/crm.yaml'), 'utf8')).not.toContain('jane')
  })

  test('an uncertain encoding needs its flag; the message shows samples of the likely ones', async () => {
    const cwd = emptyFolder()
    writeFileSync(join(cwd, 'cups.csv'), Buffer.from('id,title\n1,Schüssel\n2,Cup\n', 'latin1'))
    const { code, stderr } = await sluiceHere(['init', '--source', 'cups.csv', '--sandbox'], { cwd })
    expect(code).toBe(2)
    expect(stderr).toContain('windows-1252 reads "Schüssel"')
    expect(stderr).toContain('sluice init --source cups.csv --sandbox --encoding windows-1252')
    expect(readdirSync(cwd)).toEqual(['cups.csv'])
  })

  test('a missing source exits 1, and a web page is reported as a web page', async () => {
    const cwd = folder()
    writeFileSync(join(cwd, 'page.csv'), '<!doctype html><html></html>')
    expect((await sluiceHere(['init', '--source', 'gone.csv', '--catalog', '1'], { cwd })).code).toBe(1)
    expect((await sluiceHere(['init', '--source', 'page.csv', '--catalog', '1'], { cwd })).stderr).toContain('UNEXPECTED_CONTENT')
    expect(readdirSync(cwd).toSorted()).toEqual(['crm.csv', 'page.csv'])
  })

  test('a bare channel gets the map that it needs', async () => {
    const cwd = emptyFolder()
    mkdirSync(join(cwd, 'in'))
    const items = numbers.map(
      (i) => `<item><title>Cup ${i}</title><description>A cup</description><link>${link(i)}</link>${google(i).replaceAll('g:', '')}</item>`,
    )
    writeFileSync(join(cwd, 'in/feed.xml'), `<channel>${items.join('')}</channel>`)
    expect((await sluiceHere(['init', '--source', 'in/feed.xml', '--catalog', '1'], { cwd })).code).toBe(0)
    const checked = await sluiceHere(['check', '--json'], { cwd })
    expect(json(checked)[0].sources[0]).toMatchObject({ valid: count })
  })
})

const hasScript = spawnSync('script', ['--version']).status === 0
describe('on a terminal (needs "script" of util-linux)', () => {
  const answering = (answers: readonly string[], env: Readonly<Record<string, string>> = {}) => {
    const cwd = emptyFolder()
    writeFileSync(join(cwd, 'crm.csv'), Buffer.from('Nr,E-Mail,Newsletter\n1,jörg@example.com,ja\n2,ann@example.com,nein\n', 'latin1'))
    const { PATH = '', HOME = '' } = process.env
    const child = spawn('script', ['-qec', `node "${launcher}" init`, '/dev/null'], {
      cwd,
      env: { PATH, HOME, TERM: 'xterm', ...env },
      stdio: 'pipe',
    })
    const left = [...answers]
    let shown = ''
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      shown += text
      // A prompt ends with a space and a movement of the cursor.
      if (!/[:\]] \u001b\[\d+G$/.test(shown)) return
      shown = ''
      child.stdin.write(left.shift() ?? '\u0004')
    })
    return ended(child).then((outcome) => ({ ...outcome, cwd, left }))
  }

  test.skipIf(!hasScript)('asks for missing values, again after an invalid answer, and proposes the others', async () => {
    const { code, stdout, cwd, left } = await answering(['crm.csv\n', '\n', '\n', '\n', 'Nmr\n', 'Nr\n', '\n'])
    expect([code, left]).toEqual([0, []])
    expect(stdout).toMatch(
      /Which encoding[\s\S]*sandbox of this machine[\s\S]*Destination: [\s\S]*Which column is key[\s\S]*no column "Nmr"[\s\S]*Newsletter/,
    )
    const text = readFileSync(join(cwd, 'pipelines/crm.yaml'), 'utf8')
    for (const line of ['encoding: windows-1252', 'key: Nr', 'consent: { column: Newsletter, values: [ja] }', 'audience_id: "1nmth"'])
      expect(text).toContain(line)
  })

  test.skipIf(!hasScript)('Ctrl-D writes nothing, whatever Enter would have meant', async () => {
    const { code, stdout, cwd } = await answering(['crm.csv\n', '\u0004'])
    expect(code).toBe(2)
    expect(stdout).toContain('MISSING_OPTION')
    expect(readdirSync(cwd)).toEqual(['crm.csv'])
  })

  test.skipIf(!hasScript)('asks nothing in CI', async () => {
    const { code, stdout } = await answering([], { CI: 'true' })
    expect([code, stdout.includes('--source FILE')]).toEqual([2, true])
  })
})
