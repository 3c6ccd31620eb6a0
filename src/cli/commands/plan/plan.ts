import type { PlanReport } from '../../../model/report.ts'
import { exitCodeOfRun, worstExitCode } from '../../exitCodes.ts'
import { flag, list, option, writeJson, type CommandRun } from '../../context.ts'
import { withEngine } from '../../engine.ts'
import { pipelinesNamed } from '../../pipelines.ts'
import { changesOf, writePlans } from '../../reports/planFile.ts'
import { planSummary } from './planReport.ts'
import { planMarkdown } from '../../reports/planChanges.ts'
import { groupByCredentials } from '../../services.ts'

/** Reads the sources, and stores and shows a plan for each pipeline. Sends nothing. Exits 4 if a guard withholds something, for CI. */
export const run: CommandRun = async (context, invocation) => {
  const names = list(invocation, 0)
  const groups = groupByCredentials(await pipelinesNamed(context, names))
  const out = option(invocation, 'out')
  const reports: PlanReport[] = []
  for (const group of groups)
    await withEngine(
      context,
      async (engine) => {
        for (const pipeline of group) {
          context.signal.throwIfAborted()
          const report = await engine.show(pipeline.name, (deps) =>
            engine.sync.planPipeline(deps, pipeline, { full: flag(invocation, 'full') }),
          )
          reports.push(report)
          if (context.json) continue
          context.stdout.write(
            flag(invocation, 'markdown')
              ? await planMarkdown(report, changesOf(engine.deps.db, report))
              : planSummary(report, context.stdout),
          )
        }
        if (out !== undefined && group === groups.at(-1)) await writePlans(engine.deps.db, out, reports)
      },
      { credentials: group[0]?.credentials },
    )
  if (context.json) writeJson(context, names.length > 1 || reports.length > 1 ? reports : reports[0])
  return worstExitCode(reports.map(({ status }) => exitCodeOfRun(status)))
}
