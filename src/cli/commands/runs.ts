import { parseCount } from '../parseCount.ts'
import { listRuns } from '../../sync/history.ts'
import { argument, option, writeJson, type CommandRun } from '../context.ts'
import { runsTable } from '../render/funnel.ts'
import { withStore } from '../store.ts'

/** History, newest first. A pipeline whose file is gone keeps its history, so the name is not checked against files. */
export const run: CommandRun = async (context, invocation) => {
  const limit = parseCount('--limit', option(invocation, 'limit') ?? '20', { min: 1, max: 10_000 })
  const pipeline = argument(invocation, 0)
  return withStore(context, async (store) => {
    const reports = await listRuns(store.db, { limit, ...(pipeline === '' ? {} : { pipeline }) })
    // A name that has neither runs nor a file is a slip of the pen.
    if (reports.length === 0 && pipeline !== '') await (await import('../pipelines.ts')).pipelineNamed(context, pipeline)
    if (context.json) writeJson(context, reports)
    else if (reports.length === 0) context.stdout.write(`no runs yet: sluice run ${pipeline === '' ? '<pipeline>' : pipeline}\n`)
    else context.stdout.write(runsTable(reports, context.stdout))
    return 0
  })
}
