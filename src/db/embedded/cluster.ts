/** Creates the files of the server by initdb, and starts, finds and stops its process. */
import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { findBinaries } from './binaries.ts'
import type { ServerPaths } from './serverPaths.ts'
import { choosePort } from './port.ts'
import { processExists } from './processes.ts'
import { serverFailure, unavailable } from './unavailable.ts'
import { errorCode } from '../../unknownValue.ts'

const database = 'sluice'
const user = 'sluice'

/**
 * Creates the files of the server, with a new password, and replaces files of an incomplete start. Creates them in a folder of its own, and
 * renames it at the end. So if this process is killed meanwhile, the next start creates them again. The folder has a new name each time,
 * because the initdb of a killed process may continue to write to its folder.
 *
 * @throws {RunError} `POSTGRES_UNAVAILABLE`, `DISK_FULL`; then removes the new folder
 */
export async function initializeServer(paths: ServerPaths): Promise<void> {
  const { initdb } = findBinaries(paths.account, paths.binaries)
  const folder = `${paths.data}.new-${randomBytes(4).toString('hex')}`
  removeUnfinished(paths)
  rmSync(paths.data, { recursive: true, force: true })
  mkdirSync(folder, { mode: 0o700 })
  const password = randomBytes(24).toString('hex')
  writeFileSync(paths.password, password, { mode: 0o600 })
  // initdb reads the password from a second file, which the server's account can read. This file is removed when initdb has ended.
  const pwFile = `${folder}.password`
  writeFileSync(pwFile, password, { mode: 0o600 })
  if (paths.account) {
    for (const path of [folder, pwFile]) chownSync(path, paths.account.uid, paths.account.gid)
  }
  // The event loop stays free, so that the lock of this command is renewed meanwhile.
  const child = spawn(
    initdb,
    ['-D', folder, '-U', user, `--pwfile=${pwFile}`, '-A', 'scram-sha-256', '-E', 'UTF8', '--locale=C', '--no-sync', '--no-instructions'],
    { stdio: ['ignore', 'ignore', 'pipe'], cwd: '/', ...paths.account },
  )
  const [stderr, [status]] = await Promise.all([text(child.stderr), once(child, 'close')])
  rmSync(pwFile, { force: true })
  if (status !== 0) {
    rmSync(folder, { recursive: true, force: true })
    throw serverFailure('the embedded Postgres could not be set up', stderr, paths.home)
  }
  renameSync(folder, paths.data)
  // Again, because the initdb of a killed process may have written to its folder during the first removal.
  removeUnfinished(paths)
}

/** Removes the files of incomplete starts. */
function removeUnfinished(paths: ServerPaths): void {
  const parent = dirname(paths.data)
  for (const name of readdirSync(parent)) {
    if (!name.startsWith(`${basename(paths.data)}.new`)) continue
    try {
      rmSync(join(parent, name), { recursive: true, force: true })
    } catch {
      // The initdb of a killed process still writes to the folder.
    }
  }
}

/** Maximum time in milliseconds to wait until the processes of a killed server have ended. */
const endingMs = 10_000

/**
 * Starts the server, creates the database of Sluice if it is missing, and returns the address of the database. Uses a server that runs
 * already, and waits while it replays its log. Also waits for the end of a killed server: its processes lock the files for a moment longer.
 *
 * @throws {RunError} `POSTGRES_UNAVAILABLE` with the cause from the server's log, `DISK_FULL`
 */
