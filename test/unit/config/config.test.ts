/** Environment: defaults, files for secrets, all problems in one error, and no secret in any text. */
import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import { loadConfig, needService, type Environment } from '../../../src/config/config.ts'
import { hideSecrets, Secret } from '../../../src/config/secret.ts'
import { ConfigError } from '../../../src/errors.ts'

const folder = mkdtempSync(join(tmpdir(), 'sluice-config-'))
const nowhere = join(folder, 'no-such.env')
const load = (env: Environment, dotenv = nowhere) => loadConfig(env, { dotenv })

test('without any variable there are defaults and no service', () => {
  const config = load({})
  expect(config).toMatchObject({ databaseUrl: undefined, dataDir: '.sluice', log: { level: 'warn', format: 'pretty' } })
  expect(config.service).toMatchObject({ baseUrl: undefined, adsVersion: '12', names: {} })
})

test('names every missing variable in one error when the service is needed', () => {
  const error = caught(() => needService(load({ SLUICE_BASE_URL: 'http://127.0.0.1:4010', SLUICE_ACCESS_TOKEN: 'token-1' })))
  expect(error.code).toBe('SERVICE_NOT_CONFIGURED')
  expect(error.problems.map((problem) => problem.path)).toEqual([
    'SLUICE_CONSUMER_KEY',
    'SLUICE_CONSUMER_SECRET',
    'SLUICE_ACCESS_TOKEN_SECRET',
  ])
  expect(error.hint).toContain('sluice sandbox')
})

test('an application without a user gets the hint to sign in', () => {
  const error = caught(() =>
    needService(load({ SLUICE_BASE_URL: 'http://127.0.0.1:4010', SLUICE_CONSUMER_KEY: 'key-1', SLUICE_CONSUMER_SECRET: 'secret-1' })),
  )
  expect(error.problems.map((problem) => problem.path)).toEqual(['SLUICE_ACCESS_TOKEN', 'SLUICE_ACCESS_TOKEN_SECRET'])
  expect(error.hint).toContain('sluice auth login')
})

test('the advertising host defaults to the core host, and the sandbox of the service has no default here', () => {
  const { service } = load({ SLUICE_BASE_URL: 'http://127.0.0.1:4010/' })
  expect(service).toMatchObject({
    baseUrl: 'http://127.0.0.1:4010',
    adsBaseUrl: 'http://127.0.0.1:4010',
    adsSandboxBaseUrl: undefined,
  })
})

test('variables of the process take precedence over .env, and an empty variable counts as unset', () => {
  const dotenv = join(folder, 'one.env')
  writeFileSync(dotenv, 'SLUICE_DATA_DIR=from-file\nSLUICE_ADS_VERSION="11"\n')
  expect(load({ SLUICE_DATA_DIR: 'from-process' }, dotenv)).toMatchObject({ dataDir: 'from-process', service: { adsVersion: '11' } })
  expect(load({ SLUICE_DATA_DIR: '' }, dotenv).dataDir).toBe('from-file')
})

test('a mounted file gives the secret; the variable and the file together are rejected', () => {
  const file = join(folder, 'secret')
  writeFileSync(file, 'from a file\n')
  expect(load({ SLUICE_CONSUMER_SECRET_FILE: file }).service.consumerSecret?.reveal()).toBe('from a file')
  const error = caught(() => load({ SLUICE_CONSUMER_SECRET_FILE: file, SLUICE_CONSUMER_SECRET: 'direct-value' }))
  expect(error.problems).toMatchObject([{ path: 'SLUICE_CONSUMER_SECRET' }])
  expect(JSON.stringify(error.problems)).not.toContain('direct-value')
})

