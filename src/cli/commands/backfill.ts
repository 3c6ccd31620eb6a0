import { UsageError } from '../../errors.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { argument, option, type CommandRun } from '../context.ts'
import { withEngine } from '../engine.ts'
import { pipelineNamed } from '../pipelines.ts'
import { runOutcome } from '../render/outcome.ts'
import { finish } from './run.ts'
import { destinationOf } from '../../destinations/index.ts'

/** Said before anything is sent; undefined where the next run keeps what only the backfill has (docs/schedules.md). */
function leavesAgain({ name, destination }: Pipeline): string | undefined {
  const type = destinationOf(destination.kind)
  const missing = type.missing(destination)
  if (missing === 'ignore' || missing === 'keep') return undefined
  const outcome = missing === 'out-of-stock' ? 'set out of stock' : 'deleted again'
  return `${type.words.records} that the source of ${name} does not have are ${outcome} by its next run; to keep them, add them to that source`
}

/** A one-off source through the same pipeline: upserts only, nothing is deleted because it is absent. */
export const run: CommandRun = async (context, invocation) => {
  const source = option(invocation, 'source')
  const name = argument(invocation, 0)
  if (source === undefined) {
    throw new UsageError('MISSING_OPTION', 'sluice backfill needs --source. Nothing was read or sent.', {
      where: '--source',
      hint: `sluice backfill ${name} --source FILE`,
    })
  }
  const pipeline = await pipelineNamed(context, name)
  const note = leavesAgain(pipeline)
  if (note !== undefined) context.stderr.write(`note   ${note}\n`)
  return withEngine(
    context,
    async (engine) => {
      const report = await engine.show(pipeline.name, (deps) => engine.sync.runPipeline(deps, pipeline, { trigger: 'backfill', source }))
      if (!context.json) context.stdout.write(runOutcome(report, context.stdout))
      return finish(context, [report], false)
    },
    { credentials: pipeline.credentials },
  )
}
