import { guardEffectOf, type Failure, type GuardResult, type RunReport, type Settled } from '../../model/report.ts'
import { exitCodeOfStatus } from '../exitCodes.ts'
import type { Output } from '../context.ts'
import { changesSets, nextCommands } from '../../sync/reports/nextCommands.ts'
import { figures, isShown, plannedChanges, settledText, figureText, reportWordOf } from '../../sync/reports/runSteps.ts'
import { outOfStockOf, withheldChanges } from '../../sync/reports/withheldChanges.ts'
import { setProblems, setSummary } from './productSets.ts'
import { noteLines } from './notes.ts'
import { relativePath, count, duration, fold, hintText, instant, nextLines, plural, safe } from '../terminal/text.ts'
import { padded, width } from '../terminal/width.ts'

/** Returns the last lines of a run: the outcome, then the next commands. No commands if the exit code is 0 and no row was rejected. */
export function runOutcome(report: RunReport, output: Output): string {
  return output.isTTY ? formatForTerminal(report, output) : formatForPipe(report, output)
}

const statusWords = { succeeded: 'DONE', partial: 'PART', failed: 'FAIL', cancelled: 'CANCELLED', skipped: 'SKIP' } as const

function headline({ status, guards }: RunReport): string {
  return status === 'withheld' ? (guards[0] === undefined ? 'WITHHELD' : guardHeadline(guards[0])) : statusWords[status]
}

function formatForTerminal(report: RunReport, output: Output): string {
  const { style } = output
  const paint = report.status === 'succeeded' ? style.green : report.status === 'failed' ? style.red : style.yellow
  const head = `${paint(headline(report))}  ${style.bold(report.pipeline)} ${report.runId}  ${summary(report)}   ${duration(report.durationMs)}\n`
  const text = head + problemLines(report) + errorLine(report)
  return fold(text, output.columns) + commandLines(report, output)
}

/** Returns one line of `name=value` for logs, then warnings, guards, failures and next commands. */
function formatForPipe(report: RunReport, output: Output): string {
  const { counts } = report
  const facts = [
    ...(isSettlingOnly(report) ? [] : [`confirmed=${counts.confirmed}`]),
    ...(deletedOf(report) > 0 ? [`deleted=${deletedOf(report)}`] : []),
    ...(report.settled?.confirmed ? [`settled_confirmed=${report.settled.confirmed}`] : []),
    ...(isSettlingOnly(report) ? [`settled_in_requests=${counts.requests}`] : []),
    ...(['rejected', 'refused', 'ambiguous', 'pending', 'deferred'] as const).flatMap((name) =>
      counts[name] > 0 ? [`${name}=${counts[name]}`] : [],
    ),
    ...(counts.withheld > 0 ? [`deletes_withheld=${counts.withheld}`] : []),
    ...(changesSets(report)
      ? [
          `product_sets=${(report.productSets ?? []).filter(({ action, outcome }) => action !== 'unchanged' && outcome === 'confirmed').length}`,
        ]
      : []),
  ]
  const line = `${instant(report.finishedAt)} ${report.pipeline} ${report.runId} ${report.status} ${hasNothingToDo(report) ? 'nothing to do' : facts.join(' ')}\n`
  return line + problemLines(report) + errorLine(report) + commandLines(report, { ...output, columns: undefined })
}

/** Returns `333 confirmed · 1 refused · 1,180 deletes withheld`, or `nothing to do: 500 unchanged`. */
export function summary(report: RunReport): string {
  const { counts, settled = { confirmed: 0, refused: 0 } } = report
  if (hasNothingToDo(report))
    return `nothing to do: ${count(counts.unchanged)} unchanged${counts.rejected > 0 ? ` · ${count(counts.rejected)} rejected` : ''}`
  return [
    ...(isSettlingOnly(report) ? [] : [`${count(counts.confirmed)} confirmed`]),
    ...(deletedOf(report) > 0 ? [`${count(deletedOf(report))} deleted`] : []),
    ...(isSettlingOnly(report) || settled.confirmed + settled.refused > 0
      ? [settledLine(settled, isSettlingOnly(report) ? counts.requests : undefined)]
      : []),
    ...figures(counts, 'refused', 'ambiguous', 'pending', 'deferred').filter(isShown).map(figureText),
    ...(counts.withheld > 0 ? [`${withheldChanges(counts.withheld, outOfStockOf(report.guards))} withheld`] : []),
    ...(counts.rejected > 0 ? [`${plural(counts.rejected, 'row')} rejected`] : []),
    ...(changesSets(report) ? [`product sets: ${setSummary(report)}`] : []),
  ].join(' · ')
}

