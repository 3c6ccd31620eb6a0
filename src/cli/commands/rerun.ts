import { loadRun, runNumber } from '../../sync/history.ts'
import { argument, flag, type CommandRun } from '../context.ts'
import { withEngine } from '../engine.ts'
import { pipelineNamed } from '../pipelines.ts'
import { runOutcome } from '../render/outcome.ts'
import { finish } from './run.ts'

/** A run that somebody in operations asks for: the run's source once more, or only what it left unconfirmed. */
export const run: CommandRun = async (context, invocation) =>
  withEngine(context, async (engine) => {
    const past = await loadRun(engine.store.db, argument(invocation, 0))
    const pipeline = await pipelineNamed(context, past.pipeline)
    const report = await engine.show(pipeline.name, (deps) => engine.sync.rerunPipeline(deps, pipeline, runNumber(past.runId), { failedOnly: flag(invocation, 'failed') }))
    if (!context.json) context.stdout.write(runOutcome(report, context.stdout))
    return finish(context, [report], false)
  })
