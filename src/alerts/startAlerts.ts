/** Checks conditions and sends alerts in the background. A slow or unreachable receiver delays neither runs nor other receivers. */
import { hostname } from 'node:os'
import pLimit from 'p-limit'
import type { Clock } from '../clock.ts'
import type { Database, Queryable } from '../db/database.ts'
import {
  adoptAbandonedAlert,
  alertActivity,
  claimDeliveries,
  destinationOwners,
  finishDelivery,
  updateAlerts,
  type DueDelivery,
} from '../db/alerts.ts'
import { databaseTime, undeclaredPipelines } from '../db/schedules.ts'
import { environmentKey, type Fence } from '../db/fence.ts'
import { compareJournal } from '../db/migrate.ts'
import { ConfigError, UsageError } from '../errors.ts'
import { wakeOnNotification } from '../jobs/index.ts'
import type { Logger } from '../log.ts'
import type { LoadedPipelines } from '../pipeline/load.ts'
import type { Pipeline } from '../model/pipeline.ts'
import type { AlertReceiver, ProjectFile } from '../pipeline/projectFile.ts'
import type { ServiceIdentity } from '../sync/engine.ts'
import { environmentsByPipeline } from '../sync/reports/environmentsByPipeline.ts'
import { pausesByPipeline } from '../sync/reports/pausesByPipeline.ts'
import { findConditions } from './conditions.ts'
import { alertMessage } from './message.ts'
import { sendAlert } from './send.ts'

export interface AlertDeps {
  readonly db: Database
  readonly clock: Clock
  readonly log: Logger
  readonly loadPipelines: () => Promise<FilesOfPipelines>
  /** Environment of this process. Alerts about files that cannot be used belong to it. */
  readonly service: ServiceIdentity
  readonly serviceFor: (pipeline: Pipeline) => Promise<ServiceIdentity>
  readonly loadProject: () => Promise<Pick<ProjectFile, 'receivers' | 'defaultReceivers'>>
  /** Real path of the folder of the pipelines. */
  readonly folder: string
  /** Adds the global options of this process to the commands in a hint. Absent if it has none. */
  readonly completeHint?: ((hint: string) => string) | undefined
  /** Address of the dashboard, for links. */
  readonly baseUrl: string
  /** Key of the signatures of webhooks (`SLUICE_ALERT_SECRET`). */
  readonly secret: string | undefined
  /** Interval of checks in milliseconds while a run is open; default 2 s. */
  readonly everyMs?: number
  /** Interval of checks in milliseconds while nothing changes. Needed because some conditions depend on time alone; default 60 s. */
  readonly unchangedEveryMs?: number
  /** Timeout of one delivery; default 10 s. */
  readonly timeoutMs?: number
  /** Wait after the first failed delivery in milliseconds; default 5 s. Doubled after each further failure, up to 30 minutes. */
  readonly retryMs?: number
}

type FilesOfPipelines = Pick<LoadedPipelines, 'pipelines' | 'byFile' | 'broken'>

/** Name of the pipeline in the alert about an invalid `sluice.yaml`. Only a pipeline of a file `sluice.yaml.yaml` has the same name. */
const projectFileName = 'sluice.yaml'

/**
 * Returns the environment of the alert about the `sluice.yaml` of a folder. Another folder of the same environment has another file, with
 * other problems and other receivers.
 */
const projectFileEnvironment = ({ service, folder }: Pick<AlertDeps, 'service' | 'folder'>): Fence => ({
  origin: service.origin,
  credentials: `${folderPrefix(service)}${folder}`,
})
/** Returns the credentials of `projectFileEnvironment` without the folder. */
const folderPrefix = ({ credentials }: Fence) => `${credentials} in `

/** Longest wait after a failed delivery in milliseconds. */
const longestRetryMs = 30 * 60_000
/** Poll interval in milliseconds while no run is open. A notification ends the interval early. */
const idleMs = 15_000

/** Maximum number of messages that one pass of the loop starts to send. */
const maxClaimed = 20

