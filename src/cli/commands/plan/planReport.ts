import type { PlanReport } from '../../../model/report.ts'
import type { Output } from '../../context.ts'
import { count, duration, fold, plural, safe } from '../../terminal/text.ts'
import { changesSets, planned } from '../../../sync/nextCommands.ts'
import { setProblems, setSummary } from '../../reports/productSets.ts'
import { guardLine } from '../../reports/outcome.ts'

/** Returns the summary of a plan and at most two next steps. The number of lines does not grow with the plan. */
export function planSummary(report: PlanReport, output: Output): string {
  const { counts } = report
  const { bold, dim, green, yellow, red } = output.style
  const lines: string[] = [
    `${bold(report.pipeline)}   plan ${bold(report.planId)}   ${plural(counts.read, 'row')}, ${safe(report.proof)}   ${duration(report.durationMs)}`,
  ]
  const row = (sign: string, name: string, value: number, note = '') =>
    lines.push(`  ${sign} ${name.padEnd(10)} ${count(value).padStart(11)}${note === '' ? '' : `   ${note}`}`)
  row(green('+'), 'create', counts.creates)
  row(
    yellow('~'),
    'update',
    counts.updates,
    report.updateFields
      .slice(0, 4)
      .map(({ field, count: n }) => `${safe(field)} ${count(n)}`)
      .join(' · '),
  )
  row(red('-'), 'delete', counts.deletes, counts.withheld > 0 ? `${count(counts.withheld)} withheld` : '')
  if (counts.renewals > 0) row(yellow('~'), 'renew', counts.renewals)
  if (counts.deferred > 0) row('!', 'deferred', counts.deferred, 'wait for an earlier operation; the next run sends them')
  row(dim('='), 'unchanged', counts.unchanged)
  if (counts.rejected > 0) row(red('!'), 'rejected', counts.rejected, rejectNote(report))
  if (counts.duplicates > 0) row('!', 'duplicate', counts.duplicates)
  if (counts.suppressed > 0) row('!', 'suppressed', counts.suppressed)
  if ((counts.filtered ?? 0) > 0) row(' ', 'filtered', counts.filtered ?? 0, 'left out by only: and except:')
  const sets = setSummary(report)
  if (sets !== '') lines.push(`  ${yellow('~')} ${'sets'.padEnd(10)} ${sets}`)
  lines.push(...setProblems(report).split('\n').filter(Boolean).slice(0, 2))
  const isNothing = planned(counts) === 0 && !changesSets(report)
  if (planned(counts) > 0) lines.push(`  ${plural(report.requests, 'request')}${minutesNote(report.minutes)}`)
  else lines.push(isNothing ? '  nothing to send' : '  product sets only')
  for (const guard of report.guards.slice(0, 2)) lines.push(guardLine(guard).trimEnd())
  const next = !isNothing ? [`sluice apply ${report.planId}`] : []
  for (const guard of report.guards) if (guard.hint !== '' && !next.includes(guard.hint)) next.push(guard.hint)
  const commands = next.slice(0, 2).map((command, i) => `${i === 0 ? 'Next' : '    '}  ${command}\n`)
  return `${fold(lines.join('\n'), output.columns)}\n${commands.join('')}`
}

function rejectNote(report: PlanReport): string {
  const codes = (report.rejectCodes ?? []).slice(0, 2).map(({ code, count: n }) => `${code} ${count(n)}`)
  const stale = report.counts.stale > 0 ? `   (${count(report.counts.stale)} keep their last version)` : ''
  return codes.join(' · ') + stale
}

function minutesNote(minutes: number | null): string {
  if (minutes === null) return ''
  return minutes < 1 ? ", under 1 min at the service's limits" : `, about ${count(Math.ceil(minutes))} min at the service's limits`
}
