/** Derives the next commands after a run, and the reason why it did not succeed. */
import { onlyPlans, type Drift, type ProductSetChange, type ShownRun } from '../../model/report.ts'
import { figures, plannedChanges } from './runSteps.ts'

/** Returns true if the run changed or planned to change a product set. Ignores sets with an error code. */
export function changesSets({ productSets = [] }: Pick<ShownRun, 'productSets'>): boolean {
  return productSets.some(({ action, code }) => action !== 'unchanged' && code === undefined)
}

/** Returns true for a queued or running run. */
export function isOpenRun({ status }: Pick<ShownRun, 'status'>): boolean {
  return ['queued', 'running'].includes(status)
}

/**
 * Returns the command that does the work of a stopped run. After a plan or an audit it sends nothing. After a backfill it reads that source
 * again; standard input must be given again. A run of the pipeline would delete the rows that only the backfill has.
 */
export function repeatingCommand({
  runId,
  pipeline,
  trigger,
  fromStandardInput,
}: Pick<ShownRun, 'runId' | 'pipeline' | 'trigger' | 'fromStandardInput'>): string {
  if (onlyPlans(trigger)) return `sluice ${trigger} ${pipeline}`
  if (fromStandardInput) return `sluice backfill ${pipeline} --source -`
  return trigger === 'backfill' || trigger === 'rerun' ? `sluice rerun ${runId}` : `sluice run ${pipeline}`
}

/** Returns the next commands or hints for the user, each with an explanation that may be empty. */
export function nextCommands(report: ShownRun): readonly (readonly [command: string, why: string])[] {
  const { counts, runId, pipeline } = report
  if (isOpenRun(report)) return [[`sluice cancel ${runId}`, 'stops it; what is confirmed is kept']]
  const commands: [string, string][] = []
  const add = (command: string, why: string) => {
    if (command !== '' && !commands.some(([known]) => known === command)) commands.push([command, why])
  }
  if (report.error?.code === 'PIPELINE_HELD') add(`sluice runs ${pipeline}`, 'which run locked it')
  // `skipped` without an error means that a worker has claimed the run, so this process skipped it.
  if (report.status === 'skipped' && report.error === undefined) add(`sluice runs ${pipeline}`, 'a worker executes it')
  // A cancelled run gets the command that continues it instead of its hint, unless a repetition continues it (`repeatRun`).
  const isRepeated = report.error?.code === 'RUN_INTERRUPTED' && report.error.hint.startsWith('sluice show ')
  if (report.error && (report.status !== 'cancelled' || isRepeated)) add(report.error.hint, isRepeated ? 'repeats it' : '')
  // A hint without a command gets a command that shows the fault.
  if (report.error && report.status === 'failed' && !report.error.hint.includes('sluice '))
    // `sluice check` reads the sources of the pipeline, and not that of a backfill.
    add(report.trigger === 'backfill' ? repeatingCommand(report) : `sluice check ${pipeline}`, '')
  if (report.status === 'cancelled' && !isRepeated) add(repeatingCommand(report), whyRepeated(report))
  if (counts.refused + counts.ambiguous + counts.pending > 0 && !onlyPlans(report.trigger))
    add(`sluice rerun ${runId} --failed`, 'sends the unconfirmed part again')
  if (refusedOrUnresolvedSet(report) !== undefined && !onlyPlans(report.trigger)) add(`sluice run ${pipeline}`, 'keeps the product sets')
  if (counts.deferred > 0 && !onlyPlans(report.trigger)) add(`sluice run ${pipeline}`, 'sends the deferred part')
  if (report.drift !== undefined) add(auditCommand(report, report.drift), '')
  for (const guard of report.guards) add(guard.hint, '')
  if (counts.rejected > 0) add(`sluice rejects ${runId} --csv ${runId}.csv`, 'rows to correct')
  return commands
}

function whyRepeated({ trigger, fromStandardInput }: ShownRun): string {
  if (onlyPlans(trigger)) return 'starts again'
  return fromStandardInput ? 'with the same input, continues where it stopped' : 'continues where it stopped'
}

function refusedOrUnresolvedSet({ productSets = [] }: ShownRun): ProductSetChange | undefined {
  return productSets.find(isRefusedOrUnresolved)
}

/**
 * Returns true if the change of a product set is unresolved or refused. Sluice itself refuses some changes, for example if the name of the
 * set is taken.
 */
export function isRefusedOrUnresolved({ outcome }: ProductSetChange): boolean {
  return outcome === 'refused' || outcome === 'unresolved'
}

/** Returns the next command after an audit; empty if none is needed. */
function auditCommand({ pipeline, planId, counts }: ShownRun, { changed, notListed, unresolved }: Drift): string {
  if (planId !== undefined && plannedChanges(counts) > 0) return `sluice apply ${planId}`
  if (changed + notListed > 0) return `sluice audit ${pipeline} --repair`
  return unresolved > 0 ? `sluice run ${pipeline}` : ''
}

/** Returns the reason why a run did not succeed, in one line. Undefined for a run that succeeded or has not ended. */
export function reasonOf(report: ShownRun): { readonly code: string; readonly reason: string } | undefined {
  if (report.status === 'succeeded' || isOpenRun(report)) return undefined
  const [guard] = report.guards
  const [failure] = report.failures ?? []
  if (report.error !== undefined) return { code: report.error.code, reason: report.error.message }
  if (guard !== undefined) return { code: guard.code, reason: guard.message }
  if (failure !== undefined) return { code: failure.code, reason: `${failure.count} ${failure.outcome}: ${failure.message}` }
  const set = refusedOrUnresolvedSet(report)
  if (set?.code !== undefined) return { code: set.code, reason: `product set ${set.name}: ${set.message ?? ''}` }
  const open = figures(report.counts, 'refused', 'ambiguous', 'pending', 'deferred')
  return { code: report.status.toUpperCase(), reason: open.map(({ name, value }) => `${value} ${name}`).join(', ') }
}
