/** Selects the queued runs whose pipeline file this worker can load. */
import type { QueuedRun } from '../db/runs/queued.ts'
import { ConfigError, UsageError } from '../errors.ts'
import type { Pipeline } from '../model/pipeline.ts'
import type { JobDeps } from './deps.ts'

/** Milliseconds until a worker reads the pipeline file of a queued run again, or retries the claim of a postponed run. */
const lookAgainAfterMs = 3_000

/** Selection of queued runs by one worker. */
export interface RunSelection {
  /** Returns the names of the pipelines in the folder of this worker; none if the folder cannot be used. */
  readonly pipelineNames: () => Promise<readonly string[]>
  /**
   * Returns the first run with a pipeline that this worker can load, except postponed runs. Undefined if there is none. Does not compare
   * the version of the pipeline with the version that the run needs: the claim does.
   */
  readonly firstRunnable: (queued: readonly QueuedRun[]) => Promise<{ readonly run: QueuedRun; readonly pipeline: Pipeline } | undefined>
  /** Omits a run from `firstRunnable` for three seconds, because this worker cannot claim it now. */
  readonly postpone: (runId: number) => void
}

/** Creates the selection. It caches the names, and each loaded pipeline, for three seconds. */
export function createRunSelection(deps: Pick<JobDeps, 'loadPipeline' | 'loadPipelines' | 'clock' | 'log'>): RunSelection {
  let folder: { readonly names: readonly string[]; readonly until: number } | undefined
  const loaded = new Map<string, { readonly pipeline: Pipeline | undefined; readonly until: number }>()
  const postponed = new Map<number, number>()

  const load = async (name: string): Promise<Pipeline | undefined> => {
    try {
      return await deps.loadPipeline(name)
    } catch (error) {
      // The file is missing or invalid here: another worker may have it.
      if (!(error instanceof UsageError) && !(error instanceof ConfigError)) throw error
      deps.log.debug({ pipeline: name, code: error.code }, 'this worker does not have the pipeline of a queued run')
      return undefined
    }
  }
  const pipelineOf = async (name: string): Promise<Pipeline | undefined> => {
    const found = loaded.get(name)
    if (found !== undefined && found.until > deps.clock.monotonic()) return found.pipeline
    const pipeline = await load(name)
    loaded.set(name, { pipeline, until: deps.clock.monotonic() + lookAgainAfterMs })
    return pipeline
  }
  const loadNames = async (): Promise<readonly string[]> => {
    try {
      return (await deps.loadPipelines()).names
    } catch (error) {
      if (!(error instanceof UsageError) && !(error instanceof ConfigError)) throw error
      return []
    }
  }
  return {
    async pipelineNames() {
      if (folder === undefined || folder.until <= deps.clock.monotonic())
        folder = { names: await loadNames(), until: deps.clock.monotonic() + lookAgainAfterMs }
      return folder.names
    },
    async firstRunnable(queued) {
      const now = deps.clock.monotonic()
      for (const [id, until] of postponed) if (until <= now) postponed.delete(id)
      for (const run of queued) {
        if (postponed.has(run.id)) continue
        const pipeline = await pipelineOf(run.pipeline)
        if (pipeline !== undefined) return { run, pipeline }
      }
      return undefined
    },
    postpone(runId) {
      postponed.set(runId, deps.clock.monotonic() + lookAgainAfterMs)
    },
  }
}
