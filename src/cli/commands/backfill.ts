import { UsageError } from '../../errors.ts'
import { quoteArgument } from '../../format.ts'
import { runPipeline } from '../../sync/run/run.ts'
import type { Pipeline } from '../../model/pipeline.ts'
import { argument, option, type CommandRun } from '../context.ts'
import { pipelineNamed } from '../pipelines.ts'
import { runOnce } from './run.ts'
import { destinationOf } from '../../destinations/index.ts'

/** Sends the rows of another source through the pipeline. Adds, updates, and removes people whose rows opt out. Deletes no missing rows. */
export const run: CommandRun = async (context, invocation) => {
  const source = option(invocation, 'source')
  const name = argument(invocation, 0)
  // An empty value comes from a shell variable that is not set.
  if (source === undefined || source.trim() === '') {
    throw new UsageError('MISSING_OPTION', 'sluice backfill needs --source. Nothing was read or sent.', {
      where: '--source',
      hint: `sluice backfill ${quoteArgument(name)} --source FILE`,
    })
  }
  const pipeline = await pipelineNamed(context, name)
  const warning = nextRunWarning(pipeline)
  if (warning !== undefined) context.stderr.write(`note   ${warning}\n`)
  const target = { label: pipeline.name, credentials: pipeline.credentials }
  return runOnce(context, target, (deps) => runPipeline(deps, pipeline, { trigger: 'backfill', source }))
}

/**
 * Returns a warning if the next run deletes the records of the backfill or sets them out of stock. For people, it also warns about opt-outs
 * that only the pipeline's own source has. Undefined if the next run keeps the records
 * (docs/schedules.md#a-backfill-and-the-run-after-it).
 */
function nextRunWarning({ name, destination }: Pipeline): string | undefined {
  const type = destinationOf(destination.kind)
  const missing = type.missing(destination)
  if (missing === 'ignore' || missing === 'keep') return undefined
  const effect = missing === 'out-of-stock' ? 'sets out of stock the' : 'deletes the'
  const note = `the next run of ${name} ${effect} ${type.words.records} that its source does not have; to keep them, add them to that source`
  // People who were never sent are not stored, so a backfill does not know their opt-outs.
  return type.reachesPeople ? `${note}. The backfill sends people whose opt-out is only in that source: leave them out of its file` : note
}
