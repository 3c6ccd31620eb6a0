import {
  exitCodeOf,
  sendsNothing,
  type Drift,
  type Failure,
  type GuardVerdict,
  type RunReport,
  type Settled,
  type WarningSummary,
} from '../../sync/report.ts'
import type { Output } from '../context.ts'
import { noteLines } from './notes.ts'
import { below, count, duration, fold, instant, plural, safe } from '../text.ts'
import { padded, width } from '../width.ts'

/** The last lines of a run: the verdict, and on anything but 0 the next command. */
export function runOutcome(report: RunReport, output: Output): string {
  return output.isTTY ? forTerminal(report, output) : forPipe(report)
}

const words = { succeeded: 'DONE', partial: 'PART', withheld: 'HELD', failed: 'FAIL', cancelled: 'STOP', skipped: 'SKIP' } as const

function forTerminal(report: RunReport, output: Output): string {
  const { style } = output
  const paint = report.status === 'succeeded' ? style.green : report.status === 'failed' ? style.red : style.yellow
  const head = `${paint(words[report.status])}  ${style.bold(report.pipeline)} ${report.runId}  ${summary(report)}   ${duration(report.durationMs)}\n`
  const text =
    head + warningLines(report.warnings ?? []) + report.guards.map(guardLine).join('') + failureLines(report.failures) + errorLine(report)
  return fold(text, output.columns) + nextLines(report, output)
}

function forPipe(report: RunReport): string {
  const { counts } = report
  const facts = [
    ...(settledOnly(report) ? [] : [`confirmed=${counts.confirmed}`]),
    ...(report.settled?.confirmed ? [`settled_confirmed=${report.settled.confirmed}`] : []),
    ...(settledOnly(report) ? [`settled_in_requests=${counts.requests}`] : []),
    ...(['rejected', 'refused', 'ambiguous', 'pending', 'deferred'] as const).flatMap((name) =>
      counts[name] > 0 ? [`${name}=${counts[name]}`] : [],
    ),
    ...(counts.withheld > 0 ? [`deletes_withheld=${counts.withheld}`] : []),
  ]
  const line = `${instant(report.finishedAt)} ${report.pipeline} ${report.runId} ${report.status} ${isNothing(report) ? 'nothing to do' : facts.join(' ')}\n`
  return (
    line +
    warningLines(report.warnings ?? []) +
    report.guards.map(guardLine).join('') +
    failureLines(report.failures) +
    errorLine(report) +
    nextLines(report, undefined)
  )
}

/** `333 confirmed · 1 refused · 1,180 deletes withheld`, or that there was nothing to do. */
export function summary(report: RunReport): string {
  const { counts, settled = { confirmed: 0, refused: 0 } } = report
  if (isNothing(report))
    return `nothing to do: ${count(counts.unchanged)} unchanged${counts.rejected > 0 ? ` · ${count(counts.rejected)} rejected` : ''}`
  return [
    ...(settledOnly(report) ? [] : [`${count(counts.confirmed)} confirmed`]),
    ...(settledOnly(report) || settled.confirmed + settled.refused > 0
      ? [settledLine(settled, settledOnly(report) ? counts.requests : undefined)]
      : []),
    ...(counts.refused > 0 ? [`${count(counts.refused)} refused`] : []),
    ...(counts.ambiguous > 0 ? [`${count(counts.ambiguous)} unsettled`] : []),
    ...(counts.pending > 0 ? [`${count(counts.pending)} not sent yet`] : []),
    ...(counts.deferred > 0 ? [`${count(counts.deferred)} left for the next run`] : []),
    ...(counts.withheld > 0 ? [`${plural(counts.withheld, 'delete')} withheld`] : []),
    ...(counts.rejected > 0 ? [`${plural(counts.rejected, 'row')} rejected`] : []),
  ].join(' · ')
}

/** `60 confirmed of what an earlier run left open, in 3 requests`. */
function settledLine({ confirmed, refused }: Settled, requests: number | undefined): string {
  const parts = [
    ...(confirmed > 0 || refused === 0 ? [`${count(confirmed)} confirmed`] : []),
    ...(refused > 0 ? [`${count(refused)} refused`] : []),
  ]
  return `${parts.join(' and ')} of what an earlier run left open${requests === undefined ? '' : `, in ${plural(requests, 'request')}`}`
}

export function planned(counts: RunReport['counts']): number {
  return counts.creates + counts.updates + counts.deletes + counts.renewals
}

/** It planned nothing itself, but sent what an earlier run had left open. */
function settledOnly({ status, counts }: RunReport): boolean {
  return status === 'succeeded' && planned(counts) === 0 && counts.requests > 0
}

function isNothing(report: RunReport): boolean {
  return report.status === 'succeeded' && planned(report.counts) === 0 && report.counts.withheld === 0 && report.counts.requests === 0
}

