/** Processing times of the service (the switch `processing_times`). */
import type { World } from './area.ts'

/** Milliseconds of the sandbox's clock. Audiences take hours (docs/spec-notes.md#audience-uploads); the other times are assumed. */
const PROCESSING_MS = { audience: 6 * 3_600_000, media: 60_000, productSet: 300_000, statisticsJob: 60_000 } as const

/** Returns true if work that began at `since` (milliseconds since 1970) has ended. Always true with the default `next_read`. */
export function isProcessed(world: World, kind: keyof typeof PROCESSING_MS, since: number): boolean {
  return world.switchValue('processing_times') !== 'clock' || world.now() - since >= PROCESSING_MS[kind]
}
