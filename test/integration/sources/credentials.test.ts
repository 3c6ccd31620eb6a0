/** Credentials of a pipeline: read, rejected by name, never shown, never sent to another host. */
import { dirname, join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test } from 'vitest'
import type { Pipeline } from '../../../src/model/pipeline.ts'
import { withBackfillSource } from '../../../src/sync/read/backfillSource.ts'
import { testDatabase } from '../../support/postgres.ts'
import { full, rawServer } from './rawServer.ts'
import { readSource, sourceOf, temporaryFolder } from './support.ts'

const feed = () => rawServer((_, socket) => socket.end(full('id\n1\n')))

test('the line end of a secret file is not part of the secret', async () => {
  await using server = await feed()
  const definition = sourceOf(`${server.url}/feed.csv`, { credentials: { token: 'TOKEN' } })
  for (const end of ['', '\n', '\r\n']) expect((await readSource(definition, { env: { TOKEN: `canary${end}` } })).code).toBe('read')
  expect(server.requests.map((request) => /authorization: (.*)\r\n/.exec(request)?.[1])).toEqual(Array(3).fill('Bearer canary'))
})

test('a credential may be the User-Agent, which some firewalls check', async () => {
  await using server = await feed()
  const definition = sourceOf(`${server.url}/feed.csv`, { credentials: { 'header:User-Agent': 'AGENT' } })
  expect((await readSource(definition, { env: { AGENT: 'shop/7' } })).code).toBe('read')
  expect(server.requests.map((request) => /user-agent: (.*)\r\n/.exec(request)?.[1])).toEqual(['shop/7'])
})

test.each([
  ['token', 'canary\r\nx-evil: 1'],
  ['token', 'canary “quoted”'],
  ['token', 'canary\0'],
  ['header:X-Key', 'canary\nx'],
  ['header:Authorization', 'Bearer canary–dash'],
])('a credential %s that is not valid in a header (%j) is named, not shown, and nothing is sent', async (key, value) => {
  await using server = await feed()
  const { error } = await readSource(sourceOf(`${server.url}/feed.csv`, { credentials: { [key]: 'SECRET' } }), { env: { SECRET: value } })
  expect([error?.code, error?.where, server.requests]).toEqual(['SOURCE_CREDENTIALS', `credentials.${key}`, []])
  expect(inspect(error, { depth: 9, showHidden: true })).not.toContain('canary')
})

test.each(['header:', 'header:X Key', 'header:Range', 'header:If-None-Match', 'header:Transfer-Encoding', 'header:Accept-Encoding'])(
  'the credential %s cannot set a header of the request itself',
  async (key) => {
    await using server = await feed()
    const { error } = await readSource(sourceOf(`${server.url}/feed.csv`, { credentials: { [key]: 'SECRET' } }), { env: { SECRET: 'x' } })
    expect([error?.code, error?.where, server.requests]).toEqual(['SOURCE_CREDENTIALS', `credentials.${key}`, []])
  },
)

test.each([
  ['https://shop.example.com/feed.csv', 'tokn', 'Name one of username, password, token, header:X-Name.'],
  ['sftp://user@shop.example.com/feed.csv', 'token', 'Name one of username, password, private_key, passphrase.'],
  ['s3://exports/feed.csv', 'secret_key', 'Name one of access_key_id, secret_access_key, session_token.'],
  ['postgres://user@shop.example.com/shop', 'username', 'Name one of url, password.'],
  ['exports/feed.csv', 'token', 'Take `credentials` out: nothing would read them.'],
])('%s does not use the credential %s, which is an error', async (uri, key, hint) => {
  const { error } = await readSource(sourceOf(uri, { query: 'select 1', credentials: { [key]: 'SECRET' } }), { env: { SECRET: 'x' } })
  expect([error?.code, error?.hint]).toEqual(['SOURCE_CREDENTIALS', hint])
})

test('half of the credentials of a store are rejected, and a token of other credentials is not sent with them', async () => {
  await using server = await feed()
  const own = { access_key_id: 'ID', secret_access_key: 'KEY' }
  const read = (credentials: Readonly<Record<string, string>>, env: Readonly<Record<string, string>>) =>
    readSource(sourceOf(`s3://exports/feed.csv?endpoint=${server.url}`, { allowPrivate: true, credentials }), { env })
  expect((await read({ access_key_id: 'ID' }, { ID: 'a' })).error).toMatchObject({
    code: 'SOURCE_CREDENTIALS',
    message: 'the source has only half of its credentials',
  })
  expect((await read(own, { ID: 'a', KEY: 'b', AWS_SESSION_TOKEN: 'canary' })).code).toBe('read')
  expect((await read({ ...own, session_token: 'TOKEN' }, { ID: 'a', KEY: 'b', TOKEN: 'own-token' })).code).toBe('read')
  const tokens = server.requests.map((request) => /x-amz-security-token: (.*)\r\n/.exec(request)?.[1])
  expect(tokens).toEqual([undefined, 'own-token'])
})

