/** Finds conditions that need an operator, for the dashboard, for alerts and for their recovery. */
import { count } from '../format.ts'
import type { Queryable } from '../db/database.ts'
import { environmentKey, type Fence } from '../db/fence.ts'
import type { Pause } from '../db/pauses.ts'
import { countEndingMembers, listUnresolved, type EndingMembers, type Unresolved } from '../db/alertCounts.ts'
import { previousTicks } from '../jobs/index.ts'
import type { Pipeline } from '../model/pipeline.ts'
import { destinationKey } from '../sync/destinationKey.ts'
import { loadDestination, loadOverviews, type PipelineOverview, type RunLine } from '../sync/reports/overview.ts'
import { figures, isShown, figureText } from '../sync/reports/runSteps.ts'
import { findUnchangedSources, type UnchangedSource } from '../sync/reports/unchangedSources.ts'
import { outOfStockOf } from '../sync/reports/withheldChanges.ts'
import { destinationOf } from '../destinations/index.ts'

/** Events of conditions, the worst first. */
export const conditionEvents = ['failed', 'credentials', 'withheld', 'stopped', 'partial', 'unresolved', 'stale', 'lapse'] as const
/** Event of a condition. A pipeline has at most one firing alert for each event. */
export type ConditionEvent = (typeof conditionEvents)[number]

/** Condition of one pipeline that needs an operator. */
export interface Condition {
  readonly pipeline: string
  readonly event: ConditionEvent
  readonly code: string
  readonly message: string
  /** Command or edit that is the next step. */
  readonly hint: string
  readonly runId?: string
  readonly planId?: string
  readonly counts: Readonly<Record<string, number>>
  /**
   * Start of the condition, ISO 8601. STALE and OTHER_CREDENTIALS: end of the last successful or partial run. Without one: creation of the
   * last run, else of the run in progress. LAPSE_AT_RISK, and OTHER_CREDENTIALS of a destination without runs: time of the check.
   */
  readonly since: string
}

/** Age in minutes from which a request without a clear answer is reported. */
const unresolvedAfterMin = 15
/** Memberships that end within this number of days are reported, because they should have been renewed before. */
const lapseDays = 3

/**
 * Returns the present conditions in the order of `conditionEvents`. Conditions of one event are in the order of `pipelines`. A paused
 * pipeline is never stale. `now`: time of the database. `pauses` and `environments`: by name of the pipeline. A pipeline without an
 * environment has the conditions of all environments. `overviews`: of these pipelines, if the caller has already requested them.
 */
