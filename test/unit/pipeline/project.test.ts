/** `sluice.yaml`, `${NAME}` and the JSON Schema of both kinds of files. */
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import path from 'node:path'
import { Ajv } from 'ajv'
import fc from 'fast-check'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { parse } from 'yaml'
import { pipelineJsonSchema, projectJsonSchema } from '../../../src/pipeline/jsonSchema.ts'
import { loadPipeline, loadPipelines } from '../../../src/pipeline/load.ts'
import { readProjectFile } from '../../../src/pipeline/projectFile.ts'
import { resolvePipeline } from '../../../src/pipeline/resolve.ts'
import { expandVariables } from '../../../src/pipeline/variables.ts'

let folder = ''
const pipelines = () => path.join(folder, 'pipelines')
const write = (file: string, text: string) => writeFileSync(path.join(folder, file), text)

beforeEach(() => {
  folder = mkdtempSync(path.join(tmpdir(), 'sluice-project-'))
  mkdirSync(pipelines())
})
afterEach(() => rmSync(folder, { recursive: true }))

const shop = 'source: feed.csv\ndestination: { kind: catalog, catalog_id: "1" }\n'

test('a project file that expands too many aliases is invalid, and its message names the file', async () => {
  write('sluice.yaml', `a: &a [1, 2]\nb: [${Array.from({ length: 30 }, () => '*a').join(', ')}]\n`)
  await expect(readProjectFile(pipelines(), {})).rejects.toMatchObject({
    problems: [{ message: 'expands aliases (*name) more than 20 times', where: expect.stringMatching(/sluice.yaml$/) }],
  })
})

test.for([
  ['a.yaml', 'x: &a [*a, *a]\n', 'contains itself'],
  ['a.yaml', 'x: &a { y: *a }\n', 'contains itself'],
  ['a.json', `{"x":${'['.repeat(20_000)}${']'.repeat(20_000)}}`, 'is nested more than 100 levels deep'],
] as const)('a value of %s without an end is a problem of its file only', async ([file, text, message]) => {
  write(`pipelines/${file}`, text)
  write('pipelines/shop.yaml', shop)
  const { pipelines: usable, errors } = await loadPipelines(pipelines())
  expect(usable.map(({ name }) => name)).toEqual(['shop'])
  expect(errors.map((error) => error.message)).toEqual([expect.stringContaining(message)])
})

describe('variables', () => {
  test.for([
    ['${A}', 'one', 'a variable'],
    ['x-${A}-${B}', 'x-one-two', 'several in one text'],
    ['${C:-three}', 'three', 'a default where it is not set'],
    ['${E:-four}', 'four', 'a default where it is empty'],
    ['${E}', '', 'an empty variable without a default'],
    ['${C:-}', '', 'an empty default'],
    ['${N}', 'one', 'a variable with line ends at its end'],
    ['${M:-five}', 'five', 'a default where it has only a line end'],
    ['$${A}', '${A}', 'an escaped reference'],
    ['$A $ {A}', '$A $ {A}', 'what is not a reference'],
  ] as const)('%s becomes "%s": %s', ([text, expected]) => {
    const { value, problems } = expandVariables({ list: [{ text }] }, { A: 'one', B: 'two', E: '', N: 'one\r\n\n', M: '\n' })
    expect({ value, problems }).toEqual({ value: { list: [{ text: expected }] }, problems: [] })
  })

  test('a variable that is not set is a problem at its path', () => {
    const { problems } = expandVariables({ source: [{ url: '${MISSING}/feed' }] }, {})
    expect(problems).toMatchObject([{ parts: ['source', 0, 'url'], message: 'the variable MISSING is not set' }])
  })

  test('leaves every value without a reference unchanged', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        fc.pre(!JSON.stringify(value).includes('$') && !JSON.stringify(value).includes('__proto__'))
        expect(expandVariables(value, {}).value).toEqual(value)
      }),
    )
  })

  test('a pipeline file gets values from the environment, and an unset variable is reported with its line', async () => {
    write('pipelines/shop.yaml', 'source: "${FEED_DIR:-exports}/feed.csv"\ndestination:\n  kind: catalog\n  catalog_id: "${CATALOG}"\n')
    expect(await loadPipeline(pipelines(), 'shop', { CATALOG: '77' })).toMatchObject({
      sources: [{ uri: 'exports/feed.csv' }],
      destination: { catalogId: '77' },
    })
    const { errors } = await loadPipelines(pipelines(), {})
    expect(errors[0]).toMatchObject({ code: 'PIPELINE_INVALID' })
    expect(errors[0]?.problems).toMatchObject([{ path: 'destination.catalog_id', where: expect.stringMatching(/shop\.yaml:4$/) as string }])
  })
})

