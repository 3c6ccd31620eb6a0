/** Open streams and running work of each sandbox. Not part of its state, because they cannot be copied or written to the journal. */
import type { ServerResponse } from 'node:http'
import type { World } from '../area.ts'
import { areaRefs } from '../areaRefs.ts'
import type { WebhooksState } from './state.ts'

export interface Runtime {
  readonly streams: Set<ServerResponse>
  /** Running deliveries, checks and jobs by key, so that none runs twice. */
  readonly busy: Map<string, Promise<void>>
}

const runtimes = new WeakMap<World, Runtime>()

/** Returns the runtime of a sandbox. `reset` ends it; `restore` does not, because a snapshot has none. */
export function runtimeOf(world: World): Runtime {
  let found = runtimes.get(world)
  if (found === undefined) runtimes.set(world, (found = { streams: new Set(), busy: new Map() }))
  return found
}

/** Ends the open streams, and forgets running work, so that the next state may use the same keys. */
export function endRuntime(world: World): void {
  for (const stream of runtimeOf(world).streams) stream.end()
  runtimes.delete(world)
}

/** Returns true if a reset or restore replaced the state. Its keys may mean other records now. */
export function isReplaced(world: World, state: WebhooksState): boolean {
  return world.stateOf(areaRefs.webhooks) !== state
}

/** Runs `work`, unless work with the same key is running. Resolves when the running work has ended. */
export function unlessRunning(world: World, key: string, work: () => Promise<void>): Promise<void> {
  const { busy } = runtimeOf(world)
  const running = busy.get(key)
  if (running !== undefined) return running
  const started = work().finally(() => busy.delete(key))
  busy.set(key, started)
  return started
}
