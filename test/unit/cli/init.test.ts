/** Output of `sluice init`, without files: the text of the pipeline, the lines of `.env`, the proposals. */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { draftPipeline, type Target } from '../../../src/cli/commands/init/draft.ts'
import { addToDotenv } from '../../../src/cli/commands/init/environment.ts'
import type { Inspection } from '../../../src/cli/commands/init/inspection.ts'
import { pipelineText } from '../../../src/cli/commands/init/pipelineText.ts'
import { completeDraft } from '../../../src/cli/commands/init/prompts.ts'
import { reportText } from '../../../src/cli/commands/init/report.ts'
import { commandLineOf, nameFrom, initOptionsOf, type InitOptions } from '../../../src/cli/commands/init/options.ts'
import { expandVariables } from '../../../src/pipeline/variables.ts'
import { columnForField, fieldsForColumn } from '../../../src/mapping/headerWords.ts'
import { width } from '../../../src/cli/terminal/width.ts'
import { parseCommandLine } from '../../../src/cli/commandLine/parseCommandLine.ts'

describe('the pipeline file', () => {
  test('keeps a column whose name looks like a variable', () => {
    const inspection = table(['id', '${email}'], [['1', 'a@example.com']])
    const text = pipelineText(draftPipeline(inspection, audience, options({ map: { key: ['id'], email: ['${email}'] } })), inspection)
    expect(expandVariables(parse(text).map, {})).toEqual({ value: { key: 'id', email: '${email}' }, problems: [], references: [] })
  })

  test('has recognized settings as values, and optional settings as comments', () => {
    const inspection = table(
      ['Kundennummer', 'E-Mail', 'Telefon', 'Land', 'Newsletter'],
      [
        ['K1', 'a@example.com', '030 5550101', 'DE', 'ja'],
        ['K2', 'b@example.com', '030 5550102', 'DE', 'nein'],
        ['K3', 'c@example.com', '030 5550103', 'DE', 'ja'],
      ],
    )
    const text = pipelineText(draftPipeline(inspection, audience, options()), inspection)
    expect(parse(text)).toEqual({
      source: { url: 'crm.csv' },
      map: { key: 'Kundennummer', email: 'E-Mail', phone_number: { column: 'Telefon', default_country: 'Land' } },
      destination: { kind: 'audience', account_id: '18ce54d4x5t', audience_id: '1nmth' },
    })
    expect(text).toContain('#   Newsletter: "ja" 2, "nein" 1\n# consent: { column: Newsletter, values: [ja] }\n')
    for (const comment of ['# schedule: ', '# guards: ', '# missing: ']) expect(text.includes(comment)).toBe(comment !== '# missing: ')
    expect(text.split('\n').length).toBeLessThan(40)
  })

  test('parses to its settings for any names of columns', { tags: ['long'] }, () => {
    const name = fc.oneof(
      fc.string({ unit: 'binary', minLength: 1, maxLength: 12 }),
      fc.constantFrom('yes', '1e3', '#a', '- b', 'a: b', '{x}', "it's", 'a"b', '~', '\u2028'),
    )
    fc.assert(
      fc.property(
        fc.uniqueArray(
          name.filter((text) => text.trim() !== '' && !text.includes('=')),
          { minLength: 2, maxLength: 6 },
        ),
        ([key = '', email = '', ...rest]) => {
          const inspection = table([key, email, ...rest], [['1', 'a@example.com']])
          const draft = draftPipeline(inspection, audience, options({ map: { key: [key], email: [email, ...rest] } }))
          const parsed: unknown = parse(pipelineText(draft, inspection))
          expect(parsed).toEqual({ ...draft.settings })
        },
      ),
      { numRuns: 100 },
    )
  })

  test('contains no personal value: values that are not consent states are left out', () => {
    const inspection = table(
      ['id', 'email', 'unsubscribed by'],
      [
        ['1', 'jane@example.com', ''],
        ['2', 'joe@example.com', 'jane.doe@example.com'],
        ['3', 'ann@example.com', '+1-202-555-0101'],
      ],
    )
    const text = pipelineText(draftPipeline(inspection, audience, options()), inspection)
    expect(text).toContain('# consent: { column: "unsubscribed by", values: [""] }')
    expect(text).not.toMatch(/@|555/)
  })
})

