import { createHash } from 'node:crypto'
import { appendFile, copyFile, rename, rm, truncate, utimes, writeFile } from 'node:fs/promises'
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
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')
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
  // Times are whole seconds, so the later name takes precedence. Files that are still being uploaded do not count.
  await utimes(await ssh.folder.write('tie-1.csv', 'id\n3\n'), 2_000_000, 2_000_000)
  await utimes(await ssh.folder.write('tie-2.csv', 'id\n4\n'), 2_000_000, 2_000_000)
  await ssh.folder.write('tie-3.csv.filepart', 'id\n5\n')
  const tie = await read(join(ssh.folder.path, 'tie-*'))
  expect([tie.rows[0]?.cells, tie.facts?.uri.endsWith('/tie-2.csv')]).toEqual([['4'], true])
})

test.skipIf(withoutSsh)('an unknown or changed host key is rejected, and the error shows the key of the server', async () => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', csv)
  for (const pinned of [{}, { hostKey: 'SHA256:AAAA' }]) {
    const outcome = await readSource(sourceOf(ssh.uri(path), { credentials: sshCredentials, ...pinned }), { env: ssh.env })
    expect([outcome.code, outcome.error?.hint.includes(ssh.fingerprint)]).toEqual(['SOURCE_HOST_KEY', true])
  }
})

test.skipIf(withoutSsh)('wrong credentials are denied, unusable ones are named, and no error contains their values', async () => {
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
    await read({ SFTP_KEY_FILE: join(ssh.folder.path, 'user.pub') }),
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
    'SOURCE_CREDENTIALS',
  ])
  expect(inspect(refused, { depth: 9 })).not.toMatch(/hunter2|PRIVATE KEY/)
  const nowhere = sourceOf(`sftp://a@127.0.0.1:${await freePort()}/x.csv`, { credentials: sshCredentials, hostKey: ssh.fingerprint })
  expect((await readSource(nowhere, { env: ssh.env })).code).toBe('SOURCE_UNAVAILABLE')
})

test.each([
  'sftp://user:pass word@host:nan/x.csv',
  'sftp://user:secret@127.0.0.1/x.csv',
  'sftp://user@127.0.0.1/100%.csv',
  'sftp://100%@127.0.0.1/x.csv',
])('the address %s is rejected before any request, and not repeated in the error', async (uri) => {
  const { code, error } = await readSource(sourceOf(uri))
  expect([code, inspect(error, { depth: 9 }).includes(uri)]).toEqual(['SOURCE_REFUSED', false])
})

test.skipIf(withoutSsh).for([
  ['grows', (path: string) => appendFile(path, 'x,y\n')],
  ['is cut short', (path: string) => truncate(path, 20_000)],
  ['is written again', (path: string) => writeFile(path, large).then(() => utimes(path, 1_000_000, 1_000_000))],
  ['is replaced', (path: string) => writeFile(`${path}.new`, csv).then(() => rename(`${path}.new`, path))],
  ['is taken away', (path: string) => rm(path)],
] as const)('the read of a file that %s fails', { tags: ['long'] }, async ([, change]) => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', large)
  const definition = sourceOf(ssh.uri(path), { credentials: sshCredentials, hostKey: ssh.fingerprint })
  const source = await openSource(definition, { env: ssh.env, log: silentLogger })
  await change(path)
  await expect(Array.fromAsync(source.rows)).rejects.toMatchObject({ code: 'SOURCE_CHANGED' })
})

/** A time long ago, so that the file cannot change within the same second. */
const written = 1_000_000

