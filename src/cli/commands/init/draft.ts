import { UsageError } from '../../../errors.ts'
import type { SourceSettings } from '../../../formats/fileError.ts'
import type { ConsentTest, Pipeline } from '../../../model/pipeline.ts'
import { resolvePipeline } from '../../../pipeline/resolve.ts'
import { createMapper } from '../../../destinations/createMapper.ts'
import { findColumn } from '../../../mapping/fields.ts'
import type { Reject, Warning } from '../../../model/record.ts'
import { suggestName } from '../../../suggestName.ts'
import { shownAddress } from '../../../shownAddress.ts'
import { safe } from '../../terminal/text.ts'
import { inPipelineKeys } from '../../../mapping/consent/consentText.ts'
import { presetTests } from '../../../mapping/members/bindTests.ts'
import { presetByName } from '../../../mapping/presets/index.ts'
import type { ConsentColumn } from '../../../mapping/members/unmappedColumns.ts'
import { columnNames, type Inspection } from './inspection.ts'
import { columnQuestion, consentQuestion, questionsAbout, shopQuestion, type Question } from './question.ts'
import { proposedMap } from './proposedMap.ts'
import type { InitOptions } from './options.ts'
import { destinationOf } from '../../../destinations/index.ts'
import type { Destination } from '../../../destinations/destination.ts'

/** Name, file and destination of the pipeline to write. */
export interface Target {
  readonly name: string
  readonly file: string
  readonly kind: string
  /** Id of the catalog, audience or list. */
  readonly targetId: string
  /** Undefined for catalogs. */
  readonly account: string | undefined
}

/** Pipeline as `init` would write it, with the result of mapping the inspected rows. */
export interface Draft {
  readonly pipeline: Pipeline
  /** Settings of the pipeline file. Optional settings are present only if they are needed. */
  readonly settings: Settings
  /** Parts of a `map:` that may fit, one `field: column` each. The file has them as comments, for the user to decide. */
  readonly suggestions: readonly string[]
  /** Column of each field, as `check` shows it. */
  readonly recognized: {
    readonly preset: string | undefined
    readonly known?: { readonly columns: number; readonly of: number }
    readonly fields: readonly { readonly field: string; readonly from: string }[]
  }
  /** Columns that no field uses. */
  readonly unused: readonly string[]
  /** Unmapped columns that look like consent. */
  readonly consent: readonly ConsentColumn[]
  /** Consent tests of the preset for columns without a test in the options. */
  readonly presetConsent: readonly ConsentTest[]
  /** Number of inspected rows that would be sent. */
  readonly valid: number
  /** Number of inspected rows that opt out. For a do-not-reach list: number of rows that remove a person. */
  readonly suppressed: number
  /** Rejects of the inspected rows, at most one for each row. */
  readonly rejects: readonly Reject[]
  /** Questions that must be answered: otherwise most rows are rejected, or a required field has no column. */
  readonly required: readonly Question[]
  /** Questions whose answers would improve the pipeline. */
  readonly optional: readonly Question[]
}

/** Content of the pipeline file, with the names and values that a user would write. */
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
 * Drafts a pipeline from the first rows of a source and from the options. Pure: after an answer, call it again with the new options.
 *
 * @throws {UsageError} `INVALID_VALUE` if an option has an invalid value, contradicts the prices of the file, or names an unknown column
 */
