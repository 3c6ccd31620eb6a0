import { appendFile, rename, rm, truncate, utimes, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { inspect } from 'node:util'
import { expect, test, vi } from 'vitest'
import { readLimits } from '../../../src/formats/limits.ts'
import { silentLogger } from '../../../src/log.ts'
import { openSource } from '../../../src/sources/openSource.ts'
import { cuttingProxy } from './cuttingProxy.ts'
import { freePort, openSsh, sshCredentials, withoutSsh } from './sshServer.ts'
import { readSource, sourceOf } from './support.ts'

const large = `id,title\n${Array.from({ length: 40_000 }, (_, at) => `${at},${'x'.repeat(100)}\n`).join('')}`
const csv = `id,title\n${Array.from({ length: 300 }, (_, at) => `${at},title ${at}\n`).join('')}`

test.skipIf(withoutSsh)('a file is read from an OpenSSH server whose key is pinned', async () => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', csv)
  const outcome = await readSource(sourceOf(ssh.uri(path), { credentials: sshCredentials, hostKey: ssh.fingerprint }), { env: ssh.env })
  expect([outcome.error?.message, outcome.rows.length]).toEqual([undefined, 300])
  expect(outcome.facts).toMatchObject({ completeness: { complete: true, proof: 'file unchanged while read' }, finalNewline: true })
  expect(outcome.facts?.uri).not.toContain('@')
})

test.skipIf(withoutSsh)('the newest file that matches is read, a missing one is named', async () => {
  await using ssh = await openSsh()
  await utimes(await ssh.folder.write('crm-b.csv', 'id\n1\n'), 1_000_000, 1_000_000)
  await ssh.folder.write('crm-a.csv', 'id\n2\n')
  const read = (path: string) =>
    readSource(sourceOf(ssh.uri(path), { credentials: sshCredentials, hostKey: ssh.fingerprint }), { env: ssh.env })
  expect((await read(join(ssh.folder.path, 'crm-*.csv'))).rows[0]?.cells).toEqual(['2'])
  expect((await read(join(ssh.folder.path, 'none-*.csv'))).code).toBe('SOURCE_MISSING')
  expect((await read(join(ssh.folder.path, 'none.csv'))).code).toBe('SOURCE_MISSING')
  expect((await read(ssh.folder.path)).code).toBe('SOURCE_REFUSED')
  // Times are whole seconds: the later name wins. What is still on its way does not count.
  await utimes(await ssh.folder.write('tie-1.csv', 'id\n3\n'), 2_000_000, 2_000_000)
  await utimes(await ssh.folder.write('tie-2.csv', 'id\n4\n'), 2_000_000, 2_000_000)
  await ssh.folder.write('tie-3.csv.filepart', 'id\n5\n')
  const tie = await read(join(ssh.folder.path, 'tie-*'))
  expect([tie.rows[0]?.cells, tie.facts?.uri.endsWith('/tie-2.csv')]).toEqual([['4'], true])
})

test.skipIf(withoutSsh)('an unknown or other host key is refused, and the shown one is named', async () => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', csv)
  for (const pinned of [{}, { hostKey: 'SHA256:AAAA' }]) {
    const outcome = await readSource(sourceOf(ssh.uri(path), { credentials: sshCredentials, ...pinned }), { env: ssh.env })
    expect([outcome.code, outcome.error?.mend.includes(ssh.fingerprint)]).toEqual(['SOURCE_HOST_KEY', true])
  }
})

test.skipIf(withoutSsh)('wrong credentials are denied, unusable ones named, and none is shown', async () => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', csv)
  const read = (
    env: Readonly<Record<string, string>>,
    credentials: Readonly<Record<string, string>> = sshCredentials,
    uri = ssh.uri(path),
  ) => readSource(sourceOf(uri, { credentials, hostKey: ssh.fingerprint }), { env })
  const locked = { SFTP_KEY_FILE: join(ssh.folder.path, 'locked') }
  const withPassphrase = { ...sshCredentials, passphrase: 'SFTP_PASSPHRASE' }
  expect((await read({ ...locked, SFTP_PASSPHRASE: 'open sesame' }, withPassphrase)).rows).toHaveLength(300)
  const refused = [
    await read({ SFTP_KEY_FILE: join(ssh.folder.path, 'stranger') }),
    await read(ssh.env, sshCredentials, ssh.uri(path).replace(/\/\/[^@]+@/, '//nobody-here@')),
    await read({ SFTP_PASSWORD: 'hunter2' }, { password: 'SFTP_PASSWORD' }),
    await read(locked),
    await read({ ...locked, SFTP_PASSPHRASE: 'hunter2' }, withPassphrase),
    await read({ SFTP_KEY: 'hunter2' }),
    await read({}),
  ]
  expect(refused.map(({ code }) => code)).toEqual([
    'SOURCE_DENIED',
    'SOURCE_DENIED',
    'SOURCE_DENIED',
    'SOURCE_CREDENTIALS',
    'SOURCE_CREDENTIALS',
    'SOURCE_CREDENTIALS',
    'SOURCE_CREDENTIALS',
  ])
  expect(inspect(refused, { depth: 9 })).not.toMatch(/hunter2|PRIVATE KEY/)
  const nowhere = sourceOf(`sftp://a@127.0.0.1:${await freePort()}/x.csv`, { credentials: sshCredentials, hostKey: ssh.fingerprint })
  expect((await readSource(nowhere, { env: ssh.env })).code).toBe('SOURCE_UNAVAILABLE')
})

