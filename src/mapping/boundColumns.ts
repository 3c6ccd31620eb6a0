/** Binds the columns of presets, and describes missing and unused columns. For products and members. */
import { quoteSetting } from '../format.ts'
import type { FieldMapping, Pipeline } from '../model/pipeline.ts'
import { suggestName } from '../suggestName.ts'
import { findColumn, firstText, normalizeHeader, type BoundField, type PresetField } from './fields.ts'
import { columnForField, fieldsForColumn } from './headerWords.ts'
import { redactPersonalData, maskedExcerpt } from './redactPersonalData.ts'
import { presetByName, recognizePreset, type Preset } from './presets/index.ts'
import { serviceOnlyFields } from './products/vocabulary.ts'
import type { Mapped, PackedIdentifier, SourceRow, Warning } from '../model/record.ts'
import type { UnmappedReport } from './members/unmappedColumns.ts'
import { trimText } from './text.ts'

/** Bound columns of a source: functions that map its rows, and warnings about the header. */
export interface BoundHeader {
  /** Maps a row. For members, throws TransformError if a transform of the key or of `expires_at` fails. */
  readonly map: (row: SourceRow) => Mapped
  /**
   * Returns the key of a rejected row. Undefined if it has no valid key, or opts out and has a fault of `join:`. Throws TransformError if a
   * transform of the key fails.
   */
  readonly keyOf: (row: SourceRow) => Uint8Array | undefined
  /** Returns true for a row that `only:` or `except:` leaves out. Undefined if the pipeline has neither. */
  readonly excludes?: (row: SourceRow) => boolean
  /**
   * Returns the identifiers that the row opts out, even if the row is filtered or rejected. Members only.
   * - Of a row without consent, or of a child: all identifiers.
   * - Of any other row: the identifiers of types without consent.
   */
  readonly optedOut?: (row: SourceRow) => readonly PackedIdentifier[]
  /**
   * Returns the column (or `key`) of a cell that decides who is sent, and that is still masked in a rejects file. Undefined if the row has
   * none. Members only; on a do-not-reach list, only the cells of `only:`.
   */
  readonly maskedField?: (row: SourceRow) => string | undefined
  /** Returns the cells with personal values masked, aligned with the columns. */
  readonly mask: (row: SourceRow) => readonly string[]
  readonly warnings: readonly Warning[]
  /** Indexes of the columns that the mapping reads. */
  readonly usedIndexes: ReadonlySet<number>
  /** Reports on the unmapped columns, from the rows so far. Members only. */
  readonly reportUnmapped?: () => UnmappedReport
  /** Required fields, and columns of tests and row filters, that the header lacks. A table, such as CSV, that lacks one fails the run. */
  readonly missing: readonly MissingColumn[]
  /** Suggested entries of `map:` for unmapped optional fields, such as `gtin: "EAN"`. */
  readonly suggestions: readonly string[]
  readonly shownMapping: MappingShown
  /** Header cells of the key and other main fields. A row with these cells repeats the header (docs/inputs.md, case 24). */
  readonly headerCells: readonly HeaderCell[]
}

/** Fields and where their values come from, for display. */
export interface MappingShown {
  /** Recognized or configured preset. */
  readonly preset: string | undefined
  /** Number of the header's columns that the preset has (`columns`), and of all columns of the header (`of`). Members only. */
  readonly known?: { readonly columns: number; readonly of: number }
  readonly fields: readonly { readonly field: string; readonly from: string }[]
}

/** Cell of the header, for the comparison with the cells of rows. */
export interface HeaderCell {
  readonly index: number
  /** Name of the column, trimmed and in lower case. */
  readonly name: string
}

/** Missing column, with the message for the user and the setting that corrects it. */
export interface MissingColumn {
  /** Target field without a column; `consent`, `remove`, `only` or `except` for the column of a test or row filter. */
  readonly field: string
  readonly message: string
  readonly hint: string
  /** Entry of `map:` that provides the field. Undefined for `consent`, `remove` and row filters, where only `hint` has the setting. */
  readonly setting?: string
  /** Part of `setting` that only the user can fill in. `column`: name of the column. `prefix`: text before each value. */
  readonly unknownPart?: 'column' | 'prefix'
}