describe('sluice.yaml', () => {
  test('a variable of its defaults may be a number or a boolean, if the setting needs one', async () => {
    write('sluice.yaml', 'defaults:\n  guards: { max_delete_percent: "${PERCENT}", min_rows: "${ROWS:-3}" }\n')
    write('pipelines/shop.yaml', shop)
    write('pipelines/own.yaml', `${shop.replace('"1"', '"2"')}guards: { min_rows: 7 }\n`)
    const variables = { PERCENT: '5' }
    expect((await loadPipeline(pipelines(), 'shop', variables)).guards).toMatchObject({ maxDeletePercent: 5, minRows: 3 })
    expect((await loadPipeline(pipelines(), 'own', variables)).guards).toMatchObject({ maxDeletePercent: 5, minRows: 7 })
    // A text of the file itself is no variable, so it is not taken as a number.
    write('pipelines/own.yaml', `${shop.replace('"1"', '"2"')}guards: { min_rows: "7" }\n`)
    await expect(loadPipeline(pipelines(), 'own', variables)).rejects.toMatchObject({ code: 'PIPELINE_INVALID' })
  })

  test('its defaults apply to each pipeline, whose own settings take precedence', async () => {
    write('sluice.yaml', 'defaults:\n  guards: { max_delete_percent: 5, min_rows: 3 }\n  options: { default_currency: EUR }\n')
    write('pipelines/shop.yaml', `${shop}guards: { min_rows: 7 }\n`)
    expect(await loadPipeline(pipelines(), 'shop')).toMatchObject({
      guards: { maxDeletePercent: 5, minRows: 7 },
      mapping: { defaultCurrency: 'EUR' },
    })
  })

  test('credentials and receivers are read, with secrets from the environment', async () => {
    write(
      'sluice.yaml',
      [
        'credentials:',
        '  staging: { base_url: "http://127.0.0.1:1", consumer_key: k, consumer_secret: "${S}", access_token: t, access_token_secret: u }',
        'alerts:',
        '  ops: { type: slack, url: "http://127.0.0.1:2/hook" }',
        '  default: [ops]',
      ].join('\n'),
    )
    expect(await readProjectFile(pipelines(), { S: 'from-env' })).toMatchObject({
      credentials: { staging: { consumer_secret: 'from-env' } },
      receivers: { ops: { type: 'slack' } },
      defaultReceivers: ['ops'],
    })
  })

  test.for([
    ['base_url', 'http://service.example.com', 'the address is plain http to another machine'],
    ['base_url', 'service.example.com', 'the address is not an http\\(s\\) address'],
    ['ads_base_url', 'https://me:pw@service.example.com', 'the address contains a user name or password'],
    ['ads_sandbox_base_url', 'ftp://service.example.com', 'the address is not an http\\(s\\) address'],
  ])('credentials with the %s %s cannot be used', async ([key, address, message]) => {
    const keys = 'consumer_key: a, consumer_secret: b, access_token: c, access_token_secret: d'
    write('sluice.yaml', `credentials:\n  staging: { ${key}: "${address}", ${keys} }\n`)
    write('pipelines/shop.yaml', shop)
    write('pipelines/trial.yaml', `${shop}credentials: staging\n`)
    const { pipelines: usable, errors } = await loadPipelines(pipelines())
    expect(usable.map(({ name }) => name)).toEqual(['shop'])
    expect(errors[0]?.problems).toMatchObject([
      { path: 'credentials', message: expect.stringMatching(`^"staging" cannot be used: ${message}.* credentials.staging.${key} of `) },
    ])
  })

  test('credentials with a variable that is not set stop only the pipelines that use them', async () => {
    const keys = 'consumer_key: "${NOT_SET}", consumer_secret: s, access_token: t, access_token_secret: u'
    write('sluice.yaml', `credentials:\n  staging: { base_url: "http://127.0.0.1:1", ${keys} }\n`)
    write('pipelines/shop.yaml', shop)
    write('pipelines/trial.yaml', `${shop}credentials: staging\n`)
    const { pipelines: loaded, errors } = await loadPipelines(pipelines(), {})
    expect(loaded.map(({ name }) => name)).toEqual(['shop'])
    expect(errors.flatMap(({ problems }) => problems)).toMatchObject([
      {
        path: 'credentials',
        message: expect.stringMatching(
          /^"staging" cannot be used: the variable NOT_SET is not set, for credentials.staging.consumer_key of .*sluice.yaml$/,
        ) as string,
        hint: 'set NOT_SET in .env, or write ${NOT_SET:-default}',
      },
    ])
  })

  test('the receivers of a mail may be a list or one text, with names', async () => {
    write('pipelines/shop.yaml', shop)
    for (const to of ['[a@example.com, b@example.com]', '"a@example.com, Ops <b@example.com>;"', `'"Ops, day" <b@example.com>'`]) {
      write('sluice.yaml', `alerts:\n  ops: { type: email, smtp: "smtp://127.0.0.1", to: ${to} }\n`)
      await expect(loadPipelines(pipelines(), {})).resolves.toMatchObject({ errors: [] })
    }
  })

  test.for([
    ['credentials: {}\nalert: {}\n', 'alert', /unknown key "alert".*"alerts"/],
    ['alerts:\n  default: [unknown]\n', 'alerts.default', /"unknown" is not a receiver/],
    ['alerts:\n  ops: [default]\n', 'alerts.ops', /only default is a list/],
    ['alerts:\n  ops: { type: pigeon }\n', 'alerts.ops.type', /must be one of slack, webhook, email/],
    ['alerts:\n  ops: { type: slack }\n', 'alerts.ops.url', /is missing/],
    ['alerts:\n  ops: { type: webhook, url: "https://[hooks.example.com/x" }\n', 'alerts.ops.url', /must be an http or https address/],
    ['alerts:\n  ops: { type: webhook, url: "ftp://127.0.0.1/x" }\n', 'alerts.ops.url', /must be an http or https address/],
    ['alerts:\n  ops: { type: email, to: ops@example.com }\n', 'alerts.ops.smtp', /is missing/],
    ['alerts:\n  ops: { type: email, url: "https://127.0.0.1", to: ops@example.com }\n', 'alerts.ops.url', /smtp:/],
    ['alerts:\n  ops: { type: email, url: "smtp://127.0.0.1" }\n', 'alerts.ops.to', /is missing/],
    ['alerts:\n  ops: { type: email, smtp: "smtp://127.0.0.1", to: [a@example.com, ops] }\n', 'alerts.ops.to', /such as ops@example.com/],
    [
      'alerts:\n  ops: { type: email, smtp: "smtp://127.0.0.1", to: "b example.com; a@example.com" }\n',
      'alerts.ops.to',
      /must be addresses/,
    ],
    ['defaults:\n  guard: {}\n', 'defaults.guard', /did you mean "guards"/],
    ['alerts:\n  ops: { type: slack, url: "${NOT_SET}" }\n', 'alerts.ops.url', /NOT_SET is not set/],
    ['alerts: [\n', '', /./],
  ] as const)('%j is rejected at %s', async ([text, at, message]) => {
    write('sluice.yaml', text)
    write('pipelines/shop.yaml', shop)
    await expect(loadPipelines(pipelines(), {})).rejects.toMatchObject({
      code: 'PROJECT_INVALID',
      problems: expect.arrayContaining([
        expect.objectContaining({
          path: at,
          message: expect.stringMatching(message) as string,
          where: expect.stringMatching(/sluice\.yaml:\d+$/) as string,
        }),
      ]) as unknown,
    })
  })

  test('a pipeline with unknown credentials or an unknown receiver is invalid', async () => {
    write('sluice.yaml', 'alerts:\n  ops-slack: { type: slack, url: "http://127.0.0.1:2" }\n')
    write('pipelines/shop.yaml', `${shop}credentials: staging\nalerts: [ops-slak]\n`)
    const { errors } = await loadPipelines(pipelines())
    expect(errors[0]?.problems).toMatchObject([
      { path: 'credentials', message: expect.stringContaining('"staging" is not in') as string },
      { path: 'alerts', hint: 'write ops-slack' },
    ])
  })

  test('names of JavaScript are ordinary names', async () => {
    write('sluice.yaml', 'alerts:\n  default: [constructor]\n')
    await expect(loadPipelines(pipelines())).rejects.toMatchObject({
      problems: [expect.objectContaining({ path: 'alerts.default' })] as unknown,
    })
    write('sluice.yaml', 'alerts:\n  ops: { type: slack, url: "http://127.0.0.1:2" }\n')
    write('pipelines/shop.yaml', `${shop}credentials: constructor\n`)
    const { errors } = await loadPipelines(pipelines())
    expect(errors[0]?.problems).toMatchObject([{ path: 'credentials' }])
  })
})

