import type { Reject, Warning } from '../../records/record.ts'
import type { Output } from '../context.ts'
import type { PresentedError } from '../present.ts'
import { count, cut, plural, safe } from '../text.ts'
import { rejectGroups } from './rejects.ts'

/** What one pipeline looks like from the first rows of its sources. */
export interface Check {
  readonly pipeline: string
  readonly file: string
  readonly destination: string
  readonly sources: readonly SourceCheck[]
}

export interface SourceCheck {
  readonly uri: string
  /** What was found: format, dialect, encoding, compression. */
  readonly detected: readonly string[]
  readonly columns: readonly string[]
  readonly rows: number
  readonly valid: number
  /** The whole source was read; otherwise only its first rows. */
  readonly whole: boolean
  readonly records: readonly SampleRecord[]
  readonly rejects: readonly Pick<Reject, 'line' | 'code' | 'field' | 'message' | 'mend'>[]
  readonly warnings: readonly Warning[]
  readonly error?: PresentedError
}

export interface SampleRecord {
  readonly line: number
  /** A product's fields; a member's masked cells. */
  readonly fields: Readonly<Record<string, unknown>>
  /** A member's identifiers by type, with the beginning of the digest that is sent. */
  readonly identifiers?: readonly { readonly type: string; readonly value: string }[]
  /** False: the row asks to leave. */
  readonly wanted?: boolean
}

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
    fit(
      `  rows      ${count(source.rows)} read${source.whole ? '' : ' (the first ones)'}: ${count(source.valid)} valid, ${plural(source.rejects.length, 'reject')}`,
    ),
  ]
  for (const record of source.records) {
    lines.push(fit(`  line ${record.line}${record.wanted === false ? '   asks to leave' : ''}`))
    for (const [name, value] of Object.entries(record.fields))
      lines.push(fit(`    ${name.padEnd(24)} ${safe(typeof value === 'string' ? value : JSON.stringify(value))}`))
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
