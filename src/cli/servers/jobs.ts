import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseCount } from '../commandLine/parseCount.ts'
import { UsageError } from '../../errors.ts'
import { loadPipeline, loadPipelines } from '../../pipeline/load.ts'
import type { JobDeps } from '../../jobs/index.ts'
import type { EngineDeps } from '../../sync/engine.ts'
import { option, type Context, type Invocation } from '../context.ts'
import { withEngine, type EngineOptions } from '../engine.ts'
import { credentialSets } from '../services.ts'

/**
 * Returns the dependencies of scheduler and workers: those of the engine, and the pipelines with these credentials, which are read
 * again each time.
 */
export function jobDeps(context: Context, deps: EngineDeps, credentials?: string): JobDeps {
  return {
    ...deps,
    async loadPipeline(name) {
      const pipeline = await loadPipeline(context.pipelines, name, context.config().env)
      if (pipeline.credentials === credentials) return pipeline
      throw new UsageError('UNKNOWN_PIPELINE', `"${name}" uses other credentials`, { where: pipeline.file })
    },
    async loadPipelines() {
      const loaded = await loadPipelines(context.pipelines, context.config().env)
      for (const error of loaded.errors) deps.log.error({ code: error.code, where: error.where }, error.message)
      return { ...loaded, pipelines: loaded.pipelines.filter((pipeline) => pipeline.credentials === credentials) }
    },
    // Each set of credentials has its own schedules, so it is a part of the name.
    folder: credentials === undefined ? realFolder(context.pipelines) : `${realFolder(context.pipelines)}#${credentials}`,
  }
}

export function concurrencyOf(invocation: Invocation): { readonly concurrency?: number } {
  const given = option(invocation, 'concurrency')
  return given === undefined ? {} : { concurrency: parseCount('--concurrency', given, { min: 1, max: 256 }) }
}

/** Resolves the path of the folder. A missing folder is reported when it is read. */
function realFolder(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return resolve(folder)
  }
}

interface Running {
  readonly stop: () => Promise<void>
}

/**
 * Calls `start` for each named set of credentials that the pipelines of the folder use, with its own connection to the service. A
 * set that a pipeline names later is started only after a restart.
 */
export async function withNamedCredentials(
  context: Context,
  options: EngineOptions,
  start: (deps: JobDeps) => Promise<Running>,
): Promise<Running> {
  const ended = Promise.withResolvers<void>()
  const running: Promise<void>[] = []
  for (const credentials of (await credentialSets(context)).slice(1)) {
    const up = Promise.withResolvers<void>()
    const whole = withEngine(
      context,
      async ({ deps }) => {
        const work = await start(jobDeps(context, deps, credentials))
        up.resolve()
        await ended.promise
        await work.stop()
      },
      { ...options, credentials },
    )
    running.push(whole)
    await Promise.race([up.promise, whole])
  }
  return {
    async stop() {
      ended.resolve()
      await Promise.all(running)
    },
  }
}