test.skipIf(withoutSsh).for([
  // One connection breaks while it opens, some deliver a part, and one delivers all but the end.
  ['end', [100, 400_000, 900_000, 600_000, 2_000, 2_000_000, 300]],
  // A reset also discards bytes that arrived and were not read. This number of connections may deliver nothing.
  ['reset', [100, 900_000, 2_000_000, 600_000]],
] as const)(
  'a read that breaks repeatedly (%s) is resumed over new connections, each byte read once, without output',
  { tags: ['long'] },
  async ([how, cuts]) => {
    await using ssh = await openSsh()
    const path = await ssh.folder.write('crm.csv', large)
    await utimes(path, written, written)
    const printed = [vi.spyOn(console, 'log'), vi.spyOn(console, 'error')]
    await using proxy = await cuttingProxy(ssh.port, (connection) => {
      const afterBytes = cuts[connection - 1]
      return afterBytes === undefined ? undefined : { afterBytes, how }
    })
    const definition = sourceOf(ssh.uri(path, proxy.port), { credentials: sshCredentials, hostKey: ssh.fingerprint })
    const { code, error, rows, facts } = await readSource(definition, { env: ssh.env })
    expect([code, error, rows.length, proxy.cuts()]).toEqual(['read', undefined, 40_000, cuts.length])
    expect(facts).toMatchObject({ bytes: large.length, sha256: sha256(large), completeness: { complete: true } })
    expect(printed.flatMap(({ mock }) => mock.calls)).toEqual([])
  },
)

test.skipIf(withoutSsh)('after a break behind the last byte, a new connection checks that the file is unchanged', async () => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', csv)
  await utimes(path, written, written)
  await using proxy = await cuttingProxy(ssh.port, () => undefined)
  const definition = sourceOf(ssh.uri(path, proxy.port), { credentials: sshCredentials, hostKey: ssh.fingerprint })
  const source = await openSource(definition, { env: ssh.env, log: silentLogger, backoffMs: 0 })
  proxy.cutAll()
  expect((await Array.fromAsync(source.rows)).flat()).toHaveLength(300)
  expect([source.facts().completeness.complete, proxy.connections()]).toEqual([true, 2])
})

test.skipIf(withoutSsh).for([
  ['of the same length', (path: string) => writeFile(path, large.replaceAll('x', 'y'))],
  ['longer', (path: string) => appendFile(path, 'x,y\n')],
  ['shorter', (path: string) => truncate(path, 900_000)],
  ['taken away', (path: string) => rm(path)],
  ['in its place', (path: string) => writeFile(`${path}.new`, large).then(() => rename(`${path}.new`, path))],
  [
    'of the same length and time, as far as the halves meet',
    (path: string) => writeFile(path, large.replaceAll('x', 'y')).then(() => utimes(path, written, written)),
  ],
] as const)('a file that changed, %s, is not resumed', { tags: ['long'] }, async ([, change]) => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', large)
  await utimes(path, written, written)
  await using proxy = await cuttingProxy(ssh.port, (connection) => (connection === 1 ? { afterBytes: 1_000_000, how: 'end' } : undefined), {
    onCut: () => change(path),
  })
  const definition = sourceOf(ssh.uri(path, proxy.port), { credentials: sshCredentials, hostKey: ssh.fingerprint })
  const { code, facts } = await readSource(definition, { env: ssh.env })
  expect([code, facts, proxy.connections()]).toEqual(['SOURCE_CHANGED', undefined, 2])
})

test.skipIf(withoutSsh)('a file that changed and changed back is not resumed', async () => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', large)
  await utimes(path, written, written)
  // The halves are equal where they meet, so that only the time shows the change.
  const versions = [large.slice(0, 1_800_000) + large.slice(1_800_000, 2_200_000).replaceAll('x', 'y') + large.slice(2_200_000), large]
  await using proxy = await cuttingProxy(
    ssh.port,
    (connection) => (connection < 3 ? { afterBytes: 1_000_000 + connection * 500_000, how: 'end' } : undefined),
    {
      onCut: async () => {
        await writeFile(path, versions.shift() ?? large)
        if (versions.length === 0) await utimes(path, written, written)
      },
    },
  )
  const definition = sourceOf(ssh.uri(path, proxy.port), { credentials: sshCredentials, hostKey: ssh.fingerprint })
  const { code, facts } = await readSource(definition, { env: ssh.env })
  expect([code, facts]).toEqual(['SOURCE_CHANGED', undefined])
})

test.skipIf(withoutSsh)('a file that changed in the second of its opening is not resumed, because its time proves nothing', async () => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', large)
  const soon = Date.now() / 1000 + 60
  await utimes(path, soon, soon)
  await using proxy = await cuttingProxy(ssh.port, () => ({ afterBytes: 1_000_000, how: 'end' }))
  const definition = sourceOf(ssh.uri(path, proxy.port), { credentials: sshCredentials, hostKey: ssh.fingerprint })
  const { code, facts } = await readSource(definition, { env: ssh.env })
  expect([code, facts, proxy.connections()]).toEqual(['FILE_TRUNCATED', undefined, 1])
})