export function guardLine(guard: GuardVerdict): string {
  const examples = guard.examples.length === 0 ? '' : `      e.g. ${safe(guard.examples.join(', '))}\n`
  return `HELD  ${guard.code}  ${safe(guard.message)}\n${examples}`
}

export function warningLines(warnings: readonly WarningSummary[]): string {
  return noteLines(warnings)
    .map((text) => `${text}\n`)
    .join('')
}

const failed = { refused: 'refused', ambiguous: 'unsettled', pending: 'not sent' } as const

/** Why not all of it is confirmed: the five most frequent reasons, with the first products that they hit. */
export function failureLines(failures: readonly Failure[] = []): string {
  const rest = failures.length - 5
  const lines = failures.slice(0, 5).map(({ outcome, code, message, count: times, examples }) => {
    const which = examples.length === 0 ? '' : `   ${examples.join(', ')}${times > examples.length ? ' …' : ''}`
    return `${failed[outcome]}  ${count(times)} ×  ${safe(`${code}${message === '' ? '' : `  ${message}`}${which}`)}\n`
  })
  return lines.join('') + (rest > 0 ? `… and ${plural(rest, 'reason')} more: --json shows them\n` : '')
}

function errorLine(report: RunReport): string {
  if (!report.error) return ''
  const where =
    report.error.where === null || report.error.message.includes(report.error.where) ? '' : `where  ${safe(below(report.error.where))}\n`
  return `${where}error  ${report.error.code}  ${safe(report.error.message)}${sentLine(report)}\n`
}

/** Whether anything was sent, where the error does not say so itself. */
function sentLine({ error, counts }: RunReport): string {
  if (/sent|confirmed/.test(error?.message ?? '')) return ''
  return counts.requests === 0 ? '. Nothing was sent.' : '. What was confirmed is kept.'
}

/** `show` of a run that has not ended: its status is none of the public ones. */
export function isUnderWay({ status }: RunReport): boolean {
  return ['queued', 'running'].includes(status)
}

/** What to type next; nothing for a run that has no need of anybody. */
export function nextCommands(report: RunReport): readonly (readonly [command: string, why: string])[] {
  const { counts, runId, pipeline } = report
  if (isUnderWay(report)) return [[`sluice cancel ${runId}`, 'stops it; what is confirmed is kept']]
  const commands: [string, string][] = []
  const add = (command: string, why: string) => {
    if (command !== '' && !commands.some(([known]) => known === command)) commands.push([command, why])
  }
  // A run that was told to stop needs no more words than the command below.
  if (report.error && report.status !== 'cancelled') add(report.error.mend, '')
  // A mend in words gets a command that shows the same fault.
  if (report.error && report.status === 'failed' && !report.error.mend.includes('sluice ')) add(`sluice check ${pipeline}`, '')
  if (report.status === 'skipped') add(`sluice runs ${pipeline}`, 'who holds it')
  if (report.status === 'cancelled') add(`sluice run ${pipeline}`, 'goes on where it stopped')
  if (counts.refused + counts.ambiguous + counts.pending > 0 && !sendsNothing(report.trigger))
    add(`sluice rerun ${runId} --failed`, 'sends again what is not confirmed')
  if (counts.deferred > 0 && !sendsNothing(report.trigger)) add(`sluice run ${pipeline}`, 'sends what had to wait')
  if (report.drift !== undefined) add(auditCommand(report, report.drift), '')
  for (const guard of report.guards) add(guard.mend, '')
  if (counts.rejected > 0) add(`sluice rejects ${runId} --csv rejects.csv`, 'rows to correct')
  return commands
}

/** The plan of an audit is applied, drift without a plan gets one; empty where neither is needed. */
function auditCommand({ pipeline, planId, counts }: RunReport, { changed, gone, unsettled }: Drift): string {
  if (planId !== undefined && planned(counts) > 0) return `sluice apply ${planId}`
  if (changed + gone > 0) return `sluice audit ${pipeline} --repair`
  return unsettled > 0 ? `sluice run ${pipeline}` : ''
}

function nextLines(report: RunReport, output: Output | undefined): string {
  const commands = nextCommands(report)
  if (exitCodeOf(report.status) === 0 && report.counts.rejected === 0) return ''
  const widest = Math.max(...commands.map(([command]) => width(command)), 0)
  // The reason is left out where the command would no longer be one line, to be pasted.
  const room = (output?.columns ?? 0) - 'Next  '.length
  const told = (command: string, why: string) =>
    why !== '' && widest + 3 + why.length <= room ? `${padded(command, widest)}   ${why}` : command
  return commands.map(([command, why], i) => `${i === 0 ? 'Next' : '    '}  ${told(command, why)}\n`).join('')
}
