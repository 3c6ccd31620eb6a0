/** The sandbox as a library: what `sluice/sandbox` exports. */
import '../nodeVersion.ts'

export { fixedCredentials, startSandbox, type Sandbox, type SandboxOptions } from './start.ts'
export type { SandboxCredentials } from './area.ts'
export {
  expectNoViolations,
  sandboxControl,
  SandboxControlError,
  type AddedPerson,
  type ArmedFault,
  type AudienceState,
  type CatalogState,
  type FaultInput,
  type SandboxControl,
} from './controlApi.ts'