test.for([40, 80, undefined])('the summary of init fits %s columns, with commands in one line', (columns) => {
  const inspection = table(
    ['Kundennummer', 'E-Mail', 'Telefon', '漢字漢字漢字漢字漢字', 'Newsletter'],
    [['K1', 'a@example.com', '030 5550101', 'DE', 'ja']],
  )
  const env = { text: 'A=1', added: ['A'], kept: [], notes: [] }
  const text = reportText(draftPipeline(inspection, audience, options()), inspection, env, { sandbox: true, output: { columns } })
  const lines = text.trimEnd().split('\n')
  if (columns !== undefined) for (const line of lines) expect(width(line)).toBeLessThanOrEqual(columns)
  expect(lines.at(-1)).toBe('       sluice check crm')
  expect(lines.at(-2)).toMatch(/^Next {3}sluice sandbox( {3}\(in a second terminal, unless it runs already\))?$/)
  expect(text.replace(/\s+/g, ' ')).toContain('key ← Kundennummer, email ← E-Mail, phone_number ← Telefon 1 row: 1 valid, 0 rejects')
})

describe('columns are recognized by name', () => {
  test.for([
    'sale_price',
    'product_type',
    'item_group_id',
    'additional_image_link',
    'default_country',
    'device_id',
    'partner_user_id',
    'email',
  ])('%s is the column of its own field', (field) => {
    expect(columnForField(field, ['other', field])).toBe(field)
    expect(fieldsForColumn(field)[0]).toBe(field)
  })

  test('letters that Unicode does not decompose are compared without their signs', () => {
    expect(columnForField('title', ['Fiyat', 'Ürün Adı'])).toBe('Ürün Adı')
    expect(columnForField('image_link', ['Tytuł', 'Zdjęcie'])).toBe('Zdjęcie')
    expect(columnForField('title', ['Cena', 'Tytuł'])).toBe('Tytuł')
  })
})

