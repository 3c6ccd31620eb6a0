import { listArgument, writeResult, type CommandRun, type Output } from '../../context.ts'
import { folderStatus, type FolderStatus, type PipelineStatus } from './folderStatus.ts'
import { withStore } from '../../store.ts'
import { duration, fold, hintText, instant, plural, safe, tableWithin } from '../../terminal/text.ts'

/** Shows what needs action, and the last result of each pipeline. Exits 0 even if something needs action. */
export const run: CommandRun = async (context, invocation) =>
  withStore(context, async (store) => {
    const status = await folderStatus(context, store.db, listArgument(invocation, 0))
    writeResult(context, status, statusScreen(status, context.stdout))
    return 0
  })

/** Formats one screen: first what needs action, then one line per pipeline. */
function statusScreen({ pipelines, needs }: FolderStatus, output: Output): string {
  const { bold, yellow } = output.style
  const allNeeds = [
    ...pipelines.flatMap((status) => status.needs.map((need) => ({ place: status.pipeline, ...need }))),
    ...needs.map((need) => ({ place: need.where ?? '', ...need })),
  ]
  const lines = allNeeds.map(({ place, code, message, hint }) => {
    const head = fold(`  ${yellow('!')} ${place === '' ? '' : `${safe(place)}  `}${code}  ${safe(message)}`, output.columns)
    return `${head}\n      ${safe(hintText(hint, output))}\n`
  })
  const summary =
    allNeeds.length === 0 ? 'No action needed.\n' : `${bold(`Action needed: ${plural(allNeeds.length, 'item')}`)}\n${lines.join('')}`
  if (pipelines.length === 0)
    return needs.length > 0 ? summary : `${summary}${hintText('no pipelines yet: sluice init --source FILE', output)}\n`
  const table = tableWithin(output.columns, pipelines.map(cellsOf))
  return `${summary}\n${table}`
}

function cellsOf({ pipeline, last, running, lastSuccessAgeS, pausedAt, nextRunAt }: PipelineStatus): string[] {
  return [
    safe(pipeline),
    running === null ? (last === null ? 'never ran' : `${last.status} ${last.runId}`) : `running ${running}`,
    last === null ? '' : instant(last.finishedAt),
    lastSuccessAgeS === null ? 'no success yet' : `last success ${duration(lastSuccessAgeS * 1000).replace(/\.\d/, '')} ago`,
    pausedAt !== null ? `paused since ${instant(pausedAt)}` : nextRunAt === null ? 'no schedule' : `next ${instant(nextRunAt)}`,
  ]
}
