import { UsageError } from '../../errors.ts'
import { argument, option, type CommandRun } from '../context.ts'
import { withEngine } from '../engine.ts'
import { pipelineNamed } from '../pipelines.ts'
import { runOutcome } from '../render/outcome.ts'
import { finish } from './run.ts'

/** A one-off source through the same pipeline: upserts only, nothing is deleted because it is absent. */
export const run: CommandRun = async (context, invocation) => {
  const source = option(invocation, 'source')
  const name = argument(invocation, 0)
  if (source === undefined) {
    throw new UsageError('MISSING_OPTION', 'sluice backfill needs --source. Nothing was read or sent.', {
      where: '--source',
      mend: `sluice backfill ${name} --source FILE`,
    })
  }
  const pipeline = await pipelineNamed(context, name)
  return withEngine(context, async (engine) => {
    const report = await engine.show(pipeline.name, (deps) => engine.sync.runPipeline(deps, pipeline, { trigger: 'backfill', source }))
    if (!context.json) context.stdout.write(runOutcome(report, context.stdout))
    return finish(context, [report], false)
  })
}
