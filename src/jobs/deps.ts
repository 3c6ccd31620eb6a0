import type { Pipeline } from '../pipeline/definition.ts'
import type { EngineDeps } from '../sync/engine.ts'

/** What scheduler and worker need besides the engine: the pipeline files, read anew whenever they are needed. */
export interface JobDeps extends EngineDeps {
  readonly loadPipeline: (name: string) => Promise<Pipeline>
  /** All usable ones; files that are wrong are the loader's to report. */
  readonly loadPipelines: () => Promise<readonly Pipeline[]>
}
