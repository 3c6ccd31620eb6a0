import { argument, flag, type CommandRun } from '../context.ts'
import { withEngine } from '../engine.ts'
import { runOutcome } from '../reports/outcome.ts'
import { credentialsOfStored } from '../services.ts'
import { finishRuns } from './run.ts'

/** Repeats a run: reads its source again, or with `--failed` sends only the operations that were not confirmed. */
export const run: CommandRun = async (context, invocation) => {
  const runId = argument(invocation, 0)
  const credentials = await credentialsOfStored(context, runId)
  return withEngine(
    context,
    async (engine) => {
      const options = { failedOnly: flag(invocation, 'failed'), pipelines: context.pipelines }
      const report = await engine.show(`rerun of ${runId}`, (deps) => engine.sync.rerun(deps, runId, options))
      if (!context.json) context.stdout.write(runOutcome(report, context.stdout))
      return finishRuns(context, [report], false)
    },
    { credentials },
  )
}
