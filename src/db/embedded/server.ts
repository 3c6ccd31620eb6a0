/**
 * Runs the embedded Postgres 18, for machines without a Postgres. The server starts in 0.3 s. The first start takes 8 s, because it creates
 * the server's files. A command connects to a running server in 0.03 s (docs/benchmarks.md#readers). The server listens on loopback with
 * its own password, and never runs as root. Any number of commands share the server: the first command starts it, and the last command
 * stops it. After `sluice db url` it keeps running until `sluice db stop`. If a command is killed, the server keeps running for the next
 * command.
 */
import type { RunError } from '../../errors.ts'
import { quoteArgument } from '../../format.ts'
import { existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import {
  connectedPrograms,
  currentAddress,
  initializeServer,
  runningAddress,
  startServer,
  stopServer,
  type ConnectedProgram,
} from './cluster.ts'
import { lockServer } from './commandLock.ts'
import { prepareServerPaths, type ServerPaths } from './serverPaths.ts'
import { unavailable } from './unavailable.ts'

export interface EmbeddedServer {
  readonly url: string
  /** Stops the server if no other command uses or keeps it. Safe to call twice. */
  readonly release: () => Promise<void>
}

/**
 * Starts the server below `dataDir`, or uses the server that runs there. `keep`: the server keeps running after the last command.
 * `maxConnections`: limit of a server that this call starts.
 * @throws {RunError} `POSTGRES_UNAVAILABLE`, `DISK_FULL`, `NO_PERMISSION`
 * @throws {UsageError} `WRONG_USER`
 */
export async function startEmbedded(
  dataDir: string,
  options: { readonly keep?: boolean; readonly maxConnections?: number } = {},
): Promise<EmbeddedServer> {
  const paths = prepareServerPaths(dataDir)
  const unlock = await lockServer(paths.lock)
  try {
    const url = (await runningAddress(paths)) ?? (await initializeAndStart(paths, options.maxConnections))
    if (paths.elsewhere !== undefined) writeFileSync(paths.elsewhere.file, paths.elsewhere.name)
    if (options.keep) writeFileSync(paths.keep, '')
    return { url, release: () => releaseEmbedded(dataDir) }
  } finally {
    unlock()
  }
}

async function initializeAndStart(paths: ServerPaths, maxConnections: number | undefined): Promise<string> {
  if (!existsSync(join(paths.data, 'PG_VERSION'))) {
    if (paths.elsewhere !== undefined && existsSync(paths.elsewhere.file)) throw missingError(paths.data, paths.elsewhere.file)
    await initializeServer(paths)
  }
  return startServer(paths, maxConnections)
}

function missingError(data: string, file: string): RunError {
  return unavailable(
    `the database of this folder is missing: ${data}`,
    `restore or mount that folder; or start with an empty database without any synced state: rm ${quoteArgument(file)}`,
  )
}

/** Returns the address of the running server; undefined if none runs. Does not start a server. */
export async function embeddedUrl(dataDir: string): Promise<string | undefined> {
  return existsSync(resolve(dataDir)) ? runningAddress(prepareServerPaths(dataDir)) : undefined
}

/**
 * Returns a function that returns the current address of the server, or the last known address while the server is down. Does not connect.
 * `known`: address at the time of the call.
 */
export function embeddedAddress(dataDir: string, known: string): () => string {
  const paths = prepareServerPaths(dataDir)
  return () => (known = currentAddress(paths) ?? known)
}

/** Returns the programs that are connected to the running server; empty if no server runs. */
export async function embeddedClients(dataDir: string): Promise<readonly ConnectedProgram[]> {
  if ((await embeddedUrl(dataDir)) === undefined) return []
  return connectedPrograms(prepareServerPaths(dataDir))
}

/** Returns the number of free bytes on the disk of the embedded server's files. The server must have been started before. */
export function embeddedFreeBytes(dataDir: string): number {
  const { bavail, bsize } = statfsSync(prepareServerPaths(dataDir).data)
  return bavail * bsize
}

/** Interval of checks in milliseconds. */
const superviseEveryMs = 2_000

/**
 * Restarts the server whenever it has stopped, for processes that keep running. `onRestart` is called after each attempt, with the
 * error of a failed one. Returns a function that ends the supervision.
 */
export function superviseEmbedded(dataDir: string, onRestart: (error?: unknown) => void): () => void {
  const paths = prepareServerPaths(dataDir)
  let starting = false
  const timer = setInterval(() => {
    if (starting || currentAddress(paths) !== undefined) return
    starting = true
    startEmbedded(dataDir)
      .then(() => onRestart(), onRestart)
      .finally(() => (starting = false))
  }, superviseEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Stops the server, even if a command uses or keeps it. Returns false if no server runs. */
export async function stopEmbedded(dataDir: string): Promise<boolean> {
  const paths = prepareServerPaths(dataDir)
  const unlock = await lockServer(paths.lock)
  try {
    rmSync(paths.keep, { force: true })
    return await stopServer(paths)
  } finally {
    unlock()
  }
}

/** Stops the server if no program is connected and no command keeps it. */
async function releaseEmbedded(dataDir: string): Promise<void> {
  const paths = prepareServerPaths(dataDir)
  const unlock = await lockServer(paths.lock)
  try {
    // Under the lock, because another command may start to keep the server while this one waits.
    if (existsSync(paths.keep)) return
    if ((await runningAddress(paths)) && (await connectedPrograms(paths)).length === 0) await stopServer(paths)
  } finally {
    unlock()
  }
}
