/** Defaults of every sandbox: port, credentials, and ids of its account and destinations. Flags override port and credentials. */

export const sandboxPort = 4010

export const sandboxCredentials = {
  consumerKey: 'sandbox-consumer-key',
  consumerSecret: 'sandbox-consumer-secret',
  accessToken: '1001-sandbox-access-token',
  accessTokenSecret: 'sandbox-access-token-secret',
} as const

export const sandboxTargets = { account: '18ce54d4x5t', catalog: '4001', audience: '1nmth', doNotReach: '2dnr' } as const

/** Returns the environment variables with which every command uses this sandbox (docs/operations.md). */
export function environmentFor(
  url: string,
  credentials: Readonly<Record<keyof typeof sandboxCredentials, string>>,
): Readonly<Record<string, string>> {
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
