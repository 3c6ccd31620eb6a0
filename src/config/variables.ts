/** Every variable of interface.md section 3, with the sentence that `sluice help environment` prints. */
export interface Variable {
  readonly name: string
  readonly meaning: string
  /** Its value never prints, and `NAME_FILE` may name a file that holds it. */
  readonly secret?: boolean
}

export const variables: readonly Variable[] = [
  { name: 'DATABASE_URL', meaning: 'Postgres 15 or newer; without it the embedded one', secret: true },
  { name: 'SLUICE_BASE_URL', meaning: 'the core host of the service, for example http://127.0.0.1:4010' },
  { name: 'SLUICE_ADS_BASE_URL', meaning: 'the advertising host; default: the core host' },
  { name: 'SLUICE_ADS_SANDBOX_BASE_URL', meaning: "the service's own advertising sandbox; default: the core host" },
  { name: 'SLUICE_ADS_VERSION', meaning: 'version of the advertising interface, default 12' },
  { name: 'SLUICE_CONSUMER_KEY', meaning: 'OAuth 1.0a, the application', secret: true },
  { name: 'SLUICE_CONSUMER_SECRET', meaning: "OAuth 1.0a, the application's secret", secret: true },
  { name: 'SLUICE_CONSUMER_SECRET_PREVIOUS', meaning: 'the old one, which webhooks may still be signed with', secret: true },
  { name: 'SLUICE_ACCESS_TOKEN', meaning: 'OAuth 1.0a, the user', secret: true },
  { name: 'SLUICE_ACCESS_TOKEN_SECRET', meaning: "OAuth 1.0a, the user's secret", secret: true },
  { name: 'SLUICE_SERVICE_NAMES', meaning: "JSON: the service's own spelling of the neutral words" },
  { name: 'SLUICE_DATA_DIR', meaning: 'embedded Postgres and other local state, default .sluice' },
  { name: 'SLUICE_KEEP_RUNS_DAYS', meaning: 'for how many days ended runs are kept, 60 or more; default 400' },
  { name: 'SLUICE_LOG_LEVEL', meaning: 'debug, info, warn, error or silent; default warn' },
  { name: 'SLUICE_LOG_FORMAT', meaning: 'pretty or json; default pretty' },
]
