import type { AuditExample, AuditReport } from '../../sync/audit/report.ts'
import type { Drift } from '../../model/report.ts'
import type { Output } from '../context.ts'
import { count, cut, duration, fold, nextLines, plural, safe, table } from '../terminal/text.ts'
import { nextCommands } from '../../sync/reports/nextCommands.ts'
import { guardLine } from './outcome.ts'

/** Maximum number of products shown for each kind of difference. `--json` has ten. */
const maxShownProducts = 5
/** Maximum width of a value, in columns. */
const maxValueWidth = 60

/** Returns the result of an audit: counts, the first different products, the plan of `--repair`, guards, and up to two next commands. */
export function auditSummary(report: AuditReport, output: Output): string {
  const { drift, pipeline, runId } = report
  const { bold } = output.style
  const head = `${bold(pipeline)} ${runId}   ${plural(drift.listed, 'product')} listed in ${plural(report.readRequests, 'request')}   ${duration(report.durationMs)}\n`
  const fields = report.changedFields.slice(0, 4).map(({ field, count: n }) => `${safe(field)} ${count(n)}`)
  const body = driftTable(drift, fields.join(' · '))
  const notCompared =
    report.notReturned.length === 0 ? '' : `  not returned by the service, so not compared: ${report.notReturned.join(', ')}\n`
  const text =
    head + body + notCompared + exampleLines(report.examples) + planLine(report) + report.guards.slice(0, 2).map(guardLine).join('')
  const commands = nextCommands(report).map(([command]) => command)
  return fold(text, output.columns) + nextLines(commands.slice(0, 2), output)
}

/** Returns the counts of an audit as a table. `fields`: note of the row `changed`. */
export function driftTable(drift: Drift, fields = ''): string {
  const rows: (readonly [sign: string, name: string, value: number, note: string])[] = [
    ['=', 'same', drift.same, ''],
    ['~', 'changed', drift.changed, fields],
    ['-', 'not listed', drift.notListed, drift.notListed === 0 ? '' : 'confirmed before'],
    ...(drift.hidden > 0
      ? [['?', 'hidden', drift.hidden, 'variants that the service does not list: --repair sends them again'] as const]
      : []),
    ...(drift.unmanaged > 0 ? [['+', 'unmanaged', drift.unmanaged, 'not written by this pipeline; never touched'] as const] : []),
    ...(drift.unresolved > 0 ? [['!', 'unresolved', drift.unresolved, 'not compared: an earlier request is unresolved'] as const] : []),
    ...(drift.waiting > 0 ? [['!', 'waiting', drift.waiting, 'already out of sync: the next run sends them'] as const] : []),
  ]
  return table(
    rows.map(([sign, name, value, note]) => [`  ${sign} ${name.padEnd(10)}`, count(value), note]),
    new Set([1]),
  )
}

const kindsWithoutFields = { notListed: 'not listed', unmanaged: 'unmanaged', unresolved: 'unresolved' } as const

function exampleLines(examples: readonly AuditExample[]): string {
  const changed = examples.filter(({ found }) => found === 'changed').slice(0, maxShownProducts)
  const lines = changed.flatMap(({ id, fields = [] }) =>
    fields.map(
      ({ field, ours, theirs, desired }) =>
        `changed  ${safe(id)}  ${field}  confirmed ${quoted(ours)}, listed ${quoted(theirs)}${desired === undefined ? '' : `, desired ${quoted(desired)}`}\n`,
    ),
  )
  for (const [kind, name] of Object.entries(kindsWithoutFields)) {
    const shownExamples = examples.filter((example) => example.found === kind).slice(0, maxShownProducts)
    const names = shownExamples.map(
      ({ id, deletedBy }) => `${safe(id)}${deletedBy === undefined ? '' : ` (deleted by ${deletedBy}, and listed again)`}`,
    )
    if (names.length > 0) lines.push(`${name}  ${names.join(', ')}\n`)
  }
  return lines.join('')
}

function quoted(text: string | null): string {
  return text === null ? 'nothing' : `"${cut(safe(text), maxValueWidth)}"`
}

function planLine(report: AuditReport): string {
  if (report.planId === undefined) return ''
  const { creates, updates, deletes } = report.counts
  const minutes = report.minutes < 1 ? 'under 1 min' : `about ${count(report.minutes)} min`
  return `plan ${report.planId}   ${plural(creates, 'create')}, ${plural(updates, 'update')}, ${plural(deletes, 'delete')} in ${plural(report.requests, 'request')}, ${minutes} at the service's limits\n`
}