test.each(['sftp://user:pass word@host:nan/x.csv', 'sftp://user:secret@127.0.0.1/x.csv', 'sftp://user@127.0.0.1/100%.csv'])(
  'the address %s is refused before anything is asked, and not repeated',
  async (uri) => {
    const { code, error } = await readSource(sourceOf(uri))
    expect([code, inspect(error, { depth: 9 }).includes(uri)]).toEqual(['SOURCE_REFUSED', false])
  },
)

test.skipIf(withoutSsh).for([
  ['grows', (path: string) => appendFile(path, 'x,y\n')],
  ['is cut short', (path: string) => truncate(path, 20_000)],
  ['is written again', (path: string) => writeFile(path, large).then(() => utimes(path, 1_000_000, 1_000_000))],
  ['is replaced', (path: string) => writeFile(`${path}.new`, csv).then(() => rename(`${path}.new`, path))],
  ['is taken away', (path: string) => rm(path)],
] as const)('a file that %s while it is read is refused', async ([, change]) => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', large)
  const definition = sourceOf(ssh.uri(path), { credentials: sshCredentials, hostKey: ssh.fingerprint })
  const source = await openSource(definition, { env: ssh.env, log: silentLogger })
  await change(path)
  await expect(Array.fromAsync(source.rows)).rejects.toMatchObject({ code: 'SOURCE_CHANGED' })
})

test.skipIf(withoutSsh).for(['end', 'reset'] as const)(
  'a connection that is cut (%s) anywhere is no end, and prints nothing',
  async (how) => {
    await using ssh = await openSsh()
    const path = await ssh.folder.write('crm.csv', large)
    const printed = [vi.spyOn(console, 'log'), vi.spyOn(console, 'error')]
    for (const [afterBytes, code] of [
      [100, 'SOURCE_UNAVAILABLE'],
      [300_000, 'FILE_TRUNCATED'],
      [2_000_000, 'FILE_TRUNCATED'],
      [large.length, 'FILE_TRUNCATED'],
    ] as const) {
      await using proxy = await cuttingProxy(ssh.port, () => ({ afterBytes, how }))
      const definition = sourceOf(ssh.uri(path, proxy.port), { credentials: sshCredentials, hostKey: ssh.fingerprint })
      const outcome = await readSource(definition, { env: ssh.env })
      expect([proxy.cuts(), outcome.facts]).toEqual([1, undefined])
      // A reset also takes away what had arrived and was not read yet: then it may have been nothing.
      expect(outcome.code).toMatch(how === 'end' ? code : /^(FILE_TRUNCATED|SOURCE_UNAVAILABLE)$/)
      expect(outcome.error).toMatchObject({ where: `sftp://127.0.0.1:${proxy.port}${path}`, mend: expect.stringContaining('un again') })
    }
    expect(printed.flatMap(({ mock }) => mock.calls)).toEqual([])
  },
)

test.skipIf(withoutSsh)(
  'a server that says nothing more is given up after the idle time, or when nobody wants the file any more',
  async () => {
    await using ssh = await openSsh()
    const path = await ssh.folder.write('crm.csv', large)
    await using proxy = await cuttingProxy(ssh.port, () => ({ afterBytes: 1_000_000, how: 'stall' }))
    const definition = sourceOf(ssh.uri(path, proxy.port), { credentials: sshCredentials, hostKey: ssh.fingerprint })
    expect((await readSource(definition, { env: ssh.env, limits: { ...readLimits, idleMs: 2_000 } })).code).toBe('FILE_TRUNCATED')
    const abort = new AbortController()
    const source = await openSource(definition, { env: ssh.env, log: silentLogger, signal: abort.signal })
    const reading = Array.fromAsync(source.rows)
    await expect.poll(() => proxy.cuts()).toBe(2)
    abort.abort(new Error('enough'))
    await expect(reading).rejects.toThrow('enough')
  },
)
