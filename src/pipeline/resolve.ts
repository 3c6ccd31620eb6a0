/** Resolves a parsed file to a `Pipeline` with every default, or to all its problems. */
import { hash } from 'node:crypto'
import type { Problem } from '../errors.ts'
import { suggestName } from '../suggestName.ts'
import { minorUnits } from '../mapping/products/currencies.ts'
import { presetByName, presets } from '../mapping/presets/index.ts'
import type { CompletenessProof, FieldMapping, Pipeline, RowFilter, SourceDefinition, ValueTest } from '../model/pipeline.ts'
import { isPlainRecord } from '../unknownValue.ts'
import { flattenIssues, part } from './issues.ts'
import { fieldSchema, pipelineSchema, removeSchema, type FieldFile, type PipelineFile } from './schema.ts'
import type { SourceFile } from './sourceSchema.ts'
import { destinationOf, findDestination } from '../destinations/index.ts'

/** Resolved pipeline, or all its problems. */
export type Resolved =
  | { readonly pipeline: Pipeline; readonly problems: readonly [] }
  | { readonly pipeline?: undefined; readonly problems: readonly PathProblem[] }

/** Problem with the parts of its path, from which the loader finds the line. */
export interface PathProblem extends Problem {
  readonly parts: readonly (string | number)[]
}

/**
 * Resolves one pipeline. Pure. `name`: name of the pipeline. `file`: path for messages. `code`: version of the functions in `input`
 * (codeVersion.ts), because the text of a function does not include the modules that it imports.
 */
export function resolvePipeline(input: unknown, name: string, file: string, code = ''): Resolved {
  const problems: PathProblem[] = []
  const addProblem = (parts: readonly (string | number)[], message: string, hint?: string) => {
    problems.push({ parts, path: pathText(parts), message, ...(hint === undefined ? {} : { hint }) })
  }
  const checked = pipelineSchema.safeParse(input)
  if (!checked.success) for (const issue of flattenIssues(checked.error.issues, input)) addProblem(issue.path, issue.message)
  const raw = isPlainRecord(input) ? input : {}
  const { map, remove } = readMap(raw, addProblem)
  if (checked.data?.preset !== undefined && presetByName(checked.data.preset) === undefined) {
    const near = suggestName(
      checked.data.preset,
      presets.map((preset) => preset.name),
    )
    addProblem(
      ['preset'],
      `unknown preset "${checked.data.preset}"${near === undefined ? `; known are ${presets.map((preset) => preset.name).join(', ')}` : `; did you mean "${near}"?`}`,
    )
  }
  const currency = checked.data?.options?.default_currency?.toUpperCase()
  if (currency !== undefined && !minorUnits.has(currency))
    addProblem(['options', 'default_currency'], `"${currency}" is not an active ISO 4217 currency`)
  if (checked.data !== undefined) checkSources(sourcesOf(checked.data), Array.isArray(raw['source']), addProblem)
  if (!checked.success || problems.length > 0) return { problems }
  return { pipeline: buildPipeline(checked.data, map, remove, name, { path: file, code }), problems: [] }
}

type AddProblem = (parts: readonly (string | number)[], message: string, hint?: string) => void

/** Reads `map`. The target fields depend on the type of the destination. Suggests the most similar field for an unknown one. */
function readMap(
  input: Readonly<Record<string, unknown>>,
  addProblem: AddProblem,
): { map: Record<string, FieldMapping>; remove: ValueTest | undefined } {
  const map: Record<string, FieldMapping> = Object.create(null)
  let remove: ValueTest | undefined
  const type = findDestination(isPlainRecord(input['destination']) ? input['destination']['kind'] : undefined)
  if (type === undefined) return { map, remove }
  const known = type.fields
  const given = input['map']
  if (isPlainRecord(given)) {
    for (const [field, value] of Object.entries(given)) {
      if (!known.includes(field)) {
        const near = suggestName(field, known)
        addProblem(
          ['map', field],
          `unknown field "${field}"${near === undefined ? `; known are ${known.join(', ')}` : `; did you mean "${near}"?`}`,
        )
      } else if (field === 'remove') {
        const checked = removeSchema.safeParse(value)
        if (checked.success) remove = checked.data
        else for (const issue of checked.error.issues) addProblem(['map', field, ...issue.path.map(part)], issue.message)
      } else {
        const checked = fieldSchema.safeParse(value)
        if (checked.success) map[field] = toMapping(checked.data)
        else for (const issue of flattenIssues(checked.error.issues, value)) addProblem(['map', field, ...issue.path], issue.message)
      }
    }
  }
  const fields = isPlainRecord(given) ? Object.keys(given) : []
  const problems = type.checkMap({ fields, hasPreset: input['preset'] !== undefined, hasConsent: input['consent'] !== undefined })
  for (const { setting, message, hint } of problems) addProblem([setting], message, hint)
  return { map, remove }
}

