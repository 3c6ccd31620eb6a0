/** Configuration of the client: addresses of the service and credentials of the caller. */

export interface ServiceConfig {
  /** Core host: authentication and v2. With scheme, without a trailing slash or path. */
  readonly baseUrl: string
  /** Advertising host. */
  readonly adsBaseUrl: string
  /** Host of the service's own sandbox. Without it, calls of that host fail before anything is sent. */
  readonly adsSandboxBaseUrl?: string
  /** First path segment of the advertising paths; `12` (spec 9). */
  readonly adsVersion: string
  readonly consumerKey: string
  readonly consumerSecret: string
  /** Absent before sign-in: only calls without a user work. */
  readonly accessToken?: string
  readonly accessTokenSecret?: string
  /** The service's own spelling by neutral word of the specification (`SLUICE_SERVICE_NAMES`). */
  readonly names?: Readonly<Record<string, string>>
}

/** Configuration of `createClient`. Default of the advertising host: the core host. Default version: 12. */
export type ClientConfig = Omit<ServiceConfig, 'adsBaseUrl' | 'adsVersion'> & Partial<Pick<ServiceConfig, 'adsBaseUrl' | 'adsVersion'>>
