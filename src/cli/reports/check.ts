import type { Problem } from '../../errors.ts'
import type { Reject, Warning } from '../../model/record.ts'
import type { Output } from '../context.ts'
import type { PresentedError } from '../terminal/present.ts'
import { count, cut, fold, hintText, nextLines, plural, safe } from '../terminal/text.ts'
import { padded } from '../terminal/width.ts'
import { noteLines } from './notes.ts'
import { renderRejects } from './rejects.ts'

/** Result of checking one pipeline on the first rows of its sources, or on all. */
export interface Check {
  readonly pipeline: string
  readonly file: string
  readonly destination: string
  readonly sources: readonly SourceCheck[]
  /** Problems that stop a run although the file itself is valid: another pipeline writes to the same destination. */
  readonly problems?: readonly Problem[]
}

export interface SourceCheck {
  readonly uri: string
  /** Detected format, encoding, compression and dialect; after a whole read also the proof of its end. */
  readonly detected: readonly string[]
  readonly columns: readonly string[]
  /** Columns of the fields; absent if no header was read. `hint`: setting for required fields without a column. */
  readonly mapping?: {
    readonly preset: string | undefined
    /** Number of the header's columns that the preset has (`columns`), and of all columns of the header (`of`). */
    readonly known?: { readonly columns: number; readonly of: number }
    readonly fields: readonly { readonly field: string; readonly from: string }[]
    readonly hint: string | undefined
  }
  readonly rows: number
  readonly valid: number
  /** Rows that cannot be used; `rejects` has an entry for each of their faults. */
  readonly rejected: number
  /** Rows that repeat another row. */
  readonly duplicates: number
  /**
   * Rows that opt out, other rows of their keys, rows whose identifiers other rows opt out, and rows of children. For a do-not-reach list:
   * rows that remove a person, and other rows with an identifier of such a row.
   */
  readonly suppressed: number
  /** Rows filtered out by `only:` and `except:`; absent if the pipeline has neither. */
  readonly filtered?: number
  /** Guards that would stop a run of these rows. */
  readonly holds: readonly { readonly code: string; readonly message: string; readonly hint: string }[]
  /** True if the source was read to its end, and not only to the limit of rows or to `error`. */
  readonly whole: boolean
  readonly records: readonly SampleRecord[]
  readonly rejects: readonly Pick<Reject, 'line' | 'code' | 'field' | 'message' | 'hint'>[]
  readonly warnings: readonly Warning[]
  readonly error?: PresentedError
}

/** Mapped record that the report shows as an example. */
export interface SampleRecord {
  readonly line: number
  /** Fields of a product; masked cells of a person. */
  readonly fields: Readonly<Record<string, unknown>>
  /** Identifiers of a person, with the beginning of the value that is sent; absent for products. */
  readonly identifiers?: readonly { readonly type: string; readonly value: string }[]
  /** False if the row is opted out; absent for products. */
  readonly desired?: boolean
}

/**
 * Formats a check: the detected format, the mapped sample records, and the rejects and warnings, grouped by code and field.
 * `effectOfEmptyRead`: text about a run if no source has a row.
 */
export function checkReport(check: Check, effectOfEmptyRead: string, output: Output): string {
  const { bold } = output.style
  const note = check.sources.every(isEmpty) ? `no rows: ${effectOfEmptyRead}` : 'no rows'
  return `${fold(`${bold(check.pipeline)} → ${check.destination}   ${safe(check.file)}`, output.columns)}\n${check.sources.map((source) => sourceLines(source, note, output)).join('')}`
}

function isEmpty({ whole, rows, error }: SourceCheck): boolean {
  return whole && rows === 0 && !error
}

/** Formats the check of one source. `emptyNote`: note for a source without rows. */
function sourceLines(source: SourceCheck, emptyNote: string, output: Output): string {
  // Lines with values or all columns of the source are cut, because they may be very long. Other lines are folded.
  const cutLine = (line: string) => `${cut(line, output.columns)}\n`
  const foldLine = (line: string) => `${fold(line, output.columns)}\n`
  const indented = output.columns === undefined ? output : { ...output, columns: output.columns - 2 }
  const lines = [
    cutLine(`  source    ${safe(source.uri)}${source.detected.length === 0 ? '' : `   ${source.detected.join(', ')}`}`),
    ...(source.columns.length === 0 ? [] : [cutLine(`  columns   ${safe(source.columns.join(', '))}`)]),
    ...mappingLines(source).map(foldLine),
    foldLine(`  rows      ${rowsText(source)}`),
  ]
  if (isEmpty(source)) lines.push(foldLine(`  note      ${emptyNote}`))
  for (const record of source.records) {
    lines.push(cutLine(`  line ${record.line}${record.desired === false ? '   opted out' : ''}`))
    for (const [name, value] of Object.entries(record.fields))
      lines.push(cutLine(`    ${padded(safe(name), 24)} ${safe(typeof value === 'string' ? value : JSON.stringify(value))}`))
    for (const { type, value } of record.identifiers ?? []) lines.push(cutLine(`    → ${type.padEnd(22)} ${safe(value)}`))
  }
  return lines.join('') + renderRejects(source.rejects, indented).replace(/^(?=.)/gm, '  ') + warningGroups(source, foldLine)
}