/** Describes where a field's value comes from, with its transforms: `Preis, price (trim)`, `"new"`, `a function of Name, Color`. */
export function describeSource({ indexes, mapping }: Pick<BoundField, 'indexes' | 'mapping'>, columns: readonly string[]): string {
  const transforms = mapping.transforms.length === 0 ? '' : ` (${mapping.transforms.map(({ name }) => name).join(', ')})`
  if (mapping.constant !== undefined) return `${JSON.stringify(mapping.constant)}${transforms}`
  const names = indexes.map((index) => columns[index] ?? '')
  if (mapping.compute !== undefined) return `a function${names.length === 0 ? '' : ` of ${names.join(', ')}`}${transforms}`
  if (mapping.default !== undefined) names.push(`else ${JSON.stringify(mapping.default)}`)
  return `${names.join(', ')}${transforms}`
}

/** Adds the identifiers that the row opts out to `mapped`, a result without a record. */
export function withOptOuts(mapped: Mapped, bound: Pick<BoundHeader, 'optedOut'>, row: SourceRow): Mapped {
  const optedOut = bound.optedOut?.(row) ?? []
  return optedOut.length === 0 ? mapped : { ...mapped, optedOut }
}

/** Returns the first column of each field as a header cell, without repeated columns and empty names. */
export function headerCellsOf(fields: readonly (BoundField | undefined)[], columns: readonly string[]): HeaderCell[] {
  const indexes = new Set(fields.flatMap((field) => field?.indexes.slice(0, 1) ?? []))
  return [...indexes].map((index) => ({ index, name: trimText(columns[index] ?? '').toLowerCase() })).filter(({ name }) => name !== '')
}

/**
 * Returns the preset's mapping of one field for this header, with the names of the matching columns. Of several matches, a column with a
 * prefix comes first (docs/inputs.md, case 142).
 */
export function mappingFromPreset(presetField: PresetField, columns: readonly string[]): FieldMapping {
  const { columns: expected, computeFromTexts, defaultCountry = [], transforms = [], ...constantAndDefault } = presetField
  const present = expected.flatMap((name) => {
    const normal = normalizeHeader(name)
    const matches = columns.filter((column) => normalizeHeader(column) === normal)
    return matches.toSorted((a, b) => Number(b.includes(':')) - Number(a.includes(':')))
  })
  const country = defaultCountry.find((name) => findColumn(columns, name) >= 0)
  // Name in the header, or '' if the header lacks the column.
  const namesInPresetOrder = expected.map((name) => columns[findColumn(columns, name)] ?? '')
  return {
    ...constantAndDefault,
    columns: present,
    transforms,
    ...(country === undefined ? {} : { defaultCountry: country }),
    ...(computeFromTexts === undefined || present.length === 0
      ? {}
      : { compute: (row) => computeFromTexts(namesInPresetOrder.map((name) => trimText(firstText(row[name]) ?? ''))) }),
  }
}

/**
 * Returns the configured preset, else the preset that is recognized by the header. If none is recognized, returns `google-shopping` for
 * products, and undefined for members.
 */
export function presetOf(pipeline: Pipeline, columns: readonly string[], records: Preset['records']): Preset | undefined {
  if (pipeline.preset !== undefined) return presetByName(pipeline.preset)
  return recognizePreset(columns, records) ?? (records === 'products' ? presetByName('google-shopping') : undefined)
}

/**
 * Describes a field without a column, with the setting that maps it to the column of the most similar or usual name. If there is none, the
 * setting has a placeholder. `configuredNames`: column names in the setting of the field; may be empty.
 */
export function describeMissingColumn(field: string, configuredNames: readonly string[], columns: readonly string[]): MissingColumn {
  const expected = configuredNames[0] ?? field
  const message = `no column for ${field}: "${expected}" is not among ${quotedNames(columns)}`
  const suggestion = suggestName(expected, columns) ?? suggestName(field, columns) ?? columnForField(field, columns)
  if (suggestion !== undefined) {
    const setting = settingOf(field, suggestion, columns)
    return { field, message, hint: `map: { ${setting} }`, setting }
  }
  // Few shops sell used goods, so an export often has no column of conditions.
  const isCondition = field === 'condition'
  const setting = isCondition ? 'condition: { const: new }' : `${field}: <column>`
  return {
    field,
    message,
    hint: `Add the column, or map it: map: { ${setting} }`,
    setting,
    ...(isCondition ? {} : { unknownPart: 'column' }),
  }
}

/** Returns an entry of `map:` for each field that has a column with one of its usual names. */
export function suggestedSettings(fields: readonly string[], columns: readonly string[]): readonly string[] {
  return fields.flatMap((field) => {
    const column = columnForField(field, columns)
    return column === undefined ? [] : [settingOf(field, column, columns)]
  })
}