function toMapping(field: FieldFile): FieldMapping {
  if (typeof field === 'string') return { columns: [field], transforms: [] }
  if (typeof field === 'function') return { columns: [], transforms: [], compute: field }
  if (Array.isArray(field)) return { columns: field, transforms: [] }
  const { column, columns, transform, const: constant } = field
  return {
    columns: [...(column === undefined ? [] : [column].flat()), ...(columns ?? [])],
    transforms: (transform ?? []).flat(),
    ...(constant === undefined ? {} : { constant }),
    ...(field.default === undefined ? {} : { default: field.default }),
    ...(field.default_country === undefined ? {} : { defaultCountry: field.default_country }),
    ...(field.hashed === undefined ? {} : { hashed: field.hashed }),
    ...(field.compute === undefined ? {} : { compute: field.compute }),
  }
}

function checkSources(sources: readonly SourceFile[], isList: boolean, addProblem: AddProblem): void {
  sources.forEach((source, index) => {
    const at = isList ? ['source', index] : ['source']
    const isSql = /^postgres(?:ql)?:/.test(source.url)
    if (isSql && source.query === undefined) addProblem([...at, 'query'], 'is needed for a postgres source')
    if (!isSql && source.query !== undefined) addProblem([...at, 'query'], 'belongs to postgres sources only')
    const isJoinSql = source.join !== undefined && /^postgres(?:ql)?:/.test(source.join.url)
    if (isJoinSql && source.join?.query === undefined) addProblem([...at, 'join', 'query'], 'is needed for a postgres source')
    if (source.join?.url === '-') addProblem([...at, 'join', 'url'], 'a joined file cannot be stdin')
    if (source.url === '-' && sources.length > 1) addProblem([...at, 'url'], 'stdin cannot be one of several sources')
  })
}

/** Builds the pipeline of a checked file, with every default and both hashes. */
function buildPipeline(
  file: PipelineFile,
  map: Readonly<Record<string, FieldMapping>>,
  remove: ValueTest | undefined,
  name: string,
  { path, code }: { readonly path: string; readonly code: string },
): Pipeline {
  const mapped = Object.keys(map).length > 0 ? { mapped: true } : {}
  const products =
    destinationOf(file.destination.kind).keys === 'products' ? { products: file.preset === undefined ? {} : { preset: file.preset } } : {}
  const sources = sourcesOf(file).map((source) => ({ ...toSource(source), ...mapped, ...products }))
  const mapping = {
    maxIdLength: file.options?.max_id_length ?? 100,
    allow: file.options?.allow ?? [],
    values: file.options?.values ?? {},
    ...(file.options?.image_sample === undefined ? {} : { imageSample: file.options.image_sample }),
    ...(file.options?.refuse === undefined ? {} : { refuse: file.options.refuse }),
    ...(file.options?.link_hosts === undefined ? {} : { linkHosts: file.options.link_hosts.map((host) => host.toLowerCase()) }),
    ...(file.options?.timezone === undefined ? {} : { timezone: file.options.timezone }),
    ...(file.options?.default_currency === undefined ? {} : { defaultCurrency: file.options.default_currency.toUpperCase() }),
  }
  const reading = sources.map(({ uri, format, complete: proof, encoding, member, sheet, csv, xml, json, query, parameters, join }) => ({
    uri,
    proof,
    format,
    encoding,
    member,
    sheet,
    csv,
    xml,
    json,
    query,
    parameters,
    join,
  }))
  const duplicates = file.duplicates === 'last' ? { duplicates: file.duplicates } : {}
  const definition = stringify(
    {
      reading,
      preset: file.preset,
      map,
      consent: file.consent,
      ignore: file.ignore,
      remove,
      mapping,
      only: file.only,
      except: file.except,
      ...duplicates,
      kind: file.destination.kind,
    },
    code,
  )
  const pipeline = {
    name,
    sources,
    map,
    destination: file.destination,
    guards: {
      minRows: file.guards?.min_rows ?? 1,
      maxDeleteCount: file.guards?.max_delete_count ?? 10,
      maxDeletePercent: file.guards?.max_delete_percent ?? 10,
      maxRejectPercent: file.guards?.max_reject_percent ?? 50,
      ...(file.guards?.hold === undefined ? {} : { hold: file.guards.hold }),
      ...(file.guards?.accept === undefined ? {} : { accept: file.guards.accept }),
      ...(file.guards?.max_out_of_stock_percent === undefined ? {} : { maxOutOfStockPercent: file.guards.max_out_of_stock_percent }),
      ...(file.guards?.max_price_change_percent === undefined ? {} : { maxPriceChangePercent: file.guards.max_price_change_percent }),
    },
    mapping,
    filters: filtersOf(file),
    ...duplicates,
    definitionHash: hash('sha256', definition),
    ...(file.preset === undefined ? {} : { preset: file.preset }),
    ...(file.consent === undefined ? {} : { consent: toConsent(file.consent) }),
    ...(file.ignore === undefined ? {} : { ignore: file.ignore }),
    ...(remove === undefined ? {} : { remove }),
    ...(file.credentials === undefined ? {} : { credentials: file.credentials }),
    ...(file.alerts === undefined ? {} : { alerts: file.alerts }),
  }
  return {
    ...pipeline,
    file: path,
    ...(file.stale_after_runs === undefined ? {} : { staleAfterRuns: file.stale_after_runs }),
    // The file's path, the schedule and `staleAfterRuns` are not a part of the version, because they do not change what a run does.
    version: hash('sha256', stringify(pipeline, code)),
    ...(file.schedule === undefined
      ? {}
      : { schedule: { cron: file.schedule.trim(), timezone: file.timezone ?? 'UTC', overlap: file.overlap ?? ('skip' as const) } }),
  }
}