test.for([
  ['an unreadable secret file', { SLUICE_ACCESS_TOKEN_FILE: join(folder, 'gone') }, 'SLUICE_ACCESS_TOKEN_FILE'],
  ['an address without a scheme', { SLUICE_BASE_URL: 'service.example.com' }, 'SLUICE_BASE_URL'],
  ['credentials in an address', { SLUICE_ADS_BASE_URL: 'https://me:pw@service.example.com' }, 'SLUICE_ADS_BASE_URL'],
  ['plain http to another machine', { SLUICE_BASE_URL: 'http://service.example.com' }, 'SLUICE_BASE_URL'],
  ['a database that is not Postgres', { DATABASE_URL: 'mysql://db.example.com/x' }, 'DATABASE_URL'],
  ['a password with a % that is not encoded', { DATABASE_URL: 'postgres://me:100%@db.example.com/x' }, 'DATABASE_URL'],
  ['names that are not JSON', { SLUICE_SERVICE_NAMES: '{service_id:' }, 'SLUICE_SERVICE_NAMES'],
  ['names that are not texts', { SLUICE_SERVICE_NAMES: '{"service_id":1}' }, 'SLUICE_SERVICE_NAMES'],
  ['an unknown log level', { SLUICE_LOG_LEVEL: 'loud' }, 'SLUICE_LOG_LEVEL'],
  ['a version that is none', { SLUICE_ADS_VERSION: 'twelve' }, 'SLUICE_ADS_VERSION'],
  ['days too few to keep runs for', { SLUICE_KEEP_RUNS_DAYS: '30' }, 'SLUICE_KEEP_RUNS_DAYS'],
  ['days that are no number', { SLUICE_KEEP_RUNS_DAYS: '400 days' }, 'SLUICE_KEEP_RUNS_DAYS'],
  ['a token of the API that is a command', { SLUICE_API_TOKEN: '$(openssl rand -hex 32)' }, 'SLUICE_API_TOKEN'],
  ['a misspelt variable', { SLUICE_TOKEN: 'abcdef' }, 'SLUICE_TOKEN'],
  ['certificate checks switched off', { NODE_TLS_REJECT_UNAUTHORIZED: '0' }, 'NODE_TLS_REJECT_UNAUTHORIZED'],
] as const)('rejects %s by name', ([, env, path]) => {
  expect(caught(() => load(env)).problems.map((problem) => problem.path)).toEqual([path])
})

test('the hint for a wrong database address does not suggest the embedded one, which has none of its state', () => {
  const [problem] = caught(() => load({ DATABASE_URL: 'mysql://db.example.com/x' })).problems
  expect(problem?.hint).toBe('write DATABASE_URL=postgres://user@host:5432/name')
})

test('runs are kept for the given number of days', () => {
  expect(load({ SLUICE_KEEP_RUNS_DAYS: '60' }).keepRunsDays).toBe(60)
  expect(load({}).keepRunsDays).toBeUndefined()
})

test('a .env that cannot be read is named, with what to do about it', () => {
  const { problems } = caught(() => loadConfig({}, { dotenv: folder }))
  expect(problems).toMatchObject([{ path: '.env', hint: 'make .env a file that this user may read' }])
})

test('reports all problems of the environment in one error', () => {
  const error = caught(() => load({ SLUICE_BASE_URL: 'ftp://a.example.com', SLUICE_LOG_FORMAT: 'xml', DATABASE_URL: 'x' }))
  expect(error.problems.map((problem) => problem.path).toSorted()).toEqual(['DATABASE_URL', 'SLUICE_BASE_URL', 'SLUICE_LOG_FORMAT'])
})

test('a database address is secret only if it contains a secret', () => {
  const url = (value: string) => load({ DATABASE_URL: value }).secrets.map((secret) => secret.reveal())
  expect(url('postgres://me@127.0.0.1:5432/shop')).toEqual([])
  expect(url('postgres://me:only-a-test@127.0.0.1:5432/shop')).toContain('only-a-test')
  expect(url('postgres://127.0.0.1/shop?password=only-a-test').join()).toContain('only-a-test')
})

