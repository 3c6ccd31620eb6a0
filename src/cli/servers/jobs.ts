import { realpathSync } from 'node:fs'
import { resolve } from 'node:path'
import { parseCount } from '../commandLine/parseCount.ts'
import { UsageError } from '../../errors.ts'
import { loadPipeline, loadPipelines } from '../../pipeline/load.ts'
import type { JobDeps } from '../../jobs/index.ts'
import type { EngineDeps } from '../../sync/engine.ts'
import { option, type Context, type Invocation } from '../context.ts'
import { withEngine, type EngineOptions } from '../engine.ts'
import type { Pipeline } from '../../model/pipeline.ts'

/**
 * Returns the dependencies of scheduler and workers: the dependencies of the engine, and functions that load the current pipeline files.
 * These functions return only pipelines with `credentials`: a named set of sluice.yaml, or undefined for the credentials of the
 * environment. Closes standard input.
 *
 * For the environment, `loadPipelines` also logs the errors of the files and the texts of `unservedPipelines`, each when it first appears.
 * So a process with several sets of credentials logs them once. `sets`: the sets of the process. Default: only the environment.
 */
export function jobDeps(
  context: Context,
  deps: EngineDeps,
  credentials?: string,
  sets: ReadonlySet<string | undefined> = new Set([undefined]),
): JobDeps {
  let logged = new Set<string>()
  // A run of a pipeline that reads standard input would wait for the terminal of this process.
  process.stdin.destroy()
  return {
    ...deps,
    async loadPipeline(name) {
      const pipeline = await loadPipeline(context.pipelines, name, context.config().env)
      if (pipeline.credentials === credentials) return pipeline
      throw new UsageError('UNKNOWN_PIPELINE', `"${name}" uses other credentials`, { where: pipeline.file })
    },
    async loadPipelines() {
      const loaded = await loadPipelines(context.pipelines, context.config().env)
      if (credentials === undefined) {
        const errors = [
          ...loaded.errors.map(({ code, where, message }) => ({ fields: { code, where }, text: message })),
          ...unservedPipelines(loaded.pipelines, sets).map((text) => ({ fields: {}, text })),
        ]
        const present = new Map(errors.map((error) => [JSON.stringify(error), error]))
        for (const [key, { fields, text }] of present) if (!logged.has(key)) deps.log.error(fields, text)
        logged = new Set(present.keys())
      }
      return { ...loaded, pipelines: loaded.pipelines.filter((pipeline) => pipeline.credentials === credentials) }
    },
    // Each set of credentials has its own schedules, so its name is a part of the folder's name.
    folder: credentials === undefined ? realFolder(context.pipelines) : `${realFolder(context.pipelines)}#${credentials}`,
  }
}

/**
 * Returns a text for each pipeline with credentials that the process did not connect with. `sets`: names of the credentials at the start of
 * the process. This process starts neither scheduled nor queued runs of such a pipeline.
 */
export function unservedPipelines(
  pipelines: readonly Pick<Pipeline, 'file' | 'credentials'>[],
  sets: ReadonlySet<string | undefined>,
): string[] {
  return pipelines
    .filter(({ credentials }) => !sets.has(credentials))
    .map(
      ({ file, credentials }) =>
        `${file} names credentials "${credentials ?? ''}", which this process did not load when it started: restart serve and each worker`,
    )
}

/** Returns the value of `--concurrency`. @throws {UsageError} `INVALID_VALUE` */
export function concurrencyOf(invocation: Invocation): { readonly concurrency?: number } {
  const given = option(invocation, 'concurrency')
  return given === undefined ? {} : { concurrency: parseCount('--concurrency', given, { min: 1, max: 256 }) }
}

/** Returns the absolute path without symbolic links. If the folder does not exist, returns its absolute path. */
export function realFolder(folder: string): string {
  try {
    return realpathSync(folder)
  } catch {
    return resolve(folder)
  }
}

/** Started scheduler or worker. */
export interface Running {
  readonly stop: () => Promise<void>
}

/**
 * Calls `start` for each named set of credentials in `sets`, each with its own engine. Resolves once all are started. If one fails, stops
 * the others and throws its error. A set that a pipeline names later needs a restart of the process.
 */
export async function startForNamedCredentials(
  context: Context,
  sets: ReadonlySet<string | undefined>,
  options: EngineOptions,
  start: (deps: JobDeps) => Promise<Running>,
): Promise<Running> {
  const stopped = Promise.withResolvers<void>()
  const running: Promise<void>[] = []
  try {
    for (const credentials of [...sets].filter((name) => name !== undefined)) {
      const started = Promise.withResolvers<void>()
      const engineClosed = withEngine(
        context,
        async ({ deps }) => {
          const work = await start(jobDeps(context, deps, credentials))
          started.resolve()
          await stopped.promise
          await work.stop()
        },
        { ...options, credentials },
      )
      running.push(engineClosed)
      await Promise.race([started.promise, engineClosed])
    }
  } catch (error) {
    stopped.resolve()
    await Promise.allSettled(running)
    throw error
  }
  return {
    async stop() {
      stopped.resolve()
      await Promise.all(running)
    },
  }
}
