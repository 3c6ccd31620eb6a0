/**
 * A real Postgres 18 of our own, for machines without one: started in about a second, as an ordinary user and as root,
 * on loopback with a password of its own. Any number of commands share it: the first starts it, the last one out stops
 * it, unless somebody asked to keep it (`serve`, `demo --keep`, `db`). A killed command leaves it running; the next one
 * attaches to it.
 */
import { spawn, spawnSync } from 'node:child_process'
import { createHash, randomBytes } from 'node:crypto'
import {
  chmodSync,
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { createServer } from 'node:net'
import { join, resolve } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { RunError } from '../../errors.ts'
import { findBinaries, reachable, serverAccount, unavailable, type Account } from './binaries.ts'

/** Bumped with the major version: another major cannot open the files. */
const version = 18
const systemFolder = '/var/lib/sluice'
const database = 'sluice'
const user = 'sluice'

export interface EmbeddedServer {
  readonly url: string
  /** Stops the server if no other command uses it and nobody asked to keep it. Safe to call twice. */
  readonly release: () => Promise<void>
}

/** Starts the server below `dataDir`, or attaches to the one that runs there. `keep`: it outlives this command. */
export async function startEmbedded(dataDir: string, options: { readonly keep?: boolean } = {}): Promise<EmbeddedServer> {
  const places = placesOf(dataDir)
  const unlock = await lock(places)
  try {
    let url = await running(places)
    if (!url) {
      if (!existsSync(join(places.data, 'PG_VERSION'))) initialize(places)
      url = await start(places)
    }
    if (options.keep) writeFileSync(places.keep, '')
    return { url, release: () => releaseEmbedded(dataDir) }
  } finally {
    unlock()
  }
}

/** Address of the running server; undefined when none runs. Starts nothing. */
export async function embeddedUrl(dataDir: string): Promise<string | undefined> {
  return existsSync(resolve(dataDir)) ? running(placesOf(dataDir)) : undefined
}

/** Ends the server whoever uses it. False when none runs. */
export async function stopEmbedded(dataDir: string): Promise<boolean> {
  const places = placesOf(dataDir)
  rmSync(places.keep, { force: true })
  return stop(places)
}

async function releaseEmbedded(dataDir: string): Promise<void> {
  const places = placesOf(dataDir)
  if (existsSync(places.keep)) return
  const unlock = await lock(places)
  try {
    const url = await running(places)
    if (url && !(await inUse(url))) await stop(places)
  } finally {
    unlock()
  }
}

interface Places {
  /** What a person sees: `.sluice`. */
  readonly home: string
  /** Where Postgres keeps its files; elsewhere when root's folder cannot be reached by the server's user. */
  readonly data: string
  readonly binaries: string
  readonly password: string
  readonly log: string
  readonly keep: string
  readonly lock: string
  readonly account: Account | undefined
}

function placesOf(dataDir: string): Places {
  makeFolder(resolve(dataDir))
  const home = realpathSync(resolve(dataDir))
  const account = serverAccount()
  let base = home
  if (account && !reachable(home)) {
    base = join(systemFolder, createHash('sha256').update(home).digest('hex').slice(0, 16))
    mkdirSync(base, { recursive: true })
    chmodSync(systemFolder, 0o755)
    chmodSync(base, 0o755)
    writeFileSync(join(base, 'home'), home)
    sweepOrphans()
  }
  return {
    home,
    data: join(base, `postgres-${version}`),
    binaries: join(systemFolder, `postgres-${version}-binaries`),
    password: join(home, 'postgres.password'),
    log: join(base, 'postgres.log'),
    keep: join(home, 'postgres.keep'),
    lock: join(home, 'postgres.lock'),
    account,
  }
}

function makeFolder(path: string): void {
  try {
    mkdirSync(path, { recursive: true })
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException
    if (code !== 'EEXIST' && code !== 'ENOTDIR') throw error
    throw new RunError('POSTGRES_UNAVAILABLE', `the data directory is no folder: ${path}`, {
      where: path,
      mend: 'set SLUICE_DATA_DIR to a folder, or unset it',
      cause: error,
    })
  }
}

/** Removes clusters below the system's folder whose data directory was deleted, and whose server does not run. */
function sweepOrphans(): void {
  for (const name of readdirSync(systemFolder)) {
    const base = join(systemFolder, name)
    try {
      if (existsSync(readFileSync(join(base, 'home'), 'utf8'))) continue
      const pid = join(base, `postgres-${version}`, 'postmaster.pid')
      if (existsSync(pid) && alive(Number(readFileSync(pid, 'utf8').split('\n')[0]))) continue
      rmSync(base, { recursive: true, force: true })
    } catch {
      // Not a cluster of ours (the binaries lie here too), or swept by somebody else just now.
    }
  }
}

function initialize(places: Places): void {
  const { initdb } = findBinaries(places.account, places.binaries)
  rmSync(places.data, { recursive: true, force: true })
  mkdirSync(places.data, { mode: 0o700 })
  const password = randomBytes(24).toString('hex')
  writeFileSync(places.password, password, { mode: 0o600 })
  // initdb reads the password from a file of its own user, which is gone again right after.
  const handover = `${places.data}.password`
  writeFileSync(handover, password, { mode: 0o600 })
  if (places.account) {
    for (const path of [places.data, handover]) chownSync(path, places.account.uid, places.account.gid)
  }
  const made = spawnSync(
    initdb,
    [
      '-D',
      places.data,
      '-U',
      user,
      `--pwfile=${handover}`,
      '-A',
      'scram-sha-256',
      '-E',
      'UTF8',
      '--locale=C',
      '--no-sync',
      '--no-instructions',
    ],
    { encoding: 'utf8', cwd: '/', ...places.account },
  )
  rmSync(handover, { force: true })
  if (made.status !== 0) {
    rmSync(places.data, { recursive: true, force: true })
    throw unavailable(`the embedded Postgres could not be set up: ${lastLine(made.stderr)}`)
  }
}

async function start(places: Places): Promise<string> {
  const { postgres } = findBinaries(places.account, places.binaries)
  const port = await freePort()
  if (!existsSync(places.log)) writeFileSync(places.log, '')
  if (places.account) chownSync(places.log, places.account.uid, places.account.gid)
  const log = openSync(places.log, 'a')
  const child = spawn(
    postgres,
    [
      '-D',
      places.data,
      '-c',
      'listen_addresses=127.0.0.1',
      '-c',
      `port=${port}`,
      '-c',
      'unix_socket_directories=',
      '-c',
      'max_connections=200',
      '-c',
      'shared_buffers=256MB',
      // Bulk loads into fresh tables skip the log, and no checkpoint falls inside an apply of a million rows.
      '-c',
      'wal_level=minimal',
      '-c',
      'max_wal_senders=0',
      '-c',
      'max_wal_size=4GB',
      '-c',
      'jit=off',
      '-c',
      'log_min_messages=warning',
      '-c',
      'log_min_error_statement=panic',
      '-c',
      'log_error_verbosity=terse',
    ],
    // Detached: neither our Ctrl-C nor our end reaches it.
    { stdio: ['ignore', log, log], detached: true, cwd: '/', ...places.account },
  )
  closeSync(log)
  child.unref()
  let ended = false
  child.once('exit', () => (ended = true))
  const deadline = performance.now() + 30_000
  while (performance.now() < deadline && !ended) {
    const url = await running(places)
    if (url) {
      await createDatabase(url)
      return url
    }
    await sleep(20)
  }
  throw unavailable(`the embedded Postgres did not start: ${lastLine(readFileSync(places.log, 'utf8'))}`)
}

async function createDatabase(url: string): Promise<void> {
  const client = new pg.Client({ connectionString: url.replace(/\/sluice$/, '/postgres') })
  await client.connect()
  try {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [database])
    if (rowCount === 0) await client.query(`create database ${database}`)
  } finally {
    await client.end()
  }
}