test.skipIf(withoutSsh)('a read fails if the server always closes, whatever it sent before', async () => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', large)
  await utimes(path, written, written)
  for (const [first, code] of [
    [100, 'SOURCE_UNAVAILABLE'],
    [1_000_000, 'FILE_TRUNCATED'],
  ] as const) {
    await using proxy = await cuttingProxy(ssh.port, (connection) => ({ afterBytes: connection === 1 ? first : 100, how: 'end' }))
    const definition = sourceOf(ssh.uri(path, proxy.port), { credentials: sshCredentials, hostKey: ssh.fingerprint })
    const outcome = await readSource(definition, { env: ssh.env })
    expect([outcome.code, outcome.facts, proxy.connections()]).toEqual([code, undefined, first === 100 ? 4 : 5])
    expect(outcome.error).toMatchObject({ where: `sftp://127.0.0.1:${proxy.port}${path}`, hint: expect.stringContaining('un again') })
  }
})

test.skipIf(withoutSsh)('a read is not resumed from another server at the same address', async () => {
  await using ssh = await openSsh()
  await using impostor = await openSsh()
  await copyFile(join(ssh.folder.path, 'authorized'), join(impostor.folder.path, 'authorized'))
  const path = await ssh.folder.write('crm.csv', large)
  await utimes(path, written, written)
  await using proxy = await cuttingProxy(ssh.port, (connection) => (connection === 1 ? { afterBytes: 1_000_000, how: 'end' } : undefined), {
    targetOf: (connection) => (connection === 1 ? ssh.port : impostor.port),
  })
  const definition = sourceOf(ssh.uri(path, proxy.port), { credentials: sshCredentials, hostKey: ssh.fingerprint })
  const { code, facts } = await readSource(definition, { env: ssh.env })
  expect([code, facts]).toEqual(['SOURCE_HOST_KEY', undefined])
})

test.skipIf(withoutSsh)('a wrong login is tried once, because servers lock users out', async () => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', csv)
  await using proxy = await cuttingProxy(ssh.port, () => undefined)
  const definition = sourceOf(ssh.uri(path, proxy.port), { credentials: sshCredentials, hostKey: ssh.fingerprint })
  const { code } = await readSource(definition, { env: { SFTP_KEY_FILE: join(ssh.folder.path, 'stranger') } })
  expect([code, proxy.connections()]).toEqual(['SOURCE_DENIED', 1])
})

test.skipIf(withoutSsh)('a read from a silent server ends with the idle timeout or a cancellation', { tags: ['long'] }, async () => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', large)
  await utimes(path, written, written)
  const stall = { afterBytes: 1_000_000, how: 'stall' } as const
  await using once = await cuttingProxy(ssh.port, (connection) => (connection === 1 ? stall : undefined))
  const read = (port: number, idleMs: number, totalMs = readLimits.totalMs) =>
    readSource(sourceOf(ssh.uri(path, port), { credentials: sshCredentials, hostKey: ssh.fingerprint }), {
      env: ssh.env,
      limits: { ...readLimits, idleMs, totalMs },
    })
  expect((await read(once.port, 2_000)).facts?.sha256).toBe(sha256(large))
  await using always = await cuttingProxy(ssh.port, (connection) => (connection === 1 ? stall : { ...stall, afterBytes: 100 }))
  expect((await read(always.port, 60_000, 2_500)).error).toMatchObject({
    code: 'SOURCE_UNAVAILABLE',
    message: 'the whole read took too long',
  })
  expect(always.connections(), 'all the time is over').toBe(1)
  await using half = await cuttingProxy(ssh.port, () => stall)
  const abort = new AbortController()
  const definition = sourceOf(ssh.uri(path, half.port), { credentials: sshCredentials, hostKey: ssh.fingerprint })
  const source = await openSource(definition, { env: ssh.env, log: silentLogger, signal: abort.signal })
  const reading = Array.fromAsync(source.rows)
  await expect.poll(() => half.cuts()).toBe(1)
  abort.abort(new Error('enough'))
  await expect(reading).rejects.toThrow('enough')
  expect(half.connections()).toBe(1)
})
