import type { Store } from '../../db/open.ts'
import { listActions, type StoredAction } from '../../db/auditLog.ts'
import { loadRun, runNumber, type StoredRun } from '../../sync/reports/history.ts'
import { runsOfPlan } from '../../sync/reports/planChanges.ts'
import { plannedChanges } from '../../sync/reports/runSteps.ts'
import { argument, flag, writeJson, writeResult, type CommandRun, type Context, type Invocation, type Output } from '../context.ts'
import { changesOf } from '../reports/planFile.ts'
import { changeLine, planMarkdown } from '../reports/planChanges.ts'
import { funnel } from '../reports/funnel.ts'
import { withStore } from '../store.ts'
import { instant, nextLines, plural, safe } from '../terminal/text.ts'

/**
 * Shows a run as a funnel; for an applied plan, the run that applied it. With `--changes`, lists every key that its plan changes; with
 * `--markdown`, prints the plan.
 */
export const run: CommandRun = async (context, invocation) =>
  withStore(context, async (store) => {
    const id = argument(invocation, 0)
    const showsChanges = flag(invocation, 'changes') || flag(invocation, 'markdown')
    const { made, applied } = id.startsWith('p_') ? await runsOfPlan(store.db, id) : { made: id, applied: id }
    const report = await loadRun(store.db, showsChanges ? made : applied)
    if (showsChanges) return showChanges(context, invocation, store, report)
    const actions = await listActions(store.db, { pipeline: report.pipeline, runId: runNumber(report.runId), limit: 100 })
    writeResult(context, { ...report, actions }, funnel(report, context.stdout, report.stages, actionLines(actions)))
    return 0
  })

/** Formats the operators' actions on a run, oldest first: action, actor, time, approved deletes, reason. `actions`: newest first. */
function actionLines(actions: readonly StoredAction[]): string {
  return actions
    .toReversed()
    .map(({ at, actor, what, detail }) => {
      const { approveDeletes, reason } = detail
      const approval = typeof approveDeletes === 'number' ? `   up to ${plural(approveDeletes, 'delete')}` : ''
      return `${what}   ${safe(actor)}   ${instant(at)}${approval}${typeof reason === 'string' ? `   ${safe(reason)}` : ''}\n`
    })
    .join('')
}

async function showChanges(context: Context, invocation: Invocation, store: Store, report: StoredRun): Promise<number> {
  const changes = changesOf(store.db, report)
  if (context.json) {
    const all = []
    for await (const change of changes) all.push(change)
    writeJson(context, { ...report, changes: all })
  } else if (flag(invocation, 'markdown')) context.stdout.write(await planMarkdown(report, changes))
  else {
    let isEmpty = true
    for await (const change of changes) {
      context.stdout.write(changeLine(change))
      isEmpty = false
    }
    if (isEmpty) context.stdout.write(reasonForNone(report, context.stdout))
  }
  return 0
}

/** Returns the reason why no change is listed, and the command that shows the run. */
function reasonForNone({ runId, planId, counts }: StoredRun, output: Output): string {
  const next = nextLines([`sluice show ${runId}`], output)
  if (planId === undefined) return `${runId} has no plan, so it has no changes\n${next}`
  return plannedChanges(counts) === 0 ? `plan ${planId} has no changes\n${next}` : `the changes of plan ${planId} have expired\n${next}`
}
