/** Unique addresses and phone numbers in every column and every error are stored and printed nowhere. */
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { expect, test } from 'vitest'
import { engineUnderTest } from '../../support/agreement.ts'
import type { EngineUnderTest } from '../../support/engine.ts'
import { sluice } from '../cli/support.ts'

/** Parts that occur in no other text, so that even a fragment of an identifier is found. */
const canaries = {
  good: 'Zq7Canary.Good@Example.com',
  second: 'zq7canary.second@example.org',
  broken: 'zq7canary.broken-at-example.com',
  named: 'Zed Qseven <zq7canary.named@example.com>',
  asKey: 'zq7canary.key@example.com',
  asLoyalty: 'zq7canary.loyalty@example.com',
  asPhone: 'zq7canary.phone@example.com',
  unmapped: 'zq7canary.unmapped@example.com',
  duplicate: 'zq7canary.twice@example.com',
  refused: 'zq7canary.refused@example.com',
  optedOut: 'zq7canary.optout@example.com',
  phone: '+1 (202) 555-0187',
  badPhone: '+1 202 555 0186 0186',
  phoneAsEmail: '+12025550185',
  handle: '@zq7canaryhandle',
  badHandle: 'https://social.example/zq7canaryprofile',
  device: 'ZQ7CAFE0-0000-4000-8000-00000000C0DE',
} as const

/** Texts that must not be found: the distinctive core of each, without case or spaces. */
const cores = ['zq7canary', '2025550187', '2025550186', '2025550185', 'zq7cafe0']

const yaml = `source: { url: "{folder}/crm.csv" }
map:
  key: customer_id
  email: [email, second]
  phone_number: { column: phone, default_country: US }
  partner_user_id: loyalty
  handle: handle
  device_id: device
destination: { kind: audience, account_id: 18ce54d4x5t, audience_id: 1nmth }
guards: { max_reject_percent: 100 }
`
const header = 'customer_id,email,second,phone,loyalty,handle,device,note'

function rows(): string[] {
  const c = canaries
  return [
    `k1,${c.good},${c.second},${c.phone},,${c.handle},,${c.unmapped}`,
    `k2,${c.broken},,,,,,`,
    `k3,"${c.named}",,${c.badPhone},,${c.badHandle},${c.device},`,
    `${c.asKey},ok.one@example.com,,,,,,`,
    `k5,,,,${c.asLoyalty},,,`,
    `k6,${c.phoneAsEmail},,${c.asPhone},,,,`,
    `k7,${c.duplicate},,,,,,`,
    `k7,other.${c.duplicate},,,,,,`,
    `k8,${c.refused},,,,,,`,
    `k9,"${c.broken}`,
  ]
}

test('raw identifiers are not in the database, its dump, logs, data, output or errors', async () => {
  await using engine = await engineUnderTest()
  const { control } = engine.sandbox
  const outputs: string[] = []
  const env = { ...engine.env, SLUICE_LOG_LEVEL: 'debug', SLUICE_LOG_FORMAT: 'json', SLUICE_DATA_DIR: join(engine.folder, 'data') }
  const call = async (...args: string[]) => {
    const { code, stdout, stderr } = await sluice(args, { cwd: engine.folder, env })
    outputs.push(`$ ${args[0] ?? ''}\n${stdout}\n${stderr}`)
    return { code, stdout }
  }
  engine.pipeline('customers', yaml)
  engine.pipeline(
    'optouts',
    'source: { url: "{folder}/optouts.csv" }\nmap: { email: email, remove: { column: status, values: ["back"] } }\ndestination: { kind: do-not-reach, account_id: 18ce54d4x5t, list_id: 2dnr }\n',
  )
  engine.write('optouts.csv', `email,status\n${canaries.optedOut},\n`)
  engine.write('crm.csv', `${[header, ...rows().slice(0, -1)].join('\n')}\n`)

  await control.fault(
    { path: '/12/accounts' },
    {
      kind: 'status',
      status: 400,
      body: { errors: [{ code: 'INVALID_PARAMETER', message: `users: ${canaries.refused} is not allowed`, parameter: canaries.refused }] },
    },
    3,
  )
  for (const args of [
    ['check'],
    ['plan', 'customers'],
    ['run', 'customers', '--json'],
    ['run', 'optouts'],
    ['run', 'customers', '--full'],
    ['rejects', 'r_2'],
    ['rejects', 'r_2', '--csv', 'out.csv'],
    ['rejects', 'r_2', '--json'],
    ['explain', 'customers', canaries.good],
    ['explain', 'customers', canaries.asKey, '--json'],
    ['show', 'r_2'],
    ['runs', '--json'],
  ])
    await call(...args)
  // A file that ends inside a quoted canary, and one with a canary in its header.
  engine.write('crm.csv', [header, ...rows()].join('\n'))
  await call('run', 'customers')
  engine.write('crm.csv', `${canaries.unmapped},${canaries.good}\n1,2\n`)
  await call('run', 'customers', '--json')
  await call('check')
  expect(outputs.join('').length).toBeGreaterThan(5_000)
  // The run still synced them.
  expect((await control.audience()).members).toBeGreaterThan(0)

  const seen = new Map<string, string>([
    ['output', outputs.join('\n')],
    ['database', await dump(engine)],
  ])
  for (const file of filesBelow(join(engine.folder, 'data'))) seen.set(file, readFileSync(file, 'latin1'))
  seen.set('out.csv', readFileSync(join(engine.folder, 'out.csv'), 'utf8'))
  expect(Array.from(seen, ([place, text]) => [place, found(text)]).filter(([, hits]) => hits?.length !== 0)).toEqual([])
  expect((seen.get('database') ?? '').length).toBeGreaterThan(1_000)
}, 120_000)

