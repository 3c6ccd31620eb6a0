import { matchesGlob } from 'node:path'
import { loadPipelines, selectPipelines, selectWithConflicts, selectWithInvalid } from '../pipeline/load.ts'
import { UsageError } from '../errors.ts'
import { quoteArgument } from '../format.ts'
import type { Pipeline } from '../model/pipeline.ts'
import { correctedCall } from './commandLine/repeatedCall.ts'
import type { Context } from './context.ts'
import { suggestName } from '../suggestName.ts'

/**
 * Returns the pipelines of `--pipelines` that match the names or globs, sorted by name; without patterns, all.
 *
 * @throws {UsageError} `UNKNOWN_PIPELINE`; `NO_PIPELINES` or `PIPELINES_MISSING` if the folder is empty or cannot be read
 * @throws {ConfigError} all problems of the selected files in one error
 */
export async function pipelinesNamed(context: Context, patterns: readonly string[]): Promise<readonly Pipeline[]> {
  try {
    const pipelines = await selectPipelines(context.pipelines, patterns, context.config().env)
    if (pipelines.length > 0) return pipelines
  } catch (error) {
    if (!(error instanceof UsageError) || error.code !== 'UNKNOWN_PIPELINE') throw error
  }
  throw await unknownPipelineError(context, patterns)
}

/**
 * Returns the pipelines like `pipelinesNamed`. Also returns pipelines with the same destination, and adds an error for each of them to
 * `errors`.
 *
 * @throws as `pipelinesNamed`
 */
export async function pipelinesToCheck(context: Context, patterns: readonly string[]): ReturnType<typeof selectWithConflicts> {
  try {
    const selected = await selectWithConflicts(context.pipelines, patterns, context.config().env)
    if (selected.pipelines.length > 0) return selected
  } catch (error) {
    if (!(error instanceof UsageError) || error.code !== 'UNKNOWN_PIPELINE') throw error
  }
  throw await unknownPipelineError(context, patterns)
}

/**
 * Returns the pipelines that match the names or globs, and the errors of those with an invalid file, by name.
 *
 * @throws {UsageError} as `pipelinesNamed`
 */
export async function pipelinesToPause(context: Context, patterns: readonly string[]): ReturnType<typeof selectWithInvalid> {
  try {
    const selected = await selectWithInvalid(context.pipelines, patterns, context.config().env)
    if (selected.pipelines.length + selected.invalid.size > 0) return selected
  } catch (error) {
    if (!(error instanceof UsageError) || error.code !== 'UNKNOWN_PIPELINE') throw error
  }
  throw await unknownPipelineError(context, patterns)
}

/**
 * Returns `NO_PIPELINES` for an empty folder, else `UNKNOWN_PIPELINE`. The hint of `UNKNOWN_PIPELINE` repeats the call with the most
 * similar name.
 */
async function unknownPipelineError(context: Context, patterns: readonly string[]): Promise<UsageError> {
  const { names } = await loadPipelines(context.pipelines, context.config().env)
  const folder = `${context.pipelines.replace(/\/+$/, '')}/`
  if (names.length === 0) {
    return new UsageError('NO_PIPELINES', `there is no pipeline in ${folder}. Nothing was read or sent.`, {
      where: folder,
      hint: 'sluice init --source FILE   (writes one)',
    })
  }
  const unknown = patterns.find((pattern) => !names.some((name) => name === pattern || matchesGlob(name, pattern))) ?? ''
  const suggestion = suggestName(unknown, names)
  return new UsageError('UNKNOWN_PIPELINE', `no pipeline "${unknown}" in ${folder}. Nothing was read or sent.`, {
    where: folder,
    hint:
      suggestion === undefined
        ? 'sluice check   (shows every pipeline)'
        : (correctedCall(context.argv, unknown, suggestion) ?? `write ${suggestion} as the pipeline`),
  })
}

/**
 * Returns the only pipeline that matches the name or glob.
 *
 * @throws {UsageError} `SEVERAL_PIPELINES`, and as `pipelinesNamed`
 */
export async function pipelineNamed(context: Context, name: string): Promise<Pipeline> {
  const [pipeline, ...more] = await pipelinesNamed(context, [name])
  if (pipeline && more.length === 0) return pipeline
  throw new UsageError(
    'SEVERAL_PIPELINES',
    `"${name}" matches ${more.length + (pipeline ? 1 : 0)} pipelines, and this command takes one. Nothing was read or sent.`,
    { where: name, hint: `sluice check ${quoteArgument(name)}   (shows them; choose one)` },
  )
}
