/** Counts the checks of alerts, by the loads of pipeline files: each check begins with one. */
import { expect } from 'vitest'
import type { LoadedPipelines } from '../../src/pipeline/load.ts'

export interface CountedChecks {
  readonly loadPipelines: () => Promise<LoadedPipelines>
  /** Resolves when two checks that began after the call have ended. What should fire or recover has done so. */
  readonly checkedTwice: () => Promise<void>
}

export function countedChecks(load: () => Promise<LoadedPipelines>): CountedChecks {
  let begun = 0
  return {
    async loadPipelines() {
      begun++
      return load()
    },
    async checkedTwice() {
      const before = begun
      await expect.poll(() => begun).toBeGreaterThan(before + 2)
    },
  }
}
