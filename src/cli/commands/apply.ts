import { argument, type CommandRun } from '../context.ts'
import { withEngine } from '../engine.ts'
import { runOutcome } from '../reports/outcome.ts'
import { credentialsOfStored } from '../services.ts'
import { finishRuns } from './run.ts'

/** Sends a stored plan, without people who were suppressed since. For a plan that was applied before, sends nothing and reports that. */
export const run: CommandRun = async (context, invocation) => {
  const credentials = await credentialsOfStored(context, argument(invocation, 0))
  return withEngine(
    context,
    async (engine) => {
      const report = await engine.show(`plan ${argument(invocation, 0)}`, (deps) => engine.sync.applyPlan(deps, argument(invocation, 0)))
      if (!context.json) context.stdout.write(runOutcome(report, context.stdout))
      return finishRuns(context, [report], false)
    },
    { credentials },
  )
}
