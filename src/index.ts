/** The public face of the package. */
export { definePipeline } from './pipeline/define.ts'
export type { PipelineInput } from './pipeline/schema.ts'
