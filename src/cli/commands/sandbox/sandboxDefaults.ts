/** Values that every sandbox has by default, and the environment of a sandbox. */
import type { SandboxCredentials } from '../../../sandbox/area.ts'
import { FIXED_ACCOUNT, FIXED_AUDIENCE, FIXED_CATALOG, FIXED_LIST } from '../../../sandbox/firstIds.ts'

/** Default of `sluice sandbox --port`. */
export const sandboxPort = 4010

/** Ids of the account and the destinations that every sandbox has. */
export const sandboxTargets = { account: FIXED_ACCOUNT, catalog: FIXED_CATALOG, audience: FIXED_AUDIENCE, doNotReach: FIXED_LIST }

/** Returns the environment variables with which every command uses the sandbox at `url`. */
export function environmentFor(url: string, credentials: SandboxCredentials): Readonly<Record<string, string>> {
  return {
    SLUICE_BASE_URL: url,
    SLUICE_ADS_BASE_URL: url,
    SLUICE_ADS_SANDBOX_BASE_URL: url,
    SLUICE_CONSUMER_KEY: credentials.consumerKey,
    SLUICE_CONSUMER_SECRET: credentials.consumerSecret,
    SLUICE_ACCESS_TOKEN: credentials.accessToken,
    SLUICE_ACCESS_TOKEN_SECRET: credentials.accessTokenSecret,
  }
}
