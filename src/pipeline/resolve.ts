/** Resolves a parsed file to a `Pipeline` with every default, or to all its problems. */
import { hash } from 'node:crypto'
import { currencyDecimals } from '../mapping/products/currencies.ts'
import { presetByName, presets } from '../mapping/presets/index.ts'
import type {
  CompletenessProof,
  FieldMapping,
  Guards,
  MappingOptions,
  Pipeline,
  RowFilter,
  SourceDefinition,
  ValueTest,
} from '../model/pipeline.ts'
import { identifierTypes } from '../model/record.ts'
import { unknownNameMessage } from '../settings/values.ts'
import { isPlainRecord } from '../unknownValue.ts'
import { withoutUndefined } from '../withoutUndefined.ts'
import { problemsOfIssues, problemAt, type PathProblem } from './problems.ts'
import { fieldSchema, pipelineSchema, removeSchema, type ParsedField, type ParsedPipeline } from './schema.ts'
import type { ParsedSource } from './sourceSchema.ts'
import { destinationOf, findDestination } from '../destinations/index.ts'

/** Resolved pipeline, or all its problems. */
export type Resolved =
  | { readonly pipeline: Pipeline; readonly problems: readonly [] }
  | { readonly pipeline?: undefined; readonly problems: readonly PathProblem[] }

/**
 * Resolves one pipeline. Pure. `file`: path for messages. `codeVersion`: version of the functions in `input` (codeVersion.ts). It is needed
 * because the text of a function does not include the imported modules.
 */
export function resolvePipeline(input: unknown, name: string, file: string, codeVersion = ''): Resolved {
  const checked = pipelineSchema.safeParse(input)
  const { problems: mapProblems, ...fields } = readMap(isPlainRecord(input) ? input : {})
  const problems = [
    ...(checked.success ? [] : problemsOfIssues(checked.error.issues, input)),
    ...mapProblems,
    ...(checked.success ? checkNames(checked.data) : []),
    ...(checked.success ? checkSources(checked.data) : []),
  ]
  if (!checked.success || problems.length > 0) return { problems }
  return { pipeline: buildPipeline(checked.data, fields, { name, file, codeVersion }), problems: [] }
}

/** Settings below `map`. */
interface MapFields {
  readonly map: Readonly<Record<string, FieldMapping>>
  readonly remove: ValueTest | undefined
}

/** Reads `map` of a file, and its problems. The target fields depend on the type of the destination. */
function readMap(input: Readonly<Record<string, unknown>>): MapFields & { readonly problems: readonly PathProblem[] } {
  const map: Record<string, FieldMapping> = Object.create(null)
  let remove: ValueTest | undefined
  const type = findDestination(isPlainRecord(input['destination']) ? input['destination']['kind'] : undefined)
  if (type === undefined) return { map, remove, problems: [] }
  const problems: PathProblem[] = []
  const given = isPlainRecord(input['map']) ? input['map'] : {}
  for (const [field, value] of Object.entries(given)) {
    const at = ['map', field]
    if (!type.fields.includes(field)) problems.push(problemAt(at, unknownNameMessage('field', field, type.fields)))
    else if (field === 'remove') {
      const checked = removeSchema.safeParse(value)
      if (checked.success) remove = checked.data
      else problems.push(...problemsOfIssues(checked.error.issues, input, at))
    } else {
      const checked = fieldSchema.safeParse(value)
      if (checked.success) {
        const mapping = toMapping(checked.data)
        map[field] = mapping
        if (type.keys === 'identifiers' && isDefaultAlone(field, mapping))
          problems.push(problemAt(at, 'needs a column: with a default alone, all rows would be one person', `map: { ${field}: COLUMN }`))
      } else problems.push(...problemsOfIssues(checked.error.issues, input, at))
    }
  }
  const mapFaults = type.checkMap({
    fields: Object.keys(given),
    hasPreset: input['preset'] !== undefined,
    hasConsent: input['consent'] !== undefined,
  })
  return { map, remove, problems: [...problems, ...mapFaults.map(({ setting, message, hint }) => problemAt([setting], message, hint))] }
}

/** Returns true for a key or identifier of people that has a default, but neither a column, a constant nor a function. */
function isDefaultAlone(field: string, { columns, default: fallback, constant, compute }: FieldMapping): boolean {
  const isOfPerson = field === 'key' || identifierTypes.some((type) => type === field)
  return isOfPerson && fallback !== undefined && columns.length === 0 && constant === undefined && compute === undefined
}