/** Starts the loop that checks the conditions and sends the alerts. `stop` ends the loop and waits for the deliveries in progress. */
export function startAlerts(given: AlertDeps): { readonly stop: () => Promise<void> } {
  const deps = {
    ...given,
    loadProject: lastValid(given.loadProject),
    loadPipelines: () => usableFiles(given),
    acceptedBy: new Map<number, Set<string>>(),
  }
  const ending = new AbortController()
  const sending = new Set<Promise<void>>()
  const { everyMs = 2_000, unchangedEveryMs = 60_000, clock } = deps
  const wake = wakeOnNotification(deps.db, clock)
  const loop = (async () => {
    let seenFingerprint: string | undefined
    // Environments stay until the end of the process, so that the last messages of a set of credentials are sent.
    const environments = new Map(
      [deps.service, projectFileEnvironment(deps)].map((environment: Fence) => [environmentKey(environment), environment]),
    )
    let checkedAt = Number.NEGATIVE_INFINITY
    while (!ending.signal.aborted) {
      let waitMs = everyMs
      try {
        const { fingerprint, hasOpenRuns, dueMs } = await alertActivity(deps.db, [...environments.values()])
        if (hasOpenRuns || dueMs <= 0 || fingerprint !== seenFingerprint || clock.monotonic() - checkedAt >= unchangedEveryMs) {
          // If a newer version migrated the database, its server checks and sends. This version does not know the newer columns.
          if ((await compareJournal(deps.db)).isPrefix) {
            for (const environment of await storeConditions(deps)) environments.set(environmentKey(environment), environment)
            await startDeliveries(deps, [...environments.values()], sending, ending.signal)
          }
          seenFingerprint = fingerprint
          checkedAt = clock.monotonic()
        } else waitMs = Math.max(everyMs, Math.min(idleMs, unchangedEveryMs, dueMs))
      } catch (error) {
        deps.log.warn({ reason: error instanceof Error ? error.message.slice(0, 200) : 'error' }, 'alerts could not be checked')
      }
      await wake.sleep(waitMs, ending.signal)
    }
    wake.close()
  })()
  return {
    async stop() {
      ending.abort()
      await Promise.allSettled([loop, ...sending])
    },
  }
}

/**
 * Returns a loader that keeps its last valid result. While `sluice.yaml` is invalid, it returns that result: the alert about the file needs
 * the receivers. Without a valid result, the loader throws the error.
 */
export function lastValid<Result>(load: () => Promise<Result>): () => Promise<Result> {
  let last: Result | undefined
  return async () => {
    try {
      return (last = await load())
    } catch (error) {
      if (last === undefined || !(error instanceof ConfigError)) throw error
      return last
    }
  }
}

/** Loads the pipelines. Returns none if the folder is missing, and only the error of `sluice.yaml` if that file is invalid. */
async function usableFiles(deps: AlertDeps): Promise<FilesOfPipelines> {
  try {
    return await deps.loadPipelines()
  } catch (error) {
    const none = { pipelines: [], byFile: new Map(), broken: new Map() }
    if (error instanceof ConfigError) return { ...none, broken: new Map([[projectFileName, error]]) }
    if (error instanceof UsageError) return none
    throw error
  }
}

/**
 * Finds the present conditions and stores them as alerts. Alerts whose condition is over are stored as recovered. Returns the environment
 * of this process and those of the pipelines.
 */
async function storeConditions(deps: AlertDeps): Promise<readonly Fence[]> {
  const [{ pipelines, byFile, broken }, project] = await Promise.all([deps.loadPipelines(), deps.loadProject()])
  // One statement after the other, so that a process without other work needs only one connection.
  const db = oneByOne(deps.db)
  const owners = await destinationOwners(db)
  const environments = await environmentsByPipeline(deps, pipelines)
  const pauses = await pausesByPipeline({ ...deps, db }, pipelines)
  const conditions = await findConditions(db, pipelines, await databaseTime(db), { pauses, environments })
  const completeHint = (hint: string) => deps.completeHint?.(hint) ?? hint
  const found = conditions.map((condition) => ({
    pipeline: condition.pipeline,
    event: condition.event,
    detail: { ...condition, hint: completeHint(condition.hint) },
    receivers: pipelines.find(({ name }) => name === condition.pipeline)?.alerts ?? project.defaultReceivers,
  }))
  // The receivers of an invalid file cannot be read, so the default ones are used.
  const invalid = [...broken].map(([pipeline, { code, where, message, hint }]) => ({
    pipeline,
    event: 'failed' as const,
    isOfFile: true,
    detail: { code, message: `${where === undefined ? '' : `${where}: `}${message}`, hint: completeHint(hint), counts: {} },
    receivers: project.defaultReceivers,
  }))
  const isAboutProject = ({ detail }: (typeof invalid)[number]) => detail.code === 'PROJECT_INVALID'
  const isValid = (name: string) => pipelines.some((pipeline) => pipeline.name === name)
  const byEnvironment = new Map<string, { readonly environment: Fence; readonly names: Set<string> }>()
  const namesIn = (environment: Fence) => {
    const key = environmentKey(environment)
    const group = byEnvironment.get(key) ?? { environment, names: new Set<string>() }
    byEnvironment.set(key, group)
    return group.names
  }
  // Alerts with these names can recover. The names of files are needed too: an alert about an invalid file has the name of the file. The
  // pipelines of its `markets:` have other names. Earlier versions stored the alert about `sluice.yaml` for the whole environment.
  for (const name of [...pipelines.map((pipeline) => pipeline.name), ...byFile.keys(), projectFileName]) namesIn(deps.service).add(name)
  for (const [name, environment] of environments) namesIn(environment).add(name)
  const finder = `${hostname()} ${deps.folder}`
  const environmentsOfFiles = [...byEnvironment.values()].map(({ environment }) => environment)
  // If a scheduled file was deleted or renamed, its alerts are over. They stay if the pipeline has run since, from another folder.
  for (const { name, ...environment } of await undeclaredPipelines(db, deps.folder)) namesIn(environment).add(name)
  await adoptAbandonedAlert(deps.db, deps.service, projectFileName, folderPrefix(deps.service))
  for (const [key, { environment, names }] of byEnvironment) {
    // The other conditions of a pipeline are not known while its file is invalid.
    for (const name of broken.keys()) if (!isValid(name)) names.delete(name)
    const isIn = ({ pipeline }: { readonly pipeline: string }) => {
      const ofPipeline = environments.get(pipeline)
      return ofPipeline !== undefined && environmentKey(ofPipeline) === key
    }
    const ofFiles = key === environmentKey(deps.service) ? invalid.filter((condition) => !isAboutProject(condition)) : []
    await updateAlerts(deps.db, environment, { pipelines: [...names], found: [...found.filter(isIn), ...ofFiles], finder, owners })
  }
  await updateAlerts(deps.db, projectFileEnvironment(deps), {
    pipelines: [projectFileName],
    found: invalid.filter(isAboutProject),
    finder,
    owners,
  })
  return environmentsOfFiles
}