export async function startServer(paths: ServerPaths, maxConnections = 200): Promise<string> {
  let deadline = performance.now() + endingMs
  for (;;) {
    while (await isRecovering(paths)) {
      await sleep(200)
      deadline = performance.now() + endingMs
    }
    if ((await runningAddress(paths)) !== undefined) return createDatabase(paths)
    const started = await startOnce(paths, maxConnections)
    if (typeof started === 'string') return started
    // These errors mean that processes of a killed server still use the files.
    if (!/postmaster\.pid" already exists|pre-existing shared memory/.test(started.written) || performance.now() > deadline)
      throw serverFailure('the embedded Postgres did not start', started.written, paths.home, paths.log)
    await sleep(200)
  }
}

const serverSettings = [
  'listen_addresses=127.0.0.1',
  'unix_socket_directories=',
  'shared_buffers=256MB',
  // Bulk loads into new tables are not logged, and a load of a million rows does not force a checkpoint.
  'wal_level=minimal',
  'max_wal_senders=0',
  'max_wal_size=4GB',
  // With 200 ms, the default, a load fills the buffers of the log between two writes. Then the load has to write and flush them itself.
  'wal_writer_delay=20ms',
  'jit=off',
  'log_min_messages=warning',
  'log_min_error_statement=panic',
  'log_error_verbosity=terse',
]

/** Starts the process of the server. Returns the address of the database, or what a failed server wrote to its log. */
async function startOnce(paths: ServerPaths, maxConnections: number): Promise<string | { readonly written: string }> {
  const { postgres } = findBinaries(paths.account, paths.binaries)
  const port = await choosePort(paths.port)
  if (!existsSync(paths.log)) writeFileSync(paths.log, '')
  if (paths.account) chownSync(paths.log, paths.account.uid, paths.account.gid)
  const logSizeBefore = statSync(paths.log).size
  const log = openSync(paths.log, 'a')
  const child = spawn(
    postgres,
    ['-D', paths.data, ...[...serverSettings, `port=${port}`, `max_connections=${maxConnections}`].flatMap((setting) => ['-c', setting])],
    // `detached`: Ctrl-C and the end of this process do not stop the server.
    { stdio: ['ignore', log, log], detached: true, cwd: '/', ...paths.account },
  )
  closeSync(log)
  child.unref()
  let ended = false
  child.once('exit', () => (ended = true))
  const deadline = performance.now() + 30_000
  // After a crash the server first replays its log, which may take minutes.
  while ((performance.now() < deadline || isStarting(paths)) && !ended) {
    if (await runningAddress(paths)) return createDatabase(paths)
    await sleep(20)
  }
  return { written: readFileSync(paths.log).subarray(logSizeBefore).toString() }
}

/** Returns the address of the database on the running server, after a test query. Undefined if no server answers. */
export async function runningAddress(paths: ServerPaths): Promise<string | undefined> {
  const server = readPortAndPassword(paths)
  if (server === undefined) return undefined
  const client = new pg.Client({ connectionString: addressOf(server, 'postgres'), connectionTimeoutMillis: 5_000 })
  ignoreLaterErrors(client)
  try {
    await client.connect()
    await client.query('select 1')
    return addressOf(server, database)
  } catch {
    return undefined // for example an outdated file, whose pid belongs to another process now
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** Returns the address of the database from the files of the server; undefined if no server is ready. Does not connect. */
export function currentAddress(paths: ServerPaths): string | undefined {
  const server = readPortAndPassword(paths)
  return server === undefined ? undefined : addressOf(server, database)
}

/** Program with open connections to the server. */
export interface ConnectedProgram {
  readonly name: string
  readonly connections: number
}

/** Returns the programs with open connections, by name, without the connection of this function. */
export async function connectedPrograms(paths: ServerPaths): Promise<readonly ConnectedProgram[]> {
  return asAdministrator(paths, async (client) => {
    const { rows } = await client.query<{ name: string; connections: number }>(
      `select coalesce(nullif(application_name, ''), 'unnamed') as name, count(*)::int as connections
       from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid() group by 1 order by 1`,
    )
    return rows
  })
}

/**
 * Stops the server. Returns false if no server answers. The pid in an outdated file may then be that of another program.
 * @throws {RunError} `POSTGRES_UNAVAILABLE` if the server does not stop
 */
export async function stopServer(paths: ServerPaths): Promise<boolean> {
  if ((await runningAddress(paths)) === undefined) return false
  const pid = Number(readServerFile(paths)[0])
  if (!pid) return false
  process.kill(pid, 'SIGINT') // fast shutdown: sessions end, nothing is lost
  const deadline = performance.now() + 20_000
  while (performance.now() < deadline) {
    if (!processExists(pid) || !existsSync(join(paths.data, 'postmaster.pid'))) return true
    await sleep(10)
  }
  throw unavailable('the embedded Postgres did not stop within 20 s')
}

/** Keeps this process running if the server ends the connection later. The next query of the connection fails. */
function ignoreLaterErrors(client: pg.Client): void {
  client.on('error', () => undefined)
}

/** Creates the database of Sluice if it is missing. Returns its address. */
async function createDatabase(paths: ServerPaths): Promise<string> {
  return asAdministrator(paths, async (client, server) => {
    const { rowCount } = await client.query('select 1 from pg_database where datname = $1', [database])
    if (rowCount === 0) await client.query(`create database ${database}`)
    return addressOf(server, database)
  })
}

/** Runs `work` on a connection to the database `postgres`, which exists even before the database of Sluice is created. */
async function asAdministrator<Result>(paths: ServerPaths, work: (client: pg.Client, server: Server) => Promise<Result>): Promise<Result> {
  const server = readPortAndPassword(paths)
  if (server === undefined) throw unavailable('the embedded Postgres has just stopped')
  const client = new pg.Client({ connectionString: addressOf(server, 'postgres') })
  ignoreLaterErrors(client)
  await client.connect()
  try {
    return await work(client, server)
  } finally {
    await client.end()
  }
}

/** Port and password of a running server. */
interface Server {
  readonly port: number
  readonly password: string
}

/** Reads port and password of the server from its files. Undefined if the server is not set up, not running, or not ready yet. */
function readPortAndPassword(paths: ServerPaths): Server | undefined {
  const lines = readServerFile(paths)
  const pid = Number(lines[0])
  const port = Number(lines[3])
  if (!pid || !port || lines[7]?.trim() !== 'ready' || !processExists(pid)) return undefined
  try {
    return { port, password: readFileSync(paths.password, 'utf8') }
  } catch {
    return undefined
  }
}

/** Returns true if the process of a server runs and does not accept connections yet. */
function isStarting(paths: ServerPaths): boolean {
  const lines = readServerFile(paths)
  return lines[7]?.trim() === 'starting' && processExists(Number(lines[0]))
}

/** Returns true if a server is starting and rejects connections, for example because it replays its log. */
async function isRecovering(paths: ServerPaths): Promise<boolean> {
  if (!isStarting(paths)) return false
  const port = Number(readServerFile(paths)[3])
  const client = new pg.Client({ host: '127.0.0.1', port, user, database: 'postgres', connectionTimeoutMillis: 5_000 })
  ignoreLaterErrors(client)
  try {
    await client.connect()
    return false
  } catch (error) {
    return errorCode(error) === cannotConnectNow
  } finally {
    await client.end().catch(() => undefined)
  }
}

/** SQLSTATE `cannot_connect_now`. */
const cannotConnectNow = '57P03'

/** Returns the lines of the file that Postgres keeps while it runs: pid first, port fourth, state eighth. Empty without the file. */
function readServerFile(paths: ServerPaths): readonly string[] {
  try {
    return readFileSync(join(paths.data, 'postmaster.pid'), 'utf8').split('\n')
  } catch {
    return []
  }
}

function addressOf({ port, password }: Server, name: string): string {
  return `postgresql://${user}:${password}@127.0.0.1:${port}/${name}`
}
