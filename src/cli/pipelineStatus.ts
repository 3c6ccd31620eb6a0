/** Status of the pipelines of a folder: their state in the database beside the schedules of their files. */
import { ConfigError, UsageError } from '../errors.ts'
import type { Database } from '../db/database.ts'
import { dueOccurrences, nextOccurrence } from '../jobs/occurrences.ts'
import { loadPipelines } from '../pipeline/load.ts'
import { pipelineStates, type Need, type PipelineState } from '../sync/status.ts'
import type { Context } from './context.ts'
import { pipelinesToCheck } from './pipelines.ts'
import { duration } from './text.ts'

export interface PipelineStatus extends PipelineState {
  readonly nextRunAt: string | null
  /** Age of the last success in seconds; null if there is none. */
  readonly lastSuccessAgeS: number | null
}

export interface FolderStatus {
  readonly pipelines: readonly PipelineStatus[]
  /** Problems outside the runs that need a person: invalid files, no scheduler. */
  readonly needs: readonly Need[]
}

/** Scheduled runs without a success before a pipeline counts as stale. */
const missedAllowed = 2

export async function folderStatus(context: Context, db: Database, patterns: readonly string[]): Promise<FolderStatus> {
  const { pipelines, errors } = patterns.length === 0 ? await allPipelines(context) : await pipelinesToCheck(context, patterns)
  const states = await pipelineStates(
    db,
    pipelines.map(({ name }) => name),
  )
  const { now } = states
  const shown = states.pipelines.map((state, i): PipelineStatus => {
    const schedule = pipelines[i]?.schedule
    const next = schedule === undefined ? undefined : nextOccurrence(schedule, now)
    const ageMs = state.lastSuccessAt === null ? null : Math.max(0, now.getTime() - Date.parse(state.lastSuccessAt))
    const missed =
      schedule === undefined || state.lastSuccessAt === null ? 0 : dueOccurrences(schedule, new Date(state.lastSuccessAt), now).length
    const stale: Need[] =
      missed > missedAllowed && state.running === null && state.needs.length === 0
        ? [
            {
              code: 'STALE',
              message: `no success for ${duration(ageMs ?? 0)}, ${missed} scheduled times ago`,
              hint: `sluice run ${state.pipeline}`,
            },
          ]
        : []
    return {
      ...state,
      needs: [...state.needs, ...stale],
      nextRunAt: next?.toISOString() ?? null,
      lastSuccessAgeS: ageMs === null ? null : Math.round(ageMs / 1000),
    }
  })
  const scheduled = pipelines.some(({ schedule }) => schedule !== undefined)
  return {
    pipelines: shown,
    needs: [
      ...errors.map(({ code, message, hint }) => ({ code, message, hint: hint === '' ? 'sluice check' : hint })),
      ...(scheduled && !states.scheduler
        ? [{ code: 'NO_SCHEDULER', message: 'pipelines have schedules, and no serve process is up', hint: 'sluice serve' }]
        : []),
    ],
  }
}

/** Returns every valid pipeline and the error of each other; none if there is no folder yet. */
async function allPipelines(context: Context): ReturnType<typeof pipelinesToCheck> {
  try {
    const { pipelines, conflicting, errors } = await loadPipelines(context.pipelines)
    return { pipelines: [...pipelines, ...conflicting], errors }
  } catch (error) {
    if (error instanceof UsageError || error instanceof ConfigError)
      return { pipelines: [], errors: [new ConfigError(error.code, error.message, [], { hint: error.hint })] }
    throw error
  }
}
