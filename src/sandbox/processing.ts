/** Processing times of the service, by the sandbox's clock (switch `processing_times`). */
import type { World } from './area.ts'

/** Milliseconds. Audiences take 6 to 8 hours (docs/spec-notes.md#audience-uploads 'Processing'); the others are assumed. */
const TIMES = { audience: 6 * 3_600_000, media: 60_000, productSet: 300_000, statisticsJob: 60_000 } as const

/** Returns true if work that began at `since` has ended. With the default `next_read` it has by the next read. */
export function isProcessed(world: World, kind: keyof typeof TIMES, since: number): boolean {
  return world.switch('processing_times') !== 'clock' || world.now() - since >= TIMES[kind]
}
