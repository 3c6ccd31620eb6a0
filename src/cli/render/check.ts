import type { Problem } from '../../errors.ts'
import type { Reject, Warning } from '../../records/record.ts'
import type { Output } from '../context.ts'
import type { PresentedError } from '../present.ts'
import { count, cut, fold, plural, safe } from '../text.ts'
import { padded } from '../width.ts'
import { noteLines, type Note } from './notes.ts'
import { rejectGroups } from './rejects.ts'

/** What one pipeline looks like from the first rows of its sources. */
export interface Check {
  readonly pipeline: string
  readonly file: string
  readonly destination: string
  readonly sources: readonly SourceCheck[]
  /** What is against running it although it is right by itself: another file writes to its destination. */
  readonly problems?: readonly Problem[]
}

export interface SourceCheck {
  readonly uri: string
  /** What was found: format, dialect, encoding, compression. */
  readonly detected: readonly string[]
  readonly columns: readonly string[]
  /** How the fields are filled, by which preset, and what to set for required ones that no column fills. */
  readonly mapping?: {
    readonly preset: string | undefined
    readonly fields: readonly { readonly field: string; readonly from: string }[]
    readonly mend: string | undefined
  }
  readonly rows: number
  readonly valid: number
  /** Without consent, or asking to leave. */
  readonly suppressed: number
  /** What would withhold a run of these rows. */
  readonly holds: readonly { readonly code: string; readonly message: string; readonly mend: string }[]
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
  // What a row or a header says is cut, what we say is not.
  const fit = (line: string) => `${output.columns === undefined ? line : cut(line, output.columns)}\n`
  const whole = (line: string) => `${fold(line, output.columns)}\n`
  const lines = [
    fit(`  source    ${safe(source.uri)}${source.detected.length === 0 ? '' : `   ${source.detected.join(', ')}`}`),
    ...(source.columns.length === 0 ? [] : [fit(`  columns   ${safe(source.columns.join(', '))}`)]),
    ...mappingLines(source).map(whole),
    whole(
      `  rows      ${count(source.rows)} read${source.whole || source.error ? '' : ' (the first ones)'}: ${count(source.valid)} valid, ${plural(source.rejects.length, 'reject')}${source.suppressed === 0 ? '' : `, ${count(source.suppressed)} suppressed`}`,
    ),
  ]
  if (source.whole && source.rows === 0 && !source.error)
    lines.push(whole('  note      no rows: a run would send nothing, and delete nothing (guards.min_rows)'))
  for (const record of source.records) {
    lines.push(fit(`  line ${record.line}${record.wanted === false ? '   asks to leave' : ''}`))
    for (const [name, value] of Object.entries(record.fields))
      lines.push(fit(`    ${padded(safe(name), 24)} ${safe(typeof value === 'string' ? value : JSON.stringify(value))}`))
    for (const { type, value } of record.identifiers ?? []) lines.push(fit(`    → ${type.padEnd(22)} ${safe(value)}`))
  }
  return lines.join('') + rejectGroups(source.rejects, output).replace(/^(?=.)/gm, '  ') + warningGroups(source, whole)
}

function mappingLines({ mapping, valid, rows }: SourceCheck): readonly string[] {
  if (mapping === undefined) return []
  const fields = mapping.fields.map(({ field, from }) => (field === from ? field : `${field} ← ${from}`)).join(', ')
  return [
    `  mapping   ${mapping.preset === undefined ? '' : `preset ${mapping.preset}: `}${safe(fields === '' ? 'no field has a column' : fields)}`,
    // Items of XML and JSON bring their own names: what one leaves out is missing where it is missing in all.
    ...(mapping.mend !== undefined && valid === 0 && rows > 0 ? [`  mend      ${safe(mapping.mend)}`] : []),
  ]
}

/** What to do once everything can be read; the rejects and what would withhold a run stand above it. */
export function nextStep(checks: readonly Check[]): string {
  const held = checks.flatMap(({ pipeline, sources }) => sources.flatMap(({ holds }) => holds.map((hold) => ({ pipeline, ...hold }))))
  const names = checks.filter(({ pipeline }) => !held.some((hold) => hold.pipeline === pipeline)).map(({ pipeline }) => pipeline)
  return [
    ...held.map(
      ({ pipeline, code, message, mend }) =>
        `HELD  ${pipeline} would be withheld: ${code}  ${safe(message.replace(/: nothing was sent$/, ''))}\n      mend: ${safe(mend)}\n`,
    ),
    ...(names.length === 0 ? [] : [`Next  sluice ${names.length === 1 ? `plan ${names[0]}` : `run ${names.join(' ')}`}\n`]),
  ].join('')
}

/** What to type once the sources that could not be read, or the files that are wrong, are mended. */
export function againLine(checks: readonly Check[]): string {
  const names = checks.filter(({ sources, problems }) => problems !== undefined || sources.some(({ error }) => error !== undefined))
  return `Next  sluice check${names.map(({ pipeline }) => ` ${pipeline}`).join('')}\n`
}

function warningGroups({ warnings }: SourceCheck, whole: (line: string) => string): string {
  const groups = new Map<string, { note: Note; lines: number[] }>()
  for (const { code, field, message, line } of warnings) {
    const known = groups.get(`${code} ${field}`)
    const lines = known?.lines ?? []
    if (line > 0 && lines.length < 3 && !lines.includes(line)) lines.push(line)
    groups.set(`${code} ${field}`, {
      note: { code, field, message: known?.note.message ?? message, count: (known?.note.count ?? 0) + 1, lines },
      lines,
    })
  }
  return noteLines([...groups.values()].map(({ note }) => note))
    .map((text) => whole(`  ${text}`))
    .join('')
}
