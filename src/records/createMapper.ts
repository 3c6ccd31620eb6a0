/** Rows → records for one pipeline (record.ts RecordMapper): binds columns once a header, then maps without looking back. */
import { hash } from 'node:crypto'
import { RunError } from '../errors.ts'
import type { FieldMapping, Pipeline } from '../pipeline/definition.ts'
import { nearest } from './closeness.ts'
import { bindField, findColumn, normalizeHeader, type PresetField } from './fields.ts'
import { mapMember, maskFor, memberKey, testValues, type BoundIdentifier, type MemberBinding, type MemberRules } from './mapMember.ts'
import { hideStray, maskText, maskUnknown } from './mask.ts'
import { mapProduct, productFields, productKey, productRules, requiredProductFields, serviceFields, type ProductBinding } from './product/mapProduct.ts'
import { identifierTypes, type IdentifierType, type Mapped, type RecordMapper, type Row, type Warning } from './record.ts'
import { mendOf, recordCodes, type RecordCode } from './rejectCodes.ts'
import { presetByName, recognizePreset, type Preset } from './presets/index.ts'
import { TransformFault } from './transforms.ts'
import { trimText } from './text.ts'

/** Rises whenever the same cells may map to something else: part of every definition hash (record.ts). */
export const normalizerVersion = 1

/** A source's columns, bound: what maps its rows and what was worth saying about them. */
interface Bound {
  readonly map: (row: Row) => Mapped
  readonly keyOf: (row: Row) => Uint8Array | undefined
  readonly mask: (row: Row) => readonly string[]
  readonly warnings: readonly Warning[]
  /** Why the file cannot be used at all. */
  readonly missing: readonly MissingColumn[]
  /** Columns that repeat the header when a row holds their names (bad-inputs 24). */
  readonly echo: readonly EchoColumn[]
}

interface EchoColumn {
  readonly index: number
  /** Trimmed, in lower case. */
  readonly name: string
}

interface MissingColumn {
  readonly field: string
  readonly message: string
  readonly mend: string
}

/** Different headers kept at once: rows of JSON and XML have their own. */
const maxBound = 512

/** Pure but for a cache of bound headers; one mapper serves one source file at a time. */
export function createMapper(pipeline: Pipeline): RecordMapper {
  const bind = pipeline.destination.kind === 'catalog' ? catalogBinder(pipeline) : memberBinder(pipeline)
  const known = new Map<string, Bound>()
  let lastColumns: readonly string[] | undefined
  let last: Bound | undefined
  const boundFor = (columns: readonly string[]): Bound => {
    if (columns === lastColumns && last !== undefined) return last
    const key = columns.join('\u0000')
    let bound = known.get(key)
    if (bound === undefined) {
      if (known.size >= maxBound) known.clear()
      bound = bind(columns)
      known.set(key, bound)
    }
    lastColumns = columns
    last = bound
    return bound
  }
  return {
    definitionHash: hash('sha256', `${normalizerVersion} ${pipeline.definitionHash}`),
    start: (columns) => {
      const bound = boundFor(columns)
      const [first] = bound.missing
      if (first !== undefined && isTable(pipeline, columns)) {
        throw new RunError('FILE_COLUMN_MISSING', bound.missing.map(({ message }) => message).join('; '), { where: pipeline.sources[0]?.uri ?? pipeline.name, mend: first.mend })
      }
      return bound.warnings
    },
    map: (row) => {
      const bound = boundFor(row.columns)
      if (row.fault !== undefined) {
        const { code, message, field } = row.fault
        const reject = { line: row.line, code, field: field ?? '', message: hideStray(message), mend: code in recordCodes ? mendOf(code as RecordCode) : 'Correct the row in the source.' }
        // Cells may be shifted in such a row, but where its key reads as one, that record is stale and not gone (I2).
        const key = row.cells.length === 0 ? undefined : bound.keyOf(row)
        return { reject: key === undefined ? reject : { ...reject, key }, warnings: [] }
      }
      if (isHeaderAgain(row, bound.echo)) {
        return { reject: { line: row.line, code: 'HEADER_REPEATED', field: row.columns[bound.echo[0]?.index ?? 0] ?? '', message: 'the header stands here once more', mend: mendOf('HEADER_REPEATED') }, warnings: [] }
      }
      try {
        return bound.map(row)
      } catch (error) {
        if (!(error instanceof TransformFault)) throw error
        return { reject: { line: row.line, code: 'TRANSFORM_FAILED', field: error.transform, message: `${error.transform}: the value ${error.message}`, mend: mendOf('TRANSFORM_FAILED') }, warnings: [] }
      }
    },
    mask: (row) => boundFor(row.columns).mask(row),
  }
}

