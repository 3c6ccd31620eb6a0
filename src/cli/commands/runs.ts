import { matchesGlob } from 'node:path'
import { parseCount } from '../commandLine/parseCount.ts'
import { listRuns, pipelinesWithRuns } from '../../sync/reports/history.ts'
import { argument, option, writeJson, type CommandRun } from '../context.ts'
import { runsTable } from '../reports/funnel.ts'
import { withStore } from '../store.ts'
import { hintText } from '../terminal/text.ts'
import { quoteArgument } from '../../format.ts'

/** Shows the history, newest first. Names and globs match stored runs, because a pipeline without a file still has its history. */
export const run: CommandRun = async (context, invocation) => {
  const limit = parseCount('--limit', option(invocation, 'limit') ?? '20', { min: 1, max: 10_000 })
  const pipeline = argument(invocation, 0)
  return withStore(context, async (store) => {
    const pipelines =
      pipeline === '' ? undefined : (await pipelinesWithRuns(store.db)).filter((name) => name === pipeline || matchesGlob(name, pipeline))
    const reports = await listRuns(store.db, { limit, ...(pipelines === undefined ? {} : { pipelines }) })
    // Throws UNKNOWN_PIPELINE if no pipeline file matches either.
    if (reports.length === 0 && pipeline !== '') await (await import('../pipelines.ts')).pipelinesNamed(context, [pipeline])
    if (context.json) writeJson(context, reports)
    else if (reports.length === 0) {
      const next = pipeline === '' ? 'sluice check   (shows every pipeline)' : `sluice run ${quoteArgument(pipeline)}`
      context.stdout.write(`no runs yet: ${hintText(next, context.stdout)}\n`)
    } else context.stdout.write(runsTable(reports, context.stdout))
    return 0
  })
}
