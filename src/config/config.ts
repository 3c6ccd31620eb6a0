import { ConfigError, type Problem } from '../errors.ts'
import { quoteArgument } from '../format.ts'
import { verifyFully } from '../postgresTls.ts'
import type { Secret } from './secret.ts'
import {
  checkDatabaseUrl,
  decodePart,
  readOneOf,
  omitEmpty,
  readDays,
  readDotenv,
  isReadable,
  readHeaderName,
  readNames,
  readSchema,
  readSecret,
  readUrl,
  addSecret,
  readText,
  type Environment,
} from './values.ts'

export type { Environment } from './values.ts'

/**
 * Configuration from the environment, read and checked once. Other modules get it as a value. Only the crash points of tests
 * (`sync/crashPoint.ts`) and the command line itself (`cli/main.ts`) read `process.env`.
 */
export interface Config {
  /** Undefined for the embedded Postgres. */
  readonly databaseUrl: Secret | undefined
  /** Folder of the embedded Postgres and of local state. */
  readonly dataDir: string
  /** Database schema of all tables. */
  readonly schema: string
  readonly service: ServiceSettings
  /** Days that ended runs are kept; undefined for the engine's default. */
  readonly keepRunsDays: number | undefined
  readonly log: { readonly level: LogLevel; readonly format: 'pretty' | 'json' }
  readonly server: ServerSettings
  /** Variables of the process, and those of `.env` that the process does not have. Sources look up their credentials here. */
  readonly env: Environment
  /** Secrets that were read, for `hideSecrets`. */
  readonly secrets: readonly Secret[]
}

/** Lowest level of the messages that are logged. */
export type LogLevel = (typeof logLevels)[number]

/** Settings of the HTTP server of `serve`. */
export interface ServerSettings {
  /** Bearer token of the API. `api/access.ts` defines which requests for pages and metrics need it. */
  readonly apiToken: Secret | undefined
  /** Public address of the dashboard, without a final slash. Alerts link to this address, and requests may name its host. */
  readonly publicUrl: string | undefined
  /** Header in which a trusted proxy sends the signed-in user. */
  readonly userHeader: string | undefined
  /** Key of the signatures of alerts to webhooks. */
  readonly alertSecret: Secret | undefined
}

/** Configuration of the service, as far as it is set. `needService` checks that it is complete. */
export interface ServiceSettings {
  /** Addresses of the three hosts, without a final slash. `adsBaseUrl` defaults to `baseUrl`. */
  readonly baseUrl: string | undefined
  readonly adsBaseUrl: string | undefined
  readonly adsSandboxBaseUrl: string | undefined
  readonly adsVersion: string
  readonly consumerKey: Secret | undefined
  readonly consumerSecret: Secret | undefined
  /** Secret before a rotation, which the receiver of webhooks still accepts. */
  readonly previousConsumerSecret: Secret | undefined
  readonly accessToken: Secret | undefined
  readonly accessTokenSecret: Secret | undefined
  /** Neutral word of Sluice → the service's own word; empty if the service uses the neutral words. */
  readonly names: Readonly<Record<string, string>>
}

/** Settings that the signing client needs, with the secrets in clear. Missing user tokens are empty (`needService`). */
export interface CompleteServiceSettings {
  readonly baseUrl: string
  readonly adsBaseUrl: string
  /** Undefined for the default of the client (`service/client/config.ts`). */
  readonly adsSandboxBaseUrl: string | undefined
  readonly adsVersion: string
  readonly consumerKey: string
  readonly consumerSecret: string
  readonly accessToken: string
  readonly accessTokenSecret: string
  readonly names: Readonly<Record<string, string>>
}

const logLevels = ['debug', 'info', 'warn', 'error', 'silent'] as const

/** Names of variables whose values are secrets if they have at least eight characters. */
const secretNamePattern = /SECRET|TOKEN|PASSW(?:OR)?D|(?:API|PRIVATE|ACCESS)_?KEY/i

/**
 * Reads the environment: the variables of the process, else those of `.env` in the working directory. `NAME_FILE` names the file of a
 * mounted secret. `database`: value of `--database`, which replaces DATABASE_URL. `dotenv`: path in place of `.env`. `signIn`: true if the
 * variables and files of the user's tokens may be unusable, because a sign-in writes them.
 *
 * @throws {ConfigError} `ENVIRONMENT_INVALID` with all problems
 */
