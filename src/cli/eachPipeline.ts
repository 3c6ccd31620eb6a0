/** Loop over the pipelines of a `run` or `plan` command. */
import type { CompleteServiceSettings } from '../config/config.ts'
import type { Database } from '../db/database.ts'
import { RunError, SluiceError } from '../errors.ts'
import type { Pipeline } from '../model/pipeline.ts'
import { noCounts, type RunReport } from '../model/report.ts'
import type { Context } from './context.ts'
import { openEngine, storeOptions, type Engine } from './engine.ts'
import { exitCodeOfError, exitCodeOfStatus } from './exitCodes.ts'
import { serviceOf } from './services.ts'
import { withStore } from './store.ts'
import { errorLines, presentError, stackLines } from './terminal/present.ts'

/** Work of a command on several pipelines. */
export interface PipelineWork<Report extends RunReport> {
  readonly each: (engine: Engine, pipeline: Pipeline) => Promise<Report>
  /** Converts the report of a pipeline whose `each` threw. `report` has the error, and all counts are 0. */
  readonly toErrorReport: (report: RunReport) => Report
  /** Called with all reports before the database is closed. */
  readonly end?: (db: Database, reports: readonly Report[]) => Promise<void>
}

/**
 * Processes the pipelines one after the other, so that each has the whole rate budget. Returns their reports. Finds the service of each
 * pipeline before the first one starts. If there are several pipelines, an error becomes the report of its pipeline; without `--json`, it
 * is also printed. A signal ends the loop.
 *
 * @throws {ConfigError} as `serviceOf`, before anything is read or sent
 * @throws the error of `each` if there is only one pipeline
 * @throws the reason of the signal if no pipeline is done
 */
export async function eachPipeline<Report extends RunReport>(
  context: Context,
  pipelines: readonly Pipeline[],
  { each, toErrorReport, end }: PipelineWork<Report>,
): Promise<readonly Report[]> {
  const services = new Map<Pipeline['credentials'], CompleteServiceSettings>()
  for (const { credentials } of pipelines) if (!services.has(credentials)) services.set(credentials, await serviceOf(context, credentials))
  return withStore(
    context,
    async (store) => {
      await using disposables = new AsyncDisposableStack()
      const engines = new Map<Pipeline['credentials'], Engine>()
      for (const [credentials, service] of services)
        engines.set(credentials, disposables.use(await openEngine(context, store, service, { credentials })))
      const reports: Report[] = []
      for (const pipeline of pipelines) {
        if (context.signal.aborted) break
        const engine = engines.get(pipeline.credentials)
        if (engine === undefined) throw new Error(`no engine was opened for ${pipeline.name}`)
        const startedAt = context.clock.now()
        try {
          reports.push(await each(engine, pipeline))
        } catch (error) {
          if (pipelines.length === 1) throw error
          // After a signal, an error of another class than `SluiceError` is the abort itself. The pipeline did not fail.
          if (context.signal.aborted && !(error instanceof SluiceError)) break
          reports.push(toErrorReport(errorReport(context, pipeline.name, startedAt, error)))
        }
      }
      // No report: a signal came before the first pipeline was done.
      if (reports.length === 0) context.signal.throwIfAborted()
      await end?.(store.db, reports)
      return reports
    },
    storeOptions,
  )
}

/** Returns the report of a pipeline that failed, with an empty `runId` if no run began. Without `--json`, prints the error. */
function errorReport(context: Context, pipeline: string, startedAt: number, thrown: unknown): RunReport {
  const { log, secrets } = context.config()
  const { problems: _, ...error } = presentError(thrown, secrets)
  if (!context.json) context.stderr.write(errorLines({ ...error, where: error.where ?? pipeline }, context.command, context.stdout))
  context.stderr.write(stackLines(thrown, log.level))
  const finishedAt = context.clock.now()
  return {
    runId: (thrown instanceof RunError ? thrown.runId : undefined) ?? '',
    pipeline,
    trigger: 'manual',
    status: exitCodeOfError(thrown) === exitCodeOfStatus.skipped ? 'skipped' : 'failed',
    counts: noCounts,
    guards: [],
    startedAt: new Date(startedAt).toISOString(),
    finishedAt: new Date(finishedAt).toISOString(),
    durationMs: finishedAt - startedAt,
    error,
  }
}
