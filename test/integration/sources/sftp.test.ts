import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { appendFile, chmod, mkdir, readFile, utimes } from 'node:fs/promises'
import { createServer, connect } from 'node:net'
import type { AddressInfo } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { silentLogger } from '../../../src/log.ts'
import { openSource } from '../../../src/sources/openSource.ts'
import { readSource, sourceOf, temporaryFolder } from './support.ts'

const sshd = ['/usr/sbin/sshd', '/usr/local/sbin/sshd'].find((path) => existsSync(path))
const sftpServer = ['/usr/lib/openssh/sftp-server', '/usr/libexec/openssh/sftp-server', '/usr/libexec/sftp-server'].find((path) =>
  existsSync(path),
)
const csv = `id,title\n${Array.from({ length: 300 }, (_, at) => `${at},title ${at}\n`).join('')}`

/** A real OpenSSH server on a free port of this machine, with one key pair and our own user. */
async function openSsh() {
  const folder = await temporaryFolder()
  await chmod(folder.path, 0o700)
  const key = (name: string) => execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', join(folder.path, name)])
  key('host')
  key('user')
  key('stranger')
  await folder.write('authorized', await readFile(join(folder.path, 'user.pub')))
  await chmod(join(folder.path, 'authorized'), 0o600)
  if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true })
  const port = await freePort()
  const config = await folder.write(
    'config',
    `Port ${port}\nListenAddress 127.0.0.1\nHostKey ${join(folder.path, 'host')}\nAuthorizedKeysFile ${join(folder.path, 'authorized')}\nPidFile none\nPasswordAuthentication no\nPermitRootLogin yes\nStrictModes no\nUsePAM no\nSubsystem sftp ${sftpServer}\n`,
  )
  const server = spawn(sshd ?? '', ['-D', '-e', '-f', config], { stdio: 'ignore' })
  await waitForPort(port)
  const fingerprint =
    execFileSync('ssh-keygen', ['-l', '-f', join(folder.path, 'host.pub')])
      .toString()
      .split(' ')[1] ?? ''
  return {
    folder,
    fingerprint,
    uri: (path: string) => `sftp://${userInfo().username}@127.0.0.1:${port}${path}`,
    env: { SFTP_KEY_FILE: join(folder.path, 'user') },
    [Symbol.asyncDispose]: async () => {
      server.kill()
      await folder[Symbol.asyncDispose]()
    },
  }
}

const credentials = { private_key: 'SFTP_KEY' } as const

test.skipIf(sshd === undefined || sftpServer === undefined)('a file is read from an OpenSSH server whose key is pinned', async () => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', csv)
  const outcome = await readSource(sourceOf(ssh.uri(path), { credentials, hostKey: ssh.fingerprint }), { env: ssh.env })
  expect([outcome.error?.message, outcome.rows.length]).toEqual([undefined, 300])
  expect(outcome.facts).toMatchObject({ completeness: { complete: true, proof: 'file unchanged while read' }, finalNewline: true })
  expect(outcome.facts?.uri).not.toContain('@')
})

test.skipIf(sshd === undefined || sftpServer === undefined)('the newest file that matches is read, a missing one is named', async () => {
  await using ssh = await openSsh()
  await utimes(await ssh.folder.write('crm-b.csv', 'id\n1\n'), 1_000_000, 1_000_000)
  await ssh.folder.write('crm-a.csv', 'id\n2\n')
  const read = (path: string) => readSource(sourceOf(ssh.uri(path), { credentials, hostKey: ssh.fingerprint }), { env: ssh.env })
  expect((await read(join(ssh.folder.path, 'crm-*.csv'))).rows[0]?.cells).toEqual(['2'])
  expect((await read(join(ssh.folder.path, 'none-*.csv'))).code).toBe('SOURCE_MISSING')
  expect((await read(join(ssh.folder.path, 'none.csv'))).code).toBe('SOURCE_MISSING')
  expect((await read(ssh.folder.path)).code).toBe('SOURCE_REFUSED')
})

test.skipIf(sshd === undefined || sftpServer === undefined)(
  'an unknown or other host key is refused, and the shown one is named',
  async () => {
    await using ssh = await openSsh()
    const path = await ssh.folder.write('crm.csv', csv)
    for (const pinned of [{}, { hostKey: 'SHA256:AAAA' }]) {
      const outcome = await readSource(sourceOf(ssh.uri(path), { credentials, ...pinned }), { env: ssh.env })
      expect([outcome.code, outcome.error?.mend.includes(ssh.fingerprint)]).toEqual(['SOURCE_HOST_KEY', true])
    }
  },
)

test.skipIf(sshd === undefined || sftpServer === undefined)('a wrong key is denied, a port without a server unreachable', async () => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', csv)
  const stranger = { SFTP_KEY_FILE: join(ssh.folder.path, 'stranger') }
  expect((await readSource(sourceOf(ssh.uri(path), { credentials, hostKey: ssh.fingerprint }), { env: stranger })).code).toBe(
    'SOURCE_DENIED',
  )
  expect(
    (
      await readSource(sourceOf(`sftp://a@127.0.0.1:${await freePort()}/x.csv`, { credentials, hostKey: ssh.fingerprint }), {
        env: ssh.env,
      })
    ).code,
  ).toBe('SOURCE_UNAVAILABLE')
})

test.skipIf(sshd === undefined || sftpServer === undefined)('a file that grows while it is read is refused', async () => {
  await using ssh = await openSsh()
  const path = await ssh.folder.write('crm.csv', csv)
  const source = await openSource(sourceOf(ssh.uri(path), { credentials, hostKey: ssh.fingerprint }), { env: ssh.env, log: silentLogger })
  await appendFile(path, 'x,y\n')
  await expect(Array.fromAsync(source.rows)).rejects.toMatchObject({ code: 'SOURCE_CHANGED' })
})

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise<void>((resolve) => server.close(() => resolve()))
  return port
}

async function waitForPort(port: number): Promise<void> {
  for (;;) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => (socket.destroy(), resolve(true)))
      socket.once('error', () => resolve(false))
    })
    if (open) return
    await new Promise((resolve) => setImmediate(resolve))
  }
}