describe('required answers', () => {
  test('are listed together if they are missing: columns, the address of a shop, a currency', () => {
    const shop = table(
      [
        'Handle',
        'Title',
        'Body (HTML)',
        'Vendor',
        'Variant SKU',
        'Variant Price',
        'Image Src',
        'Status',
        'Published',
        'Variant Inventory Qty',
      ],
      [['cup', 'Cup', 'A cup', 'Acme', 'C1', '9.50', 'https://cdn.example.com/1.jpg', 'active', 'true', '5']],
    )
    expect(draftPipeline(shop, catalog, options()).required.map(({ flag }) => flag)).toEqual([
      '--shop https://shop.example.com',
      '--currency EUR',
    ])
    const full = draftPipeline(shop, catalog, options({ shop: 'https://cups.example.com', currency: 'usd' }))
    expect(full).toMatchObject({ required: [], valid: 1, settings: { options: { default_currency: 'USD' } } })
    expect(full.settings.map?.['link']).toEqual({ column: 'Handle', transform: { prefix: { with: 'https://cups.example.com/products/' } } })
    const few = table(
      ['id', 'title', 'description', 'link', 'image_link', 'price'],
      [['1', 'a', 'b', 'https://a.example.com', 'https://a.example.com', '1']],
    )
    expect(draftPipeline(few, catalog, options()).required.map(({ flag }) => flag)).toEqual(['--map availability=COLUMN', '--currency EUR'])
    expect(draftPipeline(few, catalog, options({ set: { availability: 'in stock' }, currency: 'EUR' })).settings.map).toEqual({
      condition: { const: 'new' },
      availability: { const: 'in stock' },
    })
    const odd = table(['x1', 'x2'], [['1', '2']])
    expect(draftPipeline(odd, audience, options()).required.map(({ flag }) => flag)).toEqual(['--map key=COLUMN', '--map email=COLUMN'])
  })

  test('a column that no flag names is not mapped to an optional field once a mapping is given', () => {
    const link = 'https://shop.example.com/1.jpg'
    const inspection = table(
      ['SKU', 'Name', 'Text', 'Bestand', 'Preis', 'URL', 'Bild', 'Model', 'Hersteller'],
      [['1', 'Cup', 'A cup', '5', '9.50 EUR', link, link, 'M-1', 'Acme']],
    )
    const map = { id: ['SKU'], title: ['Name'], description: ['Text'], brand: ['Hersteller'] }
    const given = draftPipeline(inspection, catalog, options({ map }))
    expect(given.settings.map).not.toHaveProperty('mpn')
    expect(given.settings.map).not.toHaveProperty('inventory')
    expect(draftPipeline(inspection, catalog, options()).settings.map).not.toHaveProperty('mpn')
    expect(given.valid).toBe(1)
  })

  test('a currency that contradicts the file is rejected, in a column of its own or in the prices', () => {
    const header = ['id', 'title', 'description', 'availability', 'condition', 'link', 'image_link', 'brand', 'price', 'currencyCode']
    const link = 'https://shop.example.com/1.jpg'
    const feed = (price: string, currency: string) =>
      table(header, [['1', 'Cup', 'A cup', 'in stock', 'new', link, link, 'Acme', price, currency]])
    expect(draftPipeline(feed('1290', 'JPY'), catalog, options())).toMatchObject({ valid: 1, required: [], settings: {} })
    for (const inspection of [feed('1290', 'JPY'), feed('1290 JPY', '')])
      expect(() => draftPipeline(inspection, catalog, options({ currency: 'usd' }))).toThrow(/--currency usd contradicts .*JPY/)
    expect(draftPipeline(feed('1290', 'JPY'), catalog, options({ currency: 'JPY' })).valid).toBe(1)
  })

  test('the country of phone numbers is required where nothing else is there, and optional beside addresses', () => {
    const phones = table(['id', 'phone'], [['1', '030 5550101']])
    expect(draftPipeline(phones, audience, options({ map: { phone_number: ['phone'] } })).required.map(({ flag }) => flag)).toContain(
      '--country DE',
    )
    const both = table(['id', 'email', 'phone'], [['1', 'a@example.com', '030 5550101']])
    const draft = draftPipeline(both, audience, options())
    expect([draft.required, draft.optional.map(({ flag }) => flag)]).toEqual([[], ['--country DE']])
    expect(draftPipeline(both, audience, options({ country: 'DE' })).settings.map?.['phone_number']).toEqual({
      column: 'phone',
      default_country: 'DE',
    })
  })

  test.for(['Mobile Phone Number', 'Billing Phone', 'Shipping Phone', 'Primary Phone'])(
    '"%s" is read as a phone number, with or without emails',
    (name) => {
      const numbers = [
        ['1', '+1 202-555-0110'],
        ['2', '+1 202-555-0111 x752'],
      ]
      const alone = draftPipeline(table(['id', name], numbers), audience, options())
      expect([alone.settings.map, alone.valid]).toEqual([{ key: 'id', phone_number: name }, 2])
      const rows = numbers.map(([id = '', phone = ''], i) => [id, i === 0 ? 'a@example.com' : '', phone])
      const beside = draftPipeline(table(['id', 'email', name], rows), audience, options())
      expect([beside.settings.map, beside.valid]).toEqual([{ key: 'id', email: 'email', phone_number: name }, 2])
    },
  )

  test('a list of addresses uses the addresses as keys', () => {
    const inspection = table(['Mail'], [['a@example.com']])
    expect(draftPipeline(inspection, audience, options())).toMatchObject({
      settings: { map: { email: 'Mail', key: 'Mail' } },
      optional: [],
    })
    const [question] = draftPipeline(table(['Nr', 'Mail'], [['1', 'a@example.com']]), audience, options()).optional
    expect(question).toMatchObject({ flag: '--map key=COLUMN', proposed: 'Mail' })
  })

  test('a preset still applies if the user gives a map', () => {
    const hubspot = ['Record ID', 'First Name', 'Last Name', 'Email', 'Phone Number', 'Marketing contact status']
    const inspection = table(hubspot, [['1', 'J', 'D', 'a@example.com', '030 5550101', 'Marketing contact']])
    const plain = draftPipeline(inspection, audience, options())
    expect([plain.settings.preset, plain.settings.map]).toEqual([undefined, undefined])
    expect(plain.recognized.preset).toBe('hubspot')
    const { settings, recognized } = draftPipeline(inspection, audience, options({ country: 'DE' }))
    expect(settings.preset).toBe('hubspot')
    expect(recognized.fields.map(({ field }) => field)).toEqual(expect.arrayContaining(['key', 'email', 'phone_number']))
  })

  test.for([
    [{ map: { key: ['nope'] } }, /no column "nope"/],
    [{ map: { nope: ['id'] } }, /unknown field "nope"/],
    [{ shop: 'http://shop.example.com' }, undefined],
    [{ currency: 'XXQ' }, /XXQ/],
  ] as const)('%j is rejected with the reason, or ignored if it is not needed', ([given, reason]) => {
    const inspection = table(['id', 'email'], [['1', 'a@example.com']])
    const call = () => draftPipeline(inspection, audience, options(given))
    if (reason === undefined) expect(call).not.toThrow()
    else expect(call).toThrow(reason)
  })
})

