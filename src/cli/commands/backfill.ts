import { UsageError } from '../../errors.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { argument, option, type CommandRun } from '../context.ts'
import { withEngine } from '../engine.ts'
import { pipelineNamed } from '../pipelines.ts'
import { runOutcome } from '../reports/outcome.ts'
import { finishRuns } from './run.ts'
import { destinationOf } from '../../destinations/index.ts'

/** Returns the warning that the next run removes the rows of the backfill; undefined if it keeps them (docs/schedules.md). */
function nextRunWarning({ name, destination }: Pipeline): string | undefined {
  const type = destinationOf(destination.kind)
  const missing = type.missing(destination)
  if (missing === 'ignore' || missing === 'keep') return undefined
  const effect = missing === 'out-of-stock' ? 'sets out of stock the' : 'deletes the'
  return `the next run of ${name} ${effect} ${type.words.records} that its source does not have; to keep them, add them to that source`
}

/** Sends another source through the pipeline: upserts only, no deletes of missing rows. */
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
  const note = nextRunWarning(pipeline)
  if (note !== undefined) context.stderr.write(`note   ${note}\n`)
  return withEngine(
    context,
    async (engine) => {
      const report = await engine.show(pipeline.name, (deps) => engine.sync.runPipeline(deps, pipeline, { trigger: 'backfill', source }))
      if (!context.json) context.stdout.write(runOutcome(report, context.stdout))
      return finishRuns(context, [report], false)
    },
    { credentials: pipeline.credentials },
  )
}