export function draftPipeline(inspection: Inspection, target: Target, options: InitOptions): Draft {
  checkColumns(inspection, options)
  const type = destinationOf(target.kind)
  const withoutMap = {
    source: { url: inspection.uri, ...(options.encoding === undefined ? {} : { encoding: options.encoding }), ...options.settings },
    destination: { kind: target.kind, ...type.init?.settings(target.targetId, target.account ?? '') },
  }
  const { map, preset, recognizedPreset, openFields, needsShop, keyedBy, suggestions } = proposedMap(
    inspection,
    type,
    createMapper(resolveSettings(withoutMap, target), inspection.inspectedAt),
    options,
  )
  const columnsOfOptions = options.consent.map(({ column }) => column)
  // A `consent:` in the file replaces all tests of the preset. So if the user adds a test, the file also gets the tests of the preset.
  const presetConsent = presetTests(recognizedPreset === undefined ? undefined : presetByName(recognizedPreset), inspection.columns)
  const fromPreset = presetConsent.map(({ test }) => test).filter(({ column }) => !columnsOfOptions.includes(column))
  const consentTests = (options.consent.length === 0 ? [] : [...fromPreset, ...options.consent]).map(inPipelineKeys)
  const proposed: Settings = {
    source: withoutMap.source,
    ...(preset === undefined ? {} : { preset }),
    ...(Object.keys(map).length === 0 ? {} : { map: { ...map } }),
    ...(consentTests.length === 0 ? {} : { consent: consentTests.length === 1 ? consentTests[0] : consentTests }),
    ...(options.ignore.length === 0 ? {} : { ignore: options.ignore }),
    ...(options.currency === undefined ? {} : { options: { default_currency: options.currency.toUpperCase() } }),
    destination: withoutMap.destination,
  }
  const settings = withoutFailingTransforms(proposed, inspection, target, options)
  const pipeline = resolveSettings(settings, target)
  const { warnings, currencies, consent, ...tried } = tryRows(pipeline, inspection)
  checkCurrency(options.currency, currencies, tried.rejects)
  const { required, optional } = questionsAbout(inspection, type, tried.rejects, warnings, options)
  const asksKey = keyedBy !== undefined && inspection.columns.length > 1
  return {
    ...tried,
    pipeline,
    settings,
    suggestions,
    unused: warnings.flatMap(({ code, field }) => (code === 'COLUMN_UNKNOWN' ? [field] : [])),
    consent,
    presetConsent: fromPreset,
    required: [
      ...openFields.map((field) => columnQuestion(field, type, inspection, options)),
      ...(needsShop ? [shopQuestion] : []),
      ...required,
    ],
    optional: [
      ...(asksKey ? [keyQuestion(type, keyedBy, inspection, options)] : []),
      ...optional,
      ...consent.map((column) =>
        consentQuestion(
          column,
          column.certain &&
            sendsSomeRow(inspection, target, settings, [
              ...(consentTests.length > 0 ? consentTests : fromPreset.map(inPipelineKeys)),
              inPipelineKeys(column.test),
            ]),
          options,
        ),
      ),
    ],
  }
}

/** Returns the settings. If no inspected row is valid, removes proposed transforms that cause rejects of their fields. */
function withoutFailingTransforms(settings: Settings, inspection: Inspection, target: Target, options: InitOptions): Settings {
  const rejectsOf = (field: string, { rejects }: Pick<Draft, 'rejects'>) => rejects.filter((reject) => reject.field === field).length
  let best = settings
  let tried = tryRows(resolveSettings(best, target), inspection)
  for (const [field, value] of Object.entries(settings.map ?? {})) {
    if (tried.valid > 0 || options.map[field] !== undefined || !isTransformed(value)) continue
    if (rejectsOf(field, tried) === 0) continue
    const withoutTransform = { ...best, map: { ...best.map, [field]: value.column } }
    const outcome = tryRows(resolveSettings(withoutTransform, target), inspection)
    if (rejectsOf(field, outcome) >= rejectsOf(field, tried)) continue
    best = withoutTransform
    tried = outcome
  }
  return best
}

function isTransformed(value: unknown): value is { readonly column: string; readonly transform: unknown } {
  return typeof value === 'object' && value !== null && 'transform' in value && 'column' in value
}

/**
 * If the proposed columns reject every inspected row, returns the first reject of each field. Empty in these cases:
 * - Some rows are usable.
 * - A reject is about a field that `init` did not propose: the user set it, or it maps automatically.
 */
export function failingProposals({ valid, suppressed, rejects, settings }: Draft, options: InitOptions): readonly Reject[] {
  if (valid + suppressed > 0) return []
  const isProposed = (field: string) =>
    settings.map?.[field] !== undefined && options.map[field] === undefined && options.set[field] === undefined
  if (!rejects.every(({ field }) => isProposed(field))) return []
  return [...new Map(rejects.toReversed().map((reject) => [reject.field, reject] as const)).values()].toReversed()
}

/** Returns true if at least one inspected row is valid and passes these consent tests. */
function sendsSomeRow(inspection: Inspection, target: Target, settings: Settings, consent: readonly unknown[]): boolean {
  return tryRows(resolveSettings({ ...settings, consent }, target), inspection).valid > 0
}

