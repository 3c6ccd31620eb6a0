import type { Pipeline } from '../model/pipeline.ts'
import type { LoadedPipelines } from '../pipeline/load.ts'
import type { EngineDeps } from '../sync/engine.ts'

/** Dependencies of scheduler and worker: those of the engine, and the pipeline files, which are read at each use. */
export interface JobDeps extends EngineDeps {
  /** Loads a pipeline. @throws {UsageError} if the folder has no such pipeline; {ConfigError} if its file is invalid */
  readonly loadPipeline: (name: string) => Promise<Pipeline>
  readonly loadPipelines: () => Promise<LoadedPipelines>
  /** Real path of the folder of pipelines. For a named set of credentials, `#` and its name follow. Schedules are stored by this value. */
  readonly folder: string
}