describe('consent', () => {
  const hubspot = [
    'Record ID',
    'Email',
    'Phone Number',
    'First Name',
    'Last Name',
    'Unsubscribed from all email',
    'Marketing contact status',
  ]
  const inspection = table(hubspot, [
    ['1', 'a@example.com', '', 'J', 'D', '', 'Marketing contact'],
    ['2', 'b@example.com', '', 'J', 'D', 'true', 'Marketing contact'],
    ['3', 'c@example.com', '', 'J', 'D', '', 'Non-marketing contact'],
  ])

  test('a test that the user chooses is added to those of the export, and replaces none', () => {
    const [question] = draftPipeline(inspection, audience, options()).optional
    expect(question).toMatchObject({ proposed: 'Marketing contact' })
    const draft = draftPipeline(inspection, audience, options(question?.answered('Marketing contact')))
    expect(draft.settings.consent).toEqual([
      { column: 'Unsubscribed from all email', values: ['false', '0', 'no', ''] },
      { column: 'Marketing contact status', values: ['Marketing contact'] },
    ])
    expect([draft.valid, draft.suppressed]).toEqual([1, 2])
    expect(parse(pipelineText(draft, inspection))).toEqual({ ...draft.settings })
  })

  /** Column, cells of three people, and the proposed answer; undefined if nothing is proposed. */
  test.for([
    ['OPTIN_TIME', ['2024-01-02', '', '2024-03-04'], 'after:1970-01-02'],
    ['OPTIN_TIME', ['2.1.2024', '', '4.3.2024'], undefined],
    ['UNSUB_TIME', ['2024-01-02', '', ''], 'empty'],
    ['UNSUB_TIME', ['2024-01-02', '2024-01-03', '2024-01-04'], undefined],
    ['OPTIN_TIME', ['', '', ''], undefined],
    ['status', ['unsubscribed', 'unsubscribed', 'cleaned'], undefined],
    ['status', ['subscribed', 'unsubscribed', 'cleaned'], 'subscribed'],
    ['email_disabled', ['true', 'false', 'true'], 'false'],
    ['Newsletter', ['weekly', 'no', 'monthly'], undefined],
    ['Newsletter', ['no', 'no', 'no'], undefined],
  ] as const)('%s with %j proposes %s', ([column, cells, proposed]) => {
    const rows = cells.map((cell, i) => [String(i), `p${i}@example.com`, cell])
    const { optional } = draftPipeline(table(['id', 'email', column], rows), audience, options())
    expect(optional.map((question) => [question.flag.startsWith('--consent'), question.proposed])).toEqual([[true, proposed]])
  })

  test('the column of another channel is not proposed, and an ignored column is declared irrelevant', () => {
    const sms = table(['id', 'email', 'Accepts SMS Marketing'], [['1', 'a@example.com', 'no']])
    expect(draftPipeline(sms, audience, options())).toMatchObject({ optional: [], valid: 1 })
    const text = pipelineText(draftPipeline(inspection, audience, options({ ignore: ['Marketing contact status'] })), inspection)
    expect(parse(text)).toMatchObject({ ignore: ['Marketing contact status'] })
  })

  test('the proposal in the file has both columns', () => {
    const text = pipelineText(draftPipeline(inspection, audience, options()), inspection)
    const proposed: unknown = parse(text.replace('# consent:', 'consent:'))
    expect(proposed).toMatchObject({ consent: [{ column: 'Unsubscribed from all email' }, { column: 'Marketing contact status' }] })
  })
})

