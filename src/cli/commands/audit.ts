import { exitCodeOf } from '../../model/report.ts'
import { listingOf } from '../../sync/auditPipeline.ts'
import { argument, flag, writeJson, type CommandRun } from '../context.ts'
import { withEngine } from '../engine.ts'
import { pipelineNamed } from '../pipelines.ts'
import { auditVerdict } from '../render/audit.ts'

/** Reads the catalog back and says what is not as it was confirmed; sends nothing. Exits 3 where something is not, or could not be judged. */
export const run: CommandRun = async (context, invocation) => {
  const pipeline = await pipelineNamed(context, argument(invocation, 0))
  // Before a database or a service is asked for anything.
  listingOf(pipeline)
  return withEngine(
    context,
    async (engine) => {
      const report = await engine.show(pipeline.name, (deps) =>
        engine.sync.auditPipeline(deps, pipeline, { repair: flag(invocation, 'repair') }),
      )
      if (context.json) writeJson(context, report)
      else context.stdout.write(auditVerdict(report, context.stdout))
      return exitCodeOf(report.status)
    },
    { credentials: pipeline.credentials },
  )
}
