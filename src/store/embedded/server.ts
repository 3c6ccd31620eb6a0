/**
 * A real Postgres 18 of our own, for machines without one: started in about a second, as an ordinary user and as root,
 * on loopback with a password of its own. Any number of commands share it: the first starts it, the last one out stops
 * it, unless somebody asked to keep it (`serve`, `demo --keep`, `db`). A killed command leaves it running; the next one
 * attaches to it.
 */
import { existsSync, rmSync, writeFileSync } from 'node:fs'
import { join, resolve } from 'node:path'
import { initialize, isInUse, running, start, stop } from './cluster.ts'
import { lock } from './commandLock.ts'
import { placesOf } from './places.ts'

export interface EmbeddedServer {
  readonly url: string
  /** Stops the server if no other command uses it and nobody asked to keep it. Safe to call twice. */
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

/** Ends the server whoever uses it. False when none runs. */
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
    if ((await running(places)) && !(await isInUse(places))) await stop(places)
  } finally {
    unlock()
  }
}