/** Maps the inspected rows and counts the outcomes. */
function tryRows(
  pipeline: Pipeline,
  inspection: Inspection,
): Pick<Draft, 'recognized' | 'valid' | 'suppressed' | 'rejects' | 'consent'> & {
  readonly warnings: readonly Warning[]
  /** Currencies in the prices of the valid products. */
  readonly currencies: ReadonlySet<string>
} {
  const mapper = createMapper(pipeline, inspection.inspectedAt)
  const warnings: Warning[] =
    inspection.columns.length === 0 ? [] : [...mapper.bindHeader(inspection.columns, inspection.uri, inspection.isTable)]
  const rejects: Reject[] = []
  const currencies = new Set<string>()
  let valid = 0
  let suppressed = 0
  for (const row of inspection.rows) {
    const mapped = mapper.map(row)
    warnings.push(...mapped.warnings)
    if (mapped.reject) rejects.push(mapped.reject)
    else if (mapped.record?.kind === 'member' && !mapped.record.desired) suppressed++
    else {
      valid++
      const currency = mapped.record?.kind === 'product' ? /"price":"[\d.]+ ([A-Z]{3})"/.exec(mapped.record.json)?.[1] : undefined
      if (currency !== undefined) currencies.add(currency)
    }
  }
  const consent = mapper.reportUnmapped().consentColumns
  return { recognized: mapper.describe(inspection.columns), valid, suppressed, rejects, warnings, consent, currencies }
}

/** Checks `--currency` against the prices of the file. @throws {UsageError} `INVALID_VALUE` if they contradict each other */
function checkCurrency(currency: string | undefined, currencies: ReadonlySet<string>, rejects: readonly Reject[]): void {
  if (currency === undefined) return
  const conflict = rejects.find(({ code }) => code === 'PRICE_CURRENCY_CONFLICT')
  const otherCurrency = [...currencies].find((found) => found !== currency.toUpperCase())
  if (conflict === undefined && otherCurrency === undefined) return
  throw new UsageError(
    'INVALID_VALUE',
    conflict === undefined
      ? `--currency ${currency} contradicts the file, which has prices in ${otherCurrency}. Nothing was written.`
      : `--currency ${currency} contradicts line ${conflict.line}: ${conflict.message}. Nothing was written.`,
    { where: '--currency', hint: 'leave --currency out: the currencies of the file are used' },
  )
}

/**
 * Returns the question for a key column. Proposes `keyedBy`: the columns of emails and phone numbers that are the key if there is no
 * answer.
 */
function keyQuestion(type: Destination, keyedBy: readonly string[], inspection: Inspection, options: InitOptions): Question {
  const question = columnQuestion('key', type, inspection, options)
  const proposed = keyedBy.join(', ')
  return {
    ...question,
    reason: `no key column found: using ${keyedBy.map((column) => `"${safe(column)}"`).join(' or else ')}`,
    proposed,
    answered: (answer) => (answer === proposed ? { map: { ...options.map, key: keyedBy } } : question.answered(answer)),
  }
}

/** Resolves the settings. Only options can be invalid, because all other values are generated. @throws {UsageError} `INVALID_VALUE` */
function resolveSettings(settings: Settings, target: Target): Pipeline {
  const { pipeline, problems } = resolvePipeline(settings, target.name, target.file)
  if (pipeline !== undefined && problems.length === 0) return pipeline
  const [first] = problems
  throw new UsageError('INVALID_VALUE', `${first?.path}: ${first?.message}. Nothing was written.`, {
    where: first?.path ?? '',
    hint: 'sluice help init',
  })
}

/** Checks the columns that the options name. @throws {UsageError} `INVALID_VALUE` for a column that the source does not have */
function checkColumns(inspection: Inspection, options: InitOptions): void {
  const named = [...Object.values(options.map).flat(), ...options.consent.map(({ column }) => column), ...options.ignore]
  const unknown = named.find((column) => inspection.columns.length > 0 && findColumn(inspection.columns, column) < 0)
  if (unknown === undefined) return
  const near = suggestName(unknown, inspection.columns)
  throw new UsageError('INVALID_VALUE', `the source has no column "${safe(unknown.slice(0, 60))}". Nothing was written.`, {
    where: shownAddress(inspection.uri),
    hint: near === undefined ? `one of: ${columnNames(inspection)}` : `name the column "${safe(near)}"`,
  })
}
