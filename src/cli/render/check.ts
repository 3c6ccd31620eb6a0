import type { Check, SourceCheck } from '../commands/check.ts'
import type { Output } from '../context.ts'
import { count, cut, plural, safe } from '../text.ts'
import { rejectGroups } from './rejects.ts'

/** What was detected, three mapped records, and every reject and warning by code. */
export function checkReport(check: Check, output: Output): string {
  const { bold } = output.style
  return `${bold(check.pipeline)} → ${check.destination}   ${safe(check.file)}\n${check.sources.map((source) => sourceLines(source, output)).join('')}`
}

function sourceLines(source: SourceCheck, output: Output): string {
  const fit = (line: string) => `${output.columns === undefined ? line : cut(line, output.columns)}\n`
  const lines = [
    fit(`  source    ${safe(source.uri)}${source.detected.length === 0 ? '' : `   ${source.detected.join(', ')}`}`),
    ...(source.columns.length === 0 ? [] : [fit(`  columns   ${safe(source.columns.join(', '))}`)]),
    fit(`  rows      ${count(source.rows)} read${source.whole ? '' : ' (the first ones)'}: ${count(source.valid)} valid, ${plural(source.rejects.length, 'reject')}`),
  ]
  for (const record of source.records) {
    lines.push(fit(`  line ${record.line}${record.wanted === false ? '   asks to leave' : ''}`))
    for (const [name, value] of Object.entries(record.fields)) lines.push(fit(`    ${name.padEnd(24)} ${safe(typeof value === 'string' ? value : JSON.stringify(value))}`))
    for (const { type, value } of record.identifiers ?? []) lines.push(fit(`    → ${type.padEnd(22)} ${safe(value)}`))
  }
  return lines.join('') + rejectGroups(source.rejects, output).replace(/^(?=.)/gm, '  ') + warningGroups(source, fit)
}

function warningGroups(source: SourceCheck, fit: (line: string) => string): string {
  const groups = new Map<string, { count: number; text: string }>()
  for (const { code, field, message, line } of source.warnings) {
    const group = groups.get(`${code} ${field}`)
    if (group) group.count++
    else groups.set(`${code} ${field}`, { count: 1, text: `${safe(field)}: ${safe(message)}${line > 0 ? `   line ${line}` : ''}` })
  }
  return [...groups].map(([key, group]) => fit(`  note  ${key.split(' ')[0]}  ${count(group.count)} ×  ${group.text}`)).join('')
}
