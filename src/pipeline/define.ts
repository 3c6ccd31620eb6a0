import type { PipelineInput } from './schema.ts'

/** Types a pipeline written in TypeScript; checked, like every other, when it is loaded. */
export function definePipeline(pipeline: PipelineInput): PipelineInput {
  return pipeline
}
