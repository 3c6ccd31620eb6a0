/** Loads the status of the pipelines of a folder: their state from the database, and the next run from their files. */
import { findConditions, type Condition } from '../../../alerts/conditions.ts'
import { ConfigError, fallbackOn, UsageError } from '../../../errors.ts'
import type { Database } from '../../../db/database.ts'
import { countSyncedElsewhere, destinationsOfRuns } from '../../../db/destinations.ts'
import type { Pipeline } from '../../../model/pipeline.ts'
import { nextTickAfter } from '../../../jobs/cronTicks.ts'
import { loadPipelines } from '../../../pipeline/load.ts'
import { environmentsByPipeline } from '../../../sync/reports/environmentsByPipeline.ts'
import { pausesByPipeline } from '../../../sync/reports/pausesByPipeline.ts'
import { pipelineStates, type PipelineState } from '../../../sync/reports/status.ts'
import { copiedFinding } from '../../../sync/databaseCopy.ts'
import type { Context } from '../../context.ts'
import { pipelinesToCheck } from '../../pipelines.ts'
import { identityIfConfigured, identityOf } from '../../services.ts'

/** Problem that needs action. */
interface Need {
  readonly code: string
  readonly message: string
  readonly hint: string
  /** Place of the problem, such as an invalid file. Absent if the need is about a pipeline or the whole folder. */
  readonly where?: string
}

export interface PipelineStatus extends PipelineState {
  /** Conditions of the pipeline, as the dashboard and alerts show them, and several environments in one line (`needOfEnvironments`). */
  readonly needs: readonly Need[]
  /** Time of the pause, ISO 8601; null if the pipeline is not paused. */
  readonly pausedAt: string | null
  /** Time of the next scheduled run, ISO 8601; null without a schedule, and while the pipeline is paused. */
  readonly nextRunAt: string | null
  /** Age of the last success in seconds; null if there is none. */
  readonly lastSuccessAgeS: number | null
}

export interface FolderStatus {
  readonly pipelines: readonly PipelineStatus[]
  /** Other problems: a copied database, invalid files, two pipelines with the same destination, no scheduler. */
  readonly needs: readonly Need[]
}

/**
 * Loads the status. `patterns`: names or globs; none for all pipelines.
 *
 * @throws as `pipelinesToCheck` if there are patterns. Without patterns, problems of files are in `needs`.
 */
export async function folderStatus(context: Context, db: Database, patterns: readonly string[]): Promise<FolderStatus> {
  const { pipelines, errors } = patterns.length === 0 ? await allPipelines(context) : await pipelinesToCheck(context, patterns)
  const environments = await environmentsByPipeline({ serviceFor: (pipeline) => identityIfConfigured(context, pipeline) }, pipelines)
  const states = await pipelineStates(
    db,
    pipelines.map(({ name }) => ({ name, environment: environments.get(name) })),
  )
  const { now } = states
  // Without a configured service, `status` still shows the pipeline.
  const serviceFor = (pipeline: Pipeline) => identityOf(context, pipeline).catch(fallbackOn(ConfigError, undefined))
  const pauses = await pausesByPipeline({ db, serviceFor }, pipelines)
  const conditions = await findConditions(db, pipelines, now, { pauses, environments })
  const unknown = pipelines.filter(({ name }) => !environments.has(name))
  const severalEnvironments = (await Promise.all(unknown.map((pipeline) => needOfEnvironments(db, pipeline)))).flat()
  const statuses = states.pipelines.map((state, i): PipelineStatus => {
    const schedule = pipelines[i]?.schedule
    const pause = pauses.get(state.pipeline)
    const next = schedule === undefined || pause !== undefined ? undefined : nextTickAfter(schedule, now)
    const ageMs = state.lastSuccessAt === null ? null : Math.max(0, now.getTime() - Date.parse(state.lastSuccessAt))
    return {
      ...state,
      needs: [
        ...severalEnvironments.filter(({ pipeline }) => pipeline === state.pipeline).map(({ need }) => need),
        ...conditions.filter(({ pipeline }) => pipeline === state.pipeline).map(needOf),
      ],
      pausedAt: pause?.pausedAt.toISOString() ?? null,
      nextRunAt: next?.toISOString() ?? null,
      lastSuccessAgeS: ageMs === null ? null : Math.round(ageMs / 1000),
    }
  })
  const elsewhere = await countSyncedElsewhere(db)
  const hasSchedules = pipelines.some(({ schedule }) => schedule !== undefined)
  return {
    pipelines: statuses,
    needs: [
      ...(elsewhere > 0 ? [{ code: 'DATABASE_COPIED', ...copiedFinding(elsewhere) }] : []),
      ...errors.map(({ code, message, hint, where }) => ({
        code,
        message,
        hint: hint === '' ? 'sluice check' : hint,
        ...(where === undefined ? {} : { where }),
      })),
      ...(hasSchedules && states.scheduler !== 'running'
        ? [{ code: 'NO_SCHEDULER', message: `pipelines have schedules, and ${noScheduler[states.scheduler]}`, hint: 'sluice serve' }]
        : []),
    ],
  }
}

const noScheduler = {
  none: 'no serve process is running',
  elsewhere: 'no running serve process schedules them: each has another environment, folder or version',
} as const

/** Returns a need if the environment of the pipeline is not known, and runs of several environments have its name. Else returns none. */
async function needOfEnvironments(db: Database, { name, credentials }: Pipeline) {
  const destinations = await destinationsOfRuns(db, name)
  const environments = new Set(destinations.flatMap(({ service, credentials: user }) => (user === null ? [] : [`${user} at ${service}`])))
  if (environments.size < 2) return []
  const message = `this line mixes the runs of ${environments.size} environments: ${[...environments].join('; ')}`
  const settings = credentials === undefined ? 'SLUICE_ACCESS_TOKEN and SLUICE_ACCESS_TOKEN_SECRET' : `credentials.${credentials}`
  return [
    { pipeline: name, need: { code: 'SEVERAL_ENVIRONMENTS', message, hint: `set ${settings} of the one to show, then: sluice status` } },
  ]
}

function needOf({ code, event, message, runId, hint }: Condition): Need {
  return { code, message: runId === undefined ? message : `${runId} ${event}: ${message}`, hint }
}

/**
 * Returns every valid pipeline, also if its destination conflicts with another. Also returns an error for each invalid file and each
 * conflict. If the folder cannot be loaded, returns only that error.
 */
async function allPipelines(context: Context): ReturnType<typeof pipelinesToCheck> {
  try {
    const { pipelines, conflicting, errors } = await loadPipelines(context.pipelines, context.config().env)
    return { pipelines: [...pipelines, ...conflicting], errors }
  } catch (error) {
    if (error instanceof UsageError || error instanceof ConfigError)
      return { pipelines: [], errors: [new ConfigError(error.code, error.message, [], { hint: error.hint })] }
    throw error
  }
}