export async function findConditions(
  db: Queryable,
  pipelines: readonly Pipeline[],
  now: Date,
  loaded: {
    readonly pauses: ReadonlyMap<string, Pause>
    readonly environments: ReadonlyMap<string, Fence>
    readonly overviews?: Promise<readonly PipelineOverview[]>
  },
): Promise<readonly Condition[]> {
  const { environments } = loaded
  const inEnvironments = pipelines.map(({ name, staleAfterRuns }) => ({ name, environment: environments.get(name), staleAfterRuns }))
  const staleLimits = inEnvironments.flatMap(({ staleAfterRuns: runs, ...pipeline }) => (runs === undefined ? [] : [{ ...pipeline, runs }]))
  const byEnvironment = Map.groupBy(inEnvironments, ({ environment }) => environment && environmentKey(environment))
  const [overviews, unchanged, countsByEnvironment] = await Promise.all([
    loaded.overviews ?? loadOverviews(db, inEnvironments, 0),
    findUnchangedSources(db, staleLimits),
    Promise.all(
      [...byEnvironment.values()].map(async (group) => {
        const names = new Set(group.map(({ name }) => name))
        const [unresolved, ending] = await Promise.all([
          listUnresolved(db, unresolvedAfterMin, group[0]?.environment),
          countEndingMembers(db, [lapseDays], group[0]?.environment),
        ])
        const isOfGroup = (row: { readonly pipeline: string }) => names.has(row.pipeline)
        return { unresolved: unresolved.filter(isOfGroup), ending: ending.filter(isOfGroup) }
      }),
    ),
  ])
  const unresolved = countsByEnvironment.flatMap((group) => group.unresolved)
  const ending = countsByEnvironment.flatMap((group) => group.ending)
  const overviewByName = new Map(overviews.map((overview) => [overview.pipeline, overview]))
  const ofSchedules = new Map<string, Condition>()
  for (const pipeline of pipelines) {
    if (loaded.pauses.has(pipeline.name)) continue
    const environment = environments.get(pipeline.name)
    const condition = await conditionOfSchedule(db, { pipeline, environment, overview: overviewByName.get(pipeline.name) }, now)
    if (condition !== undefined) ofSchedules.set(pipeline.name, condition)
  }
  const found = pipelines.flatMap((pipeline) => {
    const overview = overviewByName.get(pipeline.name)
    if (overview === undefined) return []
    const isOfPipeline = (row: { readonly pipeline: string }) => row.pipeline === pipeline.name
    const isPaused = loaded.pauses.has(pipeline.name)
    return [
      ...conditionsOfRuns(pipeline, overview),
      conditionOfUnresolved(unresolved.find(isOfPipeline)),
      isPaused ? undefined : (ofSchedules.get(pipeline.name) ?? conditionOfSource(unchanged.find(isOfPipeline))),
      conditionOfMembers(pipeline, ending.find(isOfPipeline), now),
    ].filter((condition) => condition !== undefined)
  })
  return found.toSorted((a, b) => conditionEvents.indexOf(a.event) - conditionEvents.indexOf(b.event))
}

/**
 * Returns the conditions of the last runs; none if they need no operator. A run that failed before its plan does not end the conditions of
 * earlier runs. It approved no deletes and settled no operations.
 */
function conditionsOfRuns(pipeline: Pipeline, { last, planned, guarded, stopped }: PipelineOverview): readonly Condition[] {
  const failure = last && conditionOfError(pipeline, last, runFieldsOf(last))
  const isOfLast = planned?.runId === last?.runId
  return [
    failure,
    ...[guarded, stopped].map((run) => run && conditionOfGuard(run, runFieldsOf(run))),
    planned === undefined || (isOfLast && failure !== undefined) ? undefined : conditionOfOperations(planned, runFieldsOf(planned)),
  ].filter((condition) => condition !== undefined)
}

const runFieldsOf = (run: RunLine): RunFields => ({
  pipeline: run.pipeline,
  runId: run.runId,
  since: (run.finishedAt ?? run.createdAt).toISOString(),
  ...(run.planId === null ? {} : { planId: run.planId }),
})

type RunFields = Pick<Condition, 'pipeline' | 'runId' | 'planId' | 'since'>

/** Returns the condition of refused credentials or of a failed run. */
function conditionOfError({ credentials }: Pipeline, { runId, status, error }: RunLine, fields: RunFields): Condition | undefined {
  // `auth status` examines only the credentials of the environment, and not a named set of sluice.yaml.
  const hint = credentials === undefined ? 'sluice auth status' : 'sluice doctor'
  if (error && isAboutCredentials(error))
    return { ...fields, event: 'credentials', code: error.code, message: error.message, hint, counts: {} }
  if (status !== 'failed') return undefined
  return {
    ...fields,
    event: 'failed',
    code: error?.code ?? 'FAILED',
    message: error?.message ?? 'the run failed',
    hint: error?.hint ?? `sluice show ${runId}`,
    counts: {},
  }
}

/** Returns the condition of the first guard, also of a run that did not send its whole plan. */
function conditionOfGuard({ guards, counts, planId }: RunLine, fields: RunFields): Condition | undefined {
  const [guard] = guards
  if (guard === undefined) return undefined
  const outOfStock = outOfStockOf(guards)
  return {
    ...fields,
    event: planId === null ? 'stopped' : 'withheld',
    code: guard.code,
    message: guard.message,
    hint: guard.hint,
    counts: {
      withheld: counts.withheld ?? 0,
      ...(outOfStock > 0 ? { outOfStock } : {}),
      confirmed: counts.confirmed ?? 0,
      rejected: counts.rejected ?? 0,
    },
  }
}

