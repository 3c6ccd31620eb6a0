/** Loads the data of each page with the query functions of other modules, and returns the page. */
import { depsFor } from '../api/api.ts'
import { findConditions } from '../alerts/conditions.ts'
import { listActions } from '../db/auditLog.ts'
import { listBudgets } from '../db/rateBudget.ts'
import { listDeliveries } from '../db/alerts.ts'
import { ownerOfRun } from '../db/destinations.ts'
import { listPauses, type Pause } from '../db/pauses.ts'
import { databaseTime } from '../db/schedules.ts'
import { queueState } from '../db/runs/queued.ts'
import { webhookState } from '../db/webhookEvents.ts'
import { listWorkers } from '../db/workers.ts'
import type { Fence } from '../db/fence.ts'
import type { Pipeline } from '../model/pipeline.ts'
import { loadEndingsByDay, loadLastSources, loadRunFigures } from '../sync/reports/runFigures.ts'
import { listBatches, loadBatch } from '../sync/reports/batchDetails.ts'
import { explainKey } from '../sync/reports/explain.ts'
import { loadRun, runNumber } from '../sync/reports/history.ts'
import { listRunLines, loadOverviews } from '../sync/reports/overview.ts'
import { environmentsByPipeline } from '../sync/reports/environmentsByPipeline.ts'
import { pausesByPipeline } from '../sync/reports/pausesByPipeline.ts'
import { refreshMinutes } from '../sync/plan/requestMinutes.ts'
import { loadReview } from '../sync/reports/review.ts'
import { columnsBySource, loadRunSources } from '../sync/reports/rejectsCsv.ts'
import { loadRejectGroups, loadRunDetails } from '../sync/reports/runDetails.ts'
import { ConfigError, fallbackOn, UsageError } from '../errors.ts'
import type { ServerDeps } from './deps.ts'
import { batchPage } from './pages/batch.ts'
import { nowPage } from './pages/now.ts'
import { pipelinePage } from './pages/pipeline.ts'
import { planPage } from './pages/plan.ts'
import { recordsPage } from './pages/records.ts'
import { rejectsPage } from './pages/rejects.ts'
import { runPage } from './pages/run.ts'
import { systemPage } from './pages/system.ts'
import { endingDays, pipelinePlots } from './pipelinePlots.ts'
import type { Page } from './layout.ts'
import { destinationOf } from '../destinations/index.ts'

/** Number of runs that `/` shows as bars. */
const barsShown = 30
/** Number of runs in the list of a pipeline. */
const runsShown = 50
/** Number of runs in the plots of a pipeline. */
const runsPlotted = 30
/** Number of batches on the page of a plan. */
const batchesShown = 50
/** Number of sample rows for each reason: on the page of a run, and on the page of its rejected rows. */
const [runSamples, rejectSamples] = [3, 5]

/** Loads the page `/`. `now`: in milliseconds since 1970. */
export async function loadNowPage(deps: ServerDeps, now: number): Promise<Page> {
  const { pipelines, problems, unserved = [] } = await deps.loadPipelines()
  const environments = await environmentsByPipeline(deps, pipelines)
  const pauses = await pausesByPipeline(deps, pipelines)
  const conditionsAt = await databaseTime(deps.db)
  const loading = loadOverviews(
    deps.db,
    pipelines.map(({ name }) => ({ name, environment: environments.get(name) })),
    barsShown,
  )
  const [overviews, conditions] = await Promise.all([
    loading,
    findConditions(deps.db, pipelines, conditionsAt, { pauses, environments, overviews: loading }),
  ])
  const services = new Map<string, string>()
  for (const pipeline of pipelines) {
    const service = pipeline.credentials === undefined ? undefined : (await serviceIdentity(deps, pipeline))?.origin
    if (service !== undefined && service !== deps.service.origin) services.set(pipeline.name, service)
  }
  return nowPage({ pipelines, problems, unserved, overviews, conditions, receivers: await deps.receivers(), pauses, services, now })
}

/**
 * Loads the page of a pipeline. `before`: id of the run before which the list of runs begins. A pipeline without a file is shown if it has
 * runs.
 *
 * @throws {UsageError} `UNKNOWN_PIPELINE`
 */