function toMapping(field: ParsedField): FieldMapping {
  if (typeof field === 'string') return { columns: [field], transforms: [] }
  if (typeof field === 'function') return { columns: [], transforms: [], compute: field }
  if (Array.isArray(field)) return { columns: field, transforms: [] }
  return withoutUndefined({
    columns: [field.column ?? [], field.columns ?? []].flat(),
    transforms: (field.transform ?? []).flat(),
    constant: field.const,
    default: field.default,
    defaultCountry: field.default_country,
    hashed: field.hashed,
    compute: field.compute,
  })
}

/** Returns the problems of the names of preset and currency. The schema does not check these names. */
function checkNames({ preset, options }: ParsedPipeline): PathProblem[] {
  const problems: PathProblem[] = []
  if (preset !== undefined && presetByName(preset) === undefined) {
    const known = presets.map(({ name }) => name)
    problems.push(problemAt(['preset'], unknownNameMessage('preset', preset, known)))
  }
  const currency = options?.default_currency?.toUpperCase()
  if (currency !== undefined && !currencyDecimals.has(currency))
    problems.push(problemAt(['options', 'default_currency'], `"${currency}" is not an active ISO 4217 currency`))
  return problems
}

function checkSources({ source: given }: ParsedPipeline): PathProblem[] {
  return [given].flat().flatMap((source, index, { length }) => {
    const at = Array.isArray(given) ? ['source', index] : ['source']
    const isSql = isPostgres(source.url)
    const problems: PathProblem[] = []
    if (isSql && source.query === undefined) problems.push(problemAt([...at, 'query'], 'is needed for a postgres source'))
    if (!isSql && source.query !== undefined) problems.push(problemAt([...at, 'query'], 'belongs to postgres sources only'))
    if (source.join !== undefined && isPostgres(source.join.url) && source.join.query === undefined)
      problems.push(problemAt([...at, 'join', 'query'], 'is needed for a postgres source'))
    if (source.join?.url === '-') problems.push(problemAt([...at, 'join', 'url'], 'a joined file cannot be stdin'))
    if (source.url === '-' && length > 1) problems.push(problemAt([...at, 'url'], 'stdin cannot be one of several sources'))
    return problems
  })
}

function isPostgres(url: string): boolean {
  return /^postgres(?:ql)?:/.test(url)
}

/**
 * Builds the pipeline of a checked file, with every default, `definitionHash` and `version`. Do not reorder or rename the keys: both hashes
 * depend on them. After such a change, every pipeline would read its whole source once.
 */
function buildPipeline(
  parsed: ParsedPipeline,
  { map, remove }: MapFields,
  { name, file, codeVersion }: { readonly name: string; readonly file: string; readonly codeVersion: string },
): Pipeline {
  const { destination, preset, ignore, only, except, credentials, alerts } = parsed
  const sources = [parsed.source].flat().map((source) => ({
    ...toSource(source),
    ...(Object.keys(map).length > 0 ? { mapped: true } : {}),
    ...(destinationOf(destination.kind).keys === 'products' ? { products: withoutUndefined({ preset }) } : {}),
  }))
  const mapping = toMappingOptions(parsed.options)
  const duplicates = parsed.duplicates === 'last' ? { duplicates: parsed.duplicates } : {}
  // Every setting of a source counts, except access to it. A setting that is added later counts too, so no read is skipped by mistake.
  const reading = sources.map(({ allowPrivate: _allowPrivate, credentials: _credentials, hostKey: _hostKey, ...settings }) => settings)
  const { imageSample: _imageSample, ...rowOptions } = mapping
  const { consent } = parsed
  const { kind } = destination
  const expiresIn = 'expiresIn' in destination ? destination.expiresIn : undefined
  const definition = { reading, preset, map, consent, ignore, remove, rowOptions, only, except, ...duplicates, kind, expiresIn }
  const versioned = withoutUndefined({
    name,
    sources,
    map,
    destination,
    guards: toGuards(parsed.guards),
    mapping,
    filters: [...filtersOf(only, { keep: true }), ...filtersOf(except, { keep: false })],
    ...duplicates,
    definitionHash: hash('sha256', stringify(definition, codeVersion)),
    preset,
    consent: consent && toConsent(consent),
    ignore,
    remove,
    credentials,
    alerts,
  })
  return withoutUndefined({
    ...versioned,
    file,
    staleAfterRuns: parsed.stale_after_runs,
    // The version does not include the file's path, the schedule and `staleAfterRuns`, because they do not change what a run does.
    version: hash('sha256', stringify(versioned, codeVersion)),
    schedule:
      parsed.schedule === undefined
        ? undefined
        : { cron: parsed.schedule.trim(), timezone: parsed.timezone ?? 'UTC', overlap: parsed.overlap ?? ('skip' as const) },
  })
}

