/** Addresses of the service and credentials of the caller. The program fills it from the environment. */

export interface ServiceConfig {
  /** Core host: authentication and v2. With scheme, without a trailing slash or path. */
  readonly baseUrl: string
  /** Advertising host. */
  readonly adsBaseUrl: string
  /** Sandbox-only advertising host. Absent: calls of that host are refused before anything is sent. */
  readonly adsSandboxBaseUrl?: string
  /** First path segment of the advertising paths; `12` (spec 9). */
  readonly adsVersion: string
  readonly consumerKey: string
  readonly consumerSecret: string
  /** Absent before sign-in: only calls without a user work. */
  readonly accessToken?: string
  readonly accessTokenSecret?: string
  /** Neutral word of the specification → the service's own spelling (`SLUICE_SERVICE_NAMES`). */
  readonly names?: Readonly<Record<string, string>>
}

/** `createClient` takes the advertising hosts to be the core host, and the version to be 12, by default. */
export type ClientConfig = Omit<ServiceConfig, 'adsBaseUrl' | 'adsVersion'> & Partial<Pick<ServiceConfig, 'adsBaseUrl' | 'adsVersion'>>