test.each([
  ['https://shop.example.com/feed.csv', 'https://shop.example.com/older.csv', true],
  ['https://shop.example.com/feed.csv', 'https://shop.example.com:8443/older.csv', false],
  ['https://shop.example.com/feed.csv', 'https://other.example.com/feed.csv', false],
  ['https://shop.example.com/feed.csv', 'http://shop.example.com/feed.csv', false],
  ['https://shop.example.com/feed.csv', 's3://exports/feed.csv', false],
  ['s3://exports/feed.csv', 's3://archive/feed.csv', true],
  ['sftp://a@shop.example.com/feed.csv', 'sftp://a@shop.example.com/older.csv', true],
  ['postgres://a@shop.example.com/b', 'postgres://a@shop.example.com/c', true],
  ['postgres://a@shop.example.com/b', 'postgres://a@shop.example.com:5432/b', true],
  ['postgres://a@shop.example.com/b', 'postgres://a@shop.example.com:5433/b', false],
  ['postgres://a@shop.example.com/b', 'postgres://a@other.example.com/b', false],
  ['postgres://a@shop.example.com/b', 'postgres://a@shop.example.com/b?host=other.example.com', false],
  ['postgres://a@shop.example.com/b', 'postgres://a:own@shop.example.com/b', false],
  ['postgres://a@/b', 'postgres://a@/b', true],
  ['postgres:', 'postgres:', true],
])('a backfill source instead of %s, %s, gets its credentials: %s', async (own, other, given) => {
  const credentials = { password: 'SECRET' }
  const pipeline = { sources: [sourceOf(own, { credentials })] } as unknown as Pipeline
  const [source] = (await withBackfillSource(pipeline, other)).sources
  expect([source?.uri, source?.credentials]).toEqual([other, given ? credentials : undefined])
})

test('the scheme of a backfill source is read in any case', async () => {
  await using own = await testDatabase()
  await using folder = await temporaryFolder()
  const definition = sourceOf('postgres:', { query: 'select 7 as id', credentials: { url: 'SHOP_URL' } })
  const pipeline = { sources: [definition] } as unknown as Pipeline
  const sourceFor = async (address: string) => (await withBackfillSource(pipeline, address)).sources[0] ?? definition
  const { rows } = await readSource(await sourceFor('POSTGRES:'), { env: { SHOP_URL: own.url } })
  expect(rows.map(({ cells }) => cells)).toEqual([['7']])
  const path = await folder.write('late.csv', 'id\n1\n')
  expect((await readSource(await sourceFor(`FILE:${path}`))).rows).toHaveLength(1)
  expect((await sourceFor('HTTPS://shop.example.com/Late.csv')).uri).toBe('https://shop.example.com/Late.csv')
})

test('a backfill from another database than the one of `credentials.url` reads the database that its address names', async () => {
  await using own = await testDatabase()
  await using other = await testDatabase()
  const address = other.url.replace(/^postgresql:/, 'postgres:')
  const definition = sourceOf('postgres:', { query: 'select current_database() as id', credentials: { url: 'SHOP_URL' } })
  const pipeline = { sources: [definition] } as unknown as Pipeline
  const databaseOf = async (uri: string) => {
    const [source] = (await withBackfillSource(pipeline, uri)).sources
    return source === undefined ? undefined : (await readSource(source, { env: { SHOP_URL: own.url } })).rows[0]?.cells[0]
  }
  const nameOf = (url: string) => new URL(url).pathname.slice(1)
  expect([await databaseOf('postgres:'), await databaseOf(address)]).toEqual([nameOf(own.url), nameOf(other.url)])
})

test('a backfill file instead of a source with credentials is read without them', async () => {
  await using folder = await temporaryFolder()
  const path = await folder.write('late.csv', 'id\n1\n')
  const pipeline = { sources: [sourceOf('https://shop.example.com/feed.csv', { credentials: { token: 'TOKEN' } })] } as unknown as Pipeline
  const [source] = (await withBackfillSource(pipeline, path)).sources
  expect(source === undefined ? undefined : (await readSource(source)).rows).toHaveLength(1)
})

test.each([
  ['an empty file', { TOKEN_FILE: 'empty' }, 'TOKEN_FILE names an empty file'],
  ['a missing file', { TOKEN_FILE: 'missing' }, 'TOKEN_FILE names a file that cannot be read (ENOENT)'],
  ['a value and a file', { TOKEN: 'canary', TOKEN_FILE: 'filled' }, 'both TOKEN and TOKEN_FILE are set'],
  ['a value of spaces', { TOKEN: ' \n' }, 'the environment variable TOKEN is not set'],
])('%s instead of a credential is an error, and nothing is sent', async (_, env, message) => {
  await using server = await feed()
  await using folder = await temporaryFolder()
  await folder.write('empty', '\n')
  const filled = await folder.write('filled', 'canary\n')
  const inFolder = Object.fromEntries(
    Object.entries(env).map(([name, value]) => [name, name.endsWith('_FILE') ? join(dirname(filled), value) : value]),
  )
  const { error } = await readSource(sourceOf(`${server.url}/feed.csv`, { credentials: { token: 'TOKEN' } }), { env: inFolder })
  expect([error?.code, error?.where, error?.message]).toEqual(['SOURCE_CREDENTIALS', 'credentials.token', message])
  expect(server.requests).toEqual([])
})