/**
 * Where a missing column can be told from a missing value: files with one header for all rows. Items of XML and JSON each
 * bring their own names, and there the row is rejected instead.
 */
function isTable(pipeline: Pipeline, columns: readonly string[]): boolean {
  if (columns.length === 0) return false
  const { format = 'auto', uri = '' } = pipeline.sources[0] ?? {}
  if (format !== 'auto') return format === 'csv' || format === 'tsv' || format === 'xlsx'
  return !/\.(?:xml|rss|atom|json|jsonl|ndjson)(?:\.(?:gz|zip|zst))?(?:[?#].*)?$/i.test(uri) && !columns.some((column) => /^[a-z0-9]+:\S/i.test(column))
}

function isHeaderAgain(row: Row, echo: readonly EchoColumn[]): boolean {
  if (echo.length < 2) return false
  for (const { index, name } of echo) {
    const cell = row.cells[index]
    // Most cells are told by their length alone; this runs for every row.
    if (typeof cell !== 'string' || cell.length < name.length || cell.length > name.length + 8) return false
    if (trimText(cell).toLowerCase() !== name) return false
  }
  return true
}

function echoOf(columns: readonly string[], indexes: readonly number[]): EchoColumn[] {
  return [...new Set(indexes)].map((index) => ({ index, name: trimText(columns[index] ?? '').toLowerCase() })).filter(({ name }) => name !== '')
}

const emptyMapping: FieldMapping = { columns: [], transforms: [] }

function fromPreset(entry: PresetField): FieldMapping {
  return {
    columns: entry.columns,
    transforms: entry.transforms ?? [],
    ...(entry.constant === undefined ? {} : { constant: entry.constant }),
    ...(entry.defaultCountry === undefined ? {} : { defaultCountry: entry.defaultCountry }),
    ...(entry.hashed === undefined ? {} : { hashed: entry.hashed }),
  }
}

function catalogBinder(pipeline: Pipeline): (columns: readonly string[]) => Bound {
  const rules = productRules(pipeline.mapping)
  return (columns) => {
    const preset = presetOf(pipeline, columns, 'catalog')
    const binding: Record<string, ReturnType<typeof bindField>> = {}
    const used = new Set<number>()
    const missing: MissingColumn[] = []
    const warnings: Warning[] = []
    for (const field of productFields) {
      const own = pipeline.map[field]
      const entry = preset?.map[field]
      const many = field === 'additional_image_link'
      // A preset lists every name a field goes by; of those that are there, the first that is filled is read.
      const mapping = own ?? (entry === undefined ? { ...emptyMapping, columns: [field] } : fromPreset(presentOnly(entry, columns)))
      const bound = bindField(field, mapping, columns, many)
      for (const index of bound.indexes) used.add(index)
      if (bound.indexes.length > 0 || mapping.constant !== undefined || mapping.compute !== undefined || mapping.default !== undefined) binding[field] = bound
      else if (requiredProductFields.includes(field)) missing.push(missingColumn(field, mapping.columns, columns))
      if (own !== undefined) for (const name of bound.missing) warnings.push(columnMissing(field, name, columns))
      if (own === undefined && bound.indexes.length > 1 && prefixedTwin(columns, bound.indexes)) {
        warnings.push({ line: 1, code: 'PREFIX_CONFLICT', field, message: `${field} stands in two columns; the one with the prefix is used` })
      }
    }
    warnings.push(...unknownColumns(columns, used, productFields))
    const typed: ProductBinding = binding
    const echo = echoOf(columns, ['id', 'title', 'price'].flatMap((field) => binding[field]?.indexes.slice(0, 1) ?? []))
    return {
      map: (row) => mapProduct(row, typed, rules),
      keyOf: (row) => productKey(row, typed, rules),
      mask: (row) => row.columns.map((_, index) => shownCell(row, index)),
      warnings,
      missing,
      echo,
    }
  }
}

function prefixedTwin(columns: readonly string[], [first = -1, second = -1]: readonly number[]): boolean {
  return columns[first]?.includes(':') === true && normalizeHeader(columns[first]) === normalizeHeader(columns[second] ?? '')
}

/** Of a preset's names those that the source has, the prefixed one before its plain twin (bad-inputs 142). */
function presentOnly(entry: PresetField, columns: readonly string[]): PresetField {
  const present = entry.columns.flatMap((name) => {
    const normal = normalizeHeader(name)
    const found = columns.filter((column) => normalizeHeader(column) === normal)
    return [...found.filter((column) => column.includes(':')), ...found.filter((column) => !column.includes(':'))]
  })
  return { ...entry, columns: present }
}

function memberBinder(pipeline: Pipeline): (columns: readonly string[]) => Bound {
  const { destination, mapping } = pipeline
  const allow = new Set(mapping.allow)
  const rules: MemberRules = { email: { wrapped: allow.has('wrapped_email'), idnToAscii: allow.has('idn_to_ascii') }, base64: allow.has('base64_hash'), splitLists: allow.has('split_lists') }
  const kinds: readonly IdentifierType[] = destination.kind === 'do-not-reach' ? ['email', 'phone_number'] : identifierTypes
  return (columns) => {
    const preset = Object.keys(pipeline.map).length === 0 ? presetOf(pipeline, columns, 'members') : pipeline.preset === undefined ? undefined : presetByName(pipeline.preset)
    const missing: MissingColumn[] = []
    const warnings: Warning[] = []
    const used = new Set<number>()
    const bound = (field: string, many: boolean) => {
      const own = pipeline.map[field]
      const entry = preset?.map[field]
      const fieldMapping = own ?? (entry === undefined ? undefined : fromPreset(presentOnly(entry, columns)))
      if (fieldMapping === undefined) return undefined
      const made = bindField(field, fieldMapping, columns, many)
      for (const index of made.indexes) used.add(index)
      if (own !== undefined) for (const name of made.missing) warnings.push(columnMissing(field, name, columns))
      return made.indexes.length > 0 || fieldMapping.constant !== undefined || fieldMapping.compute !== undefined ? made : undefined
    }
    const test = (field: string, given: Pipeline['consent']) => {
      if (given === undefined) return undefined
      const index = findColumn(columns, given.column)
      if (index < 0) missing.push(missingColumn(field, [given.column], columns))
      used.add(index)
      return { index, values: testValues(given) }
    }
    const identifiers: BoundIdentifier[] = []
    for (const kind of kinds) {
      const made = bound(kind, true)
      if (made === undefined) continue
      const { defaultCountry, hashed = false } = made.mapping
      let country: string | number | undefined
      if (defaultCountry !== undefined) {
        const index = findColumn(columns, defaultCountry)
        country = index >= 0 ? index : /^[A-Za-z]{2}$/.test(defaultCountry) ? defaultCountry.toUpperCase() : undefined
        if (country === undefined) warnings.push(columnMissing(`${kind}.default_country`, defaultCountry, columns))
        if (index >= 0) used.add(index)
      }
      for (const index of made.indexes) {
        const name = columns[index] ?? ''
        if (/\b(?:owner|assigned|account manager|sales ?rep|created by|advisor)\b/i.test(name.replace(/_/g, ' '))) warnings.push({ line: 1, code: 'OWNER_COLUMN', field: kind, message: `${kind}: "${hideStray(name)}" seems to be a colleague's address` })
      }
      identifiers.push({ ...made, kind, hashed, country })
    }
    const key = bound('key', false)
    if (key === undefined && (destination.kind === 'audience' || pipeline.map['key'] !== undefined)) missing.push(missingColumn('key', pipeline.map['key']?.columns ?? ['key'], columns))
    if (identifiers.length === 0) missing.push(missingColumn(kinds[0] ?? 'email', kinds.flatMap((kind) => pipeline.map[kind]?.columns ?? []), columns))
    const binding: MemberBinding = {
      key,
      keyKind: key === undefined ? undefined : identifiers.find(({ indexes }) => indexes.length > 0 && indexes[0] === key.indexes[0] && key.mapping.transforms.length === 0)?.kind,
      identifiers,
      effectiveAt: destination.kind === 'audience' ? bound('effective_at', false) : undefined,
      expiresAt: bound('expires_at', false),
      consent: test('consent', pipeline.consent ?? presetConsent(preset, columns, warnings)),
      remove: test('remove', pipeline.remove),
      rules,
    }
    return {
      map: (row) => mapMember(row, binding),
      keyOf: (row) => memberKey(row, binding),
      mask: maskMember(columns, binding),
      warnings: [...warnings, ...(pipeline.consent === undefined && destination.kind === 'audience' ? consentColumns(columns, used) : []), ...unknownColumns(columns, used, [])],
      missing,
      echo: echoOf(columns, [key, ...identifiers].flatMap((one) => one?.indexes.slice(0, 1) ?? [])),
    }
  }
}

/** Exports often say who has left; unread, these people would be sent (bad-inputs 201). */
function consentColumns(columns: readonly string[], used: ReadonlySet<number>): Warning[] {
  return columns.flatMap((column, index) =>
    !used.has(index) && /unsubscri|opt(?:ed)?_?(?:in|out)|bounced|blacklist|cleaned|suppress|consent|marketing|do_not|newsletter|accepts/.test(normalizeHeader(column))
      ? [{ line: 1, code: 'CONSENT_UNMAPPED', field: column, message: `the column "${hideStray(column)}" seems to say who may be reached, and consent: does not read it` }]
      : [],
  )
}

/** Some exports of a kind leave the column out: then the owner has to say what consent is, and is told so. */
function presetConsent(preset: Preset | undefined, columns: readonly string[], warnings: Warning[]): Pipeline['consent'] {
  if (preset?.consent === undefined) return undefined
  if (findColumn(columns, preset.consent.column) >= 0) return preset.consent
  warnings.push({ line: 1, code: 'CONSENT_UNKNOWN', field: 'consent', message: `the export has no column "${preset.consent.column}": every row counts as consenting` })
  return undefined
}

function presetOf(pipeline: Pipeline, columns: readonly string[], kind: Preset['kind']): Preset | undefined {
  if (pipeline.preset !== undefined) return presetByName(pipeline.preset)
  return recognizePreset(columns, kind) ?? (kind === 'catalog' ? presetByName('google-shopping') : undefined)
}

function missingColumn(field: string, names: readonly string[], columns: readonly string[]): MissingColumn {
  const wanted = names[0] ?? field
  const near = nearest(wanted, columns) ?? nearest(field, columns)
  const list = columns.slice(0, 20).map((column) => `"${hideStray(column)}"`).join(', ')
  return {
    field,
    message: `no column for ${field}: "${wanted}" is not among ${list}${columns.length > 20 ? ' …' : ''}`,
    mend: near === undefined ? `Add the column, or map it: map: { ${field}: <column> }` : `map: { ${field}: ${JSON.stringify(near)} }`,
  }
}

function columnMissing(field: string, name: string, columns: readonly string[]): Warning {
  const near = nearest(name, columns)
  return { line: 1, code: 'COLUMN_MISSING', field, message: `${field}: the source has no column "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}` }
}

function unknownColumns(columns: readonly string[], used: ReadonlySet<number>, fields: readonly string[]): Warning[] {
  const free = fields.filter((field) => !columns.some((column, index) => used.has(index) && normalizeHeader(column) === field))
  return columns.flatMap((column, index): Warning[] => {
    if (used.has(index) || trimText(column) === '') return []
    const name = normalizeHeader(column)
    if (serviceFields.has(name) && fields.length > 0) return [{ line: 1, code: 'SERVICE_FIELD_IGNORED', field: column, message: `"${column}" is set by the service and is ignored` }]
    const near = nearest(name, free)
    return [{ line: 1, code: 'COLUMN_UNKNOWN', field: column, message: `the column "${hideStray(column)}" is not used${near === undefined ? '' : `; did you mean ${near}?`}` }]
  })
}

function shownCell(row: Row, index: number): string {
  const cell = row.cells[index]
  return cell === undefined ? '' : hideStray(typeof cell === 'string' ? cell : cell.join(','))
}

/** Identifier columns by kind, tests, times and countries as they are, everything else hidden: it may be a name or an address. */
function maskMember(columns: readonly string[], binding: MemberBinding): (row: Row) => readonly string[] {
  const shown = new Set([binding.consent?.index, binding.remove?.index, ...(binding.effectiveAt?.indexes ?? []), ...(binding.expiresAt?.indexes ?? [])])
  const kinds = new Map(binding.identifiers.flatMap(({ kind, indexes, country }) => {
    if (typeof country === 'number') shown.add(country)
    return indexes.map((index) => [index, kind] as const)
  }))
  const maskOne = (text: string, index: number): string => {
    if (text === '') return ''
    const kind = kinds.get(index)
    if (kind !== undefined) return maskFor(kind, trimText(text))
    if (shown.has(index)) return text.includes('@') || text.length > 40 || (/^\D*(?:\d\D*){9,}$/.test(text) && !/^\d{4}-\d\d/.test(text)) ? maskUnknown(text) : text
    return maskText(text)
  }
  return (row) => row.columns.map((_, index) => {
    const cell = row.cells[index]
    if (cell === undefined) return ''
    return typeof cell === 'string' ? maskOne(cell, index) : cell.map((text) => maskOne(text, index)).join(',')
  })
}

