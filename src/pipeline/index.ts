/** Pipelines written in TypeScript: the exports of `sluice/pipeline`. */
import type { PipelineInput } from './schema.ts'

export type { PipelineInput }

/** Types a pipeline written in TypeScript; checked, like every other, when it is loaded. */
export function definePipeline(pipeline: PipelineInput): PipelineInput {
  return pipeline
}
