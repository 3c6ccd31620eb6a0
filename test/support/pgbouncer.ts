/** A pgbouncer of the test in front of its database. */
import { spawn, spawnSync } from 'node:child_process'
import { chmodSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

export const pgbouncerMissing = spawnSync('pgbouncer', ['--version']).error !== undefined

export interface TestPooler extends AsyncDisposable {
  /** The same database through the pooler. */
  readonly url: string
}

export async function pooler(databaseUrl: string, mode: 'transaction' | 'session' | 'statement', more = ''): Promise<TestPooler> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-pooler-'))
  chmodSync(folder, 0o777)
  const target = new URL(databaseUrl)
  const port = await freePort()
  const name = target.pathname.slice(1)
  writeFileSync(join(folder, 'users.txt'), `"${decodeURIComponent(target.username)}" "${decodeURIComponent(target.password)}"\n`)
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    [
      '[databases]',
      `${name} = host=${target.hostname} port=${target.port} dbname=${name} user=${decodeURIComponent(target.username)} password=${decodeURIComponent(target.password)}`,
      '[pgbouncer]',
      `listen_addr = 127.0.0.1`,
      `listen_port = ${port}`,
      'unix_socket_dir =',
      'auth_type = any',
      `auth_file = ${join(folder, 'users.txt')}`,
      `pool_mode = ${mode}`,
      more,
    ].join('\n'),
  )
  const isRoot = process.getuid?.() === 0
  const child = spawn('pgbouncer', [...(isRoot ? ['-u', 'nobody'] : []), join(folder, 'pgbouncer.ini')], { stdio: 'ignore' })
  const ended = new Promise((resolve) => child.once('exit', resolve))
  await untilListening(port)
  const url = new URL(databaseUrl)
  url.port = String(port)
  url.hostname = '127.0.0.1'
  return {
    url: url.href,
    async [Symbol.asyncDispose]() {
      child.kill('SIGINT')
      child.kill('SIGKILL')
      await ended
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

async function freePort(): Promise<number> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return port
}

async function untilListening(port: number): Promise<void> {
  for (let attempt = 0; attempt < 200; attempt++) {
    const open = await new Promise<boolean>((resolve) => {
      const socket = connect(port, '127.0.0.1', () => {
        socket.destroy()
        resolve(true)
      })
      socket.once('error', () => resolve(false))
    })
    if (open) return
    await new Promise((resolve) => setTimeout(resolve, 25))
  }
  throw new Error('pgbouncer does not listen')
}