export async function loadPipelinePage(
  deps: ServerDeps,
  options: { readonly name: string; readonly before: string | undefined; readonly mayAct: boolean; readonly now: number },
): Promise<Page> {
  const { name, now } = options
  const before = options.before === undefined ? undefined : runNumber(options.before)
  let invalid: ConfigError | undefined
  const pipeline = await deps.loadPipeline(name).catch((error: unknown) => {
    if (error instanceof ConfigError) invalid = error
    else if (!(error instanceof UsageError)) throw error
    return undefined
  })
  const isFileInvalid = invalid?.code === 'PIPELINE_INVALID'
  // Without a usable file, the destination of the last run is shown.
  const last = pipeline === undefined ? await lastDestinationOf(deps, name) : undefined
  const environment = pipeline === undefined ? environmentOf(last) : (await environmentsByPipeline(deps, [pipeline])).get(name)
  const inEnvironment = { name, environment }
  const [[overview], pause, lines, figures, actions] = await Promise.all([
    loadOverviews(deps.db, [inEnvironment], 0),
    findPause(deps, pipeline, last?.id),
    listRunLines(deps.db, { pipeline: inEnvironment, limit: runsShown + 1, ...(before === undefined ? {} : { before }) }),
    before === undefined ? loadRunFigures(deps.db, inEnvironment, runsPlotted) : [],
    listActions(deps.db, { pipeline: name, environment, limit: 20 }),
  ])
  const runs = lines.slice(0, runsShown)
  const isUnknown = pipeline === undefined && !isFileInvalid && runs.length === 0
  // With an invalid `sluice.yaml`, no pipeline file is read, so this one may exist.
  if (isUnknown && invalid !== undefined) throw invalid
  if (overview === undefined || isUnknown)
    throw new UsageError('UNKNOWN_PIPELINE', `there is no pipeline "${name.slice(0, 100)}"`, {
      where: name.slice(0, 100),
      hint: 'sluice check',
    })
  const endings =
    pipeline === undefined ||
    destinationOf(pipeline.destination.kind).membership(pipeline.destination) === undefined ||
    before !== undefined
      ? []
      : await loadEndingsByDay(deps.db, inEnvironment, endingDays)
  const page = pipelinePage({
    pipeline,
    problem: invalid && `${isFileInvalid ? 'The file' : 'sluice.yaml'} cannot be used: ${invalid.message}`,
    name,
    overview,
    pause,
    runs,
    hasOlder: lines.length > runsShown,
    before,
    plots: pipeline === undefined ? [] : pipelinePlots(pipeline, figures, endings),
    sources: await loadLastSources(deps.db, inEnvironment),
    actions,
    minutes: pipeline === undefined ? undefined : refreshMinutes(pipeline, overview.last?.counts.valid),
    mayAct: options.mayAct,
    now,
  })
  // Without a usable file, the service of the last run is shown.
  const [latest] = runs
  return pipeline === undefined && latest !== undefined
    ? withServiceOfRun(deps, latest.runId, page)
    : withServiceOfPipeline(deps, pipeline, page)
}

type Owner = NonNullable<Awaited<ReturnType<typeof ownerOfRun>>>

/** Returns the destination of the last run with this name, in any environment. */
async function lastDestinationOf({ db }: ServerDeps, name: string): Promise<Owner | undefined> {
  const [latest] = await listRunLines(db, { pipeline: { name, environment: undefined }, limit: 1 })
  return latest && ownerOfRun(db, runNumber(latest.runId))
}

/** Returns the environment of a destination; undefined if it belongs to no credentials yet. */
function environmentOf(owner: Owner | undefined): Fence | undefined {
  return owner === undefined || owner.credentials === null ? undefined : { origin: owner.service, credentials: owner.credentials }
}

/** Returns the pause of a pipeline. Without a usable file, returns that of the destination `last`. */
async function findPause(deps: ServerDeps, pipeline: Pipeline | undefined, last: number | undefined): Promise<Pause | undefined> {
  if (pipeline !== undefined) return (await pausesByPipeline(deps, [pipeline])).get(pipeline.name)
  return last === undefined ? undefined : (await listPauses(deps.db, last)).at(0)
}

/** Loads the page of a run. @throws {UsageError} `UNKNOWN_RUN` */
export async function loadRunPage(
  deps: ServerDeps,
  options: { readonly runId: string; readonly mayAct: boolean; readonly now: number },
): Promise<Page> {
  const run = await loadRun(deps.db, options.runId)
  const [details, rejects, actions] = await Promise.all([
    loadRunDetails(deps.db, run.runId),
    run.counts.rejected === 0 ? [] : loadRejectGroups(deps.db, run.runId, runSamples),
    listActions(deps.db, { pipeline: run.pipeline, runId: runNumber(run.runId), limit: 20 }),
  ])
  const elsewhere = await otherEnvironmentOf(deps, run)
  return withServiceOfRun(deps, run.runId, runPage({ run, details, rejects, actions, elsewhere, mayAct: options.mayAct, now: options.now }))
}