/** Returns `60 confirmed of an earlier run, in 3 requests`. `requests`: number of requests; undefined to leave it out. */
function settledLine(settled: Settled, requests: number | undefined): string {
  return `${settledText(settled)}${requests === undefined ? '' : `, in ${plural(requests, 'request')}`}`
}

/** Returns the number of confirmed deletes if the whole plan is confirmed. Otherwise 0, because outcomes are not counted per action. */
function deletedOf({ counts }: RunReport): number {
  return counts.confirmed === plannedChanges(counts) ? counts.deletes : 0
}

/** Returns true for a succeeded run that planned nothing and only sent unfinished batches of an earlier run. */
function isSettlingOnly({ status, counts }: RunReport): boolean {
  return status === 'succeeded' && plannedChanges(counts) === 0 && counts.requests > 0
}

function hasNothingToDo(report: RunReport): boolean {
  const { status, counts } = report
  return status === 'succeeded' && plannedChanges(counts) === 0 && counts.withheld === 0 && counts.requests === 0 && !changesSets(report)
}

/** Returns `NEEDS APPROVAL` if an approval of deletes overrides the guard; otherwise `WITHHELD` for deletes, and `STOPPED` for a run. */
function guardHeadline(guard: GuardResult): string {
  const { withholds, approvable } = guardEffectOf(guard)
  if (approvable) return 'NEEDS APPROVAL'
  return withholds === 'deletes' ? 'WITHHELD' : 'STOPPED'
}

/** Formats a guard's result, and example keys, if any, on a second line. */
export function guardLine(guard: GuardResult): string {
  const examples = guard.examples.length === 0 ? '' : `      e.g. ${safe(guard.examples.join(', '))}\n`
  return `${guardHeadline(guard)}  ${guard.code}  ${safe(guard.message)}\n${examples}`
}

/** Returns the warnings, guard results and failures of a run, and the problems of its product sets. */
export function problemLines(report: Pick<RunReport, 'warnings' | 'guards' | 'failures' | 'productSets'>): string {
  const warnings = noteLines(report.warnings ?? []).map((text) => `${text}\n`)
  return [...warnings, ...report.guards.map(guardLine), failureLines(report.failures), setProblems(report)].join('')
}

/** Formats the first five of `failures`, each with example keys, and the number of the others. */
function failureLines(failures: readonly Failure[] = []): string {
  const rest = failures.length - 5
  const lines = failures.slice(0, 5).map(({ outcome, code, message, count: times, examples }) => {
    const which = examples.length === 0 ? '' : `   ${examples.join(', ')}${times > examples.length ? ' …' : ''}`
    return `${reportWordOf(outcome)}  ${count(times)} ×  ${safe(`${code}${message === '' ? '' : `  ${message}`}${which}`)}\n`
  })
  return lines.join('') + (rest > 0 ? `… and ${plural(rest, 'reason')} more: --json shows them\n` : '')
}

function errorLine(report: RunReport): string {
  if (!report.error) return ''
  const where =
    report.error.where === null || report.error.message.includes(report.error.where)
      ? ''
      : `where  ${safe(relativePath(report.error.where))}\n`
  return `${where}error  ${report.error.code}  ${safe(report.error.message)}${endOfMessage(report)}\n`
}

/** Returns `. Nothing was sent.` or `. What was confirmed is kept.`, to end the error message; empty if the message has such a sentence. */
function endOfMessage({ error, counts }: RunReport): string {
  if (/sent|confirmed/.test(error?.message ?? '')) return ''
  return counts.requests === 0 ? '. Nothing was sent.' : '. What was confirmed is kept.'
}

/** Formats the next commands, each with its reason if both fit on a line of the terminal. Empty if the run needs no action. */
function commandLines(report: RunReport, output: Pick<Output, 'columns' | 'completeHint'>): string {
  if (exitCodeOfStatus[report.status] === 0 && report.counts.rejected === 0) return ''
  const commands = nextCommands(report).map(([command, reason]) => [hintText(command, output), reason] as const)
  const widest = Math.max(...commands.map(([command]) => width(command)), 0)
  const room = (output.columns ?? 0) - 'Next  '.length
  return nextLines(
    commands.map(([command, reason]) =>
      reason !== '' && widest + 3 + reason.length <= room ? `${padded(command, widest)}   ${reason}` : command,
    ),
    output,
  )
}
