/** Open connections and work on its way, beside the state because they cannot be copied or journalled. */
import type { ServerResponse } from 'node:http'

export interface Runtime {
  readonly streams: Set<ServerResponse>
  /** Deliveries and checks on their way, by key, so that nothing is sent twice. */
  readonly busy: Map<string, Promise<void>>
}

const runtimes = new Map<number, Runtime>()
let next = 1

export function createRuntime(): number {
  const id = next++
  runtimes.set(id, { streams: new Set(), busy: new Map() })
  return id
}

export function runtimeOf(id: number): Runtime {
  const found = runtimes.get(id)
  if (found !== undefined) return found
  // Ended meanwhile: work still on its way finishes into nothing.
  return { streams: new Set(), busy: new Map() }
}

/** Ends every open stream. */
export function endRuntime(id: number): void {
  for (const stream of runtimes.get(id)?.streams ?? []) stream.end()
  runtimes.delete(id)
}

/** Runs `work` unless the same key is on its way already; resolves when it is done. */
export function once(id: number, key: string, work: () => Promise<void>): Promise<void> {
  const { busy } = runtimeOf(id)
  const running = busy.get(key)
  if (running !== undefined) return running
  const started = work().finally(() => busy.delete(key))
  busy.set(key, started)
  return started
}