/** The running server's address, from the file that Postgres itself keeps; undefined when nobody answers there. */
async function running(places: Places): Promise<string | undefined> {
  let lines: string[]
  let password: string
  try {
    lines = readFileSync(join(places.data, 'postmaster.pid'), 'utf8').split('\n')
    password = readFileSync(places.password, 'utf8')
  } catch {
    return undefined // not set up, or not running
  }
  const pid = Number(lines[0])
  const port = Number(lines[3])
  if (!pid || !port || lines[7]?.trim() !== 'ready' || !alive(pid)) return undefined
  const url = `postgresql://${user}:${password}@127.0.0.1:${port}/postgres`
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 5_000 })
  try {
    await client.connect()
    await client.query('select 1')
    return url.replace(/\/postgres$/, `/${database}`)
  } catch {
    return undefined // a stale file: another process has the pid
  } finally {
    await client.end().catch(() => undefined)
  }
}

async function inUse(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url.replace(/\/sluice$/, '/postgres') })
  await client.connect()
  try {
    const { rowCount } = await client.query(
      `select 1 from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() limit 1`,
    )
    return rowCount !== 0
  } finally {
    await client.end()
  }
}

async function stop(places: Places): Promise<boolean> {
  let pid: number
  try {
    pid = Number(readFileSync(join(places.data, 'postmaster.pid'), 'utf8').split('\n')[0])
  } catch {
    return false
  }
  if (!pid || !alive(pid)) return false
  process.kill(pid, 'SIGINT') // fast shutdown: sessions end, nothing is lost
  const deadline = performance.now() + 20_000
  while (performance.now() < deadline) {
    if (!alive(pid) || !existsSync(join(places.data, 'postmaster.pid'))) return true
    await sleep(10)
  }
  throw unavailable('the embedded Postgres did not stop within 20 s')
}

function alive(pid: number): boolean {
  try {
    process.kill(pid, 0)
    return true
  } catch (error) {
    return (error as NodeJS.ErrnoException).code === 'EPERM'
  }
}

/** One command at a time starts or stops the server. A lock of a dead process, or older than a minute, is taken over. */
async function lock(places: Places): Promise<() => void> {
  for (;;) {
    try {
      closeSync(openSync(places.lock, 'wx'))
      writeFileSync(places.lock, String(process.pid))
      return () => rmSync(places.lock, { force: true })
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
    }
    try {
      const holder = Number(readFileSync(places.lock, 'utf8'))
      const age = Date.now() - statSync(places.lock).mtimeMs
      if ((holder && !alive(holder)) || age > 60_000) rmSync(places.lock, { force: true })
    } catch {
      // released between the two looks
    }
    await sleep(20)
  }
}

function freePort(): Promise<number> {
  return new Promise((done, fail) => {
    const server = createServer()
    server.once('error', fail)
    server.listen(0, '127.0.0.1', () => {
      const address = server.address()
      server.close(() => (address && typeof address === 'object' ? done(address.port) : fail(new Error('no port'))))
    })
  })
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1) ?? ''
}
