import { UsageError } from '../../errors.ts'
import type { Pipeline } from '../../pipeline/definition.ts'
import { resolvePipeline } from '../../pipeline/resolve.ts'
import { createMapper } from '../../records/createMapper.ts'
import { findColumn } from '../../records/fields.ts'
import type { Reject, Warning } from '../../records/record.ts'
import { nearest } from '../nearest.ts'
import { safe, shownAddress } from '../text.ts'
import { consentProposals, presetTests, type ConsentProposal } from './consentProposals.ts'
import { listed, type Look } from './look.ts'
import { columnQuestion, consentQuestion, questionsAbout, shopQuestion, type Question } from './ownerQuestions.ts'
import { proposedMap } from './proposedMap.ts'
import type { Kind, Wishes } from './wishes.ts'

/** All that is known before a source is looked at: nothing of it is undefined any more. */
export interface Target {
  readonly name: string
  /** Path of the pipeline file. */
  readonly file: string
  readonly kind: Kind
  readonly target: string
  /** Undefined for catalogs. */
  readonly account: string | undefined
}

/** A pipeline as it would be written, and what the rows that were looked at become by it. */
export interface Draft {
  readonly pipeline: Pipeline
  /** As a pipeline file writes it, `map`, `preset`, `options`, `consent` only where they are needed. */
  readonly settings: Settings
  /** Settings that may fit, one `field: column` each, for a person to decide. */
  readonly hints: readonly string[]
  readonly recognized: {
    readonly preset: string | undefined
    readonly fields: readonly { readonly field: string; readonly from: string }[]
  }
  readonly unused: readonly string[]
  readonly consent: readonly ConsentProposal[]
  /** What the export of a known kind says of consent by itself. */
  readonly presetConsent: readonly Pick<ConsentProposal, 'column' | 'values'>[]
  readonly valid: number
  readonly suppressed: number
  readonly rejects: readonly Reject[]
  /** Without these answers no row is of use, or a required field stays empty. */
  readonly needed: readonly Question[]
  /** Answers that would help. */
  readonly wanted: readonly Question[]
}

export interface Settings {
  readonly source: { readonly url: string; readonly encoding?: string }
  readonly preset?: string
  readonly map?: Readonly<Record<string, unknown>>
  readonly options?: { readonly default_currency: string }
  readonly consent?: unknown
  readonly destination: Readonly<Record<string, string>>
}

/**
 * Drafts a pipeline for a source from its first rows and from what was wished. Pure; call it again with more wishes.
 *
 * @throws {UsageError} `INVALID_VALUE` where a flag names a column, field or id that cannot be
 */
export function draftPipeline(look: Look, target: Target, wishes: Wishes): Draft {
  checkColumns(look, wishes)
  const { kind } = target
  const bare = {
    source: { url: look.uri, ...(wishes.encoding === undefined ? {} : { encoding: wishes.encoding }) },
    destination: destinationOf(target),
  }
  const { map, preset, known, openFields, needsShop, keyedBy, hints } = proposedMap(
    look,
    kind,
    createMapper(resolved(bare, target), look.day),
    wishes,
  )
  const own = wishes.consent.map(({ column }) => column)
  const fromPreset = presetTests(look, known).filter(({ column }) => !own.includes(column))
  const wished = wishes.consent.length === 0 ? [] : [...fromPreset, ...wishes.consent]
  const settings: Settings = {
    source: bare.source,
    ...(preset === undefined ? {} : { preset }),
    ...(Object.keys(map).length === 0 ? {} : { map: { ...map } }),
    ...(wished.length === 0 ? {} : { consent: wished.length === 1 ? wished[0] : wished }),
    ...(wishes.currency === undefined ? {} : { options: { default_currency: wishes.currency.toUpperCase() } }),
    destination: bare.destination,
  }
  const pipeline = resolved(settings, target)
  const { warnings, ...tried } = tryRows(pipeline, look)
  const consent = consentProposals(look, warnings)
  const { needed, wanted } = questionsAbout(look, kind, tried.rejects, warnings, wishes)
  const asksKey = keyedBy !== undefined && look.columns.length > 1
  return {
    ...tried,
    pipeline,
    settings,
    hints,
    unused: warnings.flatMap(({ code, field }) => (code === 'COLUMN_UNKNOWN' ? [field] : [])),
    consent,
    presetConsent: fromPreset,
    needed: [...openFields.map((field) => columnQuestion(field, kind, look, wishes)), ...(needsShop ? [shopQuestion] : []), ...needed],
    wanted: [
      ...(asksKey ? [keyQuestion(keyedBy, look, wishes)] : []),
      ...wanted,
      ...(kind === 'audience' && wishes.consent.length === 0 ? consent.slice(0, 1).map((one) => consentQuestion(one)) : []),
    ],
  }
}

/** What the rows that were looked at become. */
function tryRows(
  pipeline: Pipeline,
  look: Look,
): Pick<Draft, 'recognized' | 'valid' | 'suppressed' | 'rejects'> & { readonly warnings: readonly Warning[] } {
  const mapper = createMapper(pipeline, look.day)
  const warnings: Warning[] = look.columns.length === 0 ? [] : [...mapper.start(look.columns, look.uri)]
  const rejects: Reject[] = []
  let valid = 0
  let suppressed = 0
  for (const row of look.rows) {
    const mapped = mapper.map(row)
    warnings.push(...mapped.warnings)
    if (mapped.reject) rejects.push(mapped.reject)
    else if (mapped.record?.kind === 'member' && !mapped.record.wanted) suppressed++
    else valid++
  }
  return { recognized: mapper.describe(look.columns), valid, suppressed, rejects, warnings }
}

/** Where addresses are the key for want of another, a person may know better. */
function keyQuestion(keyedBy: string, look: Look, wishes: Wishes): Question {
  return {
    ...columnQuestion('key', 'audience', look, wishes),
    reason: `"${safe(keyedBy)}" tells one row from another, as nothing is called key`,
    proposed: keyedBy,
  }
}

function destinationOf({ kind, target, account }: Target): Readonly<Record<string, string>> {
  if (kind === 'catalog') return { kind, catalog_id: target }
  return { kind, account_id: account ?? '', [kind === 'audience' ? 'audience_id' : 'list_id']: target }
}

/** Whatever is refused here was said by a flag: the columns were looked at, the rest is ours. */
function resolved(settings: Settings, target: Target): Pipeline {
  const { pipeline, problems } = resolvePipeline(settings, target.name, target.file)
  const [first] = problems
  if (first === undefined) return pipeline as Pipeline
  throw new UsageError('INVALID_VALUE', `${first.path}: ${first.message}. Nothing was written.`, {
    where: first.path,
    mend: 'sluice help init',
  })
}

function checkColumns(look: Look, wishes: Wishes): void {
  const named = [...Object.values(wishes.map).flat(), ...wishes.consent.map(({ column }) => column)]
  const unknown = named.find((column) => look.columns.length > 0 && findColumn(look.columns, column) < 0)
  if (unknown === undefined) return
  const near = nearest(unknown, look.columns)
  throw new UsageError('INVALID_VALUE', `the source has no column "${safe(unknown.slice(0, 60))}". Nothing was written.`, {
    where: shownAddress(look.uri),
    mend: near === undefined ? `one of: ${listed(look)}` : `name the column "${safe(near)}"`,
  })
}