/** Returns the value as JSON. A function becomes a text: the version of its code, and its own text. */
function stringify(value: unknown, codeVersion: string): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'function' ? `${codeVersion} ${String(part)}` : part))
}

function toMappingOptions(options: ParsedPipeline['options'] = {}): MappingOptions {
  return withoutUndefined({
    maxIdLength: options.max_id_length ?? 100,
    allow: options.allow ?? [],
    values: options.values ?? {},
    imageSample: options.image_sample,
    refuse: options.refuse,
    linkHosts: options.link_hosts?.map((host) => host.toLowerCase()),
    timezone: options.timezone,
    defaultCurrency: options.default_currency?.toUpperCase(),
  })
}

function toGuards(guards: ParsedPipeline['guards'] = {}): Guards {
  return withoutUndefined({
    minRows: guards.min_rows ?? 1,
    maxDeleteCount: guards.max_delete_count ?? 10,
    maxDeletePercent: guards.max_delete_percent ?? 10,
    maxRejectPercent: guards.max_reject_percent ?? 50,
    hold: guards.hold,
    accept: guards.accept,
    maxOutOfStockPercent: guards.max_out_of_stock_percent,
    maxPriceChangePercent: guards.max_price_change_percent,
  })
}

function filtersOf(given: ParsedPipeline['only'], { keep }: Pick<RowFilter, 'keep'>): RowFilter[] {
  return Object.entries(given ?? {}).map(([column, values]) => ({ keep, column, values: [values].flat() }))
}

function toConsent(given: NonNullable<ParsedPipeline['consent']>): NonNullable<Pipeline['consent']> {
  if (given === 'none') return given
  return [given]
    .flat()
    .map(({ column, values, not_values: notValues, before, after, for: appliesTo }) =>
      withoutUndefined({ column, values, notValues, before, after, appliesTo }),
    )
}

function toSource({ join, ...source }: ParsedSource): SourceDefinition {
  const plain = toPlainSource(source)
  if (join === undefined) return plain
  const { on, columns, ...file } = join
  const [sourceColumn, fileColumn] = typeof on === 'string' ? [on, on] : [on.source, on.file]
  return { ...plain, join: withoutUndefined({ source: toPlainSource(file), sourceColumn, fileColumn, columns }) }
}

function toPlainSource({ csv, xml, ...source }: Omit<ParsedSource, 'join'>): SourceDefinition {
  return withoutUndefined({
    uri: source.url,
    format: source.format ?? 'auto',
    complete: toProof(source.complete),
    encoding: source.encoding ?? 'auto',
    compression: source.compression ?? 'auto',
    csv: withoutUndefined({
      delimiter: csv?.delimiter === 'tab' ? '\t' : (csv?.delimiter ?? 'auto'),
      quote: csv?.quote ?? '"',
      headerRow: csv?.header_row ?? 'auto',
      columns: csv?.columns,
      relaxedQuotes: csv?.relaxed_quotes,
    }),
    xml:
      xml &&
      withoutUndefined({
        htmlEntities: xml.html_entities ?? false,
        escapeAmpersands: xml.repair_ampersands ?? xml.mend_ampersands ?? false,
        item: xml.item,
      }),
    json: source.json,
    allowPrivate: source.allow_private ?? false,
    member: source.member,
    sheet: source.sheet,
    query: source.query,
    parameters: source.parameters,
    credentials: source.credentials,
    hostKey: source.host_key,
  })
}

function toProof(given: ParsedSource['complete']): CompletenessProof {
  if (given === undefined || given === 'auto') return { kind: 'auto' }
  if ('marker' in given) return { kind: 'marker', path: given.marker }
  if ('manifest' in given) return { kind: 'manifest', path: given.manifest }
  if ('trailer' in given) return { kind: 'trailer', pattern: given.trailer }
  return { kind: 'rows', count: given.rows }
}
