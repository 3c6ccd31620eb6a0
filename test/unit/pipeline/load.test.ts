import { execFile } from 'node:child_process'
import { mkdtemp, mkdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import type { ConfigError } from '../../../src/errors.ts'
import { importPipeline } from '../../../src/pipeline/importPipeline.ts'
import { loadPipeline, loadPipelines, selectPipelines, selectWithConflicts } from '../../../src/pipeline/load.ts'
import type { ParsedSource } from '../../../src/pipeline/sourceSchema.ts'

let directory = ''
beforeEach(async () => {
  directory = await mkdtemp(path.join(tmpdir(), 'pipelines-'))
})
afterEach(() => rm(directory, { recursive: true }))

const write = (name: string, text: string) => writeFile(path.join(directory, name), text)
const catalog = (id: string) => `source: feed.xml\ndestination: { kind: catalog, catalog_id: "${id}" }\n`

async function problemsOf(name: string, text: string): Promise<string[]> {
  await write(name, text)
  const { errors } = await loadPipelines(directory)
  return errors.flatMap((error) => error.problems.map(({ path: at, message, where }) => `${path.basename(where ?? '')} ${at}: ${message}`))
}

test('the example of a catalog gets every default', async () => {
  await write(
    'shop.yaml',
    `
schedule: "*/30 * * * *"
timezone: Europe/Berlin
overlap: skip
source:
  url: https://shop.example/feed.xml.gz
  format: auto
  complete: { trailer: "#rows={n}" }
  encoding: auto
  compression: auto
  csv: { delimiter: auto, quote: '"' }
map:
  id: id
destination:
  kind: catalog
  catalog_id: "1234"
  missing: delete
guards:
  max_delete_count: 5
`,
  )
  expect(await loadPipeline(directory, 'shop')).toMatchObject({
    name: 'shop',
    schedule: { cron: '*/30 * * * *', timezone: 'Europe/Berlin', overlap: 'skip' },
    sources: [
      {
        uri: 'https://shop.example/feed.xml.gz',
        format: 'auto',
        complete: { kind: 'trailer', pattern: '#rows={n}' },
        csv: { delimiter: 'auto', quote: '"', headerRow: 'auto' },
        allowPrivate: false,
      },
    ],
    map: { id: { columns: ['id'], transforms: [] } },
    destination: { kind: 'catalog', catalogId: '1234', missing: 'delete' },
    guards: { minRows: 1, maxDeleteCount: 5, maxDeletePercent: 10, maxRejectPercent: 50 },
    mapping: { maxIdLength: 100, allow: [] },
  })
})

test('the examples of an audience and a do-not-reach list are valid', async () => {
  await write(
    'crm.yaml',
    `
source: { url: exports/crm.csv }
map:
  key: customer_id
  email: [email, second_email]
  phone_number: { column: phone, default_country: country }
consent: { column: marketing_ok, values: ["yes", true, 1] }
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth, expires_in: 20 days }
`,
  )
  await write(
    'stop.json',
    JSON.stringify({
      source: { url: 'optouts.csv' },
      map: { email: 'email', remove: { column: 'status', values: ['resubscribed'] } },
      destination: { kind: 'do-not-reach', account_id: '18ce54d4x5t', list_id: '2dnr' },
    }),
  )
  const { pipelines, errors } = await loadPipelines(directory)
  expect(errors).toEqual([])
  expect(pipelines).toMatchObject([
    {
      name: 'crm',
      map: { email: { columns: ['email', 'second_email'] }, phone_number: { columns: ['phone'], defaultCountry: 'country' } },
      consent: [{ column: 'marketing_ok', values: ['yes', 'true', '1'] }],
      destination: {
        expiresIn: { ms: 20 * 86_400_000 },
        renewBefore: { ms: 10 * 86_400_000 },
        usersPerOperation: 1,
        suppress: 'do-not-reach',
      },
    },
    {
      name: 'stop',
      remove: { column: 'status', values: ['resubscribed'] },
      destination: { kind: 'do-not-reach', listId: '2dnr', expiresIn: { ms: 392 * 86_400_000 } },
    },
  ])
})

describe('problems', () => {
  test('reports all problems of a file, each with its line and the most similar name', async () => {
    expect(
      await problemsOf(
        'bad.yaml',
        `schedul: "* * * * *"
schedule: "* * *"
timezone: Mars/Base
source:
  url: gopher://x
  fromat: csv
map:
  emial: x
  phone_number: { column: p, transform: { replac: {} } }
destination:
  kind: audience
  account_id: a
  audience_id: b
  expires_in: soon
guards: { min_rows: -1 }
`,
      ),
    ).toEqual(
      expect.arrayContaining([
        'bad.yaml:1 schedul: unknown key "schedul"; did you mean "schedule"?',
        expect.stringMatching(/^bad.yaml:2 schedule: is not a cron expression/),
        expect.stringMatching(/^bad.yaml:3 timezone: is not an IANA/),
        expect.stringMatching(/^bad.yaml:5 source.url: must be a path, or one of/),
        'bad.yaml:6 source.fromat: unknown key "fromat"; did you mean "format"?',
        'bad.yaml:8 map.emial: unknown field "emial"; did you mean "email"?',
        expect.stringMatching(/^bad.yaml:9 map.phone_number.*: unknown transform "replac"; did you mean "replace"\?/),
        expect.stringMatching(/^bad.yaml:14 destination.expires_in: "soon" is not a duration/),
        'bad.yaml:15 guards.min_rows: must be 0 or more',
        expect.stringMatching(/^bad.yaml:\d+ map: needs key/),
      ]),
    )
  })

  test('a variable that is not set is reported with the other problems, but not with those that it causes', async () => {
    const text = 'source: "${TOKEN}"\nschedule: "61 * * * *"\nunknown: 1\ndestination: { kind: catalog, catalog_id: "1" }\n'
    const problems = await problemsOf('a.yaml', text)
    expect(problems).toHaveLength(3)
    expect(problems.join()).toMatch(/source: the variable TOKEN is not set.* schedule: .* unknown: /)
  })

  test.for([
    ['no kind', 'source: x\ndestination: { kind: katalog }\n', 'destination.kind: needs a kind'],
    ['no source', 'destination: { kind: catalog, catalog_id: "1" }\n', 'source: is missing'],
    ['an id that YAML made a float', 'source: x\ndestination: { kind: catalog, catalog_id: 1e5x }\n', undefined],
    [
      'an id with a fraction',
      'source: x\ndestination: { kind: catalog, catalog_id: 1.5 }\n',
      'destination.catalog_id: must be an id; write it in quotes',
    ],
    ['a repeated key', 'source: x\nsource: y\n', 'Map keys must be unique'],
    ['broken YAML', 'source: [\n', 'Flow sequence'],
    ['a prototype key', `__proto__: { a: 1 }\n${catalog('1')}`, '__proto__'],
    [
      'a reference to the environment',
      'source: "https://x.example/${TOKEN}"\ndestination: { kind: catalog, catalog_id: "1" }\n',
      'the variable TOKEN is not set',
    ],
    [
      'a query without postgres',
      'source: { url: a.csv, query: select 1 }\ndestination: { kind: catalog, catalog_id: "1" }\n',
      'source.query: belongs to postgres',
    ],
    [
      'consent for a do-not-reach list, which would free exactly those who refused',
      'source: x\nmap: { email: e }\nconsent: { column: ok, values: ["yes"] }\ndestination: { kind: do-not-reach, account_id: a, list_id: b }\n',
      'consent: belongs to audiences; map.remove removes people from a do-not-reach list',
    ],
    [
      'a schedule without a date',
      `schedule: "0 6 30 2 *"\n${catalog('1')}`,
      'schedule: never runs, because no date matches it: correct the day or the month, or remove the schedule',
    ],
    ...(
      [
        ['expires_in: 9999999 months', 'destination.expires_in: "9999999 months" is longer than 1200 months'],
        ['expires_in: 40000 days', 'destination.expires_in: "40000 days" is longer than 1200 months'],
        ['renew_before: 9999999 days', 'destination.renew_before: "9999999 days" is longer than 1200 months'],
        ['expires_in: 1200 months', undefined],
        ['expires_in: 36500 days', undefined],
        ['expires_in: 90 SECONDS', undefined],
      ] as const
    ).map(
      ([setting, expected]) =>
        [
          setting,
          `source: a.csv\nmap: { key: id, email: email }\ndestination: { kind: audience, account_id: a, audience_id: b, ${setting} }\n`,
          expected,
        ] as const,
    ),
    ['a negative id', 'source: x\ndestination: { kind: catalog, catalog_id: -1 }\n', 'catalog_id: must be an id; write it in quotes'],
    ['an empty id', 'source: x\ndestination: { kind: catalog, catalog_id: "" }\n', 'catalog_id: must be an id of up to 64 letters'],
    ['a field without a column', `map: { title: [] }\n${catalog('1')}`, 'map.title: must have at least one column'],
    ['a field with an empty list', `map: { title: { column: [] } }\n${catalog('1')}`, 'map.title.column: must have at least one column'],
    ['a filter without a value', `only: { country: [] }\n${catalog('1')}`, 'only.country: must have at least one value'],
    ...(
      [
        ['all', 'consent: must be none, { column, values } or a list of these'],
        ['{ column: ok, after: 2031-01-01, before: 2030-01-01 }', 'consent: needs before to be later than after'],
        ['{ column: ok, after: 2030-01-01, before: 2030-01-01T00:00:00Z }', 'consent: needs before to be later than after'],
        ['[{ column: ok, after: 2031-01-01, before: 2030-01-01 }]', 'consent[0]: needs before to be later than after'],
        ['{ column: ok, after: 2030-01-01, before: 2031-01-01 }', undefined],
      ] as const
    ).map(
      ([consent, expected]) =>
        [
          `consent: ${consent}`,
          `source: a.csv\nmap: { key: id, email: email }\nconsent: ${consent}\ndestination: { kind: audience, account_id: a, audience_id: b }\n`,
          expected,
        ] as const,
    ),
    ['an unknown preset', `preset: shopfy\n${catalog('1')}`, 'did you mean "shopify"'],
    ['an unknown currency', `options: { default_currency: XYZ }\n${catalog('1')}`, 'not an active ISO 4217'],
    [
      'a word that the service does not know',
      `options: { values: { availability: { yes: instock } } }\n${catalog('1')}`,
      'options.values.availability.yes: must be one of in stock, available for order, preorder, out of stock, discontinued; did you mean "in stock"?',
    ],
    [
      'words of a field with a misspelt name',
      `options: { values: { avilability: { yes: in stock } } }\n${catalog('1')}`,
      'options.values.avilability: unknown key "avilability"; did you mean "availability"?',
    ],
    [
      'words of a field that has none',
      `options: { values: { color: { rot: red } } }\n${catalog('1')}`,
      'options.values.color: unknown key "color"; known are availability, condition, gender, age_group',
    ],
    ['words of every field', `options: { values: { availability: { 1: in stock }, gender: { m: male } } }\n${catalog('1')}`, undefined],
    ...['shop.example.com:8443', 'https://shop.example.com'].map(
      (host) =>
        [
          `${host} as a host of links`,
          `options: { link_hosts: ["${host}"] }\n${catalog('1')}`,
          'options.link_hosts[0]: must be a host such as shop.example.com, without https:// and port',
        ] as const,
    ),
    ['a list for a pipeline', '- a\n', 'must be an object'],
    ['an empty file', '', 'must be an object'],
  ] as const)('%s', async ([, text, expected]) => {
    const problems = (await problemsOf('bad.yaml', text)).join('\n')
    expect(expected === undefined ? problems === '' : problems.includes(expected), problems).toBe(true)
  })

  test('many unknown keys, each with its own name', async () => {
    const keys = Array.from({ length: 1_000 }, (_, i) => `key_${i}`)
    for (const [name, text] of [
      ['many.yaml', `${catalog('1')}${keys.map((key) => `${key}: 1\n`).join('')}`],
      ['many.json', JSON.stringify(Object.fromEntries(keys.map((key) => [key, 1])), null, 1)],
    ] as const) {
      const problems = (await problemsOf(name, text)).join('\n')
      expect(keys.filter((key) => !problems.includes(`"${key}"`))).toEqual([])
    }
  })

  test('two pipelines with one destination', async () => {
    await write('a.yaml', catalog('7'))
    const expected = [
      expect.stringMatching(/^a.yaml .*b.yaml writes to the same/),
      expect.stringMatching(/^b.yaml .*a.yaml writes to the same/),
    ]
    expect(await problemsOf('b.yaml', catalog('7'))).toEqual(expected)
    // Neither runs, because either may be the intended one. Both can still be shown.
    await write('other.yaml', catalog('8'))
    expect((await loadPipelines(directory)).pipelines.map(({ name }) => name)).toEqual(['other'])
    for (const name of ['a', 'b', '*']) await expect(selectPipelines(directory, [name])).rejects.toMatchObject({ code: 'PIPELINE_INVALID' })
    expect(await selectPipelines(directory, ['other'])).toHaveLength(1)
    const { pipelines, errors } = await selectWithConflicts(directory, [])
    expect([pipelines.map(({ name }) => name), errors.length]).toEqual([['a', 'b', 'other'], 2])
    expect((await selectWithConflicts(directory, ['b'])).errors).toHaveLength(1)
  })

  test('an error of its code, with personal data masked', async () => {
    expect(await problemsOf('thrown.ts', `throw new Error('no row of jane.canary@example.com')\n`)).toEqual([
      'thrown.ts : cannot be loaded: no row of j***@e***.com',
    ])
  })

  test('code that does not end', async () => {
    await write('endless.ts', 'await new Promise(() => undefined)\nexport default {}\n')
    await expect(importPipeline(path.join(directory, 'endless.ts'), 20)).rejects.toThrow('its code did not end within 0.02 s')
  })

  test('a file beyond 10 MB', async () => {
    expect(await problemsOf('big.json', `"${'x'.repeat(10 * 1024 * 1024)}"`)).toEqual([expect.stringContaining('larger than 10 MB')])
  })

  test('the other files stay usable beside an invalid one', async () => {
    await write('bad.yaml', 'source: 1\n')
    await write('good.yaml', catalog('1'))
    const { pipelines, errors } = await loadPipelines(directory)
    expect(pipelines.map(({ name }) => name)).toEqual(['good'])
    expect(errors.map(({ code }) => code)).toEqual(['PIPELINE_INVALID'])
    expect((await loadPipelines(directory)).names).toEqual(['bad', 'good'])
    await expect(selectPipelines(directory, ['bad'])).rejects.toMatchObject({ code: 'PIPELINE_INVALID' } satisfies Partial<ConfigError>)
    expect(await selectPipelines(directory, ['good'])).toHaveLength(1)
  })
})

test('unquoted ids and values that look like numbers keep their digits', async () => {
  await write(
    'people.yaml',
    `source: a.csv
map: { key: id, email: email, device_id: { column: device, hashed: true } }
consent: { column: optout, not_values: [01, 1.50, 1166476031668015106, 0x1F, TRUE, 7] }
only: { store: [007, 1e3], 0100: -0 }
guards: { min_rows: 1e3, max_delete_percent: 5.0 }
destination: { kind: audience, account_id: 0123, audience_id: 1e3 }
`,
  )
  expect(await loadPipeline(directory, 'people')).toMatchObject({
    map: { device_id: { hashed: true } },
    consent: [{ notValues: ['01', '1.50', '1166476031668015106', '0x1F', 'TRUE', '7'] }],
    filters: [
      { column: 'store', values: ['007', '1e3'] },
      { column: '0100', values: ['-0'] },
    ],
    guards: { minRows: 1000, maxDeletePercent: 5 },
    destination: { accountId: '0123', audienceId: '1e3' },
  })
  await write(
    'shop.yaml',
    `source: b.csv\nmap: { mpn: { const: 0042 }, brand: { column: b, default: 1.0 } }\ndestination: { kind: catalog, catalog_id: 12e4 }\n`,
  )
  expect(await loadPipeline(directory, 'shop')).toMatchObject({
    map: { mpn: { constant: '0042' }, brand: { default: '1.0' } },
    destination: { catalogId: '12e4' },
  })
})

test('a variable can be the value of a setting that needs a number or a boolean', async () => {
  const yaml = `source: { url: a.csv, csv: { relaxed_quotes: "\${RELAXED}" } }
map: { key: id, email: mail }
guards:
  min_rows: \${MIN_ROWS:-5}
  max_delete_percent: \${PERCENT}
destination: { kind: audience, account_id: "\${ACCOUNT}", audience_id: b2 }
`
  await write('people.yaml', yaml)
  const variables = { RELAXED: 'true', PERCENT: '12.5', ACCOUNT: '0123' }
  expect(await loadPipeline(directory, 'people', variables)).toMatchObject({
    sources: [{ csv: { relaxedQuotes: true } }],
    guards: { minRows: 5, maxDeletePercent: 12.5 },
    destination: { accountId: '0123' },
  })
  await write(
    'shops.yaml',
    `source: a.csv
guards:
  min_rows: \${N}
markets:
  de: { destination: { kind: catalog, catalog_id: "1" }, guards: { max_delete_count: "\${N}" } }
`,
  )
  expect(await selectPipelines(directory, ['shops*'], { ...variables, N: '5' })).toMatchObject([
    { guards: { minRows: 5, maxDeleteCount: 5 } },
  ])
  for (const [name, value, path] of [
    ['MIN_ROWS', 'five', 'guards.min_rows'],
    ['MIN_ROWS', '1.5', 'guards.min_rows'],
    ['PERCENT', '1e1', 'guards.max_delete_percent'],
    ['PERCENT', '', 'guards.max_delete_percent'],
    ['RELAXED', 'yes', 'source.csv.relaxed_quotes'],
  ] as const) {
    const error = await loadPipeline(directory, 'people', { ...variables, [name]: value }).catch((caught: unknown) => caught)
    expect([name, value, error]).toMatchObject([name, value, { problems: [{ path }] }])
  }
})

test('a default alone is not enough for the key and the identifiers of a person', async () => {
  const audience = 'destination: { kind: audience, account_id: a1, audience_id: b2 }\n'
  const problems = (map: string, destination = audience) => problemsOf('people.yaml', `source: a.csv\nmap: { ${map} }\n${destination}`)
  const needed = 'needs a column: with a default alone, all rows would be one person'
  expect(await problems('key: id, email: email, phone_number: { default: "+1" }')).toEqual([`people.yaml:2 map.phone_number: ${needed}`])
  expect(await problems('key: { default: a, transform: trim }, email: { default: b }')).toEqual([
    `people.yaml:2 map.key: ${needed}`,
    `people.yaml:2 map.email: ${needed}`,
  ])
  expect(await problems('key: id, email: { column: email, default: x }, expires_at: { default: 2030-01-01 }')).toEqual([])
  expect(await problems('title: { default: Cup }', 'destination: { kind: catalog, catalog_id: "1" }\n')).toEqual([])
})

test('the scheme of a source address is read in any case', async () => {
  await write('shop.yaml', 'source: FILE:feed.xml\ndestination: { kind: catalog, catalog_id: "1" }\n')
  await write(
    'sql.yaml',
    'source: { url: "Postgres://shop.example/db", query: select 1 }\ndestination: { kind: catalog, catalog_id: "2" }\n',
  )
  const { pipelines } = await loadPipelines(directory)
  expect(pipelines.map(({ sources }) => sources[0]?.uri)).toEqual(['file:feed.xml', 'postgres://shop.example/db'])
})

test('names and globs select pipelines, and an unknown name gets the most similar one as suggestion', async () => {
  await write('shop-de.yaml', catalog('1'))
  await write('shop-fr.yml', catalog('2'))
  await write('crm.json', JSON.stringify({ source: 'x', destination: { kind: 'catalog', catalog_id: 3 } }))
  const names = async (...patterns: string[]) => (await selectPipelines(directory, patterns)).map(({ name }) => name)
  expect(await names()).toEqual(['crm', 'shop-de', 'shop-fr'])
  expect(await names('shop-*')).toEqual(['shop-de', 'shop-fr'])
  expect(await names('crm', 'c*')).toEqual(['crm'])
  await write('shop.yaml', catalog('4'))
  expect(await names('shop*')).toEqual(['shop', 'shop-de', 'shop-fr'])
  await expect(names('shop-ed')).rejects.toMatchObject({ code: 'UNKNOWN_PIPELINE', hint: 'Did you mean shop-de?' })
  // The name in a request is not a pattern, even if it would match only one pipeline.
  for (const pattern of ['shop-*', 'shop-d?', '*'])
    await expect(loadPipeline(directory, pattern)).rejects.toMatchObject({ code: 'UNKNOWN_PIPELINE' })
  const missing = (folder: string, hint: string) =>
    expect(loadPipelines(path.join(directory, folder))).rejects.toMatchObject({
      code: 'PIPELINES_MISSING',
      hint: expect.stringContaining(hint) as string,
    })
  await missing('nowhere', 'sluice init')
  // init cannot create the folder there.
  await missing('shop.yaml', 'name another folder')
})

test('a TypeScript pipeline anywhere on disk imports from sluice, under plain Node', async () => {
  await mkdir(path.join(directory, 'far'))
  await writeFile(
    path.join(directory, 'far', 'typed.ts'),
    `import { definePipeline } from 'sluice'
const country: string = 'DE'
export default definePipeline({
  source: { url: 'crm.csv' },
  map: { key: 'id', email: (row) => String(row['mail']).trim(), phone_number: { column: 'phone', default_country: country } },
  destination: { kind: 'audience', account_id: 'a', audience_id: 'b' },
})
`,
  )
  const loader = new URL('../../../src/pipeline/load.ts', import.meta.url).href
  const mapper = new URL('../../../src/destinations/createMapper.ts', import.meta.url).href
  const script = `
    const { loadPipeline } = await import(${JSON.stringify(loader)})
    const { createMapper } = await import(${JSON.stringify(mapper)})
    const pipeline = await loadPipeline(${JSON.stringify(path.join(directory, 'far'))}, 'typed')
    const columns = ['id', 'mail', 'phone']
    const { record } = createMapper(pipeline, new Date()).map({ line: 2, columns, cells: ['1', ' A@b.example ', '030 123456'] })
    process.stdout.write(JSON.stringify({ name: pipeline.name, identifiers: record.identifiers.length }))`
  const node = process.execPath
  const { stdout } = await promisify(execFile)(node, ['--input-type=module', '-e', script])
  expect(JSON.parse(stdout)).toEqual({ name: 'typed', identifiers: 2 })
})

/** A source before and after a change of each setting. A setting that is added to the schema is missing here, and fails the type check. */
const changedSources: Readonly<Record<keyof ParsedSource, readonly [before: string, after: string]>> = {
  url: ['feed.csv', 'other.csv'],
  format: ['{ url: feed.csv }', '{ url: feed.csv, format: tsv }'],
  complete: ['{ url: feed.csv }', '{ url: feed.csv, complete: { rows: 3 } }'],
  encoding: ['{ url: feed.csv }', '{ url: feed.csv, encoding: windows-1252 }'],
  compression: ['{ url: feed.csv }', '{ url: feed.csv, compression: none }'],
  member: ['{ url: feed.zip }', '{ url: feed.zip, member: a.csv }'],
  sheet: ['{ url: feed.xlsx }', '{ url: feed.xlsx, sheet: People }'],
  csv: ['{ url: feed.csv }', '{ url: feed.csv, csv: { relaxed_quotes: true } }'],
  xml: ['{ url: feed.xml }', '{ url: feed.xml, xml: { html_entities: true } }'],
  json: ['{ url: feed.json }', '{ url: feed.json, json: { records: data.people } }'],
  query: ['{ url: "postgres://db.example.com/crm", query: select 1 }', '{ url: "postgres://db.example.com/crm", query: select 2 }'],
  parameters: [
    '{ url: "postgres://db.example.com/crm", query: select $1, parameters: [1] }',
    '{ url: "postgres://db.example.com/crm", query: select $1, parameters: [2] }',
  ],
  join: ['{ url: feed.csv }', '{ url: feed.csv, join: { url: more.csv, on: id } }'],
  credentials: ['{ url: feed.csv }', '{ url: feed.csv, credentials: { token: TOKEN } }'],
  allow_private: ['{ url: "https://example.com/a.csv" }', '{ url: "https://example.com/a.csv", allow_private: true }'],
  host_key: [
    '{ url: "sftp://example.com/a.csv" }',
    '{ url: "sftp://example.com/a.csv", host_key: "SHA256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" }',
  ],
}
const accessSettings = ['credentials', 'allow_private', 'host_key']

describe('the definition hash', () => {
  const base = 'source: feed.csv\nmap: { key: id, email: email }\ndestination: { kind: audience, account_id: a, audience_id: b }\n'
  const hashOf = async (text: string) => {
    await write('one.yaml', text)
    return (await loadPipeline(directory, 'one')).definitionHash
  }

  test.for(Object.entries(changedSources))('of a changed source setting: %s', async ([setting, [before, after]]) => {
    const [first, second] = [await hashOf(base.replace('feed.csv', before)), await hashOf(base.replace('feed.csv', after))]
    if (accessSettings.includes(setting)) expect(second).toBe(first)
    else expect(second).not.toBe(first)
  })

  test('changes only with settings that affect the mapped records', async () => {
    const first = await hashOf(base)
    expect(await hashOf(`${base}schedule: "0 3 * * *"\nguards: { min_rows: 9 }\noptions: { image_sample: 5 }\n`)).toBe(first)
    expect(await hashOf(base.replace('audience_id: b', 'audience_id: c'))).toBe(first)
    expect(await hashOf(base.replace('email: email', 'email: mail'))).not.toBe(first)
    expect(await hashOf(`${base}options: { allow: [split_lists] }\n`)).not.toBe(first)
    expect(await hashOf(`${base}options: { refuse: [http_image] }\n`)).not.toBe(first)
    // A row whose membership starts after its default end is rejected.
    expect(await hashOf(base.replace('audience_id: b', 'audience_id: b, expires_in: 30 days'))).not.toBe(first)
    for (const setting of ['repair_ampersands', 'mend_ampersands'])
      expect(await hashOf(base.replace('feed.csv', `{ url: feed.csv, xml: { ${setting}: true } }`))).not.toBe(first)
  })
})

test('product sets become filters of the service; an unsupported filter is reported with its path', async () => {
  const shop = (sets: string) => `source: feed.xml\ndestination: { kind: catalog, catalog_id: "1", product_sets: ${sets} }\n`
  await write(
    'shop.yaml',
    shop(
      '[{ name: A, where: { product_type: { contains: Shoes }, custom_label_0: 2024, price: { above: 20, below: 99.5 } } }, { name: B, where: { brand: Acme } }]',
    ),
  )
  expect((await loadPipeline(directory, 'shop')).destination).toEqual({
    kind: 'catalog',
    catalogId: '1',
    missing: 'delete',
    productSets: [
      {
        name: 'A',
        filters: [
          { attribute: 'product_type', operator: 'CONTAINS', value: 'Shoes' },
          { attribute: 'custom_label_0', operator: 'MATCH', value: '2024' },
          { attribute: 'price', operator: 'GREATER_THAN', value: '20' },
          { attribute: 'price', operator: 'LESS_THAN', value: '99.5' },
        ],
      },
      { name: 'B', filters: [], brand: 'Acme' },
    ],
  })
  const problems = async (sets: string) => (await problemsOf('shop.yaml', shop(sets))).join('; ')
  expect(await problems('[{ name: A, where: {} }]')).toContain('product_sets[0].where: needs at least one condition')
  expect(await problems('[{ name: A, where: { brand: X, price: 1 } }]')).toContain('brand cannot be combined')
  expect(await problems('[{ name: A, where: { colour: red } }]')).toContain('unknown key "colour"')
  expect(await problems('[{ name: A, where: { price: cheap } }]')).toContain('must be a number')
  expect(await problems('[{ name: A, where: { price: 1 } }, { name: "a ", where: { price: 2 } }]')).toContain('a name of its own')
})

test('a file with markets is one pipeline for each market, and its name selects all of them', async () => {
  const shop = (markets: string, more = '') => `source: feed.xml\n${more}markets: { ${markets} }\n`
  await write(
    'shop.yaml',
    shop(
      'de: { destination: { kind: catalog, catalog_id: 1 }, join: { url: de.csv, on: id } }, ch: { destination: { kind: catalog, catalog_id: 2 }, join: { url: ch.csv, on: { source: id, file: sku }, columns: [price] }, options: { default_currency: CHF }, only: { country: CH } }',
      'options: { timezone: Europe/Berlin }\n',
    ),
  )
  const [ch, de] = await selectPipelines(directory, ['shop'])
  expect([ch?.name, de?.name]).toEqual(['shop-ch', 'shop-de'])
  expect(ch).toMatchObject({
    destination: { catalogId: '2' },
    mapping: { defaultCurrency: 'CHF', timezone: 'Europe/Berlin' },
    filters: [{ column: 'country', values: ['CH'] }],
    sources: [{ uri: 'feed.xml', join: { source: { uri: 'ch.csv' }, sourceColumn: 'id', fileColumn: 'sku', columns: ['price'] } }],
  })
  expect(de?.definitionHash).not.toBe(ch?.definitionHash)
  expect((await selectPipelines(directory, ['shop-de'])).map(({ name }) => name)).toEqual(['shop-de'])

  expect(await problemsOf('shop.yaml', shop(''))).toEqual([expect.stringContaining('must name at least one market')])
  expect(
    await problemsOf('shop.yaml', shop('de: { destination: { kind: catalog } }', 'destination: { kind: catalog, catalog_id: 1 }\n')),
  ).toEqual([expect.stringContaining('markets.de.destination.catalog_id'), expect.stringContaining('destination: belongs to each market')])
  expect(await problemsOf('shop.yaml', shop('de: { destination: { kind: catalog, catalog_id: 1 }, join: { url: "-", on: id } }'))).toEqual([
    expect.stringContaining('cannot be stdin'),
  ])
  expect(
    await problemsOf(
      'shop.yaml',
      shop('de: { destination: { kind: catalog, catalog_id: 1 } }, at: { destination: { kind: catalog, catalog_id: 1 } }'),
    ),
  ).toEqual(expect.arrayContaining([expect.stringContaining('writes to the same destination')]))
  await write('shop-de.yaml', 'source: feed.xml\ndestination: { kind: catalog, catalog_id: 9 }\n')
  expect(await problemsOf('shop.yaml', shop('de: { destination: { kind: catalog, catalog_id: 1 } }'))).toEqual([
    expect.stringContaining('has a pipeline of the same name'),
  ])
})

test('guards and options beside markets that are not mappings are reported, and not replaced by the defaults', async () => {
  const shop = (more: string, own = '') =>
    `source: feed.xml\n${more}\nmarkets:\n  de: { destination: { kind: catalog, catalog_id: "1" }${own} }\n  at: { destination: { kind: catalog, catalog_id: "2" } }\n`
  for (const value of ['off', '[{ max_delete_count: 5 }]', '100', ''])
    for (const key of ['guards', 'options']) {
      const alone = await problemsOf('shop.yaml', `source: feed.xml\n${key}: ${value}\ndestination: { kind: catalog, catalog_id: "1" }\n`)
      expect(alone).toEqual([expect.stringContaining(`shop.yaml:2 ${key}: `)])
      expect(await problemsOf('shop.yaml', shop(`${key}: ${value}`))).toEqual(alone)
    }
  expect(await problemsOf('shop.yaml', shop('guards: off', ', guards: { max_delete_count: 5 }'))).toEqual([
    expect.stringContaining('shop.yaml:2 guards: '),
  ])
})

test('a problem of a market is reported at the line of this market, and one of the shared settings once, at theirs', async () => {
  const shop = (de: string, more = '') => `source: feed.xml
${more}
markets:
  at: { destination: { kind: catalog, catalog_id: "2" } }
  de:
    destination: { kind: catalog, catalog_id: "1" }
    ${de}
`
  expect(await problemsOf('shop.yaml', shop('options: { default_currency: XXX }', 'options: { timezone: Europe/Berlin }'))).toEqual([
    'shop.yaml:7 markets.de.options.default_currency: "XXX" is not an active ISO 4217 currency',
  ])
  expect(await problemsOf('shop.yaml', shop('options: { timezone: Europe/Berlin }', 'options: { default_currency: XXX }'))).toEqual([
    'shop.yaml:2 options.default_currency: "XXX" is not an active ISO 4217 currency',
  ])
  expect(await problemsOf('shop.yaml', shop('join: { url: "-", on: id }'))).toEqual([
    'shop.yaml:7 markets.de.join.url: a joined file cannot be stdin',
  ])
})

test('a market whose destination another file writes to is reported, and not left out silently', async () => {
  await write(
    'shop.yaml',
    `source: feed.xml
markets:
  at: { destination: { kind: catalog, catalog_id: "4002" } }
  de: { destination: { kind: catalog, catalog_id: "4001" } }
`,
  )
  await write('other.yaml', catalog('4001'))
  await expect(selectPipelines(directory, ['shop'])).rejects.toThrow('writes to the same destination')
  const { pipelines, errors } = await selectWithConflicts(directory, ['shop'])
  expect(pipelines.map(({ name }) => name)).toEqual(['shop-at', 'shop-de'])
  expect(errors.map(({ message }) => message)).toEqual([expect.stringContaining('other.yaml writes to the same destination')])
  const { broken } = await loadPipelines(directory)
  expect([...broken.keys()].sort()).toEqual(['other', 'shop-de'])
})

test('guards name only notes that can withhold a run, not notes made after everything was sent', async () => {
  const guards = (list: string) => problemsOf('shop.yaml', `${catalog('1')}guards: { ${list} }\n`)
  expect(await guards('hold: [PRICE_MOVED], accept: [ALL_OUT_OF_STOCK]')).toEqual([])
  expect(await guards('hold: [IMAGE_BROKEN], accept: [PLAN_APPLIED]')).toEqual([
    expect.stringContaining('guards.hold[0]'),
    expect.stringContaining('guards.accept[0]'),
  ])
})

test.for([
  ['shop.yaml', 'shop-de.yaml'],
  ['a.yaml', 'a-de.json'],
] as const)('a pipeline that both %s and %s have does not run, and others do', async ([ofMarkets, ofOne]) => {
  const name = ofOne.replace(/\.\w+$/, '')
  const markets = { de: { destination: { kind: 'catalog', catalog_id: '1' } }, ch: { destination: { kind: 'catalog', catalog_id: '2' } } }
  await write(ofMarkets, JSON.stringify({ source: 'feed.xml', markets }))
  await write(ofOne, JSON.stringify({ source: 'other.xml', destination: { kind: 'catalog', catalog_id: '9' } }))
  await write('crm.yaml', catalog('3'))
  expect([...(await loadPipelines(directory)).broken.keys()]).toContain(name)
  for (const patterns of [[name], []])
    await expect(selectPipelines(directory, patterns)).rejects.toMatchObject({
      problems: [{ message: expect.stringContaining(`has a pipeline of the same name (${name})`) }],
    })
  expect((await selectPipelines(directory, ['crm'])).map((pipeline) => pipeline.name)).toEqual(['crm'])
})

test('a text that Postgres cannot store is reported with its line, in values and in keys', async () => {
  const sets = (name: string) =>
    `source: feed.xml\ndestination:\n  kind: catalog\n  catalog_id: "1"\n  product_sets: [{ name: ${name}, where: { price: 1 } }]\n`
  const message = 'contains U+0000 or half of a character'
  expect(await problemsOf('shop.yaml', sets(String.raw`"A\0"`))).toEqual([`shop.yaml:5 destination.product_sets[0].name: ${message}`])
  expect(await problemsOf('shop.yaml', sets(String.raw`"A\ud800"`))).toEqual([`shop.yaml:5 destination.product_sets[0].name: ${message}`])
  const filter = String.raw`only: { "\0": [x] }`
  expect((await problemsOf('shop.yaml', `${catalog('1')}${filter}\n`)).join()).toContain(message)
  await write('shop.yaml', `${catalog('1')}only: { "\${COLUMN}": ["\${VALUE}"] }\n`)
  const { errors } = await loadPipelines(directory, { VALUE: '\0' })
  expect(errors.flatMap(({ problems }) => problems)).toMatchObject([{ message }])
})
