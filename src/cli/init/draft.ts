import { UsageError } from '../../errors.ts'
import type { SourceSettings } from '../../formats/fileError.ts'
import type { ConsentTest, Pipeline } from '../../model/pipeline.ts'
import { resolvePipeline } from '../../pipeline/resolve.ts'
import { createMapper } from '../../mapping/createMapper.ts'
import { findColumn } from '../../mapping/fields.ts'
import type { Reject, Warning } from '../../model/record.ts'
import { suggestName } from '../../suggestName.ts'
import { safe, shownAddress } from '../text.ts'
import { asWritten } from '../../mapping/consent/consentText.ts'
import type { ConsentColumn } from '../../mapping/consent/unreadReport.ts'
import { presetTests } from './consentAnswers.ts'
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
    readonly known?: { readonly columns: number; readonly of: number }
    readonly fields: readonly { readonly field: string; readonly from: string }[]
  }
  readonly unused: readonly string[]
  /** Columns that say who may be reached, and that nothing reads yet. */
  readonly consent: readonly ConsentColumn[]
  /** Tests that the export of a known kind has without being told. */
  readonly presetConsent: readonly ConsentTest[]
  readonly valid: number
  readonly suppressed: number
  readonly rejects: readonly Reject[]
  /** Without these answers no row is of use, or a required field stays empty. */
  readonly needed: readonly Question[]
  /** Answers that would help. */
  readonly wanted: readonly Question[]
}

export interface Settings {
  readonly source: { readonly url: string; readonly encoding?: string } & SourceSettings
  readonly preset?: string
  readonly map?: Readonly<Record<string, unknown>>
  readonly options?: { readonly default_currency: string }
  readonly consent?: unknown
  readonly ignore?: readonly string[]
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
    source: { url: look.uri, ...(wishes.encoding === undefined ? {} : { encoding: wishes.encoding }), ...wishes.settings },
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
  const wished = (wishes.consent.length === 0 ? [] : [...fromPreset, ...wishes.consent]).map(asWritten)
  const proposed: Settings = {
    source: bare.source,
    ...(preset === undefined ? {} : { preset }),
    ...(Object.keys(map).length === 0 ? {} : { map: { ...map } }),
    ...(wished.length === 0 ? {} : { consent: wished.length === 1 ? wished[0] : wished }),
    ...(wishes.ignore.length === 0 ? {} : { ignore: wishes.ignore }),
    ...(wishes.currency === undefined ? {} : { options: { default_currency: wishes.currency.toUpperCase() } }),
    destination: bare.destination,
  }
  const settings = withoutFailingTransforms(proposed, look, target, wishes)
  const pipeline = resolved(settings, target)
  const { warnings, currencies, consent, ...tried } = tryRows(pipeline, look)
  checkCurrency(wishes.currency, currencies, tried.rejects)
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
      ...consent.map((one) =>
        consentQuestion(
          one,
          keepsSomebody(look, target, settings, [...(wished.length > 0 ? wished : fromPreset.map(asWritten)), asWritten(one.test)]),
          wishes,
        ),
      ),
    ],
  }
}

/** A transform that a column's name asked for is left out where the values of the rows that were looked at show otherwise. */
function withoutFailingTransforms(settings: Settings, look: Look, target: Target, wishes: Wishes): Settings {
  let best = settings
  let tried = tryRows(resolved(best, target), look)
  for (const [field, value] of Object.entries(settings.map ?? {})) {
    if (tried.valid > 0 || wishes.map[field] !== undefined || !isTransformed(value)) continue
    if (!tried.rejects.some((reject) => reject.field === field)) continue
    const other = { ...best, map: { ...best.map, [field]: value.column } }
    const outcome = tryRows(resolved(other, target), look)
    if (
      outcome.rejects.filter((reject) => reject.field === field).length >= tried.rejects.filter((reject) => reject.field === field).length
    )
      continue
    best = other
    tried = outcome
  }
  return best
}

function isTransformed(value: unknown): value is { readonly column: string; readonly transform: unknown } {
  return typeof value === 'object' && value !== null && 'transform' in value && 'column' in value
}

/**
 * Fields whose proposed column rejects every row that was looked at, with the first reject of each; empty where some rows are of
 * use, or where the owner named the columns.
 */
