/** Starts the server of `serve` and `demo --keep`: dashboard, API, health, metrics and webhook receiver on one port, and alerts. */
import { requireSafeAccess, type AccessSettings } from '../../api/access.ts'
import type { Config, CompleteServiceSettings } from '../../config/config.ts'
import { createWebListener } from '../../dashboard/app.ts'
import { loadPipeline, loadPipelines } from '../../pipeline/load.ts'
import { ConfigError, UsageError } from '../../errors.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { readProjectFile } from '../../pipeline/projectFile.ts'
import type { Variables } from '../../pipeline/variables.ts'
import { createMetrics } from '../../metrics/metrics.ts'
import { lastValid, startAlerts } from '../../alerts/startAlerts.ts'
import type { EngineDeps } from '../../sync/engine.ts'
import type { Context } from '../context.ts'
import { examineAll } from '../commands/doctor/examine.ts'
import { operator } from '../operator.ts'
import { cacheFindings } from './cacheFindings.ts'
import { realFolder, unservedPipelines } from './jobs.ts'
import { startHttpServer, type HttpServer } from './httpServer.ts'
import { identityOf } from '../services.ts'
import { sluiceVersion } from '../version.ts'

export interface WebServerOptions {
  readonly config: Config
  readonly service: CompleteServiceSettings
  readonly host: string
  readonly port: number
  /** Returns the seconds since the scheduler's last poll. Infinity before its start; undefined if this process has no scheduler. */
  readonly schedulerIdleS: () => number | undefined
  /** Names of the credentials that this process connected with; absent for a process that runs no pipeline. */
  readonly sets?: ReadonlySet<string | undefined>
}

/** Returns the access settings of dashboard and API. @throws {UsageError} `TOKEN_REQUIRED`, as `requireSafeAccess` */
export function accessSettings(config: Config, host: string): AccessSettings {
  return requireSafeAccess({
    host,
    token: config.server.apiToken?.reveal(),
    userHeader: config.server.userHeader,
    publicUrl: config.server.publicUrl,
    localUser: operator().actor,
  })
}

/**
 * Returns a function that reads the names of the receivers in `sluice.yaml`, as the alerts do before each message. While the file is
 * invalid, the function returns the last valid names. `pipelines`: folder of the pipelines.
 *
 * @throws {ConfigError} `PROJECT_INVALID` if the file is invalid now
 */
export async function receiverNames(pipelines: string, variables: Variables): Promise<() => Promise<readonly string[]>> {
  const read = lastValid(async () => Object.keys((await readProjectFile(pipelines, variables)).receivers))
  await read()
  return read
}

/**
 * Starts the server and the alerts. The caller must close the server.
 *
 * @throws {UsageError} as `accessSettings`
 * @throws {ConfigError} `PROJECT_INVALID`
 * @throws as `startHttpServer`
 */
export async function startWebServer(context: Context, deps: EngineDeps, options: WebServerOptions): Promise<HttpServer> {
  const { config, service, host, port } = options
  const serviceFor = async (pipeline: Pipeline) => (pipeline.credentials === undefined ? deps.service : identityOf(context, pipeline))
  const listener = createWebListener({
    db: deps.db,
    clock: context.clock,
    log: deps.log,
    service: deps.service,
    workerId: deps.workerId,
    version: sluiceVersion(),
    metrics: createMetrics({ db: deps.db, version: sluiceVersion() }),
    access: accessSettings(config, host),
    receivers: await receiverNames(context.pipelines, config.env),
    schedulerIdleS: options.schedulerIdleS,
    loadPipeline: (name) => loadPipeline(context.pipelines, name, config.env),
    loadPipelines: () => usablePipelines(context, options.sets),
    serviceFor,
    completeHint: context.stdout.completeHint,
    // Without a terminal the checks show no waiting line, which would stand between the lines of the log.
    examine: cacheFindings({ clock: context.clock, log: deps.log }, () =>
      examineAll({ ...context, stderr: { ...context.stderr, isTTY: false } }),
    ),
  })
  const server = await startHttpServer(context, {
    db: deps.db,
    config,
    service,
    host,
    port,
    onOtherRequest: listener,
  })
  const alerts = startAlerts({
    db: deps.db,
    clock: context.clock,
    log: deps.log,
    loadPipelines: () => loadPipelines(context.pipelines, context.config().env),
    service: deps.service,
    serviceFor,
    loadProject: () => readProjectFile(context.pipelines, config.env),
    folder: realFolder(context.pipelines),
    completeHint: context.stdout.completeHint,
    baseUrl: config.server.publicUrl ?? server.url,
    secret: config.server.alertSecret?.reveal(),
  })
  return {
    url: server.url,
    async close() {
      await alerts.stop()
      await server.close()
    },
  }
}

/** Returns the usable pipelines, and a text for each invalid file and each conflicting pipeline. Empty without a readable folder. */
async function usablePipelines(context: Context, sets: ReadonlySet<string | undefined> | undefined) {
  try {
    const { pipelines, errors } = await loadPipelines(context.pipelines, context.config().env)
    const unserved = sets === undefined ? [] : unservedPipelines(pipelines, sets)
    return { pipelines, problems: errors.map((error) => `${error.where ?? ''} ${error.message}`.trim()), unserved }
  } catch (error) {
    // The folder cannot be read, in most cases because there is none yet. The dashboard shows how to start.
    if (error instanceof UsageError) return { pipelines: [], problems: [] }
    // `sluice.yaml` is invalid, so no pipeline can be used.
    if (error instanceof ConfigError) return { pipelines: [], problems: [`${error.where ?? ''} ${error.message}`.trim()] }
    throw error
  }
}
