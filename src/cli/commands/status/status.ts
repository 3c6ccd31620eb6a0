import { list, writeJson, type CommandRun, type Output } from '../../context.ts'
import { folderStatus, type FolderStatus, type PipelineStatus } from './folderStatus.ts'
import { withStore } from '../../store.ts'
import { duration, fold, instant, plural, safe, tableWithin } from '../../terminal/text.ts'

/** Shows each pipeline's last result and what needs action. Read-only. */
export const run: CommandRun = async (context, invocation) =>
  withStore(context, async (store) => {
    const status = await folderStatus(context, store.db, list(invocation, 0))
    if (context.json) writeJson(context, status)
    else context.stdout.write(statusScreen(status, context.stdout))
    return 0
  })

/** Formats one screen: first what needs action, then one line per pipeline. */
function statusScreen({ pipelines, needs }: FolderStatus, output: Output): string {
  const { bold, yellow } = output.style
  const all = [
    ...pipelines.flatMap((one) => one.needs.map((need) => ({ place: one.pipeline, ...need }))),
    ...needs.map((need) => ({ place: '', ...need })),
  ]
  const lines = all.map(({ place, code, message, hint }) => {
    const head = fold(`  ${yellow('!')} ${place === '' ? '' : `${safe(place)}  `}${code}  ${safe(message)}`, output.columns)
    return `${head}\n      ${safe(hint)}\n`
  })
  const head = all.length === 0 ? 'Nothing needs you.\n' : `${bold(`Needs you: ${plural(all.length, 'item')}`)}\n${lines.join('')}`
  if (pipelines.length === 0) return `${head}no pipelines yet: sluice init --source FILE\n`
  const table = tableWithin(output.columns, pipelines.map(cellsOf))
  return `${head}\n${table}`
}

function cellsOf({ pipeline, last, running, lastSuccessAgeS, nextRunAt }: PipelineStatus): string[] {
  return [
    safe(pipeline),
    running === null ? (last === null ? 'never ran' : `${last.status} ${last.runId}`) : `running ${running}`,
    last === null ? '' : instant(last.finishedAt),
    lastSuccessAgeS === null ? 'no success yet' : `last success ${duration(lastSuccessAgeS * 1000).replace(/\.\d/, '')} ago`,
    nextRunAt === null ? 'no schedule' : `next ${instant(nextRunAt)}`,
  ]
}