/** Returns the entry of `map:` that fills a field from a column, such as `gtin: "EAN"`. Joins a price with the header's currency column. */
function settingOf(field: string, column: string, columns: readonly string[]): string {
  const name = quoteSetting(column)
  const currency = field === 'price' || field === 'sale_price' ? columnForField('currency', columns) : undefined
  if (currency !== undefined && currency !== column) return `${field}: { columns: [${name}, ${quoteSetting(currency)}], transform: join }`
  // For a column of stock numbers: the service takes words such as `in stock`.
  return field === 'availability' && /stock|qty|quantit|bestand|lager|menge|onhand|inventory|stok|existenc|giacenza|voorraad/i.test(column)
    ? `availability: { column: ${name}, transform: stock }`
    : `${field}: ${name}`
}

function quotedNames(columns: readonly string[]): string {
  const shown = columns.slice(0, 20).map((column) => `"${maskedExcerpt(column)}"`)
  return `${shown.join(', ')}${columns.length > 20 ? ' …' : ''}`
}

/**
 * Describes all missing fields in one message and one hint; both are empty if no field is missing. If several are missing, and the source
 * has a single column that no hint names, the hint is about the delimiter.
 */
export function describeAllMissing(
  { missing, suggestions }: Pick<BoundHeader, 'missing' | 'suggestions'>,
  columns: readonly string[],
): Pick<MissingColumn, 'message' | 'hint'> {
  if (missing.length < 2) return { message: missing[0]?.message ?? '', hint: missing[0]?.hint ?? '' }
  const fields = [...new Set(missing.map(({ field }) => field))].join(', ')
  const onlyColumn = columns.length === 1 ? columns[0] : undefined
  if (onlyColumn !== undefined && !missing.some(({ hint }) => hint.includes(onlyColumn)))
    return {
      message: `no columns for ${fields}: the source has a single column, ${quotedNames(columns)}`,
      hint: 'Check that this is the right file. If it is, set the delimiter: source: { csv: { delimiter: "|" } }',
    }
  const settings = [...missing.flatMap(({ setting }) => setting ?? []), ...suggestions]
  const others = missing.flatMap(({ setting, hint }) => (setting === undefined ? [hint] : []))
  return {
    message: `no columns for ${fields}; the source has ${quotedNames(columns)}`,
    hint: [...(settings.length === 0 ? [] : [`map: { ${settings.join(', ')} }`]), ...others].join('; '),
  }
}

/** Returns the warning for a configured column that the source lacks. `field` may have two parts: `phone_number.default_country`. */
export function missingColumnWarning(field: string, name: string, columns: readonly string[]): Warning {
  const suggestion = suggestName(name, columns) ?? columnForField(field.slice(field.indexOf('.') + 1), columns)
  return {
    line: 1,
    code: 'COLUMN_MISSING',
    field,
    message: `${field}: the source has no column "${name}"${suggestion === undefined ? '' : `; did you mean "${suggestion}"?`}`,
  }
}

/**
 * Returns a warning for each column that no field uses. Skips columns without a name. `fields`: fields to suggest for such a column; empty
 * for members. `boundFields`: fields that have a column already and are not suggested.
 */
export function unusedColumnWarnings(
  columns: readonly string[],
  usedIndexes: ReadonlySet<number>,
  fields: readonly string[],
  boundFields: Readonly<Record<string, BoundField>> = {},
): Warning[] {
  const freeFields = fields.filter((field) => !Object.hasOwn(boundFields, field))
  const isPrice = (column: string) => normalizeHeader(column) === 'price' || fieldsForColumn(column).includes('price')
  const usedColumns = [...usedIndexes].map((index) => columns[index] ?? '')
  const priceColumn = fields.includes('price') ? usedColumns.find(isPrice) : undefined
  return columns.flatMap((column, index): Warning[] => {
    if (usedIndexes.has(index) || trimText(column) === '') return []
    const name = normalizeHeader(column)
    // A function may read any column. A column with the name of the function's field counts as read.
    if (Object.hasOwn(boundFields, name) && boundFields[name]?.mapping.compute !== undefined) return []
    if (serviceOnlyFields.has(name) && fields.length > 0)
      return [{ line: 1, code: 'SERVICE_FIELD_IGNORED', field: column, message: `"${column}" is set by the service and is ignored` }]
    const possibleFields = fieldsForColumn(column)
    const suggestion = suggestName(name, freeFields) ?? possibleFields.find((field) => freeFields.includes(field))
    let advice = suggestion === undefined ? '' : `; did you mean ${suggestion}?`
    if (possibleFields.includes('currency') && priceColumn !== undefined)
      advice = `; if it is the currency of the prices: map: { ${settingOf('price', priceColumn, columns)} }`
    return [{ line: 1, code: 'COLUMN_UNKNOWN', field: column, message: `the column "${redactPersonalData(column)}" is not used${advice}` }]
  })
}
