import type { StoredProgress } from '../../db/runs/columns.ts'
import { storeProgress } from '../../db/runs/update.ts'
import type { ClaimedRun } from '../../db/runs/claim.ts'
import type { Progress } from '../../model/report.ts'
import type { EngineDeps } from '../engine.ts'

/** Minimum milliseconds between two writes during one stage. */
const writeEveryMs = 1_000

/**
 * Returns an `onProgress` that passes each report with its run to `deps.onProgress`, and stores reports for the dashboard. Stores the first
 * report of a stage, then at most one a second. Ignores failed writes.
 */
export function createProgressStorer(deps: EngineDeps, run: ClaimedRun): NonNullable<EngineDeps['onProgress']> {
  let stage: string | undefined
  let stageStartedAt = ''
  let writtenAt = Number.NEGATIVE_INFINITY
  let isWriting = false
  /** Newest report that came during a write. After the write it is stored, or dropped, as if it came then. */
  let duringWrite: Progress | undefined
  const store = (progress: Progress): void => {
    if (isWriting) {
      duringWrite = progress
      return
    }
    const now = deps.clock.monotonic()
    const isNewStage = progress.stage !== stage
    if (!isNewStage && now - writtenAt < writeEveryMs) return
    const at = new Date(deps.clock.now()).toISOString()
    if (isNewStage) stageStartedAt = at
    stage = progress.stage
    writtenAt = now
    isWriting = true
    const stored: StoredProgress = { ...progress, stageStartedAt, at }
    storeProgress(deps.db, run, stored)
      .catch(() => undefined)
      .finally(() => {
        isWriting = false
        const next = duringWrite
        duringWrite = undefined
        if (next !== undefined) store(next)
      })
  }
  const runOfReport = { runId: `r_${run.id}`, pipeline: run.pipeline }
  return (progress) => {
    deps.onProgress?.({ ...progress, run: runOfReport })
    store(progress)
  }
}