test('a secret prints as [secret] in every conversion to text', () => {
  const secret = new Secret('canary-9f2')
  expect(
    [
      secret.toString(),
      JSON.stringify({ secret }),
      inspect({ secret }, { depth: 9 }),
      String(secret),
      JSON.stringify(Object.entries(secret)),
    ].join(),
  ).not.toContain('canary-9f2')
  expect(secret.reveal()).toBe('canary-9f2')
})

test('hides secrets in a text, also encoded ones and the password of the database on its own', () => {
  const { secrets } = load({ DATABASE_URL: 'postgres://me:p%40ssw0rd@127.0.0.1/x', SLUICE_CONSUMER_SECRET: 'a+b/c=d&e' })
  const hidden = hideSecrets('p@ssw0rd, a+b/c=d&e, a%2Bb%2Fc%3Dd%26e, postgres://me:p%40ssw0rd@127.0.0.1/x', secrets)
  expect(hidden).toBe('[secret], [secret], [secret], [secret]')
  // A pipeline gets the value of such a variable without the line end.
  expect(hideSecrets('exports/hunter2hunter2.csv', load({ FEED_PASSWORD: 'hunter2hunter2\n' }).secrets)).toBe('exports/[secret].csv')
})

function caught(work: () => unknown): ConfigError {
  try {
    work()
  } catch (error) {
    if (error instanceof ConfigError) return error
    throw error
  }
  throw new Error('nothing was thrown')
}

test.for(['prefer', 'require', 'verify-ca'])('sslmode=%s has the meaning that the driver gives it, without a warning of Node', (mode) => {
  const url = load({ DATABASE_URL: `postgres://user@db.example/shop?sslmode=${mode}&sslrootcert=/ca.pem` }).databaseUrl?.reveal() ?? ''
  expect(new URL(url).searchParams.get('sslmode')).toBe('verify-full')
  expect(new URL(url).searchParams.get('sslrootcert')).toBe('/ca.pem')
  const compatible = 'postgres://user@db.example/shop?sslmode=require&uselibpqcompat=true'
  expect(load({ DATABASE_URL: compatible }).databaseUrl?.reveal()).toBe(compatible)
})

test('a file of authorities that cannot be read is named', () => {
  const error = caught(() => load({ NODE_EXTRA_CA_CERTS: join(folder, 'no-such-ca.pem') }))
  expect(error.problems.map(({ path }) => path)).toEqual(['NODE_EXTRA_CA_CERTS'])
})

test('authorities in .env are rejected, because Node reads them before', () => {
  const dotenv = join(folder, 'authorities.env')
  writeFileSync(dotenv, 'NODE_EXTRA_CA_CERTS=/etc/ssl/ca.pem\n')
  const [problem, ...others] = caught(() => loadConfig({}, { dotenv })).problems
  expect([problem?.path, problem?.hint, others]).toEqual([
    'NODE_EXTRA_CA_CERTS',
    'export NODE_EXTRA_CA_CERTS=/etc/ssl/ca.pem   (in the shell or service that starts Sluice)',
    [],
  ])
  writeFileSync(join(folder, 'ca.pem'), '')
  expect(() => loadConfig({ NODE_EXTRA_CA_CERTS: join(folder, 'ca.pem') }, { dotenv })).not.toThrow()
})

test.for(['Tenant', '9lives', 'pg_own', 'public', 'a-b', 'a"b', 'x'.repeat(64)])('SLUICE_SCHEMA=%s is rejected by name', (name) => {
  expect(caught(() => load({ SLUICE_SCHEMA: name })).problems.map(({ path }) => path)).toEqual(['SLUICE_SCHEMA'])
})

test('SLUICE_SCHEMA names the schema; the default is sluice', () => {
  expect(load({}).schema).toBe('sluice')
  expect(load({ SLUICE_SCHEMA: 'tenant_b' }).schema).toBe('tenant_b')
})
