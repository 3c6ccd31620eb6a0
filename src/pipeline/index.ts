/** Pipelines written in TypeScript: what `sluice/pipeline` exports. */
export { definePipeline } from './define.ts'
export type { PipelineInput } from './schema.ts'
