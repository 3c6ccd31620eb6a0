import { rerun } from '../../sync/run/rerun.ts'
import { argument, flag, type CommandRun } from '../context.ts'
import { credentialsOfPlanOrRun } from '../services.ts'
import { runOnce } from './run.ts'

/** Repeats a run: reads its source again, or with `--failed` sends only the operations that were not confirmed. */
export const run: CommandRun = async (context, invocation) => {
  const runId = argument(invocation, 0)
  const target = { label: `rerun of ${runId}`, credentials: await credentialsOfPlanOrRun(context, runId) }
  const options = { failedOnly: flag(invocation, 'failed'), pipelines: context.pipelines }
  return runOnce(context, target, (deps) => rerun(deps, runId, options))
}
