import type { PlanReport } from '../../../model/report.ts'
import { flag, listArgument, option, type CommandRun } from '../../context.ts'
import { planPipeline } from '../../../sync/run/run.ts'
import { eachPipeline } from '../../eachPipeline.ts'
import { pipelinesNamed } from '../../pipelines.ts'
import { changesOf, writePlans } from '../../reports/planFile.ts'
import { finishRuns } from '../run.ts'
import { planSummary } from './planReport.ts'
import { planMarkdown } from '../../reports/planChanges.ts'

/**
 * Reads the sources of each pipeline, and stores and shows its plan. Changes nothing at the service. Exits 4 if a guard withholds deletes
 * or stops the plan, so that CI can fail.
 */
export const run: CommandRun = async (context, invocation) => {
  const names = listArgument(invocation, 0)
  const out = option(invocation, 'out')
  const pipelines = await pipelinesNamed(context, names)
  const reports = await eachPipeline<PlanReport>(context, pipelines, {
    async each(engine, pipeline) {
      const report = await engine.withProgress(pipeline.name, (deps) => planPipeline(deps, pipeline, { full: flag(invocation, 'full') }))
      if (!context.json)
        context.stdout.write(
          flag(invocation, 'markdown')
            ? await planMarkdown(report, changesOf(engine.deps.db, report))
            : planSummary(report, context.stdout),
        )
      return report
    },
    toErrorReport: (report) => ({ ...report, trigger: 'plan', planId: '', updateFields: [], requests: 0, minutes: null, proof: '' }),
    end: async (db, all) => (out === undefined ? undefined : writePlans(db, out, all)),
  })
  return finishRuns(context, reports, { asList: names.length > 1 || pipelines.length > 1 })
}
