import type { Drift, ShownRun } from '../../model/report.ts'
import { count, duration, fold, instant, plural, safe, table, tableWithin } from '../terminal/text.ts'
import type { Output } from '../context.ts'
import { driftTable } from './audit.ts'
import { isUnderWay, nextCommands, planned } from '../../sync/nextCommands.ts'
import { setSummary } from './productSets.ts'
import { problemLines } from './outcome.ts'

/** Stage of a run as the database stores it. */
export interface Stage {
  readonly stage: string
  readonly startedAt: string
  readonly durationMs: number
  readonly rows?: number
}

/**
 * Formats one run from rows read to operations confirmed, and the next commands. Notes show how the counts add up. `actions`: lines
 * with the operators' actions, if any.
 */
export function funnel(report: ShownRun, output: Output, stages: readonly Stage[] = [], actions = ''): string {
  const { counts } = report
  const all = planned(counts)
  const { bold } = output.style
  const rows: [string, number, string][] = [
    [
      'read',
      counts.read,
      `= ${count(counts.rejected)} rejected + ${count(counts.duplicates)} duplicates + ${count(counts.suppressed)} suppressed${counts.filtered === undefined ? '' : ` + ${count(counts.filtered)} filtered`} + ${count(counts.valid)} valid`,
    ],
    ['mapped', counts.valid, ''],
    [
      'rejected',
      counts.rejected,
      (report.rejectCodes ?? [])
        .slice(0, 3)
        .map(({ code, count: n }) => `${code} ${count(n)}`)
        .join(' · '),
    ],
    ['unchanged', counts.unchanged, ''],
    ...(counts.stale > 0 ? shownRow(['stale', counts.stale, 'rejected rows; their last version stays live']) : []),
    [
      'planned',
      all,
      `= ${count(counts.creates)} creates + ${count(counts.updates)} updates + ${count(counts.deletes)} deletes + ${count(counts.renewals)} renewals`,
    ],
    ...(counts.withheld > 0 ? shownRow(['withheld', counts.withheld, 'deletes withheld by a guard, not planned']) : []),
    ...(counts.deferred > 0 ? shownRow(['deferred', counts.deferred, 'wait for an earlier operation; the next run sends them']) : []),
    ['sent', counts.confirmed + counts.refused + counts.ambiguous, `in ${plural(counts.requests, 'request')}`],
    ['confirmed', counts.confirmed, ''],
    ...outcomeRows(report),
  ]
  const head = `${bold(`${report.pipeline} ${report.runId}`)}  ${report.status}  ${report.trigger}  ${instant(report.startedAt)}  ${duration(report.durationMs)}\n`
  // An audit reads no source and sends nothing, so its report has only the drift and the planned repairs.
  const shown = report.drift === undefined ? rows : rows.filter(([name]) => all > 0 && ['planned', 'withheld', 'deferred'].includes(name))
  const found = report.drift === undefined ? '' : driftTable(report.drift)
  const body = table(
    shown.map(([name, value, note]) => [`  ${name}`, count(value), note]),
    new Set([1]),
  )
  const times =
    stages.length === 0 ? '' : `  stages     ${stages.map(({ stage, durationMs }) => `${stage} ${duration(durationMs)}`).join(' · ')}\n`
  const error = report.error ? `error  ${report.error.code}  ${safe(report.error.message)}\n` : ''
  const next = nextCommands(report)
    .map(([command], i) => `${i === 0 ? 'Next' : '    '}  ${command}\n`)
    .join('')
  const text =
    head + found + body + (setSummary(report) === '' ? '' : `  sets       ${setSummary(report)}\n`) + times + problemLines(report) + error
  // Commands are never folded, so that they can be pasted.
  return fold(text + actions, output.columns) + next
}

type FunnelRow = [string, number, string]

/** Returns a list of the one row, so that callers can spread it conditionally. */
const shownRow = (row: FunnelRow): FunnelRow[] => [row]

/** Returns the rows of the outcomes. While a run is active, missing answers and unsent entries are not failures yet. */
function outcomeRows(report: ShownRun): FunnelRow[] {
  const { refused, ambiguous, pending } = report.counts
  if (isUnderWay(report))
    return [
      ['failed', refused, refused === 0 ? '' : 'refused'],
      ...(ambiguous > 0 ? shownRow(['unanswered', ambiguous, 'sent, and not answered yet']) : []),
      ...(pending > 0 ? shownRow(['waiting', pending, 'to be sent']) : []),
    ]
  const all = refused + ambiguous
  return [
    ['failed', all, all === 0 ? '' : `= ${count(refused)} refused + ${count(ambiguous)} unresolved`],
    ...(pending > 0 ? shownRow(['pending', pending, 'planned, not sent by this run']) : []),
  ]
}

/** Returns the history, newest first: one line per run, or several on a narrow terminal. */
export function runsTable(reports: readonly ShownRun[], output: Output): string {
  const rows = reports.map((report) => [
    report.runId,
    report.pipeline,
    report.status,
    report.trigger,
    instant(report.startedAt),
    duration(report.durationMs),
    ...(report.drift === undefined ? rowCells(report) : driftCells(report.drift)),
    ...(report.counts.withheld > 0 ? [`withheld ${count(report.counts.withheld)}`] : []),
  ])
  return tableWithin(output.columns, rows, new Set([5]))
}

function rowCells({ counts }: ShownRun): string[] {
  const sent = counts.confirmed + counts.refused + counts.ambiguous
  return [`read ${count(counts.read)}`, `sent ${count(sent)}`, `rejected ${count(counts.rejected)}`]
}

function driftCells({ listed, changed, notListed }: Drift): string[] {
  return [`listed ${count(listed)}`, `changed ${count(changed)}`, `not listed ${count(notListed)}`]
}
