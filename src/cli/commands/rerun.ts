import { argument, flag, type CommandRun } from '../context.ts'
import { withEngine } from '../engine.ts'
import { runOutcome } from '../render/outcome.ts'
import { finish } from './run.ts'

export const run: CommandRun = async (context, invocation) =>
  withEngine(context, async (engine) => {
    const runId = argument(invocation, 0)
    const report = await engine.show(`rerun of ${runId}`, (deps) => engine.sync.rerun(deps, runId, { failedOnly: flag(invocation, 'failed'), pipelines: context.pipelines }))
    if (!context.json) context.stdout.write(runOutcome(report, context.stdout))
    return finish(context, [report], false)
  })
