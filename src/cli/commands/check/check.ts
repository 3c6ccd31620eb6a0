import { checkSources } from './checkSources.ts'
import { listArgument, option, writeJson, type CommandRun } from '../../context.ts'
import { parseCount } from '../../commandLine/parseCount.ts'
import { pipelinesToCheck } from '../../pipelines.ts'
import { errorLines, presentError, type PresentedError } from '../../terminal/present.ts'
import { checkAgainLine, checkReport, nextStep, type Check } from '../../reports/check.ts'
import { destinationOf, destinationText } from '../../../destinations/index.ts'
import type { Pipeline } from '../../../model/pipeline.ts'
import { fold } from '../../terminal/text.ts'

/**
 * Checks the pipeline files, and reads and maps the first rows of each source. Sends nothing and needs no database. Exits 2 for invalid
 * files, 1 for a source with an error, 4 if a guard would stop a run.
 */
export const run: CommandRun = async (context, invocation) => {
  const limit = parseCount('--rows', option(invocation, 'rows') ?? '200', { min: 1, max: 1_000_000_000 })
  const { pipelines, errors } = await pipelinesToCheck(context, listArgument(invocation, 0))
  const checks: Check[] = []
  for (const pipeline of pipelines) {
    const sources = await checkSources(context, pipeline, limit)
    const check: Check = { pipeline: pipeline.name, file: pipeline.file, destination: destinationText(pipeline.destination), sources }
    checks.push(check)
    if (!context.json) context.stdout.write(checkReport(check, effectOfEmptyRead(pipeline), context.stdout))
  }
  const sourceErrors = checks.flatMap((check) => check.sources.flatMap((source) => (source.error ? [source.error] : [])))
  const fileErrors = errors.map((error) => presentError(error, context.config().secrets))
  if (context.json) writeJson(context, fileErrors.length === 0 ? checks : checks.map((check) => withProblems(check, fileErrors)))
  else {
    for (const error of [...sourceErrors, ...fileErrors])
      context.stdout.write(fold(errorLines(error, undefined, context.stdout), context.stdout.columns))
    if (sourceErrors.length + fileErrors.length === 0) context.stdout.write(nextStep(checks, context.stdout))
    else context.stdout.write(checkAgainLine(checks, context.stdout))
  }
  if (fileErrors.length > 0) return 2
  // A run of these sources would also exit with 1 or 4.
  const isStopped = checks.some(({ sources }) => sources.some(({ holds }) => holds.length > 0))
  return sourceErrors.length > 0 ? 1 : isStopped ? 4 : 0
}

/** Returns the effect of a run whose sources have no rows. */
function effectOfEmptyRead({ destination, guards }: Pipeline): string {
  const missing = destinationOf(destination.kind).missing(destination)
  if (missing === 'ignore' || missing === 'keep') return 'a run would send nothing, and delete nothing'
  if (guards.minRows > 0) return 'a run would send nothing, and delete nothing (guards.min_rows)'
  return missing === 'out-of-stock'
    ? 'a run may set out of stock what was sent before, because guards.min_rows is 0'
    : 'a run would send nothing, but may delete what was sent before, because guards.min_rows is 0'
}

/** Adds the problems of the pipeline's file that stop a run although the file itself is valid. */
function withProblems(check: Check, errors: readonly PresentedError[]): Check {
  const problems = errors.flatMap((error) => (error.where !== null && check.file.endsWith(error.where) ? (error.problems ?? []) : []))
  return problems.length === 0 ? check : { ...check, problems }
}
