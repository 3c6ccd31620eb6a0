/** Finds the service and credentials of a pipeline: from the environment, or from a named set of sluice.yaml. */
import { needService, type CompleteServiceSettings } from '../config/config.ts'
import { ConfigError, fallbackOn, SluiceError, UsageError } from '../errors.ts'
import type { Fence } from '../db/fence.ts'
import type { Pipeline } from '../model/pipeline.ts'
import { loadPipelines, loadPipeline } from '../pipeline/load.ts'
import { readProjectFile } from '../pipeline/projectFile.ts'
import type { ServiceIdentity } from '../sync/engine.ts'
import { serviceIdentity } from '../sync/serviceIdentity.ts'
import type { Context } from './context.ts'
import { withStore } from './store.ts'
import type { DbRow } from '../db/row.ts'

/**
 * Returns the service of a named set of credentials; without a name, the service of the environment. If a set has no advertising host, its
 * own `base_url` is used. If it has no `base_url` either, the hosts of the environment are used.
 *
 * @throws {ConfigError} `SERVICE_NOT_CONFIGURED`, `PROJECT_INVALID`
 */
export async function serviceOf(context: Context, credentials: string | undefined): Promise<CompleteServiceSettings> {
  const config = context.config()
  if (credentials === undefined) return needService(config)
  const { file, credentials: sets } = await readProjectFile(context.pipelines, config.env)
  const notConfiguredError = (message: string, hint: string) =>
    new ConfigError('SERVICE_NOT_CONFIGURED', `${message}. Nothing was read or sent.`, [], { where: file, hint })
  const credentialSet = sets[credentials]
  if (credentialSet === undefined)
    throw notConfiguredError(`there are no credentials "${credentials}" in ${file}`, `add credentials.${credentials} to ${file}`)
  const baseUrl = credentialSet.base_url ?? config.service.baseUrl
  if (baseUrl === undefined)
    throw notConfiguredError(
      `credentials "${credentials}" have no base_url, and SLUICE_BASE_URL is not set`,
      `add base_url to credentials.${credentials} in ${file}`,
    )
  const withoutSlash = (url: string) => url.replace(/\/+$/, '')
  return {
    baseUrl: withoutSlash(baseUrl),
    adsBaseUrl: withoutSlash(credentialSet.ads_base_url ?? credentialSet.base_url ?? config.service.adsBaseUrl ?? baseUrl),
    adsSandboxBaseUrl:
      credentialSet.ads_sandbox_base_url ?? (credentialSet.base_url === undefined ? config.service.adsSandboxBaseUrl : undefined),
    adsVersion: credentialSet.ads_version ?? config.service.adsVersion,
    consumerKey: credentialSet.consumer_key,
    consumerSecret: credentialSet.consumer_secret,
    accessToken: credentialSet.access_token,
    accessTokenSecret: credentialSet.access_token_secret,
    names: config.service.names,
  }
}

/** Returns the text with `credentials.staging.consumer_key` instead of `SLUICE_CONSUMER_KEY`, and so on, for the set `staging`. */
export function namesOfSettings(text: string, set: string): string {
  return text.replace(replacedVariables, (_, name: string) => `credentials.${set}.${name.toLowerCase()}`)
}

const replacedVariables = /\bSLUICE_((?:ADS_)?BASE_URL|ADS_VERSION|CONSUMER_(?:KEY|SECRET)|ACCESS_TOKEN(?:_SECRET)?)\b/g

/**
 * Returns service, application and user of a pipeline, without a request to the service. With the credentials of the environment, the user
 * need not be signed in.
 *
 * @throws {ConfigError} `SERVICE_NOT_CONFIGURED`, `PROJECT_INVALID`
 */
export async function identityOf(context: Context, { credentials }: Pick<Pipeline, 'credentials'>): Promise<ServiceIdentity> {
  return serviceIdentity(credentials === undefined ? needService(context.config(), { user: false }) : await serviceOf(context, credentials))
}

/** Returns service, application and user of a pipeline. Undefined if one is not configured, for example before the sign-in. */
export function identityIfConfigured(context: Context, { credentials }: Pick<Pipeline, 'credentials'>): Promise<Fence | undefined> {
  return serviceOf(context, credentials).then(serviceIdentity).catch(fallbackOn(ConfigError, undefined))
}

/**
 * Returns the names of the credentials in use. The first is undefined, for the credentials of the environment. The others are the named
 * sets that valid pipelines of the folder use, sorted. For an unreadable folder, returns `[undefined]`, because a worker may run without
 * pipelines.
 *
 * @throws {ConfigError} `PROJECT_INVALID`
 */
export async function credentialSets(context: Context): Promise<readonly (string | undefined)[]> {
  const loaded = await loadPipelines(context.pipelines, context.config().env).catch(fallbackOn(UsageError, undefined))
  const named = new Set(loaded?.pipelines.flatMap(({ credentials }) => (credentials === undefined ? [] : [credentials])))
  return [undefined, ...[...named].sort()]
}

/**
 * Returns the name of the credentials for a stored plan (`p_…`) or run (`r_81` or `81`): those of its pipeline. Undefined for the
 * credentials of the environment. Also undefined, without an error, if the id is unknown or the pipeline cannot be loaded.
 */
export async function credentialsOfPlanOrRun(context: Context, id: string): Promise<string | undefined> {
  const name = await withStore(context, async ({ db }) => {
    const [row] = id.startsWith('p_')
      ? await db.query<DbRow<'plan', 'pipeline'>>('select pipeline from plan where id = $1', [id])
      : /^r?_?\d{1,15}$/.test(id)
        ? await db.query<DbRow<'run', 'pipeline'>>('select pipeline from run where id = $1', [id.replace(/\D/g, '')])
        : []
    return row?.pipeline
  })
  if (name === undefined) return undefined
  const pipeline = await loadPipeline(context.pipelines, name, context.config().env).catch(fallbackOn(SluiceError, undefined))
  return pipeline?.credentials
}
