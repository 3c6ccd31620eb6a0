/** Stores the progress of a running stage with the run, so that a page or another command can show it. */
import type { StoredProgress } from '../../db/runs/columns.ts'
import { storeProgress } from '../../db/runs/update.ts'
import type { RunRow } from '../../db/runs/claim.ts'
import type { Progress } from '../../model/report.ts'
import type { EngineDeps } from '../engine.ts'

/** Shortest time in milliseconds between two writes during one stage. */
const writeEveryMs = 1_000

/**
 * Returns an `onProgress` that also stores the progress: at the first call of a stage, then at most once a second. After a write, stores
 * the newest progress that was reported during it, if its stage is new or a second has passed. Failed writes are ignored.
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
