import { exitCodeOfStatus } from '../exitCodes.ts'
import { auditPipeline, listingOf } from '../../sync/run/auditPipeline.ts'
import { argument, flag, writeResult, type CommandRun } from '../context.ts'
import { withEngine } from '../engine.ts'
import { pipelineNamed } from '../pipelines.ts'
import { auditSummary } from '../reports/audit.ts'

/**
 * Compares the catalog at the service with the confirmed content. Changes nothing at the service; `--repair` stores a plan. Exits 3 if
 * products differ or could not be compared, 4 if a guard withholds repairs.
 */
export const run: CommandRun = async (context, invocation) => {
  const pipeline = await pipelineNamed(context, argument(invocation, 0))
  // Throws for a destination that cannot be audited, before the database is opened.
  listingOf(pipeline)
  return withEngine(
    context,
    async (engine) => {
      const report = await engine.withProgress(pipeline.name, (deps) =>
        auditPipeline(deps, pipeline, { repair: flag(invocation, 'repair') }),
      )
      writeResult(context, report, auditSummary(report, context.stdout))
      return exitCodeOfStatus[report.status]
    },
    { credentials: pipeline.credentials },
  )
}
