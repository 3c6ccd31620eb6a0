/** Configuration of the client: addresses of the service and credentials of the caller. */

/** Complete configuration, as `createTransport` needs it. */
export interface ServiceConfig {
  /** Address of the core host (authentication and v2), with its scheme. */
  readonly baseUrl: string
  /** Address of the advertising host. */
  readonly adsBaseUrl: string
  /**
   * Address of the service's own sandbox. Default: `baseUrl` if `adsBaseUrl` is the same address, as with `sluice sandbox`. Without an
   * address, calls to that sandbox fail before a request is sent, because some of them delete accounts.
   */
  readonly adsSandboxBaseUrl?: string | undefined
  /** First segment of advertising paths, `12` (spec 9). Paths of version 5 keep their version. */
  readonly adsVersion: string
  readonly consumerKey: string
  readonly consumerSecret: string
  /** Access token of the user. Without it, the service refuses calls that need a user. */
  readonly accessToken?: string
  readonly accessTokenSecret?: string
  /** The service's names, by the neutral word of the specification (`SLUICE_SERVICE_NAMES`). */
  readonly names?: Readonly<Record<string, string>>
}

/** Configuration of `createClient`. Defaults: version 12; advertising host: the core host. */
export type ClientConfig = Omit<ServiceConfig, 'adsBaseUrl' | 'adsVersion'> & Partial<Pick<ServiceConfig, 'adsBaseUrl' | 'adsVersion'>>
