import type { PlanReport } from '../../model/report.ts'
import { flag, listArgument, option, type CommandRun, type Output } from '../context.ts'
import { planPipeline } from '../../sync/run/run.ts'
import { eachPipeline } from '../eachPipeline.ts'
import { pipelinesNamed } from '../pipelines.ts'
import { changesOf, writePlans } from '../reports/planFile.ts'
import { finishRuns } from './run.ts'
import { planMarkdown } from '../reports/planChanges.ts'
import { count, duration, fold, hintText, nextLines, plural, safe } from '../terminal/text.ts'
import { changesSets } from '../../sync/reports/nextCommands.ts'
import { figures, isShown, plannedChanges, runSteps, type Figure } from '../../sync/reports/runSteps.ts'
import { qualityCodes } from '../../mapping/statistics/qualityCodes.ts'
import { setProblems, setSummary } from '../reports/productSets.ts'
import { codeCounts } from '../reports/funnel.ts'
import { guardLine } from '../reports/outcome.ts'

/**
 * Reads the sources of each pipeline, and stores and shows its plan. Changes nothing at the service. Exits 4 if a guard withholds deletes
 * or stops the plan, so that CI can fail.
 */
export const run: CommandRun = async (context, invocation) => {
  const names = listArgument(invocation, 0)
  const out = option(invocation, 'out')
  const pipelines = await pipelinesNamed(context, names)
  const reports = await eachPipeline<PlanReport>(context, pipelines, {
    async each(engine, pipeline) {
      const report = await engine.withProgress(pipeline.name, (deps) => planPipeline(deps, pipeline, { full: flag(invocation, 'full') }))
      if (!context.json)
        context.stdout.write(
          flag(invocation, 'markdown')
            ? await planMarkdown(report, changesOf(engine.deps.db, report))
            : planSummary(report, context.stdout),
        )
      return report
    },
    toErrorReport: (report) => ({ ...report, trigger: 'plan', planId: '', updateFields: [], requests: 0, minutes: null, proof: '' }),
    end: async (db, all) => (out === undefined ? undefined : writePlans(db, out, all)),
  })
  return finishRuns(context, reports, { asList: names.length > 1 || pipelines.length > 1 })
}

/**
 * Returns the summary of a plan, with at most two next commands. The number of lines does not grow with the plan. A plan that a guard
 * stopped has no id.
 */
export function planSummary(report: PlanReport, output: Output): string {
  const { counts } = report
  const { bold, dim, green, yellow, red } = output.style
  const lines: string[] = [
    `${bold(report.pipeline)}   ${report.planId === '' ? 'no plan' : `plan ${bold(report.planId)}`}   ${plural(counts.read, 'row')}, ${safe(report.proof)}   ${duration(report.durationMs)}`,
  ]
  const { changes, notPlanned } = runSteps(counts)
  const leftOut = figures(counts, 'rejected', 'duplicates', 'suppressed', 'filtered')
  const signs: Partial<Record<Figure['countName'], string>> = {
    creates: green('+'),
    updates: yellow('~'),
    deletes: red('-'),
    renewals: yellow('~'),
    unchanged: dim('='),
    rejected: red('!'),
    filtered: ' ',
  }
  const fields = report.updateFields.slice(0, 4).map(({ field, count: n }) => `${safe(field)} ${count(n)}`)
  for (const { countName, name, value, note } of [...changes.parts, ...notPlanned, ...leftOut].filter(isShown)) {
    const text = countName === 'updates' ? fields.join(' · ') : countName === 'rejected' ? codeCounts(report.rejectCodes, 2) : note
    lines.push(`  ${signs[countName] ?? '!'} ${name.padEnd(10)} ${count(value).padStart(11)}${text === '' ? '' : `   ${text}`}`)
  }
  const sets = setSummary(report)
  if (sets !== '') lines.push(`  ${yellow('~')} ${'sets'.padEnd(10)} ${sets}`)
  lines.push(...setProblems(report).split('\n').filter(Boolean).slice(0, 2))
  const hasNothingToSend = plannedChanges(counts) === 0 && !changesSets(report)
  if (plannedChanges(counts) > 0) lines.push(`  ${plural(report.requests, 'request')}${minutesNote(report.minutes)}`)
  else lines.push(hasNothingToSend ? '  nothing to send' : '  product sets only')
  const notes = noteCodes(report)
  if (notes.length > 0)
    lines.push(
      `  ${yellow('!')} ${'notes'.padEnd(10)} ${notes.join(', ')}: ${hintText(`sluice show ${report.planId || report.runId}`, output)}`,
    )
  for (const guard of report.guards.slice(0, 2)) lines.push(guardLine(guard).trimEnd())
  const next = hasNothingToSend ? [] : [`sluice apply ${report.planId}`]
  for (const guard of report.guards) if (guard.hint !== '' && !next.includes(guard.hint)) next.push(guard.hint)
  return `${fold(lines.join('\n'), output.columns)}\n${nextLines(next.slice(0, 2), output)}`
}

/**
 * Returns the codes of the notes on the whole source, without those of guards. A later run of the unchanged source does not repeat notes on
 * changes, such as `MOST_CHANGED`.
 */
function noteCodes({ warnings = [], guards }: PlanReport): readonly string[] {
  const ofGuards = new Set(guards.map(({ code }) => code))
  const codes = warnings.map(({ code }) => code).filter((code) => Object.hasOwn(qualityCodes, code) && !ofGuards.has(`GUARD_${code}`))
  return [...new Set(codes)]
}

function minutesNote(minutes: number | null): string {
  if (minutes === null) return ''
  return minutes < 1 ? ", under 1 min at the service's limits" : `, about ${count(minutes)} min at the service's limits`
}