function rowsText({ rows, whole, error, valid, rejected, duplicates, suppressed, filtered }: SourceCheck): string {
  const parts = [
    `${count(valid)} valid`,
    plural(rejected, 'reject'),
    ...(duplicates === 0 ? [] : [plural(duplicates, 'duplicate')]),
    ...(suppressed === 0 ? [] : [`${count(suppressed)} suppressed`]),
    ...(filtered === undefined ? [] : [`${count(filtered)} filtered`]),
  ]
  return `${count(rows)} read${whole || error ? '' : ' (the first ones)'}: ${parts.join(', ')}`
}

function mappingLines({ mapping, valid, rows }: SourceCheck): readonly string[] {
  if (mapping === undefined) return []
  return [
    `  mapping   ${presetText(mapping)}${safe(fieldsText(mapping.fields) || 'no field has a column')}`,
    // Shown only if no row is valid. In XML and JSON each item has its own fields, so items of a valid file may lack a field.
    ...(mapping.hint !== undefined && valid === 0 && rows > 0 ? [`  hint      ${safe(mapping.hint)}`] : []),
  ]
}

/** Returns the next step after a check without errors. First the guards that would stop a run, then the command for the other pipelines. */
export function nextStep(checks: readonly Check[], output: Output): string {
  const stopping = checks.flatMap(({ pipeline, sources }) => sources.flatMap(({ holds }) => holds.map((hold) => ({ pipeline, ...hold }))))
  const names = checks.filter(({ pipeline }) => !stopping.some((hold) => hold.pipeline === pipeline)).map(({ pipeline }) => pipeline)
  return [
    ...stopping.map(
      ({ pipeline, code, message, hint }) =>
        `${fold(`WOULD STOP  ${pipeline}  ${code}  ${safe(message)}`, output.columns)}\n${fold(`      hint: ${safe(hintText(hint, output))}`, output.columns)}\n`,
    ),
    ...(names.length === 0 ? [] : [nextLines([`sluice ${names.length === 1 ? `plan ${names[0]}` : `run ${names.join(' ')}`}`], output)]),
  ].join('')
}

/** Returns the command that checks the pipelines with unreadable sources or problems again. */
export function checkAgainLine(checks: readonly Check[], output: Output): string {
  const failing = checks.filter(({ sources, problems }) => problems !== undefined || sources.some(({ error }) => error !== undefined))
  return nextLines([['sluice check', ...failing.map(({ pipeline }) => pipeline)].join(' ')], output)
}

function warningGroups({ warnings }: SourceCheck, foldLine: (line: string) => string): string {
  const groups = Map.groupBy(warnings, ({ code, field }) => `${code} ${field}`)
  const notes = [...groups.values()].flatMap((group) => {
    const lines = [...new Set(group.flatMap(({ line }) => (line > 0 ? [line] : [])))].slice(0, 3)
    return group.slice(0, 1).map(({ code, field, message }) => ({ code, field, message, count: group.length, lines }))
  })
  return noteLines(notes)
    .map((text) => foldLine(`  ${text}`))
    .join('')
}

/** Returns `id, title ← Name`: fields with their columns. */
export function fieldsText(fields: NonNullable<SourceCheck['mapping']>['fields']): string {
  return fields.map(({ field, from }) => (field === from ? field : `${field} ← ${from}`)).join(', ')
}

/** Returns `preset hubspot (12 of 14 columns known): `, for a preset that knows 12 of the header's 14 columns; empty without a preset. */
export function presetText({ preset, known }: Pick<NonNullable<SourceCheck['mapping']>, 'preset' | 'known'>): string {
  if (preset === undefined) return ''
  if (known === undefined) return `preset ${preset}: `
  const { columns: knownColumns, of: allColumns } = known
  return `preset ${preset} (${knownColumns} of ${allColumns} columns known): `
}
