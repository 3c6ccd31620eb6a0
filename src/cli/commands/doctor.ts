import { writeJson, type CommandRun, type Context } from '../context.ts'
import { examineDatabase } from '../doctor/database.ts'
import { examineEnvironment } from '../doctor/environment.ts'
import type { Finding } from '../doctor/finding.ts'
import { examinePipelines } from '../doctor/pipelines.ts'
import { examineService } from '../doctor/service.ts'
import { plural, safe } from '../text.ts'
import { padded } from '../width.ts'

/** Looks at everything a run needs, sends nothing that changes anything, and never stops at the first fault. */
export const run: CommandRun = async (context) => {
  const findings: Finding[] = []
  const say = (finding: Finding) => {
    findings.push(finding)
    if (!context.json) context.stdout.write(findingLines(finding, context))
  }
  const config = await examineEnvironment(context, say)
  if (config) {
    await examineDatabase(context, say)
    const pipelines = await examinePipelines(context, say)
    await examineService(config, context, pipelines, say)
  }
  const failed = findings.filter(({ state }) => state === 'failed').length
  const warned = findings.filter(({ state }) => state === 'warning').length
  if (context.json) writeJson(context, { ok: failed === 0, failed, warnings: warned, checks: findings })
  else {
    const verdict =
      [...(failed > 0 ? [`${failed} failed`] : []), ...(warned > 0 ? [plural(warned, 'warning')] : [])].join(', ') || 'all well'
    context.stdout.write(`${verdict}\n`)
    const next = findings.find(({ state }) => state === 'failed')?.mend
    if (next !== undefined) context.stdout.write(`Next  ${next}\n`)
  }
  return failed > 0 ? 1 : 0
}

function findingLines({ check, state, message, mend }: Finding, context: Context): string {
  const { style } = context.stdout
  const paint = { ok: style.green, warning: style.yellow, failed: style.red }[state]
  return `${paint(state.padEnd(7))}  ${padded(check, 11)}  ${safe(message)}\n${mend === undefined ? '' : `         mend: ${safe(mend)}\n`}`
}
