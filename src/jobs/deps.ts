import type { Pipeline } from '../model/pipeline.ts'
import type { LoadedPipelines } from '../pipeline/load.ts'
import type { EngineDeps } from '../sync/engine.ts'

/** Dependencies of scheduler and worker: those of the engine, and the pipeline files as they are at each use. */
export interface JobDeps extends EngineDeps {
  /** @throws {UsageError} if this folder has no such pipeline; {ConfigError} if its file is invalid */
  readonly loadPipeline: (name: string) => Promise<Pipeline>
  readonly loadPipelines: () => Promise<LoadedPipelines>
  /** The folder of pipelines, by its real path. */
  readonly folder: string
}
