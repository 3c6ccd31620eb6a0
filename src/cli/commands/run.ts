import { UsageError } from '../../errors.ts'
import { parseCount } from '../commandLine/parseCount.ts'
import type { RunReport } from '../../model/report.ts'
import { exitCodeOfStatus, worstExitCode } from '../exitCodes.ts'
import { flag, listArgument, option, writeJson, type CommandRun, type Context } from '../context.ts'
import { eachPipeline } from '../eachPipeline.ts'
import { withEngine } from '../engine.ts'
import { operator } from '../operator.ts'
import type { EngineDeps } from '../../sync/engine.ts'
import { pipelinesNamed } from '../pipelines.ts'
import { runOutcome } from '../reports/outcome.ts'
import { relativePath } from '../terminal/text.ts'
import { destinationOf } from '../../destinations/index.ts'

/** Runs the pipelines one after the other. Returns the exit code of the worst outcome. */
export const run: CommandRun = async (context, invocation) => {
  const names = listArgument(invocation, 0)
  const approve = option(invocation, 'approveDeletes')
  const approveDeletes = approve === undefined ? undefined : parseCount('--approve-deletes', approve, { min: 0, max: 1_000_000_000 })
  // Do-not-reach pipelines run first, so that suppressed people are known before audiences are sent (docs/guarantees.md#suppression-wins).
  const pipelines = (await pipelinesNamed(context, names)).toSorted(
    (a, b) => Number(destinationOf(b.destination.kind).suppresses) - Number(destinationOf(a.destination.kind).suppresses),
  )
  if (approveDeletes !== undefined && pipelines.length > 1) {
    throw new UsageError(
      'APPROVAL_NEEDS_ONE',
      `--approve-deletes is for one pipeline, but ${pipelines.length} are named. Nothing was read or sent.`,
      {
        where: '--approve-deletes',
        hint: `sluice run ${pipelines[0]?.name ?? ''} --approve-deletes ${approveDeletes}${flag(invocation, 'full') ? ' --full' : ''}`,
      },
    )
  }
  // The engine has more than 100 files. They are loaded while the connections to the database are opened.
  const loading = import('../../sync/run/run.ts')
  const reports = await eachPipeline(context, pipelines, {
    async each(engine, pipeline) {
      const { runPipeline } = await loading
      const report = await engine.withProgress(pipeline.name, (deps) =>
        runPipeline(deps, pipeline, {
          trigger: 'manual',
          full: flag(invocation, 'full'),
          takeOver: flag(invocation, 'takeOver'),
          ...(approveDeletes === undefined ? {} : { approveDeletes, ...operator() }),
        }),
      )
      if (!context.json) context.stdout.write(runOutcome(report, context.stdout))
      return report
    },
    toErrorReport: (report) => report,
  })
  return finishRuns(context, reports, { asList: names.length > 1 || pipelines.length > 1 })
}

/** Runs `call` with the engine of these credentials, prints the report, and returns the exit code. `label`: name in progress lines. */
export function runOnce(
  context: Context,
  { label, credentials }: { readonly label: string; readonly credentials: string | undefined },
  call: (deps: EngineDeps) => Promise<RunReport>,
): Promise<number> {
  return withEngine(
    context,
    async (engine) => {
      const report = await engine.withProgress(label, call)
      if (!context.json) context.stdout.write(runOutcome(report, context.stdout))
      return finishRuns(context, [report], { asList: false })
    },
    { credentials },
  )
}

/** Prints the `--json` document of runs or plans: all reports with `asList`, else the only one. Returns the worst exit code. */
export function finishRuns(context: Context, reports: readonly RunReport[], { asList }: { readonly asList: boolean }): number {
  const shown = reports.map((report) =>
    report.error === undefined || report.error.where === null
      ? report
      : { ...report, error: { ...report.error, where: relativePath(report.error.where) } },
  )
  if (context.json) writeJson(context, asList ? shown : shown[0])
  return worstExitCode(reports.map((report) => exitCodeOfStatus[report.status]))
}
