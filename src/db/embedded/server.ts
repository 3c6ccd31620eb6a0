/**
 * A real Postgres 18 of our own, for machines without one, as an ordinary user and as root, on loopback with a password of its own.
 * Started in 0.3 s, the first time in 8 s with its files, attached to in 0.03 s (docs/benchmarks.md#readers). Any number of commands
 * share it: the first starts it, the last one out stops it, unless a command was asked to keep it (`serve`, `demo --keep`, `db`). A
 * killed command leaves it running; the next one attaches to it.
 */
import { existsSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { connectedPrograms, currentAddress, initialize, running, start, stop, type ConnectedProgram } from './cluster.ts'
import { lock } from './commandLock.ts'
import { placesOf } from './places.ts'

export interface EmbeddedServer {
  readonly url: string
  /** Stops the server if no other command uses it and none was asked to keep it. Safe to call twice. */
  readonly release: () => Promise<void>
}

/** Starts the server below `dataDir`, or attaches to the one that runs there. `keep`: it outlives this command. */
export async function startEmbedded(dataDir: string, options: { readonly keep?: boolean } = {}): Promise<EmbeddedServer> {
  const places = placesOf(dataDir)
  const unlock = await lock(places.lock)
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

/** Returns the server's address at each call; the last known one while it is down. Does not connect. */
export function embeddedAddress(dataDir: string, known: string): () => string {
  const places = placesOf(dataDir)
  return () => (known = currentAddress(places) ?? known)
}

/** Programs that are connected to the running server; none where it does not run. */
export async function embeddedClients(dataDir: string): Promise<readonly ConnectedProgram[]> {
  if ((await embeddedUrl(dataDir)) === undefined) return []
  return connectedPrograms(placesOf(dataDir))
}

/** Bytes that are free where the embedded server keeps its files. */
export function embeddedFreeBytes(dataDir: string): number {
  const { bavail, bsize } = statfsSync(placesOf(dataDir).data)
  return bavail * bsize
}

const superviseEveryMs = 2_000

/**
 * Starts the server again whenever it is found stopped, for processes that stay up. `onRestart` gets the error of an attempt
 * that failed; the next one follows. Returns a function that ends the supervision.
 */
export function superviseEmbedded(dataDir: string, onRestart: (error?: unknown) => void): () => void {
  const places = placesOf(dataDir)
  let starting = false
  const timer = setInterval(() => {
    if (starting || currentAddress(places) !== undefined) return
    starting = true
    startEmbedded(dataDir)
      .then(() => onRestart(), onRestart)
      .finally(() => (starting = false))
  }, superviseEveryMs)
  timer.unref()
  return () => clearInterval(timer)
}

/** Ends the server, even if a command uses it. Returns false when none runs. */
export async function stopEmbedded(dataDir: string): Promise<boolean> {
  const places = placesOf(dataDir)
  rmSync(places.keep, { force: true })
  return stop(places)
}

async function releaseEmbedded(dataDir: string): Promise<void> {
  const places = placesOf(dataDir)
  if (existsSync(places.keep)) return
  const unlock = await lock(places.lock)
  try {
    if ((await running(places)) && (await connectedPrograms(places)).length === 0) await stop(places)
  } finally {
    unlock()
  }
}
