/** Error of a run whose pipeline is paused. */
import type { Pause } from '../db/pauses.ts'
import { RunError } from '../errors.ts'

export function pausedError({ pipeline, actor, reason, pausedAt }: Pause): RunError {
  const since = pausedAt.toISOString().replace(/\.\d{3}Z$/, 'Z')
  return new RunError(
    'PIPELINE_PAUSED',
    `${pipeline} is paused by ${actor} since ${since}${reason === null ? '' : `: ${reason}`}. Nothing was sent.`,
    {
      where: pipeline,
      hint: `sluice resume ${pipeline}`,
    },
  )
}
