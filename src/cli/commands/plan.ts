import { writeFileSync } from 'node:fs'
import { exitCodeOf } from '../../sync/report.ts'
import { argument, flag, option, writeJson, type CommandRun } from '../context.ts'
import { withEngine } from '../engine.ts'
import { pipelineNamed } from '../pipelines.ts'
import { planVerdict } from '../render/plan.ts'

/** Reads, diffs and stores a plan; sends nothing. Exits 4 when a guard would withhold (CI needs it). */
export const run: CommandRun = async (context, invocation) => {
  const pipeline = await pipelineNamed(context, argument(invocation, 0))
  return withEngine(context, async (engine) => {
    const report = await engine.show(pipeline.name, (deps) => engine.sync.planPipeline(deps, pipeline, { full: flag(invocation, 'full') }))
    const out = option(invocation, 'out')
    if (out !== undefined) writeFileSync(out, `${JSON.stringify(report, null, 2)}\n`)
    if (context.json) writeJson(context, report)
    else context.stdout.write(planVerdict(report, context.stdout))
    return exitCodeOf(report.status)
  })
}
