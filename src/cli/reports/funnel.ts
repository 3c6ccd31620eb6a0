import type { Drift, ShownRun } from '../../model/report.ts'
import { count, duration, fold, instant, nextLines, plural, safe, table, tableWithin } from '../terminal/text.ts'
import type { Output } from '../context.ts'
import { driftTable } from './audit.ts'
import { isOpenRun, nextCommands } from '../../sync/reports/nextCommands.ts'
import { figures, isShown, runSteps, settledText, figureText, type Figure } from '../../sync/reports/runSteps.ts'
import { setSummary } from './productSets.ts'
import { problemLines } from './outcome.ts'

/** Stage of a run with its time. */
export interface Stage {
  readonly stage: string
  readonly startedAt: string
  readonly durationMs: number
  readonly rows?: number
}

/**
 * Formats one run as a table from rows read to operations confirmed, then times, problems and next commands. Notes show how the counts add
 * up. `actions`: lines with the operators' actions; empty if there are none. `obstacle`: why no command is offered, as a line that
 * replaces the next commands; else empty.
 */
export function funnel(report: ShownRun, output: Output, stages: readonly Stage[] = [], actions = '', obstacle = ''): string {
  const { counts } = report
  const { rows: read, changes, notPlanned } = runSteps(counts)
  const plannedCount = changes.whole
  const { bold } = output.style
  const rows: FunnelRow[] = [
    ['read', read.whole, sumOf(read.parts)],
    ['mapped', counts.valid, ''],
    ['rejected', counts.rejected, codeCounts(report.rejectCodes, 3)],
    ...notPlanned.filter(isShown).map(rowOf),
    ['planned', plannedCount, sumOf(changes.parts)],
    ['sent', counts.confirmed + counts.refused + counts.ambiguous, sentText(report)],
    ['confirmed', counts.confirmed, ''],
    ...outcomeRows(report),
  ]
  const head = `${bold(`${report.pipeline} ${report.runId}`)}  ${statusOf(report)}  ${report.trigger}  ${instant(report.startedAt)}  ${duration(report.durationMs)}\n`
  // An audit reads no source and sends nothing, so its report has only the drift and the planned repairs.
  const shown =
    report.drift === undefined ? rows : rows.filter(([name]) => plannedCount > 0 && ['planned', 'withheld', 'deferred'].includes(name))
  const driftText = report.drift === undefined ? '' : driftTable(report.drift)
  const body = table(
    shown.map(([name, value, note]) => [`  ${name}`, count(value), note]),
    new Set([1]),
  )
  const times =
    stages.length === 0 ? '' : `  stages     ${stages.map(({ stage, durationMs }) => `${stage} ${duration(durationMs)}`).join(' · ')}\n`
  const error = report.error ? `error  ${report.error.code}  ${safe(report.error.message)}\n` : ''
  const text =
    head +
    driftText +
    body +
    (setSummary(report) === '' ? '' : `  sets       ${setSummary(report)}\n`) +
    times +
    problemLines(report) +
    error
  if (obstacle !== '') return fold(text + actions + obstacle, output.columns)
  return (
    fold(text + actions, output.columns) +
    nextLines(
      nextCommands(report).map(([command]) => command),
      output,
    )
  )
}

/** Returns `in 3 requests`, and what they settled of earlier runs. */
function sentText({ counts, settled }: ShownRun): string {
  return [`in ${plural(counts.requests, 'request')}`, ...(settled === undefined ? [] : [settledText(settled)])].join(' · ')
}

type FunnelRow = [string, number, string]

const rowOf = ({ name, value, note }: Figure): FunnelRow => [name, value, note]

const sumOf = (parts: readonly Figure[]): string => `= ${parts.map(figureText).join(' + ')}`

/** Returns the first `limit` codes with their counts: `PRICE_INVALID 3 · GTIN_INVALID 1`. Empty without codes. */
export function codeCounts(codes: ShownRun['rejectCodes'] = [], limit: number): string {
  const texts = codes.map(({ code, count: n }) => `${code} ${count(n)}`)
  return texts.slice(0, limit).join(' · ')
}

/** Returns the rows for failed and open operations. While a run is under way, unresolved operations are not failures yet. */
function outcomeRows(report: ShownRun): FunnelRow[] {
  const [failed, open] = isOpenRun(report)
    ? [figures(report.counts, 'refused'), figures(report.counts, 'ambiguous', 'pending')]
    : [figures(report.counts, 'refused', 'ambiguous'), figures(report.counts, 'pending')]
  const failedCount = failed.reduce((sum, { value }) => sum + value, 0)
  return [['failed', failedCount, failedCount === 0 ? '' : sumOf(failed)], ...open.filter(isShown).map(rowOf)]
}

/** Run in a list, with the environment of its destination. */
type ListedRun = ShownRun & { readonly service?: string | null; readonly credentials?: string | null }

/**
 * Formats runs in the given order: one line per run, or several on a narrow terminal. If they belong to several environments, each line has
 * the environment.
 */
export function runsTable(reports: readonly ListedRun[], output: Output): string {
  const showsEnvironment = haveSeveralEnvironments(reports)
  const rows = reports.map((report) => [
    report.runId,
    report.pipeline,
    ...(showsEnvironment ? [environmentText(report)] : []),
    statusOf(report),
    report.trigger,
    instant(report.startedAt),
    duration(report.durationMs),
    ...(report.drift === undefined ? rowCells(report) : driftCells(report.drift)),
    ...(report.counts.withheld > 0 ? [`withheld ${count(report.counts.withheld)}`] : []),
  ])
  return tableWithin(output.columns, rows, new Set([showsEnvironment ? 6 : 5]))
}

/** Returns true if the runs belong to several environments. A destination that belongs to no user yet counts only by its service. */
function haveSeveralEnvironments(reports: readonly ListedRun[]): boolean {
  const distinct = (values: readonly (string | null | undefined)[]) => new Set(values.filter((value) => typeof value === 'string')).size
  return distinct(reports.map(({ service }) => service)) > 1 || distinct(reports.map(({ credentials }) => credentials)) > 1
}

/** Returns the environment of a run: `https://ads.example.com as user 7 of application 3f9a…`. Empty without a stored destination. */
export function environmentText({ service, credentials }: Pick<ListedRun, 'service' | 'credentials'>): string {
  if (typeof service !== 'string') return ''
  return safe(typeof credentials === 'string' ? `${service} as ${credentials}` : service)
}

/** Returns the status. For a skipped run, also the reason in one word. */
function statusOf({ status, error }: ShownRun): string {
  const reason = status === 'skipped' ? skipReasons[error?.code ?? ''] : undefined
  return reason === undefined ? status : `${status}: ${reason}`
}

/** Reasons of skipped runs, by error code. */
const skipReasons: Readonly<Record<string, string>> = { PIPELINE_PAUSED: 'paused', PIPELINE_HELD: 'locked' }

function rowCells({ counts }: ShownRun): string[] {
  const sent = counts.confirmed + counts.refused + counts.ambiguous
  return [`read ${count(counts.read)}`, `sent ${count(sent)}`, `rejected ${count(counts.rejected)}`]
}

function driftCells({ listed, changed, notListed }: Drift): string[] {
  return [`listed ${count(listed)}`, `changed ${count(changed)}`, `not listed ${count(notListed)}`]
}
