import { hasAttempts } from '../../db/attempts.ts'
import type { Database } from '../../db/database.ts'
import { ensureDestination } from '../../db/destinations.ts'
import type { DbRow } from '../../db/row.ts'
import { readOptions } from '../../db/runs/columns.ts'
import { UsageError } from '../../errors.ts'
import { onlyPlans, type RunReport } from '../../model/report.ts'
import { loadPipeline } from '../../pipeline/load.ts'
import { destinationKey } from '../destinationKey.ts'
import type { EngineDeps } from '../engine.ts'
import { loadRun, runNumber } from '../reports/history.ts'
import { runPipeline } from './run.ts'

/**
 * Runs the pipeline of an old run again:
 *
 * - from its sources or the old run's backfill source, and as a full refresh if the old run was one
 * - with `failedOnly`, without a read: only keys of which the old run did not confirm an operation
 * - if the old run was itself such a rerun of failed operations: repeats that rerun, because it read no source
 *
 * Rejects a `plan` run or an audit if no request of its plan was sent. `pipelines`: folder of the pipeline files.
 *
 * @throws {UsageError} `UNKNOWN_RUN`, `RUN_SENT_NOTHING`, `RUN_OF_ANOTHER_DESTINATION`, and errors of the pipeline file
 * @throws {RunError} `OTHER_CREDENTIALS`
 */
export async function rerun(
  deps: EngineDeps,
  runId: string,
  options: { readonly failedOnly: boolean; readonly pipelines: string },
): Promise<RunReport> {
  const { pipeline: name, trigger } = await loadRun(deps.db, runId)
  const pipeline = await loadPipeline(options.pipelines, name, deps.env)
  const { id: destinationId } = await ensureDestination(deps.db, destinationKey(deps, pipeline))
  const id = runNumber(runId)
  if (onlyPlans(trigger) && !(await hasAttempts(deps.db, id)))
    throw new UsageError('RUN_SENT_NOTHING', `run r_${id} (${trigger}) sent nothing, so there is nothing to send again.`, {
      where: `r_${id}`,
      hint: `sluice ${trigger} ${name} repeats it; sluice run ${name} sends`,
    })
  await assertRunOfDestination(deps.db, id, { pipeline: name, destinationId })
  const [old] = await deps.db.query<DbRow<'run', 'options' | 'rerun_of'>>('select options, rerun_of from run where id = $1', [id])
  const { full, source, failedOnly: wasFailedOnly } = readOptions(old?.options)
  if (wasFailedOnly && !options.failedOnly && old?.rerun_of != null)
    return runPipeline(deps, pipeline, { trigger: 'rerun', rerunOf: Number(old.rerun_of), failedOnly: true })
  return runPipeline(deps, pipeline, {
    trigger: 'rerun',
    rerunOf: id,
    failedOnly: options.failedOnly,
    // `approveDeletes` is not copied. The deletes that it approved are stored as approved, and new deletes need a new approval.
    ...(full && !options.failedOnly ? { full } : {}),
    ...(source === undefined || options.failedOnly ? {} : { source }),
  })
}

interface CurrentDestination {
  readonly pipeline: string
  readonly destinationId: number
}

/**
 * Throws if a run was made for another destination than its pipeline has now. The pipeline file was edited, or the environment is another.
 * Accepts an unknown run, and a run without a stored destination.
 * @throws {UsageError} `RUN_OF_ANOTHER_DESTINATION`
 */
export async function assertRunOfDestination(db: Pick<Database, 'query'>, runId: number, current: CurrentDestination): Promise<void> {
  const [run] = await db.query<DbRow<'run', 'destination_id'>>('select destination_id from run where id = $1', [runId])
  if (run === undefined || run.destination_id === null || run.destination_id === current.destinationId) return
  throw new UsageError(
    'RUN_OF_ANOTHER_DESTINATION',
    `run r_${runId} went to another service or destination than ${current.pipeline} has in this environment. Nothing was sent.`,
    { where: `r_${runId}`, hint: `rerun it in the environment and folder of that run, or: sluice run ${current.pipeline}` },
  )
}

/**
 * Throws if a plan was made for another destination than its pipeline has now. `planId`: plan whose deletes a request approves. Accepts an
 * unknown plan.
 * @throws {UsageError} `PLAN_OF_ANOTHER_DESTINATION`
 */
export async function assertPlanOfDestination(db: Pick<Database, 'query'>, planId: string, current: CurrentDestination): Promise<void> {
  const [plan] = await db.query<DbRow<'plan', 'destination_id'>>('select destination_id from plan where id = $1', [planId])
  if (plan === undefined || plan.destination_id === current.destinationId) return
  throw new UsageError(
    'PLAN_OF_ANOTHER_DESTINATION',
    `plan ${planId} was made for another service or destination than ${current.pipeline} has in this environment. Nothing was approved or sent.`,
    { where: planId, hint: `sluice plan ${current.pipeline}` },
  )
}