test('the search for canaries finds every encoding', () => {
  const raw = 'Zq7Canary.Good@Example.com'
  const hidden = [
    raw,
    raw.toLowerCase(),
    encodeURIComponent(raw),
    Buffer.from(`x${raw}`).toString('base64'),
    Buffer.from(raw).toString('hex'),
    JSON.stringify({ raw }),
    raw.replace(/./g, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`),
    '+1 (202) 555-0187',
    encodeURIComponent('+1 202 555 0187'),
    Buffer.from('+12025550187').toString('base64url'),
  ]
  expect(hidden.filter((text) => found(`before ${text} after`).length === 0)).toEqual([])
  expect(found('nothing of it 2025550199')).toEqual([])
})

/** Returns every table as COPY writes it, with bytea and JSON as text. */
async function dump(engine: EngineUnderTest): Promise<string> {
  const client = new pg.Client({ connectionString: engine.databaseUrl })
  await client.connect()
  try {
    const { rows: tables } = await client.query<{ name: string }>(
      `select format('%I.%I', schemaname, tablename) as name from pg_tables where schemaname not in ('pg_catalog', 'information_schema')`,
    )
    const parts: string[] = []
    for (const { name } of tables) {
      const { rows: content } = await client.query<{ line: string }>(`select t::text as line from ${name} t`)
      parts.push(name, ...content.map(({ line }) => line))
    }
    return parts.join('\n')
  } finally {
    await client.end()
  }
}

/** Returns the canaries of a text: raw, in any case, URL-encoded, JSON-escaped, in base64 or hex. */
function found(text: string): string[] {
  const forms = [
    text,
    unescaped(text),
    ...decoded(text, /(?:[0-9a-f]{2}){6,}/gi, 'hex'),
    ...decoded(text, /[A-Za-z0-9+/_-]{12,}/g, 'base64'),
  ].map((form) => form.toLowerCase())
  return cores.filter((core) =>
    forms.some((form) => form.includes(core) || (/^\d/.test(core) && form.replaceAll(/(?<=\d)[\s().-]+(?=\d)/g, '').includes(core))),
  )
}

function unescaped(text: string): string {
  return text
    .replace(/\\u([0-9a-f]{4})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
    .replace(/%([0-9a-f]{2})/gi, (_, code: string) => String.fromCharCode(Number.parseInt(code, 16)))
}

/** Base64 may begin inside a longer text, so each of its four phases is read. */
function decoded(text: string, pattern: RegExp, encoding: 'hex' | 'base64'): string[] {
  const runs = text.match(pattern) ?? []
  return [0, 1, 2, 3]
    .slice(0, encoding === 'hex' ? 2 : 4)
    .map((phase) => runs.map((run) => Buffer.from(run.slice(phase), encoding).toString('latin1')).join('\n'))
}

function filesBelow(folder: string): string[] {
  try {
    return readdirSync(folder, { recursive: true, encoding: 'utf8' })
      .map((file) => join(folder, file))
      .filter((file) => statSync(file).isFile())
  } catch {
    // The folder stays empty, because there is no local state.
    return []
  }
}
