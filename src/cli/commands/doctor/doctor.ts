import { writeJson, type CommandRun, type Context } from '../../context.ts'
import type { Finding } from '../../../model/report.ts'
import { examineAll } from './examine.ts'
import { hintText, nextLines, plural, safe } from '../../terminal/text.ts'
import { padded } from '../../terminal/width.ts'

/**
 * Checks everything that a run needs, and prints each finding when it is known. Migrates the database by opening it. Changes nothing at
 * the service. Exits 1 if a check failed.
 */
export const run: CommandRun = async (context) => {
  const findings = await examineAll(context, (finding) => {
    if (!context.json) context.stdout.write(findingLines(finding, context))
  })
  const failed = findings.filter(({ state }) => state === 'failed').length
  const warned = findings.filter(({ state }) => state === 'warning').length
  if (context.json) writeJson(context, { ok: failed === 0, failed, warnings: warned, checks: findings })
  else {
    const summary =
      [...(failed > 0 ? [`${failed} failed`] : []), ...(warned > 0 ? [plural(warned, 'warning')] : [])].join(', ') || 'All checks passed'
    context.stdout.write(`${summary}\n`)
    const next = findings.find(({ state }) => state === 'failed')?.hint
    if (next !== undefined) context.stdout.write(nextLines([next], context.stdout))
  }
  return failed > 0 ? 1 : 0
}

function findingLines({ check, state, message, hint }: Finding, context: Context): string {
  const { style } = context.stdout
  const paint = { ok: style.green, warning: style.yellow, failed: style.red }[state]
  return `${paint(state.padEnd(7))}  ${padded(check, 11)}  ${safe(message)}\n${hint === undefined ? '' : `         hint: ${safe(hintText(hint, context.stdout))}\n`}`
}
