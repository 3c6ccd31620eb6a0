/** Open streams and running work of each sandbox. Not part of its state, because they cannot be copied or written to the journal. */
import type { ServerResponse } from 'node:http'

export interface Runtime {
  readonly streams: Set<ServerResponse>
  /** Running deliveries, checks and jobs by key, so that none runs twice. */
  readonly busy: Map<string, Promise<void>>
}

const runtimes = new Map<number, Runtime>()
let next = 1

/** Creates a runtime. Returns its id, which the state contains. */
export function createRuntime(): number {
  const id = next++
  runtimes.set(id, { streams: new Set(), busy: new Map() })
  return id
}

export function runtimeOf(id: number): Runtime {
  const found = runtimes.get(id)
  if (found !== undefined) return found
  // The runtime has ended. Work that still runs gets an empty one.
  return { streams: new Set(), busy: new Map() }
}

/** Ends the runtime and its open streams. */
export function endRuntime(id: number): void {
  for (const stream of runtimes.get(id)?.streams ?? []) stream.end()
  runtimes.delete(id)
}

/** Runs `work`, unless work with the same key is running. Resolves when the running work has ended. */
export function once(id: number, key: string, work: () => Promise<void>): Promise<void> {
  const { busy } = runtimeOf(id)
  const running = busy.get(key)
  if (running !== undefined) return running
  const started = work().finally(() => busy.delete(key))
  busy.set(key, started)
  return started
}
