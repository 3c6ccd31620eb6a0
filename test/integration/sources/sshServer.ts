import { execFileSync, spawn } from 'node:child_process'
import { existsSync } from 'node:fs'
import { chmod, mkdir, readFile } from 'node:fs/promises'
import type { AddressInfo } from 'node:net'
import { connect, createServer } from 'node:net'
import { userInfo } from 'node:os'
import { join } from 'node:path'
import { temporaryFolder } from './support.ts'

const sshd = ['/usr/sbin/sshd', '/usr/local/sbin/sshd'].find((path) => existsSync(path))

/** True if OpenSSH is installed; without it its tests are skipped by name. */
export const withoutSsh = sshd === undefined

/** `credentials` of a definition: the name under which `env` holds the user's key. */
export const sshCredentials = { private_key: 'SFTP_KEY' } as const

/** A real OpenSSH server on a free port of this machine, with one key pair and our own user. */
export async function openSsh() {
  const folder = await temporaryFolder()
  await chmod(folder.path, 0o700)
  // One round instead of 16 for the passphrase: 10 ms instead of 100. Its strength is not tested.
  const key = (name: string, passphrase = '') =>
    execFileSync('ssh-keygen', ['-q', '-a', '1', '-t', 'ed25519', '-N', passphrase, '-f', join(folder.path, name)])
  key('host')
  key('user')
  key('stranger')
  key('locked', 'open sesame')
  await folder.write(
    'authorized',
    `${await readFile(join(folder.path, 'user.pub'), 'utf8')}${await readFile(join(folder.path, 'locked.pub'), 'utf8')}`,
  )
  await chmod(join(folder.path, 'authorized'), 0o600)
  if (process.getuid?.() === 0) await mkdir('/run/sshd', { recursive: true })
  const port = await freePort()
  // Runs in the process of the server. The shell of the user would start another program, and its start-up files take 0.1 s and more.
  const config = await folder.write(
    'config',
    `Port ${port}\nListenAddress 127.0.0.1\nHostKey ${join(folder.path, 'host')}\nAuthorizedKeysFile ${join(folder.path, 'authorized')}\nPidFile none\nPasswordAuthentication no\nPermitRootLogin yes\nStrictModes no\nUsePAM no\nSubsystem sftp internal-sftp\n`,
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
    port,
    uri: (path: string, at = port) => `sftp://${userInfo().username}@127.0.0.1:${at}${path}`,
    env: { SFTP_KEY_FILE: join(folder.path, 'user') },
    [Symbol.asyncDispose]: async () => {
      server.kill()
      await folder[Symbol.asyncDispose]()
    },
  }
}

export async function freePort(): Promise<number> {
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
