/** Exports of `sluice/pipeline`, for pipelines written in TypeScript. */
import type { PipelineInput } from './schema.ts'

export type { PipelineInput }

/** Returns its argument, and gives a pipeline in TypeScript its type. The values are checked when the file is loaded. */
export function definePipeline(pipeline: PipelineInput): PipelineInput {
  return pipeline
}
