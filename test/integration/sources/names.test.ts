/** Names with special characters of addresses, patterns or shells: the file is read, or the error shows how to write the name. */
import { mkdir, symlink, utimes, writeFile } from 'node:fs/promises'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect, test } from 'vitest'
import { openLocalFile } from '../../../src/sources/file/localFile.ts'
import { openStore, s3Env } from './s3Store.ts'
import { openSsh, sshCredentials, withoutSsh } from './sshServer.ts'
import { readSource, sourceOf, temporaryFolder } from './support.ts'

const names = [
  'a b.csv',
  'line\nend.csv',
  'größe ✓.csv',
  'cafe\u0301.csv',
  '100%.csv',
  'a%20b.csv',
  'a#b.csv',
  'a?b.csv',
  'a&b=c.csv',
  'x[1].csv',
  'x{a,b}.csv',
  'star*.csv',
  'back\\slash.csv',
  `'"\`$HOME.csv`,
  '-dash.csv',
  'c:d.csv',
  '+plus+.csv',
]

/** Encoded for an address. */
const encoded = (path: string) => path.split('/').map(encodeURIComponent).join('/')

/** Returns the content of `uri`: the name that the test wrote into the file. */
async function nameIn(definition: ReturnType<typeof sourceOf>, env: Readonly<Record<string, string>> = {}): Promise<unknown> {
  const { rows, error } = await readSource(definition, { env })
  return rows[0]?.cells[0] ?? error
}

const content = (name: string) => `id\n"${name.replaceAll('"', '""')}"\n`

test('on this machine', async () => {
  await using folder = await temporaryFolder()
  // A pattern would match this newer file, but a file with exactly this name takes precedence.
  const decoys = ['x1.csv', 'xa.csv', 'stars.csv', 'axb.csv']
  for (const name of names) await utimes(await folder.write(name, content(name)), 1_000, 1_000)
  for (const name of decoys) await folder.write(name, content(name))
  for (const name of names) {
    const path = join(folder.path, name)
    expect(await nameIn(sourceOf(path))).toBe(name)
    expect(await nameIn(sourceOf(pathToFileURL(path).href))).toBe(name)
  }
  expect(await nameIn(sourceOf(join(folder.path, 'x?.csv')))).toBe('xa.csv')
})

test.skipIf(withoutSsh)('over SFTP', { tags: ['long'], timeout: 60_000 }, async () => {
  await using ssh = await openSsh()
  const own = { credentials: sshCredentials, hostKey: ssh.fingerprint }
  const read = (uri: string) => nameIn(sourceOf(uri, own), ssh.env)
  for (const name of names) await utimes(await ssh.folder.write(name, content(name)), 1_000, 1_000)
  for (const name of ['x1.csv', 'xa.csv', 'stars.csv', 'axb.csv']) await ssh.folder.write(name, content(name))
  for (const name of names) expect(await read(ssh.uri(encoded(join(ssh.folder.path, name))))).toBe(name)
  // As users write it; only % and control characters must be encoded.
  for (const name of names.filter((name) => !/[%\n=]/.test(name))) expect(await read(ssh.uri(join(ssh.folder.path, name)))).toBe(name)
  expect(await read(ssh.uri(join(ssh.folder.path, 'x?.csv')))).toBe('xa.csv')
})

