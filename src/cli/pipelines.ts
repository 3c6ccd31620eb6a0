import { selectPipelines } from '../pipeline/load.ts'
import { UsageError } from '../errors.ts'
import type { Pipeline } from '../pipeline/definition.ts'
import type { Context } from './context.ts'

/**
 * The pipelines of `--pipelines` that the names or globs pick, in the order of their names.
 *
 * @throws {UsageError} `UNKNOWN_PIPELINE`
 * @throws {ConfigError} every problem of every file at once
 */
export async function pipelinesNamed(context: Context, patterns: readonly string[]): Promise<readonly Pipeline[]> {
  return selectPipelines(context.pipelines, patterns.length === 0 ? ['*'] : patterns)
}

/** The one pipeline of that name, for commands that take no globs. */
export async function pipelineNamed(context: Context, name: string): Promise<Pipeline> {
  const [pipeline, ...more] = await pipelinesNamed(context, [name])
  if (pipeline && more.length === 0) return pipeline
  throw new UsageError('ONE_PIPELINE', `"${name}" names ${more.length + (pipeline ? 1 : 0)} pipelines, and this command takes one. Nothing was read or sent.`, { where: name, mend: `sluice check '${name}'` })
}