/** Loads the page of the rejected rows of a run. @throws {UsageError} `UNKNOWN_RUN` */
export async function loadRejectsPage(deps: ServerDeps, runId: string): Promise<Page> {
  const run = await loadRun(deps.db, runId)
  const { facts } = await loadRunSources(deps.db, run.runId)
  const groups = await loadRejectGroups(deps.db, run.runId, rejectSamples)
  return withServiceOfRun(deps, run.runId, rejectsPage(run, groups, columnsBySource(run.columns, facts)))
}

/** Loads the page of a batch. @throws {UsageError} `UNKNOWN_BATCH` */
export async function loadBatchPage(deps: ServerDeps, id: string, now: number): Promise<Page> {
  const batch = await loadBatch(deps.db, id)
  return withServiceOfRun(deps, batch.runId, batchPage(batch, now, await otherEnvironmentOf(deps, batch)))
}

/** Loads the page of a plan. `problem`: reason why an approval was rejected. @throws {UsageError} `UNKNOWN_PLAN` */
export async function loadPlanPage(
  deps: ServerDeps,
  options: { readonly planId: string; readonly mayAct: boolean; readonly now: number; readonly problem?: string },
): Promise<Page> {
  const plan = await loadReview(deps.db, options.planId)
  const elsewhere = await otherEnvironmentOf(deps, plan)
  return withServiceOfRun(
    deps,
    plan.runId,
    planPage({ plan, batches: await listBatches(deps.db, plan.planId, batchesShown), elsewhere, ...options }),
  )
}

/**
 * Returns the environment of a run, if it is another one than that of its pipeline here. Without a file of the pipeline, compares with the
 * environment of this process. Undefined if the pipeline's file or credentials cannot be used.
 */
async function otherEnvironmentOf(
  deps: ServerDeps,
  run: { readonly runId: string; readonly pipeline: string },
): Promise<string | undefined> {
  const owner = await ownerOfRun(deps.db, runNumber(run.runId))
  if (owner === undefined) return undefined
  let own: Fence | undefined = deps.service
  try {
    own = await serviceIdentity(deps, await deps.loadPipeline(run.pipeline))
  } catch (error) {
    if (error instanceof ConfigError) return undefined
    if (!(error instanceof UsageError)) throw error
  }
  if (own === undefined || (owner.service === own.origin && (owner.credentials ?? own.credentials) === own.credentials)) return undefined
  return owner.credentials === null ? owner.service : `${owner.service} as ${owner.credentials}`
}

/** Returns the page with the service that the run writes to, and with its credentials. */
async function withServiceOfRun({ db }: ServerDeps, runId: string, page: Page): Promise<Page> {
  const owner = await ownerOfRun(db, runNumber(runId))
  if (owner === undefined) return page
  const { service, credentials } = owner
  return { ...page, service, ...(credentials === null ? {} : { credentials }) }
}

/** Returns the page with the pipeline's service and credentials; the page unchanged without a pipeline, or if they are not configured. */
async function withServiceOfPipeline(deps: ServerDeps, pipeline: Pipeline | undefined, page: Page): Promise<Page> {
  const service = pipeline && (await serviceIdentity(deps, pipeline))
  return { ...page, ...(service === undefined ? {} : { service: service.origin, credentials: service.credentials }) }
}

/** Returns the service and the credentials of a pipeline; undefined if they are not configured. */
function serviceIdentity(deps: ServerDeps, pipeline: Pipeline): Promise<Fence | undefined> {
  return deps.serviceFor(pipeline).catch(fallbackOn(ConfigError, undefined))
}

export async function loadSystemPage(deps: ServerDeps, now: number): Promise<Page> {
  const [findings, workers, queue, budgets, deliveries, webhooks, receivers] = await Promise.all([
    deps.examine(),
    listWorkers(deps.db),
    queueState(deps.db),
    listBudgets(deps.db),
    listDeliveries(deps.db, 20),
    webhookState(deps.db),
    deps.receivers(),
  ])
  return systemPage({ findings, workers, queue, budgets, deliveries, environment: deps.service, receivers, webhooks, now })
}

/** Loads the page `/records`, with the history of the record if one is searched. @throws {UsageError} `UNKNOWN_PIPELINE` */
export async function loadRecordsPage(deps: ServerDeps, search?: { readonly pipeline: string; readonly key: string }): Promise<Page> {
  const { pipelines } = await deps.loadPipelines()
  if (search === undefined) return recordsPage({ pipelines })
  const selectedPipeline = search.pipeline
  if (search.key === '')
    return recordsPage({ pipelines, selectedPipeline, problem: 'Type a product id, a customer key, an email or a phone.' })
  const pipeline = await deps.loadPipeline(selectedPipeline)
  const history = await explainKey(await depsFor(deps, pipeline), pipeline, search.key)
  return withServiceOfPipeline(deps, pipeline, recordsPage({ pipelines, selectedPipeline, history }))
}
