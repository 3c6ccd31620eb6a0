/** A configured database that cannot be reached: the cause is named, and no hint suggests to leave out DATABASE_URL. */
import { connect, createServer, type AddressInfo } from 'node:net'
import { TLSSocket } from 'node:tls'
import { mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, inject, test, vi } from 'vitest'
import { SluiceError } from '../../../src/errors.ts'
import { isDatabaseDown } from '../../../src/db/connectionFault.ts'
import { openDatabase } from '../../../src/db/database.ts'
import { examineSchema, migrationStatus } from '../../../src/db/migrate.ts'
import { connectPlain } from '../../../src/db/poolerProbe.ts'
import { probeConnections } from '../../../src/db/privilegeProbe.ts'
import { openStore } from '../../../src/db/open.ts'
import { testDatabase } from '../../support/postgres.ts'
import { roleWith } from '../../support/role.ts'
import { makeCertificate } from '../../../src/sandbox/http/tls/certificate.ts'

const openingOf = async (change: (url: URL) => void): Promise<SluiceError> => {
  const url = new URL(inject('postgresUrl'))
  change(url)
  const error: unknown = await openStore({ databaseUrl: url.href, dataDir: mkdtempSync(join(tmpdir(), 'sluice-fault-')) }).then(
    () => undefined,
    (thrown: unknown) => thrown,
  )
  expect(error).toBeInstanceOf(SluiceError)
  return error as SluiceError
}

const faults: readonly (readonly [string, (url: URL) => void, string, RegExp])[] = [
  ['a wrong password', (url) => (url.password = 'planted-wrong-password'), 'DATABASE_LOGIN_REFUSED', /wrong password/],
  ['a role that does not exist', (url) => (url.username = 'nobody_here'), 'DATABASE_LOGIN_REFUSED', /role "nobody_here"/],
  ['a database that does not exist', (url) => (url.pathname = '/not_there'), 'DATABASE_MISSING', /no database "not_there"/],
  ['a host name that does not exist', (url) => (url.hostname = 'db.invalid'), 'DATABASE_UNREACHABLE', /db\.invalid, cannot be resolved/],
  ['a port where nothing listens', (url) => (url.port = '1'), 'DATABASE_UNREACHABLE', /no database server listens on 127\.0\.0\.1:1/],
  ['a server without TLS', (url) => (url.search = '?sslmode=require'), 'DATABASE_TLS_FAILED', /does not offer TLS/],
]

test.each(faults)('%s is named, and the hint does not suggest another database', async (_name, change, code, message) => {
  const error = await openingOf(change)
  expect(error.code).toBe(code)
  expect(error.message).toMatch(message)
  expect(error.hint).not.toBe('')
  expect(error.hint).not.toMatch(/unset|embedded/)
  expect(`${error.message} ${error.hint} ${error.where}`).not.toContain('planted-wrong-password')
})

test('a role without the right to connect is named, and the hint grants the right', async () => {
  await using database = await testDatabase()
  await using role = await roleWith(database.url, '')
  const name = new URL(database.url).pathname.slice(1)
  await database.db.execute(`revoke connect on database "${name}" from public`)
  try {
    const error = await openingOf((url) => (url.href = role.url))
    expect(error).toMatchObject({ code: 'DATABASE_LOGIN_REFUSED', hint: `grant connect on database "${name}" to "${role.name}"` })
  } finally {
    await database.db.execute(`grant connect on database "${name}" to public`)
  }
})

test('the error about an untrusted certificate names the setting for its authority', async () => {
  const { certificatePem: cert, privateKeyPem: key } = makeCertificate({
    commonName: 'db.example.com',
    hosts: [{ ip: '127.0.0.1' }],
    notBefore: new Date(Date.now() - 3_600_000),
    notAfter: new Date(Date.now() + 3_600_000),
  })
  const server = createServer((socket) => {
    socket.on('error', () => undefined)
    socket.once('data', () => {
      socket.write('S')
      new TLSSocket(socket, { isServer: true, cert, key }).on('error', () => undefined)
    })
  })
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  try {
    const { port } = server.address() as AddressInfo
    const error = await openingOf((url) => {
      url.port = String(port)
      url.search = '?sslmode=verify-full'
    })
    expect(error.code).toBe('DATABASE_TLS_FAILED')
    expect(error.hint).toContain('sslrootcert')
    expect(error.hint).toContain('NODE_EXTRA_CA_CERTS')
  } finally {
    server.close()
  }
})

test('a server that accepts a connection and never answers ends the attempt to connect', async () => {
  const server = createServer((socket) => socket.on('error', () => undefined))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `postgres://sluice@127.0.0.1:${(server.address() as AddressInfo).port}/sluice`
  const db = openDatabase(url, { connectMs: 50 })
  try {
    await expect(connectPlain(url, { connectionTimeoutMillis: 50 })).rejects.toMatchObject({
      code: 'DATABASE_UNREACHABLE',
      message: expect.stringContaining('does not answer'),
    })
    const error = await db.query('select 1').catch((thrown: unknown) => thrown)
    expect(isDatabaseDown(error)).toBe(true)
  } finally {
    await db.close()
    server.close()
  }
})

test('a proxy that closes a connection is not taken for a pooler', async () => {
  const target = new URL(inject('postgresUrl'))
  let connections = 0
  // Closes the second connection, which the probe opens behind a proxy, at its first statement.
  const proxy = createServer((socket) => {
    const closesAtStatement = ++connections === 2
    const server = connect(Number(target.port), target.hostname)
    server.on('error', () => undefined).pipe(socket)
    socket.on('error', () => undefined).on('close', () => server.destroy())
    socket.on('data', (data) => (closesAtStatement && data.includes('begin') ? socket.destroy() : server.write(data)))
  })
  await new Promise<void>((done) => proxy.listen(0, '127.0.0.1', done))
  try {
    const error = await openingOf((url) => (url.port = String((proxy.address() as AddressInfo).port)))
    expect(error).toMatchObject({ code: 'DATABASE_UNREACHABLE', message: expect.stringContaining('does not answer') })
    expect(connections).toBeGreaterThan(1)
  } finally {
    proxy.close()
  }
})

test('each further connection of a command ends its attempt to connect after 15 seconds', async () => {
  const server = createServer((socket) => socket.on('error', () => undefined))
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done))
  const url = `postgres://sluice@127.0.0.1:${(server.address() as AddressInfo).port}/sluice`
  const db = openDatabase(url)
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  try {
    const attempts = [migrationStatus(url), examineSchema(url, 'sluice'), probeConnections(db, 1)].map((attempt) =>
      attempt.then(
        () => 'connected',
        (error: unknown) => error,
      ),
    )
    await vi.advanceTimersByTimeAsync(14_900)
    expect(await Promise.race([...attempts, Promise.resolve('waits')])).toBe('waits')
    await vi.advanceTimersByTimeAsync(200)
    expect(await Promise.all(attempts)).toEqual([expect.any(Error), expect.any(Error), expect.any(Error)])
  } finally {
    vi.useRealTimers()
    await db.close()
    server.close()
  }
})
