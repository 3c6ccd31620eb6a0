/** The public face of the package: what a pipeline file, or a program of yours, imports from `sluice`. */
export { definePipeline } from './pipeline/define.ts'
export type { PipelineInput } from './pipeline/schema.ts'
export * from './service/client/index.ts'
export { fixedCredentials, startSandbox, type Sandbox, type SandboxOptions } from './sandbox/start.ts'
export { createWebhookReceiver } from './webhooks/index.ts'
