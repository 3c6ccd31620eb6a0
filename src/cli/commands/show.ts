import type { Store } from '../../db/open.ts'
import { listActions, type StoredAction } from '../../db/auditLog.ts'
import { removalOfDestination } from '../../db/removeDestination.ts'
import { ConfigError, fallbackOn, UsageError } from '../../errors.ts'
import { loadPipeline } from '../../pipeline/load.ts'
import { loadRun, newerReading, runNumber, type StoredRun } from '../../sync/reports/history.ts'
import { runsOfPlan } from '../../sync/reports/planChanges.ts'
import { plannedChanges } from '../../sync/reports/runSteps.ts'
import { argument, flag, writeJson, writeResult, type CommandRun, type Context, type Invocation, type Output } from '../context.ts'
import { changesOf } from '../reports/planFile.ts'
import { changeLine, planMarkdown } from '../reports/planChanges.ts'
import { environmentText, funnel } from '../reports/funnel.ts'
import { identityIfConfigured } from '../services.ts'
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
    const obstacle = context.json ? '' : await obstacleText(context, store.db, report)
    writeResult(context, { ...report, actions }, funnel(report, context.stdout, report.stages, actionLines(actions), obstacle))
    return 0
  })

/** Returns why no command for the run is offered, as a line; empty if there is no reason. */
async function obstacleText(context: Context, db: Store['db'], report: StoredRun): Promise<string> {
  const removedAt = await removalOfDestination(db, runNumber(report.runId))
  if (removedAt !== undefined)
    return `The state of its destination was removed at ${instant(removedAt)} (sluice db remove), so nothing of this run can be sent again.\n`
  if (await isOfOtherEnvironment(context, report))
    return `This run belongs to another environment: ${environmentText(report)}. Run further commands for it there.\n`
  // An approval would apply to the present source, and not to what this run found.
  const newer = report.guards.length === 0 ? undefined : await newerReading(db, runNumber(report.runId))
  return newer === undefined
    ? ''
    : `A newer run has read the source again, so the hints of this one are out of date: sluice show ${newer}\n`
}

/**
 * Returns true if the run belongs to another service or user than its pipeline here. Without a file of the pipeline, compares the
 * environment. False if no service or user is configured, or if its file is invalid.
 */
async function isOfOtherEnvironment(context: Context, { pipeline: name, service, credentials }: StoredRun): Promise<boolean> {
  if (service === null) return false
  const definition = await loadPipeline(context.pipelines, name, context.config().env)
    .catch(fallbackOn(UsageError, {}))
    .catch(fallbackOn(ConfigError, undefined))
  const own = definition && (await identityIfConfigured(context, definition))
  return own !== undefined && (service !== own.origin || (credentials !== null && credentials !== own.credentials))
}

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
  if (context.json) writeJson(context, { ...report, changes: await Array.fromAsync(changes) })
  else if (flag(invocation, 'markdown')) context.stdout.write(await planMarkdown(report, changes))
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
