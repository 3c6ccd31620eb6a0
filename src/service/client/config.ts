/** Configuration of the client: addresses of the service and credentials of the caller. */

export interface ServiceConfig {
  /** Address of the core host (authentication and v2), with its scheme. */
  readonly baseUrl: string
  /** Address of the advertising host. */
  readonly adsBaseUrl: string
  /** Address of the service's own sandbox. Without it, calls to that sandbox fail before a request is sent. */
  readonly adsSandboxBaseUrl?: string
  /** First path segment of the advertising paths; `12` (spec 9). */
  readonly adsVersion: string
  readonly consumerKey: string
  readonly consumerSecret: string
  /** Access token of the user. Without it, only calls without a user are possible. */
  readonly accessToken?: string
  readonly accessTokenSecret?: string
  /** The service's own spelling by neutral word of the specification (`SLUICE_SERVICE_NAMES`). */
  readonly names?: Readonly<Record<string, string>>
}

/** Configuration of `createClient`. Defaults: version 12; advertising host: the core host; service's own sandbox: the advertising host. */
export type ClientConfig = Omit<ServiceConfig, 'adsBaseUrl' | 'adsVersion'> & Partial<Pick<ServiceConfig, 'adsBaseUrl' | 'adsVersion'>>
