/** Formats the changes of a plan, for a terminal and for the description of a pull request. */
import { cutText } from '../../cutText.ts'
import { nextCommands } from '../../sync/reports/nextCommands.ts'
import type { PlanChange } from '../../sync/reports/planChanges.ts'
import { figures, isShown, runSteps } from '../../sync/reports/runSteps.ts'
import type { ShownRun } from '../../model/report.ts'
import { count, plural, safe } from '../terminal/text.ts'

const signs = { create: '+', update: '~', delete: '-', renewal: '~' } as const

/** Formats the change of one key as a line: action, key, reason or changed fields with old and new value, source line. */
export function changeLine({ action, key, fields, reason, line }: PlanChange): string {
  const details = reason ?? (action === 'create' ? '' : fields.map(fieldText).join(' · '))
  const place = line === undefined ? '' : `   line ${line}`
  return `${signs[action]} ${action.padEnd(7)}  ${safe(key)}${details === '' ? '' : `  ${safe(details)}`}${place}\n`
}

function fieldText({ field, before, after }: PlanChange['fields'][number]): string {
  return `${field}: ${valueText(before)} → ${valueText(after)}`
}

function valueText(value: unknown): string {
  if (value === null || value === undefined) return '(none)'
  if (Array.isArray(value)) return value.length === 0 ? '(none)' : value.join(', ')
  return typeof value === 'string' ? value : JSON.stringify(value)
}

/** Maximum rows of the Markdown table of a plan. A pull request description is limited to 65,536 characters. */
const maxMarkdownRows = 200
/** Maximum characters of a cell in this table. */
const maxCellLength = 160

/** Returns the Markdown of one plan: counts, product sets, error and guards, next commands, and the first 200 changes. */
export async function planMarkdown(report: ShownRun, changes: AsyncIterable<PlanChange>): Promise<string> {
  const { counts, pipeline, planId = '' } = report
  const { changes: step, notPlanned } = runSteps(counts)
  const rows: string[] = []
  let omittedChanges = 0
  for await (const change of changes) {
    if (rows.length < maxMarkdownRows) rows.push(markdownRow(change))
    else omittedChanges++
  }
  const countLines = [...step.parts, ...notPlanned, ...figures(counts, 'rejected')]
    .filter(isShown)
    .map(({ name, value }) => `| ${name} | ${count(value)} |\n`)
    .join('')
  const sets = (report.productSets ?? [])
    .filter(({ action }) => action !== 'unchanged')
    .map(
      ({ name, action, message }) => `- product set ${escaped(name)}: ${action}${message === undefined ? '' : ` (${escaped(message)})`}\n`,
    )
    .join('')
  const problems = [...(report.error === undefined ? [] : [report.error]), ...report.guards]
    .map(({ code, message }) => `> **${code}** ${escaped(message)}\n\n`)
    .join('')
  const next = nextCommands(report).map(([command]) => `${command}\n`)
  const table =
    rows.length === 0
      ? ''
      : `<details><summary>${plural(step.whole, 'change')}</summary>\n\n| action | key | change |\n|---|---|---|\n${rows.join('')}${omittedChanges > 0 ? `\n… and ${count(omittedChanges)} more: \`sluice show ${planId} --changes\`\n` : ''}\n</details>\n`
  return (
    `### ${escaped(pipeline)}: plan ${planId === '' ? '(none)' : `\`${planId}\``}\n\n| | |\n|---|--:|\n${countLines}\n${sets === '' ? '' : `${sets}\n`}${problems}` +
    `${next.length === 0 ? '' : `\`\`\`\n${next.join('')}\`\`\`\n\n`}${table}`
  )
}

function markdownRow({ action, key, fields, reason }: PlanChange): string {
  const details = reason ?? (action === 'create' ? '' : fields.map(fieldText).join('; '))
  const cut = details.length > maxCellLength ? `${cutText(details, maxCellLength)}…` : details
  return `| ${action} | ${escaped(key)} | ${escaped(cut)} |\n`
}

/** Escapes a text of a feed so that it cannot end a cell or become markup. */
function escaped(text: string): string {
  return safe(text).replace(/[\\`*_{}[\]<>|#~@]/g, (char) => (char === '<' ? '&lt;' : char === '>' ? '&gt;' : `\\${char}`))
}