export function loadConfig(
  processEnv: Environment,
  options: { readonly database?: string | undefined; readonly dotenv?: string; readonly signIn?: boolean } = {},
): Config {
  const problems: Problem[] = []
  const env: Environment = { ...readDotenv(options.dotenv ?? '.env', problems), ...omitEmpty(processEnv) }
  checkTlsVariables(env, processEnv, problems)
  const secrets: Secret[] = []
  const secret = (name: string) => readSecret(name, env, problems, secrets)
  const userToken = (name: string) => readSecret(name, env, options.signIn ? [] : problems, secrets)
  // Pipeline files may contain these values by `${NAME}`, so they are secrets too.
  for (const [name, value = ''] of Object.entries(env))
    if (secretNamePattern.test(name) && value.trim().length >= 8) addSecret(value.trim(), secrets)
  const url = (name: string) => readUrl(name, env, problems)

  const baseUrl = url('SLUICE_BASE_URL')
  const databaseUrl = readDatabaseUrl(env, options.database, problems, secrets)
  const adsVersion = readText(env, 'SLUICE_ADS_VERSION') ?? '12'
  if (!/^\d{1,3}$/.test(adsVersion))
    problems.push({ path: 'SLUICE_ADS_VERSION', message: 'is not a version number', hint: 'set it to 12, or unset it' })

  const apiToken = secret('SLUICE_API_TOKEN')
  // Earlier versions suggested a line for .env with `$(openssl rand -hex 32)`. No shell evaluates it there, so it became the token.
  if (/\s/.test(apiToken?.reveal() ?? ''))
    problems.push({
      path: 'SLUICE_API_TOKEN',
      message: 'contains a space, so no bearer token can match',
      hint: 'set SLUICE_API_TOKEN to what this command prints: openssl rand -hex 32',
    })

  const config: Config = {
    databaseUrl,
    dataDir: readText(env, 'SLUICE_DATA_DIR') ?? '.sluice',
    schema: readSchema(env, 'SLUICE_SCHEMA', problems),
    service: {
      baseUrl,
      adsBaseUrl: url('SLUICE_ADS_BASE_URL') ?? baseUrl,
      adsSandboxBaseUrl: url('SLUICE_ADS_SANDBOX_BASE_URL'),
      adsVersion,
      consumerKey: secret('SLUICE_CONSUMER_KEY'),
      consumerSecret: secret('SLUICE_CONSUMER_SECRET'),
      previousConsumerSecret: secret('SLUICE_CONSUMER_SECRET_PREVIOUS'),
      accessToken: userToken('SLUICE_ACCESS_TOKEN'),
      accessTokenSecret: userToken('SLUICE_ACCESS_TOKEN_SECRET'),
      names: readNames(env, problems),
    },
    server: {
      apiToken,
      publicUrl: url('SLUICE_PUBLIC_URL'),
      userHeader: readHeaderName(env, 'SLUICE_USER_HEADER', problems),
      alertSecret: secret('SLUICE_ALERT_SECRET'),
    },
    keepRunsDays: readDays(env, 'SLUICE_KEEP_RUNS_DAYS', problems),
    log: {
      level: readOneOf(env, 'SLUICE_LOG_LEVEL', logLevels, 'warn', problems),
      format: readOneOf(env, 'SLUICE_LOG_FORMAT', ['pretty', 'json'] as const, 'pretty', problems),
    },
    env,
    secrets,
  }
  reportMisspelt(env, problems)
  const [first] = problems
  if (first !== undefined) {
    throw new ConfigError(
      'ENVIRONMENT_INVALID',
      `the environment has ${problems.length === 1 ? 'a problem' : `${problems.length} problems`}. Nothing was read or sent.`,
      problems,
      {
        where: first.path,
        hint: first.hint ?? 'sluice help environment',
      },
    )
  }
  return config
}

/** Adds problems of the variables that configure TLS in Node itself. */
function checkTlsVariables(env: Environment, processEnv: Environment, problems: Problem[]): void {
  if (env['NODE_TLS_REJECT_UNAUTHORIZED'] === '0') {
    problems.push({
      path: 'NODE_TLS_REJECT_UNAUTHORIZED',
      message: 'switches off certificate checks for every connection, which Sluice does not allow',
      hint: 'unset it, and name your own authority in NODE_EXTRA_CA_CERTS',
    })
  }
  const authorities = processEnv['NODE_EXTRA_CA_CERTS']
  if (authorities !== undefined && authorities !== '' && !isReadable(authorities))
    problems.push({
      path: 'NODE_EXTRA_CA_CERTS',
      message: `names ${authorities}, which cannot be read`,
      hint: 'name the PEM file of your certificate authority, or unset it',
    })
  const inDotenv = env['NODE_EXTRA_CA_CERTS']
  if (inDotenv !== undefined && (authorities ?? '') === '')
    problems.push({
      path: 'NODE_EXTRA_CA_CERTS',
      message: 'is set only in .env, and Node reads it when it starts, before .env',
      hint: `export NODE_EXTRA_CA_CERTS=${quoteArgument(inDotenv)}   (in the shell or service that starts Sluice)`,
    })
}