/** Returns a database that runs its statements one after the other. */
function oneByOne(db: Queryable): Queryable {
  const limit = pLimit(1)
  return { query: (text, values) => limit(() => db.query(text, values)), execute: (text, values) => limit(() => db.execute(text, values)) }
}

/**
 * Addresses that accepted an email which other addresses did not, by the number of the delivery. Kept in memory, so another server may
 * repeat the email once to all of them.
 */
type AcceptedBy = Map<number, Set<string>>

/** Starts the due deliveries and does not wait for them, so that a slow receiver delays no other. */
async function startDeliveries(
  deps: AlertDeps & { readonly acceptedBy: AcceptedBy },
  environments: readonly Fence[],
  sending: Set<Promise<void>>,
  signal: AbortSignal,
): Promise<void> {
  const { receivers } = await deps.loadProject()
  for (const delivery of await claimDeliveries(deps.db, environments, Object.keys(receivers), maxClaimed)) {
    const receiver = receivers[delivery.receiver]
    if (receiver === undefined) throw new Error(`a message to the unknown receiver ${delivery.receiver} was claimed`)
    const task = deliver(deps, delivery, receiver, signal)
      .catch((error: unknown) => deps.log.warn({ reason: error instanceof Error ? error.name : 'error' }, 'an alert could not be stored'))
      .finally(() => sending.delete(task))
    sending.add(task)
  }
}

/** Sends one alert and stores the result. A stored condition that cannot be read counts as a failed attempt. */
async function deliver(
  deps: AlertDeps & { readonly acceptedBy: AcceptedBy },
  delivery: DueDelivery,
  receiver: AlertReceiver,
  signal: AbortSignal,
): Promise<void> {
  const { secret, timeoutMs = 10_000, retryMs = 5_000, clock, acceptedBy } = deps
  const { id, pipeline, event, state, attempts } = delivery
  const accepted = acceptedBy.get(id) ?? new Set<string>()
  let error: string | undefined
  try {
    error = await sendAlert(receiver, alertMessage(delivery, deps.baseUrl), { secret, timeoutMs, signal, accepted, now: clock.now })
  } catch (unreadable) {
    error = unreadable instanceof Error ? unreadable.message : 'error'
  }
  if (error === undefined || accepted.size === 0) acceptedBy.delete(id)
  else acceptedBy.set(id, accepted)
  const fields = { pipeline, event, state, receiver: delivery.receiver, attempt: attempts }
  if (error === undefined) {
    await finishDelivery(deps.db, id, { delivered: true })
    deps.log.info(fields, 'alert delivered')
    return
  }
  const wait = Math.min(longestRetryMs, retryMs * 2 ** (attempts - 1))
  await finishDelivery(deps.db, id, { delivered: false, error, retryMs: wait })
  deps.log.warn({ ...fields, error }, 'alert not delivered; it is retried until it is a day old')
}
