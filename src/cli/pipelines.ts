import { matchesGlob } from 'node:path'
import { loadPipelines, selectPipelines, selectWithConflicts, selectWithInvalid } from '../pipeline/load.ts'
import { UsageError } from '../errors.ts'
import { quoteArgument } from '../format.ts'
import type { Pipeline } from '../model/pipeline.ts'
import { correctedCall } from './commandLine/repeatedCall.ts'
import type { Context } from './context.ts'
import type { Variables } from '../pipeline/variables.ts'
import { suggestName } from '../suggestName.ts'

/**
 * Returns the pipelines of `--pipelines` that match the names or globs, sorted by name; without patterns, all.
 *
 * @throws {UsageError} `UNKNOWN_PIPELINE`; `NO_PIPELINES` or `PIPELINES_MISSING` if the folder is empty or cannot be read
 * @throws {ConfigError} all problems of the selected files in one error
 */
export function pipelinesNamed(context: Context, patterns: readonly string[]): Promise<readonly Pipeline[]> {
  return selectOrThrow(context, patterns, selectPipelines, (pipelines) => pipelines.length === 0)
}

/**
 * Returns the pipelines like `pipelinesNamed`. Also returns pipelines with the same destination, and adds an error for each of them to
 * `errors`.
 *
 * @throws as `pipelinesNamed`
 */
export function pipelinesToCheck(context: Context, patterns: readonly string[]): ReturnType<typeof selectWithConflicts> {
  return selectOrThrow(context, patterns, selectWithConflicts, ({ pipelines }) => pipelines.length === 0)
}

/**
 * Returns the pipelines that match the names or globs, and the errors of those with an invalid file, by name.
 *
 * @throws {UsageError} as `pipelinesNamed`
 */
export function pipelinesToPause(context: Context, patterns: readonly string[]): ReturnType<typeof selectWithInvalid> {
  return selectOrThrow(context, patterns, selectWithInvalid, ({ pipelines, invalid }) => pipelines.length + invalid.size === 0)
}

/** Returns the pipelines that `select` finds. @throws {UsageError} if it finds none */
async function selectOrThrow<Result>(
  context: Context,
  patterns: readonly string[],
  select: (folder: string, patterns: readonly string[], variables: Variables) => Promise<Result>,
  isEmpty: (result: Result) => boolean,
): Promise<Result> {
  try {
    const result = await select(context.pipelines, patterns, context.config().env)
    if (!isEmpty(result)) return result
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

/** Returns the only pipeline that matches the name or glob. @throws {UsageError} `SEVERAL_PIPELINES`, and as `pipelinesNamed` */
export async function pipelineNamed(context: Context, name: string): Promise<Pipeline> {
  const [pipeline, ...more] = await pipelinesNamed(context, [name])
  if (pipeline && more.length === 0) return pipeline
  throw new UsageError(
    'SEVERAL_PIPELINES',
    `"${name}" matches ${more.length + (pipeline ? 1 : 0)} pipelines, and this command takes one. Nothing was read or sent.`,
    { where: name, hint: `sluice check ${quoteArgument(name)}   (shows them; choose one)` },
  )
}