/** Returns the value as JSON. A function becomes a text: the version of its code, and its own text. */
function stringify(value: unknown, code: string): string {
  return JSON.stringify(value, (_, part: unknown) => (typeof part === 'function' ? `${code} ${String(part)}` : part))
}

function filtersOf({ only = {}, except = {} }: PipelineFile): RowFilter[] {
  const filters = (given: Readonly<Record<string, string | string[]>>, keep: boolean) =>
    Object.entries(given).map(([column, values]) => ({ keep, column, values: [values].flat() }))
  return [...filters(only, true), ...filters(except, false)]
}

function toConsent(given: NonNullable<PipelineFile['consent']>): NonNullable<Pipeline['consent']> {
  if (given === 'none') return given
  return [given].flat().map(({ column, values, not_values: notValues, before, after, for: appliesTo }) => ({
    column,
    ...(values === undefined ? {} : { values }),
    ...(notValues === undefined ? {} : { notValues }),
    ...(before === undefined ? {} : { before }),
    ...(after === undefined ? {} : { after }),
    ...(appliesTo === undefined ? {} : { appliesTo }),
  }))
}

function sourcesOf(file: PipelineFile): readonly SourceFile[] {
  return Array.isArray(file.source) ? file.source : [file.source]
}

function toSource({ join, ...source }: SourceFile): SourceDefinition {
  const plain = toPlainSource(source)
  if (join === undefined) return plain
  const { on, columns, ...file } = join
  const [sourceColumn, fileColumn] = typeof on === 'string' ? [on, on] : [on.source, on.file]
  return { ...plain, join: { source: toPlainSource(file), sourceColumn, fileColumn, ...(columns === undefined ? {} : { columns }) } }
}

function toPlainSource(source: Omit<SourceFile, 'join'>): SourceDefinition {
  const { csv, xml, json } = source
  return {
    uri: source.url,
    format: source.format ?? 'auto',
    complete: toProof(source.complete),
    encoding: source.encoding ?? 'auto',
    compression: source.compression ?? 'auto',
    csv: {
      delimiter: csv?.delimiter === 'tab' ? '\t' : (csv?.delimiter ?? 'auto'),
      quote: csv?.quote ?? '"',
      headerRow: csv?.header_row ?? 'auto',
      ...(csv?.columns === undefined ? {} : { columns: csv.columns }),
      ...(csv?.relaxed_quotes === undefined ? {} : { relaxedQuotes: csv.relaxed_quotes }),
    },
    ...(xml === undefined
      ? {}
      : {
          xml: {
            htmlEntities: xml.html_entities ?? false,
            escapeAmpersands: xml.repair_ampersands ?? xml.mend_ampersands ?? false,
            ...(xml.item === undefined ? {} : { item: xml.item }),
          },
        }),
    ...(json === undefined ? {} : { json }),
    allowPrivate: source.allow_private ?? false,
    ...(source.member === undefined ? {} : { member: source.member }),
    ...(source.sheet === undefined ? {} : { sheet: source.sheet }),
    ...(source.query === undefined ? {} : { query: source.query }),
    ...(source.parameters === undefined ? {} : { parameters: source.parameters }),
    ...(source.credentials === undefined ? {} : { credentials: source.credentials }),
    ...(source.host_key === undefined ? {} : { hostKey: source.host_key }),
  }
}

function toProof(given: SourceFile['complete']): CompletenessProof {
  if (given === undefined || given === 'auto') return { kind: 'auto' }
  if ('marker' in given) return { kind: 'marker', path: given.marker }
  if ('manifest' in given) return { kind: 'manifest', path: given.manifest }
  if ('trailer' in given) return { kind: 'trailer', pattern: given.trailer }
  return { kind: 'rows', count: given.rows }
}

/** Formats a path as messages show it: `markets.de.join`, `source[1].url`. */
export function pathText(parts: readonly (string | number)[]): string {
  return parts.map((step, index) => (typeof step === 'number' ? `[${step}]` : index === 0 ? step : `.${step}`)).join('')
}
