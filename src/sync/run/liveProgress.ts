/** Stores the progress of the running stage with the run, so that pages and other commands can show it. */
import type { StoredProgress } from '../../db/runs/columns.ts'
import { storeProgress } from '../../db/runs/update.ts'
import type { RunRow } from '../../db/runs/claim.ts'
import type { Progress } from '../../model/report.ts'
import type { EngineDeps } from '../engine.ts'

/** Minimum time in milliseconds between two writes during one stage. */
const writeEveryMs = 1_000

/**
 * Returns an `onProgress` that calls `deps.onProgress` and stores the progress: at the first call of a stage, then at most once a second.
 * Writes do not overlap. The newest progress that was reported during a write is handled after the write. Failed writes are ignored.
 */
export function storingProgress(deps: EngineDeps, run: RunRow): NonNullable<EngineDeps['onProgress']> {
  let stage: string | undefined
  let stageStartedAt = ''
  let writtenAt = Number.NEGATIVE_INFINITY
  let writing = false
  let missed: Progress | undefined
  const store = (progress: Progress): void => {
    if (writing) {
      missed = progress
      return
    }
    const now = deps.clock.monotonic()
    const isNew = progress.stage !== stage
    if (!isNew && now - writtenAt < writeEveryMs) return
    const at = new Date(deps.clock.now()).toISOString()
    if (isNew) stageStartedAt = at
    stage = progress.stage
    writtenAt = now
    writing = true
    const stored: StoredProgress = { ...progress, stageStartedAt, at }
    storeProgress(deps.db, run, stored)
      .catch(() => undefined)
      .finally(() => {
        writing = false
        const next = missed
        missed = undefined
        if (next !== undefined) store(next)
      })
  }
  return (progress) => {
    deps.onProgress?.(progress)
    store(progress)
  }
}