describe('JSON Schema', () => {
  const ajv = new Ajv({ strict: false })
  const pipeline = ajv.compile(pipelineJsonSchema())
  const project = ajv.compile(projectJsonSchema())
  const audience = 'destination: { kind: audience, account_id: a, audience_id: b }\n'

  test.for([
    [shop, true],
    [`${shop}schedule: "*/30 * * * *"\nonly: { country: [DE, AT] }\nexcept: { segment: employees }\n`, true],
    [
      `source: { url: a.csv, csv: { delimiter: tab }, complete: { marker: a.done } }\nmap: { key: id, email: [a, b] }\nconsent: { column: ok, values: ["yes"] }\n${audience}`,
      true,
    ],
    [`source: [{ url: a.csv }, { url: b.csv }]\nmap: { key: id, email: { column: mail, transform: lower } }\n${audience}`, true],
    ['destination: { kind: catalog, catalog_id: "1" }\n', false],
    [`${shop}shedule: "0 * * * *"\n`, false],
    [`source: { url: a.csv, format: cvs }\n${audience}`, false],
    [`source: a.csv\nmap: { key: id, e_mail: mail }\n${audience}`, false],
    ['source: a.csv\ndestination: { kind: list, id: "1" }\n', false],
    [`${shop}guards: { min_rows: many }\n`, false],
  ] as const)('agrees with the check of %j', ([text, right]) => {
    const input: unknown = parse(text)
    expect({ schema: pipeline(input), check: resolvePipeline(input, 'p', 'p.yaml').problems.length === 0 }).toEqual({
      schema: right,
      check: right,
    })
  })

  test('accepts a sluice.yaml with defaults and rejects an unknown setting in them', () => {
    expect(project(parse('defaults: { guards: { max_delete_percent: 5 } }\nalerts: { default: [] }\n'))).toBe(true)
    expect(project(parse('defaults: { guards: { max_delete_percnt: 5 } }\n'))).toBe(false)
  })
})