/**
 * Returns the condition of unconfirmed operations, else of product sets that were refused or are unresolved. Undefined for a run that
 * succeeded.
 */
function conditionOfOperations(run: RunLine, fields: RunFields): Condition | undefined {
  const { pipeline, runId, status, counts, error, refusedOrUnresolvedSets } = run
  const { refused = 0, ambiguous = 0, pending = 0, deferred = 0 } = counts
  if (status !== 'partial' && status !== 'withheld') return undefined
  const unconfirmed = refused + ambiguous + pending
  if (unconfirmed + deferred > 0)
    return {
      ...fields,
      event: 'partial',
      code: error?.code ?? 'PARTIAL',
      message: figures(counts, 'refused', 'ambiguous', 'pending', 'deferred').filter(isShown).map(figureText).join(', '),
      // Deferred changes are not in the plan of the run, so a rerun of its failed operations would not send them.
      hint: unconfirmed > 0 ? `sluice rerun ${runId} --failed` : `sluice run ${pipeline}`,
      counts: { refused, ambiguous, pending, deferred },
    }
  const [set] = refusedOrUnresolvedSets
  if (set === undefined) return undefined
  return {
    ...fields,
    event: 'partial',
    code: set.code ?? 'PARTIAL',
    message: `product set ${set.name}: ${set.message ?? set.outcome}${refusedOrUnresolvedSets.length > 1 ? `, and ${count(refusedOrUnresolvedSets.length - 1)} more` : ''}`,
    hint: `sluice run ${pipeline}`,
    counts: { productSets: refusedOrUnresolvedSets.length },
  }
}

/**
 * Start of the message of a pause if the answer refuses the caller, and not the records. Usually it is a code, such as 89. An answer
 * without a code counts as `ERROR`, so its text decides.
 */
const refusesCaller =
  /^(?:(?:\w*(?:UNAUTHORIZED|FORBIDDEN|CREDENTIALS)\w*|32|87|89|99|135|215|220|326): |ERROR: .*(?:unauthorized|forbidden|credentials))/i

/** Returns true if the service refuses the caller: by repeated 401s, or by an answer for which Sluice paused the destination. */
export function isAboutCredentials({ code, message }: { readonly code: string; readonly message: string }): boolean {
  return code === 'CREDENTIALS_REFUSED' || (code === 'DESTINATION_PAUSED' && refusesCaller.test(message))
}

function conditionOfUnresolved(open: Unresolved | undefined): Condition | undefined {
  if (open === undefined) return undefined
  const { pipeline, runId, operations, since } = open
  return {
    pipeline,
    event: 'unresolved',
    code: 'UNRESOLVED',
    message: `${count(operations)} ${operations === 1 ? 'operation has' : 'operations have'} no clear answer from the service for over ${unresolvedAfterMin} minutes`,
    hint: `sluice run ${pipeline}`,
    runId,
    counts: { unresolved: operations },
    since: since.toISOString(),
  }
}

/** Returns the condition SOURCE_UNCHANGED: the source was unchanged in `stale_after_runs` runs. */
function conditionOfSource(source: UnchangedSource | undefined): Condition | undefined {
  if (source === undefined) return undefined
  const { pipeline, runs, unchangedAtLeastSince } = source
  return {
    pipeline,
    event: 'stale',
    code: 'SOURCE_UNCHANGED',
    message: `the source was unchanged in the last ${runs === 1 ? 'run' : `${count(runs)} runs`}`,
    hint: `sluice check ${pipeline}`,
    counts: { unchangedRuns: runs },
    since: unchangedAtLeastSince.toISOString(),
  }
}

