import { parseCount } from './parseCount.ts'
import { loadPipeline, loadPipelines } from '../pipeline/load.ts'
import type { JobDeps } from '../jobs/index.ts'
import type { EngineDeps } from '../sync/engine.ts'
import { option, type Context, type Invocation } from './context.ts'

/** What scheduler and workers need: the engine's dependencies, and the pipeline files read anew each time. */
export function jobDeps(context: Context, deps: EngineDeps): JobDeps {
  return {
    ...deps,
    loadPipeline: (name) => loadPipeline(context.pipelines, name),
    async loadPipelines() {
      const { pipelines, errors } = await loadPipelines(context.pipelines)
      for (const error of errors) deps.log.error({ code: error.code, where: error.where }, error.message)
      return pipelines
    },
  }
}

export function concurrencyOf(invocation: Invocation): { readonly concurrency?: number } {
  const given = option(invocation, 'concurrency')
  return given === undefined ? {} : { concurrency: parseCount('--concurrency', given, { min: 1, max: 256 }) }
}
