/** Default port of `sluice sandbox`, and ids of the account and destinations of every sandbox. */
import type { SandboxCredentials } from '../../../sandbox/area.ts'

export const sandboxPort = 4010

export const sandboxTargets = { account: '18ce54d4x5t', catalog: '4001', audience: '1nmth', doNotReach: '2dnr' } as const

/** Returns the environment variables with which every command uses this sandbox. */
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