/** Returns the end of the last full or partial success. Without one: the creation of the last run, else of the run in progress. */
const startOf = (overview: PipelineOverview | undefined): Date | undefined =>
  overview?.deliveredAt ?? overview?.last?.createdAt ?? overview?.open?.createdAt

/**
 * Returns the condition STALE if the last full or partial success is late (`isLate`), and the last resume too. Undefined otherwise, and for
 * a pipeline without runs.
 *
 * If the destination belongs to other credentials, no scheduled run starts: returns OTHER_CREDENTIALS instead, also for a pipeline
 * without runs. `since` of the condition: as `startOf` returns it; without runs of this environment, the last delivery with any credentials.
 */
async function conditionOfSchedule(
  db: Queryable,
  {
    pipeline,
    environment,
    overview,
  }: { readonly pipeline: Pipeline; readonly environment: Fence | undefined; readonly overview: PipelineOverview | undefined },
  now: Date,
): Promise<Condition | undefined> {
  const { name, schedule } = pipeline
  if (schedule === undefined) return undefined
  const start = startOf(overview)
  if (start !== undefined && !isLate(schedule, start, now)) return undefined
  const destination = environment && (await loadDestination(db, destinationKey({ service: environment }, pipeline), name))
  const since = start ?? destination?.deliveredAt
  if (since !== undefined && !isLate(schedule, since, now)) return undefined
  const counts: Record<string, number> =
    since === undefined ? {} : { secondsSinceSuccess: Math.round((now.getTime() - since.getTime()) / 1000) }
  const owner = destination?.credentials ?? environment?.credentials
  if (environment !== undefined && owner !== undefined && owner !== environment.credentials)
    return {
      pipeline: name,
      event: 'stale',
      code: 'OTHER_CREDENTIALS',
      message: `no scheduled run starts: the destination belongs to ${owner}, but this environment uses ${environment.credentials}`,
      hint: `set the credentials of that user, or move the destination to these: sluice run ${name} --take-over`,
      counts,
      since: (since ?? now).toISOString(),
    }
  if (since === undefined) return undefined
  // During a pause, no run could start.
  if (destination?.resumedAt !== undefined && !isLate(schedule, destination.resumedAt, now)) return undefined
  return {
    pipeline: name,
    event: 'stale',
    code: 'STALE',
    message: `no successful run for two intervals of "${schedule.cron}"`,
    hint: `sluice runs ${name}`,
    counts,
    since: since.toISOString(),
  }
}

/**
 * Returns true if `since` is before the last tick, and more than two intervals ago. The two intervals are those between the last three
 * ticks, so that a weekday schedule is not late on a Monday.
 */
function isLate(schedule: NonNullable<Pipeline['schedule']>, since: Date, now: Date): boolean {
  const [thirdLastTick, , lastTick] = previousTicks(schedule, now, 3)
  if (thirdLastTick === undefined || lastTick === undefined) return false
  return now.getTime() - since.getTime() > lastTick.getTime() - thirdLastTick.getTime() && since < lastTick
}

/** Returns the condition LAPSE_AT_RISK if memberships ended or end within `lapseDays`, and the pipeline renews earlier than that. */
function conditionOfMembers({ name, destination }: Pipeline, members: EndingMembers | undefined, now: Date): Condition | undefined {
  const [ending = 0] = members?.users ?? []
  const membership = destinationOf(destination.kind).membership(destination)
  if (ending === 0 || membership === undefined) return undefined
  // An end within three days is normal if the pipeline renews no earlier.
  const { renewBefore } = membership
  if ('ms' in renewBefore && renewBefore.ms <= lapseDays * 86_400_000) return undefined
  return {
    pipeline: name,
    event: 'lapse',
    code: 'LAPSE_AT_RISK',
    message: `up to ${count(ending)} ${ending === 1 ? 'membership ends' : 'memberships end'} within ${lapseDays} days and ${ending === 1 ? 'was' : 'were'} not renewed`,
    hint: `sluice run ${name}`,
    counts: { ending },
    since: now.toISOString(),
  }
}