describe('a proposal is tried on the rows before it is written', () => {
  const columns = ['id', 'title', 'description', 'link', 'image_link', 'price', 'brand', 'Stock status']
  const row = (stock: string) => ['1', 'Cup', 'A cup', 'https://a.example.com', 'https://a.example.com/1.jpg', '9.00 EUR', 'Acme', stock]

  test('a stock column with words is read as words, and one with numbers as numbers', () => {
    const ofWords = draftPipeline(table(columns, [row('In stock'), row('Out of stock')]), catalog, options())
    expect([ofWords.valid, ofWords.settings.map?.['availability']]).toEqual([2, 'Stock status'])
    const ofNumbers = draftPipeline(table(columns, [row('4'), row('0')]), catalog, options())
    expect([ofNumbers.valid, ofNumbers.settings.map?.['availability']]).toEqual([2, { column: 'Stock status', transform: 'stock' }])
  })

  test('a proposal that rejects every row is not written', async () => {
    const inspection = table(columns, [row('red'), row('green')])
    await expect(completeDraft(inspection, catalog, options(), undefined)).rejects.toMatchObject({
      code: 'MISSING_OPTION',
      where: '--map availability=COLUMN',
      message: expect.stringContaining('all 2 inspected rows would be rejected: availability ← "Stock status"') as string,
    })
    const named = options({ map: { availability: ['Stock status'] } })
    expect(await completeDraft(inspection, catalog, named, undefined)).toMatchObject({ valid: 0 })
  })
})

describe('.env', () => {
  const values = { A: '1', B: '2' }
  test('gets the variables that it lacks, keeps the others, and repeats none', () => {
    const once = addToDotenv('B=mine\n# note\n', values, ['why'])
    expect(once).toEqual({ text: 'B=mine\n# note\n\n# why\nA=1\n', added: ['A'], kept: ['B'] })
    expect(addToDotenv(once.text ?? '', values, ['why'])).toEqual({ text: undefined, added: [], kept: ['A', 'B'] })
  })

  test('gets a value for an empty variable, and no hint to set it again', () => {
    const empty = addToDotenv('', { A: '', B: '' }, ['fill in'])
    expect(empty.text).toBe('# fill in\nA=\nB=\n')
    expect(addToDotenv(empty.text ?? '', { A: '', B: '' }, ['fill in']).text).toBeUndefined()
    expect(addToDotenv('export A=\nB=x\n', { A: '$1', B: '2' }, []).text).toBe('export A=$1\nB=x\n')
  })
})

