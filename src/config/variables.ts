/** Environment variable, with the text that `sluice help environment` prints. */
export interface Variable {
  readonly name: string
  readonly meaning: string
  /** True if the value is never printed, and `NAME_FILE` may name a file with the value. */
  readonly secret?: boolean
}

/** Environment variables of Sluice. */
export const variables: readonly Variable[] = [
  { name: 'DATABASE_URL', meaning: 'Postgres 15 or newer; default: the embedded one', secret: true },
  { name: 'SLUICE_SCHEMA', meaning: 'database schema of all tables, migration journal and queue included; default sluice' },
  { name: 'SLUICE_BASE_URL', meaning: 'core host of the service; the sandbox is http://127.0.0.1:4010' },
  { name: 'SLUICE_ADS_BASE_URL', meaning: 'advertising host; default: the core host' },
  { name: 'SLUICE_ADS_SANDBOX_BASE_URL', meaning: 'sandbox of the service; default: the core host, if it is the advertising host too' },
  { name: 'SLUICE_ADS_VERSION', meaning: 'version of the advertising interface, default 12' },
  { name: 'SLUICE_CONSUMER_KEY', meaning: 'OAuth 1.0a, the application', secret: true },
  { name: 'SLUICE_CONSUMER_SECRET', meaning: "OAuth 1.0a, the application's secret", secret: true },
  { name: 'SLUICE_CONSUMER_SECRET_PREVIOUS', meaning: 'the old secret, which may still sign webhooks', secret: true },
  { name: 'SLUICE_ACCESS_TOKEN', meaning: 'OAuth 1.0a, the user', secret: true },
  { name: 'SLUICE_ACCESS_TOKEN_SECRET', meaning: "OAuth 1.0a, the user's secret", secret: true },
  { name: 'SLUICE_SERVICE_NAMES', meaning: "JSON: the service's own names for Sluice's neutral words" },
  { name: 'SLUICE_DATA_DIR', meaning: 'embedded Postgres, local state; default .sluice' },
  { name: 'SLUICE_KEEP_RUNS_DAYS', meaning: 'days to keep ended runs, 60 or more; default 400' },
  { name: 'SLUICE_API_TOKEN', meaning: 'bearer token of the HTTP API; required if other machines can call serve', secret: true },
  {
    name: 'SLUICE_PUBLIC_URL',
    meaning: 'public address of the dashboard: links in alerts; a server on loopback also answers for this host',
  },
  { name: 'SLUICE_USER_HEADER', meaning: 'header in which a trusted proxy sends the signed-in user' },
  { name: 'SLUICE_ALERT_SECRET', meaning: 'signs alerts to webhooks', secret: true },
  { name: 'SLUICE_LOG_LEVEL', meaning: 'debug, info, warn, error or silent; default warn; for serve and worker: info' },
  { name: 'SLUICE_LOG_FORMAT', meaning: 'pretty or json; default pretty' },
]