test('in a store', async () => {
  await using store = await openStore()
  const at = (key: string) => sourceOf(`s3://exports/${key}?endpoint=${store.endpoint}`, { allowPrivate: true })
  // The store of the tests does not accept line ends in keys.
  const keys = names.filter((name) => !/[\n\\]/.test(name))
  for (const key of [...keys, 'x1.csv', 'xa.csv', 'stars.csv', 'axb.csv']) await store.put(key, content(key))
  for (const key of keys) await utimes(store.file(key), 1_000, 1_000)
  for (const key of keys) expect(await nameIn(at(encoded(key)), s3Env)).toBe(key)
  for (const key of keys.filter((name) => !/[%#?]/.test(name))) expect(await nameIn(at(key), s3Env)).toBe(key)
})

test.each([
  ['file:///data/crm#1.csv', 'SOURCE_REFUSED', '%23'],
  ['file:///data/crm-?.csv', 'SOURCE_REFUSED', '%3F'],
  ['file:///data/100%.csv', 'SOURCE_REFUSED', 'the path itself'],
  ['sftp://user@127.0.0.1/crm.csv?password=hunter2', 'SOURCE_REFUSED', '%3F'],
  ['sftp://user@127.0.0.1/cr\nm.csv', 'SOURCE_REFUSED', '%0A'],
  ['sftp://127.0.0.1/crm.csv', 'SOURCE_REFUSED', 'sftp://user@host/path'],
  ['s3://exports/crm#1.csv', 'SOURCE_REFUSED', '%23'],
  ['s3://exports/crm-?.csv', 'SOURCE_REFUSED', '%3F'],
  ['s3://exports/crm.csv?versionId=hunter2&region=eu-west-1', 'SOURCE_REFUSED', '%3F'],
  ['s3://127.0.0.1:9000/exports/crm.csv', 'SOURCE_REFUSED', 's3://bucket/key?endpoint=http://127.0.0.1:9000'],
  ['s3://exports/cr\tm.csv', 'SOURCE_REFUSED', '%09'],
  ['s3://exports', 'SOURCE_REFUSED', 's3://bucket/key'],
  ['s3://exports/', 'SOURCE_REFUSED', 's3://bucket/key'],
  ['s3:///crm.csv', 'SOURCE_REFUSED', 's3://bucket/key'],
])('the address %j, which would name another file, is rejected with the right spelling as hint', async (uri, code, hint) => {
  const { error } = await readSource(sourceOf(uri))
  expect([error?.code, error?.hint]).toEqual([code, expect.stringContaining(hint)])
  expect(`${error?.message} ${error?.where}`).not.toContain('hunter2')
})

test('circular links, sockets and disk errors are named in the error', async () => {
  await using folder = await temporaryFolder()
  const path = (name: string) => join(folder.path, name)
  await symlink('loop', path('loop'))
  await symlink('there', path('here'))
  await symlink('here', path('there'))
  await symlink('nowhere', path('dangling'))
  await mkdir(path('file'))
  const socket = createServer()
  await new Promise<void>((resolve) => socket.listen(path('socket'), resolve))
  const said = async (name: string) => {
    const { error } = await readSource(sourceOf(path(name)))
    return [error?.code, error?.message]
  }
  const circle = ['SOURCE_REFUSED', 'the source is a symbolic link that leads back to itself, which is not allowed']
  expect([await said('loop'), await said('here')]).toEqual([circle, circle])
  expect(await said('socket')).toEqual(['SOURCE_REFUSED', 'the source is not a regular file, which is not allowed'])
  for (const name of ['dangling', 'x'.repeat(300), 'socket/below'])
    expect(await said(name)).toEqual(['SOURCE_MISSING', 'the file does not exist'])
  await new Promise((resolve) => socket.close(resolve))
  // A closed handle fails like a disk.
  await writeFile(path('large.csv'), Buffer.alloc(2_000_000, 'x'))
  const stream = await openLocalFile(path('large.csv'))
  await expect(
    (async () => {
      for await (const _ of stream.chunks) await stream.close()
    })(),
  ).rejects.toMatchObject({ code: 'SOURCE_UNAVAILABLE', message: expect.stringMatching(/^the file cannot be read \(\w+\)$/) })
})

test.skipIf(withoutSsh)('a pattern over SFTP matches links, and is rejected in a folder name', async () => {
  await using ssh = await openSsh()
  const { folder } = ssh
  await mkdir(join(folder.path, 'a'))
  await utimes(await folder.write('a/crm-1.csv', 'id\n1\n'), 1_000, 1_000)
  await symlink('crm-1.csv', join(folder.path, 'a/current.csv'))
  await symlink('nowhere', join(folder.path, 'a/curtail.csv'))
  const read = (path: string, more = {}) =>
    readSource(sourceOf(ssh.uri(join(folder.path, path)), { credentials: sshCredentials, hostKey: ssh.fingerprint, ...more }), {
      env: ssh.env,
    })
  expect((await read('a/cur*.csv')).facts?.uri).toMatch(/\/a\/current\.csv$/)
  expect((await read('*/crm-1.csv')).error).toMatchObject({
    code: 'SOURCE_REFUSED',
    hint: expect.stringContaining('only in the file name'),
  })
  expect((await read('none/*.csv')).error).toMatchObject({ code: 'SOURCE_MISSING', message: 'the folder does not exist' })
  expect((await read('a/crm-1.csv', { credentials: undefined })).error).toMatchObject({
    code: 'SOURCE_CREDENTIALS',
    hint: expect.stringContaining('`private_key`'),
  })
})
