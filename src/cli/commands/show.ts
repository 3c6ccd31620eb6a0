import { loadRun } from '../../sync/history.ts'
import { argument, writeJson, type CommandRun } from '../context.ts'
import { funnel } from '../render/funnel.ts'
import { withStore } from '../store.ts'

export const run: CommandRun = async (context, invocation) =>
  withStore(context, async (store) => {
    const report = await loadRun(store.db, argument(invocation, 0))
    if (context.json) writeJson(context, report)
    else context.stdout.write(funnel(report, context.stdout, report.stages))
    return 0
  })
