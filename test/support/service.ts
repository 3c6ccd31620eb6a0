import { fixedCredentials } from '../../src/sandbox/area.ts'
import { credentialsOf } from '../../src/sync/serviceIdentity.ts'

/** Version of the service and the fixed user of every sandbox; its address is the test's. */
export const testService = { version: '12', credentials: credentialsOf(fixedCredentials) } as const
