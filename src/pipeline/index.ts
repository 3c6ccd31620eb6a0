/** Pipelines written in TypeScript: the exports of `sluice/pipeline`. */
import type { PipelineInput } from './schema.ts'

export type { PipelineInput }

/** Gives a pipeline in TypeScript its type. The pipeline is checked when it is loaded, like every other. */
export function definePipeline(pipeline: PipelineInput): PipelineInput {
  return pipeline
}