export function failingProposals({ valid, suppressed, rejects, settings }: Draft, wishes: Wishes): readonly Reject[] {
  if (valid + suppressed > 0) return []
  const isProposed = (field: string) =>
    settings.map?.[field] !== undefined && wishes.map[field] === undefined && wishes.set[field] === undefined
  if (!rejects.every(({ field }) => isProposed(field))) return []
  return [...new Map(rejects.toReversed().map((reject) => [reject.field, reject] as const)).values()].toReversed()
}

/** With these tests some of the rows that were looked at are sent. */
function keepsSomebody(look: Look, target: Target, settings: Settings, consent: readonly unknown[]): boolean {
  return tryRows(resolved({ ...settings, consent }, target), look).valid > 0
}

/** What the rows that were looked at become. */
function tryRows(
  pipeline: Pipeline,
  look: Look,
): Pick<Draft, 'recognized' | 'valid' | 'suppressed' | 'rejects' | 'consent'> & {
  readonly warnings: readonly Warning[]
  /** Of the prices of the valid products. */
  readonly currencies: ReadonlySet<string>
} {
  const mapper = createMapper(pipeline, look.day)
  const warnings: Warning[] = look.columns.length === 0 ? [] : [...mapper.start(look.columns, look.uri)]
  const rejects: Reject[] = []
  const currencies = new Set<string>()
  let valid = 0
  let suppressed = 0
  for (const row of look.rows) {
    const mapped = mapper.map(row)
    warnings.push(...mapped.warnings)
    if (mapped.reject) rejects.push(mapped.reject)
    else if (mapped.record?.kind === 'member' && !mapped.record.wanted) suppressed++
    else {
      valid++
      const currency = mapped.record?.kind === 'product' ? /"price":"[\d.]+ ([A-Z]{3})"/.exec(mapped.record.json)?.[1] : undefined
      if (currency !== undefined) currencies.add(currency)
    }
  }
  const consent = mapper.unread?.().consentColumns ?? []
  return { recognized: mapper.describe(look.columns), valid, suppressed, rejects, warnings, consent, currencies }
}

/** A currency for all prices must not contradict those that the file names itself. */
function checkCurrency(wished: string | undefined, currencies: ReadonlySet<string>, rejects: readonly Reject[]): void {
  if (wished === undefined) return
  const conflict = rejects.find(({ code }) => code === 'PRICE_CURRENCY_CONFLICT')
  const other = [...currencies].find((currency) => currency !== wished.toUpperCase())
  if (conflict === undefined && other === undefined) return
  throw new UsageError(
    'INVALID_VALUE',
    conflict === undefined
      ? `--currency ${wished} contradicts the file, which has prices in ${other}. Nothing was written.`
      : `--currency ${wished} contradicts line ${conflict.line}: ${conflict.message}. Nothing was written.`,
    { where: '--currency', hint: 'leave --currency out: the currencies of the file are used' },
  )
}

/** Where addresses are the key for want of another, a person may know better. */
function keyQuestion(keyedBy: readonly string[], look: Look, wishes: Wishes): Question {
  const question = columnQuestion('key', 'audience', look, wishes)
  const proposed = keyedBy.join(', ')
  return {
    ...question,
    reason: `no column holds a key for every row: using ${keyedBy.map((column) => `"${safe(column)}"`).join(' or else ')}`,
    proposed,
    answered: (answer) => (answer === proposed ? { map: { ...wishes.map, key: keyedBy } } : question.answered(answer)),
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
    hint: 'sluice help init',
  })
}

function checkColumns(look: Look, wishes: Wishes): void {
  const named = [...Object.values(wishes.map).flat(), ...wishes.consent.map(({ column }) => column), ...wishes.ignore]
  const unknown = named.find((column) => look.columns.length > 0 && findColumn(look.columns, column) < 0)
  if (unknown === undefined) return
  const near = suggestName(unknown, look.columns)
  throw new UsageError('INVALID_VALUE', `the source has no column "${safe(unknown.slice(0, 60))}". Nothing was written.`, {
    where: shownAddress(look.uri),
    hint: near === undefined ? `one of: ${listed(look)}` : `name the column "${safe(near)}"`,
  })
}