/**
 * Reads DATABASE_URL, or `option`, the value of `--database`. Returns the address with the TLS mode that the driver uses; undefined if
 * neither is set.
 */
function readDatabaseUrl(env: Environment, option: string | undefined, problems: Problem[], secrets: Secret[]): Secret | undefined {
  const configured = option === undefined ? readSecret('DATABASE_URL', env, problems, secrets) : addSecret(option, secrets)
  if (configured === undefined) return undefined
  const url = configured.reveal()
  checkDatabaseUrl(url, option === undefined ? 'DATABASE_URL' : '--database', problems)
  // Error messages of Postgres clients may quote the password alone, so the password is a secret of its own.
  const address = URL.canParse(url) ? new URL(url) : undefined
  const password = decodePart(address?.password ?? '') ?? address?.password ?? ''
  if (password !== '') addSecret(password, secrets)
  // An address with neither a password nor a query is not a secret, so that error messages can show it.
  else if (address?.search === '') secrets.splice(secrets.indexOf(configured), 1)
  const verified = verifyFully(url)
  return verified === url ? configured : addSecret(verified, secrets)
}

/**
 * Returns the settings of signed calls. `user: false`: for calls that only the application signs. Then missing user tokens are empty.
 *
 * @throws {ConfigError} `SERVICE_NOT_CONFIGURED`: names every variable that is missing
 */
export function needService(config: Config, options: { readonly user?: boolean } = {}): CompleteServiceSettings {
  const { service } = config
  const missing: Problem[] = []
  const need = (value: string | undefined, name: string): string => {
    if (value === undefined) missing.push({ path: name, message: 'is not set' })
    return value ?? ''
  }
  const needUser = (value: string | undefined, name: string): string => (options.user === false ? (value ?? '') : need(value, name))
  const settings: CompleteServiceSettings = {
    baseUrl: need(service.baseUrl, 'SLUICE_BASE_URL'),
    adsBaseUrl: service.adsBaseUrl ?? '',
    adsSandboxBaseUrl: service.adsSandboxBaseUrl,
    adsVersion: service.adsVersion,
    consumerKey: need(service.consumerKey?.reveal(), 'SLUICE_CONSUMER_KEY'),
    consumerSecret: need(service.consumerSecret?.reveal(), 'SLUICE_CONSUMER_SECRET'),
    accessToken: needUser(service.accessToken?.reveal(), 'SLUICE_ACCESS_TOKEN'),
    accessTokenSecret: needUser(service.accessTokenSecret?.reveal(), 'SLUICE_ACCESS_TOKEN_SECRET'),
    names: service.names,
  }
  if (missing.length > 0) {
    // If only the user's tokens are missing, the hint is to sign in, which creates them.
    const signIn = missing.every(({ path }) => path.startsWith('SLUICE_ACCESS_TOKEN'))
    throw new ConfigError(
      'SERVICE_NOT_CONFIGURED',
      `the service is not configured: ${missing.map((problem) => problem.path).join(', ')} not set. Nothing was read or sent.`,
      missing,
      {
        where: 'environment',
        hint: signIn
          ? 'sluice auth login   (writes both tokens to .env)'
          : 'sluice sandbox   (prints the lines for .env; then run this again in a second terminal)',
      },
    )
  }
  return settings
}

/** Adds a problem for each frequent wrong name of a variable, because such a variable would have no effect. */
function reportMisspelt(env: Environment, problems: Problem[]): void {
  const misspelt: Readonly<Record<string, string>> = {
    SLUICE_API_KEY: 'SLUICE_CONSUMER_KEY',
    SLUICE_API_SECRET: 'SLUICE_CONSUMER_SECRET',
    SLUICE_TOKEN: 'SLUICE_ACCESS_TOKEN',
    SLUICE_TOKEN_SECRET: 'SLUICE_ACCESS_TOKEN_SECRET',
    SLUICE_URL: 'SLUICE_BASE_URL',
    SLUICE_DATABASE_URL: 'DATABASE_URL',
  }
  for (const name of Object.keys(env)) {
    const correct = misspelt[name]
    if (correct !== undefined)
      problems.push({ path: name, message: `is not a variable of Sluice; ${correct} is`, hint: `rename ${name} to ${correct}` })
  }
}
