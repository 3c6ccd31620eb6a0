/** Starts `sluice serve` in a separate process, and measures its processor time and memory. Linux only. */
import { execFileSync, spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'
import pg from 'pg'
import { environmentOf } from './engine.ts'

const root = fileURLToPath(new URL('..', import.meta.url))
const program = join(root, 'dist/cli/main.js')

/** Builds the bundle of the package, because stripping types takes 25 MB of each process. */
export function buildPackage(): void {
  execFileSync(process.execPath, [join(root, 'scripts/build.ts')], { stdio: 'ignore' })
}

export interface ServeOptions {
  /** Folder that contains `pipelines/`. */
  readonly folder: string
  readonly databaseUrl: string
  readonly serviceUrl: string
  readonly schema: string
}

/** Starts `serve` of the built package and resolves when it is up. */
export async function startServe({ folder, databaseUrl, serviceUrl, schema }: ServeOptions): Promise<ChildProcess> {
  mkdirSync(join(folder, 'home'), { recursive: true })
  const child = spawn(process.execPath, [program, 'serve', '--port', '0'], {
    cwd: folder,
    stdio: ['ignore', 'pipe', 'ignore'],
    env: {
      ...environmentOf({ home: join(folder, 'home'), databaseUrl, serviceUrl }),
      SLUICE_SCHEMA: schema,
    },
  })
  const ended = once(child, 'close').then(() => Promise.reject(new Error(`serve of ${schema} ended`)))
  await Promise.race([once(createInterface(child.stdout), 'line'), ended])
  // After `stopServe`, the rejection is expected.
  ended.catch(() => undefined)
  return child
}

export async function stopServe(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const closed = once(child, 'close')
  child.kill()
  await closed
}

/** Returns the user and system time of a process in seconds. `endedChildren`: true to add the time of its ended children. */
export function processorSeconds(pid: number | undefined, { endedChildren = false } = {}): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? []
  return fields.slice(11, endedChildren ? 15 : 13).reduce((sum, ticks) => sum + Number(ticks) / 100, 0)
}

export interface Megabytes {
  readonly resident: number
  /** Resident memory; pages that several processes share are divided among them. */
  readonly proportional: number
}

export function megabytesOf(pid: number | undefined): Megabytes {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8')
  const value = (name: string) => Number(new RegExp(`^${name}:\\s+(\\d+) kB`, 'm').exec(text)?.[1] ?? Number.NaN) / 1024
  return { resident: value('Rss'), proportional: value('Pss') }
}

export interface ServerUse {
  /** Number of committed transactions, without the transactions of this function. */
  readonly transactions: number
  readonly connections: number
}

/** Returns a function that reads the use of the database by all other clients. */
export function serverUse(client: pg.Client): () => Promise<ServerUse> {
  let own = 0
  return async () => {
    own++
    const { rows } = await client.query<{ transactions: string; connections: number }>(
      `select xact_commit as transactions,
         (select count(*)::int from pg_stat_activity where datname = current_database() and backend_type = 'client backend' and pid <> pg_backend_pid()) as connections
       from pg_stat_database where datname = current_database()`,
    )
    return { transactions: Number(rows[0]?.transactions) - own, connections: rows[0]?.connections ?? Number.NaN }
  }
}