test.for([
  ['exports/CRM Export (2026).csv.gz', 'crm-export-2026'],
  ['https://shop.example.com/export/Products%202.xml?token=1', 'products-2'],
  ['https://shop.example.com/', 'shop-example-com'],
  ['s3://bucket/feeds/de.jsonl.zst', 'de'],
  ['Käufer groß.xlsx', 'kaufer-gross'],
  ['顧客.csv', 'pipeline'],
  ['-', 'pipeline'],
] as const)('the pipeline of %s is called %s', ([source, name]) => {
  expect(nameFrom(source)).toBe(name)
})

test('any source gives a valid name of a pipeline', () => {
  const sources = fc.oneof(fc.string({ unit: 'binary' }), fc.webUrl())
  fc.assert(
    fc.property(sources, (source) => {
      expect(nameFrom(source)).toMatch(/^[A-Za-z0-9][\w-]{0,63}$/)
    }),
  )
})

test('the suggested command has every given answer, quoted for a shell', () => {
  const said = wishesFrom(
    'init',
    'crm',
    '--source',
    "Jane's list.csv",
    '--audience',
    '1nmth',
    '--account',
    '18ce54d4x5t',
    '--map',
    'key=No=1',
    '--consent',
    'ok=yes,1',
  )
  // A flag has no notation for these tests, and a shorter one would pass other rows.
  const tests = [
    { column: 'sms', values: ['yes'], appliesTo: 'phone_number' as const },
    { column: 'date', after: '2025-01-01', before: '2026-01-01' },
  ]
  expect(commandLineOf({ ...said, consent: [...said.consent, ...tests] }, [])).toBe(commandLineOf(said, []))
  expect(said).toMatchObject({ map: { key: ['No=1'] }, consent: [{ column: 'ok', values: ['yes', '1'] }] })
  expect(commandLineOf(said, ['--country DE'])).toBe(
    String.raw`sluice init crm --source 'Jane'\''s list.csv' --audience 1nmth --account 18ce54d4x5t --map key=No=1 --consent ok=yes,1 --country DE`,
  )
})

test.for([
  [['init', 'a/b'], 'sluice init b'],
  [['init', 'foo bar', '--source', 'my crm.csv', '--sandbox'], "sluice init foo-bar --source 'my crm.csv' --sandbox"],
  [['init', '--catalog', '1', '--audience', '2'], 'sluice init --catalog 1   (one pipeline per destination)'],
  [['init', '--map', 'key'], '--map key=customer_id'],
  [['init', '--consent', 'ok'], '--consent marketing_ok=yes,true'],
] as const)('%j is rejected with the hint %s', ([argv, hint]) => {
  expect(() => wishesFrom(...argv)).toThrow(expect.objectContaining({ hint }) as Error)
})

const audience: Target = { name: 'crm', file: 'pipelines/crm.yaml', kind: 'audience', targetId: '1nmth', account: '18ce54d4x5t' }
const catalog: Target = { name: 'shop', file: 'pipelines/shop.yaml', kind: 'catalog', targetId: '4001', account: undefined }

function options(given: Partial<InitOptions> = {}): InitOptions {
  return { ...wishesFrom('init'), source: 'crm.csv', ...given }
}

function wishesFrom(...argv: readonly string[]): InitOptions {
  const request = parseCommandLine(argv, '1.0.0')
  if (request.kind !== 'run') throw new Error('init runs')
  return initOptionsOf(request.invocation)
}

function table(columns: readonly string[], cells: readonly (readonly string[])[]): Inspection {
  const rows = cells.map((row, i) => ({ line: i + 2, columns, cells: row }))
  return {
    uri: 'crm.csv',
    detected: ['csv', 'utf-8'],
    columns,
    rows,
    whole: true,
    inspectedAt: new Date('2026-06-15'),
    needsMap: false,
    isTable: true,
  }
}
