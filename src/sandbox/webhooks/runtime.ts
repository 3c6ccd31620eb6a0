/** Stores the open streams and the running work of each sandbox, outside of the state, because neither can be copied or stored. */
import type { ServerResponse } from 'node:http'
import type { World } from '../area.ts'

interface Runtime {
  readonly streams: Set<ServerResponse>
  work: Work
}

/** Work on one state. A reset or restore cancels the work, because in the next state the same keys may name other records. */
interface Work {
  /** Running deliveries, checks and jobs by key, so that none runs twice. */
  readonly running: Map<string, Promise<void>>
  readonly cancelled: AbortController
}

const runtimes = new WeakMap<World, Runtime>()

function runtimeOf(world: World): Runtime {
  let runtime = runtimes.get(world)
  if (runtime === undefined) runtimes.set(world, (runtime = { streams: new Set(), work: newWork() }))
  return runtime
}

function newWork(): Work {
  return { running: new Map(), cancelled: new AbortController() }
}

/** Returns the open activity streams of a sandbox. The caller may change the set. */
export function streamsOf(world: World): Set<ServerResponse> {
  return runtimeOf(world).streams
}

/** Returns the signal that aborts when the state is replaced or the sandbox closes. Work must then send nothing more and record nothing. */
export function cancelSignal(world: World): AbortSignal {
  return runtimeOf(world).work.cancelled.signal
}

/** Cancels the running work, requests in flight included. */
export function cancelWork(world: World): void {
  const runtime = runtimeOf(world)
  runtime.work.cancelled.abort()
  runtime.work = newWork()
}

/** Ends the open streams, and cancels the running work. */
export function endRuntime(world: World): void {
  cancelWork(world)
  for (const stream of streamsOf(world)) stream.end()
  runtimes.delete(world)
}

/**
 * Starts `work`, unless work with the same key is running. Resolves when the work with this key has ended. `cancelled`: see
 * {@link cancelSignal}.
 */
export function startUnlessRunning(world: World, key: string, work: (cancelled: AbortSignal) => Promise<void>): Promise<void> {
  const { running, cancelled } = runtimeOf(world).work
  const alreadyRunning = running.get(key)
  if (alreadyRunning !== undefined) return alreadyRunning
  const started = work(cancelled.signal).finally(() => running.delete(key))
  running.set(key, started)
  return started
}
