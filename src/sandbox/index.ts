/** Public API of the sandbox: the exports of `sluice/sandbox`. */
import '../nodeVersion.ts'

export { fixedCredentials } from './area.ts'
export { startSandbox, type Sandbox, type SandboxOptions } from './start.ts'
export type { SandboxCredentials } from './area.ts'
export {
  expectNoViolations,
  sandboxControl,
  SandboxControlError,
  type AddedUser,
  type ArmedFault,
  type AudienceSummary,
  type CatalogSummary,
  type FaultInput,
  type SandboxControl,
} from './controlClient.ts'
