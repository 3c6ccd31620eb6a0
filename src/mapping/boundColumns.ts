/** Shared parts of binding a header of products or members: columns of presets, and messages about missing and unused columns. */
import type { FieldMapping, Pipeline } from '../model/pipeline.ts'
import { suggestName } from '../suggestName.ts'
import { findColumn, firstText, normalizeHeader, type BoundField, type PresetField } from './fields.ts'
import { columnCalled, fieldsCalled } from './headerWords.ts'
import { redactPersonalData, showValue } from './mask.ts'
import { presetByName, recognizePreset, type Preset } from './presets/index.ts'
import { serviceFields } from './products/vocabulary.ts'
import type { Mapped, PackedIdentifier, Row, Warning } from '../model/record.ts'
import type { UnmappedReport } from './members/unmappedColumns.ts'
import { trimText } from './text.ts'

/** Bound columns of a source: functions that map its rows, and warnings about the header. */
export interface BoundHeader {
  /** Maps a row. For members, throws TransformError if a transform of the key or of `expires_at` fails. */
  readonly map: (row: Row) => Mapped
  /** Returns the key of a row that is rejected; undefined if it cannot be read. Throws TransformError if a transform of the key fails. */
  readonly keyOf: (row: Row) => Uint8Array | undefined
  /** Returns true for a row that `only:` or `except:` leaves out. Undefined if the pipeline has neither. */
  readonly excludes?: (row: Row) => boolean
  /**
   * Returns the identifiers that the row opts out: all of a row without consent or of a child, else those of types without consent. Also
   * for a filtered or rejected row. Members only.
   */
  readonly optedOut?: (row: Row) => readonly PackedIdentifier[]
  /** Returns the cells with personal values masked, aligned with the columns. */
  readonly mask: (row: Row) => readonly string[]
  readonly warnings: readonly Warning[]
  /** Indexes of the columns in use. */
  readonly used: ReadonlySet<number>
  /** Reports on the unmapped columns, from the rows so far. Members only. */
  readonly reportUnmapped?: () => UnmappedReport
  /** Required fields, and columns of tests and row filters, that the header lacks. They fail the run for a table, not for JSON and XML. */
  readonly missing: readonly MissingColumn[]
  /** Settings for unmapped optional fields that an unused column may contain. */
  readonly hints: readonly string[]
  readonly mapping: MappingShown
  /** Cells of the header by which a row that repeats the header is detected (docs/inputs.md, case 24). */
  readonly headerCells: readonly HeaderCell[]
}

/** Fields and where their values come from, for display. */
export interface MappingShown {
  /** Name of the preset, recognized or configured; undefined if none is used. */
  readonly preset: string | undefined
  /** Confidence in the preset: it knows `columns` of the header's `of` columns. Members only. */
  readonly known?: { readonly columns: number; readonly of: number }
  readonly fields: readonly { readonly field: string; readonly from: string }[]
}

/** Cell of the header, with which a cell of a row is compared. */
export interface HeaderCell {
  /** Index of the column. */
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
  /** Part of `setting` that only the user can fill in: the name of the column, or the text to put before each value. */
  readonly unknownPart?: 'column' | 'prefix'
}

/** Describes the source of a field with its transforms: `Preis, price`, `"new"`, `a function`. */
export function fromText({ indexes, mapping }: Pick<BoundField, 'indexes' | 'mapping'>, columns: readonly string[]): string {
  const names = indexes.map((index) => columns[index] ?? '')
  const what =
    mapping.constant !== undefined
      ? JSON.stringify(mapping.constant)
      : mapping.compute !== undefined
        ? ['a function', ...(names.length === 0 ? [] : [`of ${names.join(', ')}`])].join(' ')
        : [...names, ...(mapping.default === undefined ? [] : [`else ${JSON.stringify(mapping.default)}`])].join(', ')
  return mapping.transforms.length === 0 ? what : `${what} (${mapping.transforms.map(({ name }) => name).join(', ')})`
}

/** Adds the identifiers that the row opts out to its result `mapped`, which has no record. */
export function withOptOuts(mapped: Mapped, bound: Pick<BoundHeader, 'optedOut'>, row: Row): Mapped {
  const optedOut = bound.optedOut?.(row) ?? []
  return optedOut.length === 0 ? mapped : { ...mapped, optedOut }
}

/** Returns the cells of the header at `indexes`, without repeated indexes and empty names. */
export function headerCellsAt(columns: readonly string[], indexes: readonly number[]): HeaderCell[] {
  return [...new Set(indexes)]
    .map((index) => ({ index, name: trimText(columns[index] ?? '').toLowerCase() }))
    .filter(({ name }) => name !== '')
}

/**
 * Returns the preset's mapping of one field for this header. Replaces the preset's names by the columns that match them. Of several
 * matches, a column with a prefix comes first (docs/inputs.md, case 142). Keeps only a country column that the header has.
 */
export function fromPreset(given: PresetField, columns: readonly string[]): FieldMapping {
  const { columns: expected, compute, defaultCountry = [], transforms = [], ...constants } = given
  const present = expected.flatMap((name) => {
    const normal = normalizeHeader(name)
    const found = columns.filter((column) => normalizeHeader(column) === normal)
    return found.toSorted((a, b) => Number(b.includes(':')) - Number(a.includes(':')))
  })
  const country = defaultCountry.find((name) => findColumn(columns, name) >= 0)
  // One name for each column of the preset, in its order; '' for a column that the source lacks.
  const names = expected.map((name) => columns[findColumn(columns, name)] ?? '')
  return {
    ...constants,
    columns: present,
    transforms,
    ...(country === undefined ? {} : { defaultCountry: country }),
    // A function of a preset needs at least one of its columns.
    ...(compute === undefined || present.length === 0
      ? {}
      : { compute: (row) => compute(names.map((name) => trimText(firstText(row[name]) ?? ''))) }),
  }
}

/**
 * Returns the configured preset, else the preset that is recognized by the header. Without one, products get `google-shopping`, and
 * members undefined.
 */
export function presetOf(pipeline: Pipeline, columns: readonly string[], records: Preset['records']): Preset | undefined {
  if (pipeline.preset !== undefined) return presetByName(pipeline.preset)
  return recognizePreset(columns, records) ?? (records === 'products' ? presetByName('google-shopping') : undefined)
}

/** Describes a field without a column. `names`: the configured columns, of which the message shows the first; may be empty. */
export function describeMissing(field: string, names: readonly string[], columns: readonly string[]): MissingColumn {
  const expected = names[0] ?? field
  const near = suggestName(expected, columns) ?? suggestName(field, columns) ?? columnCalled(field, columns)
  const fallback = field === 'condition' ? constantCondition : `${field}: <column>`
  const setting = near === undefined ? fallback : settingOf(field, near, columns)
  return {
    field,
    message: `no column for ${field}: "${expected}" is not among ${quotedNames(columns)}`,
    hint: `${near === undefined ? 'Add the column, or map it: ' : ''}map: { ${setting} }`,
    setting,
    ...(near !== undefined || field === 'condition' ? {} : { unknownPart: 'column' }),
  }
}

/** Suggested if the export has no column of conditions: few shops sell used goods. */
const constantCondition = 'condition: { const: new }'

/** Returns an entry of `map:` for each of the fields that one of the columns may contain, by its name. */
export function hintsFor(fields: readonly string[], columns: readonly string[]): readonly string[] {
  return fields.flatMap((field) => {
    const column = columnCalled(field, columns)
    return column === undefined ? [] : [settingOf(field, column, columns)]
  })
}

/**
 * Returns the entry of `map:` for a field, such as `gtin: "EAN"`. Joins a price with the header's currency column. Adds the transform
 * `stock` if the column of the availability has a name of stock.
 */
function settingOf(field: string, column: string, columns: readonly string[]): string {
  const name = JSON.stringify(column)
  const currency = field === 'price' || field === 'sale_price' ? columnCalled('currency', columns) : undefined
  if (currency !== undefined && currency !== column) return `${field}: { columns: [${name}, ${JSON.stringify(currency)}], transform: join }`
  // The service takes words such as `in stock`, not a number of pieces.
  return field === 'availability' && /stock|qty|quantit|bestand|lager|menge|onhand|inventory|stok|existenc|giacenza|voorraad/i.test(column)
    ? `availability: { column: ${name}, transform: stock }`
    : `${field}: ${name}`
}

function quotedNames(columns: readonly string[]): string {
  const shown = columns.slice(0, 20).map((column) => `"${showValue(column)}"`)
  return `${shown.join(', ')}${columns.length > 20 ? ' …' : ''}`
}

/**
 * Merges all missing fields into one message and one hint. Both are empty if no field is missing. If several are missing, and the source
 * has a single column that no hint names, the hint is about the delimiter.
 */
export function mergeMissing(
  { missing, hints }: Pick<BoundHeader, 'missing' | 'hints'>,
  columns: readonly string[],
): Pick<MissingColumn, 'message' | 'hint'> {
  const [first, second] = missing
  if (first === undefined || second === undefined) return { message: first?.message ?? '', hint: first?.hint ?? '' }
  const fields = [...new Set(missing.map(({ field }) => field))].join(', ')
  const [only, more] = columns
  if (only !== undefined && more === undefined && !missing.some(({ hint }) => hint.includes(only)))
    return {
      message: `no columns for ${fields}: the source has a single column, ${quotedNames(columns)}`,
      hint: 'Check that this is the right file. If it is, set the delimiter: source: { csv: { delimiter: "|" } }',
    }
  const settings = [...missing.flatMap(({ setting }) => setting ?? []), ...hints]
  const others = missing.flatMap(({ setting, hint }) => (setting === undefined ? [hint] : []))
  return {
    message: `no columns for ${fields}; the source has ${quotedNames(columns)}`,
    hint: [...(settings.length === 0 ? [] : [`map: { ${settings.join(', ')} }`]), ...others].join('; '),
  }
}

/** Returns the warning for a configured column that the source lacks. `field` may have two parts: `phone_number.default_country`. */
export function missingColumnWarning(field: string, name: string, columns: readonly string[]): Warning {
  const near = suggestName(name, columns) ?? columnCalled(field.slice(field.indexOf('.') + 1), columns)
  return {
    line: 1,
    code: 'COLUMN_MISSING',
    field,
    message: `${field}: the source has no column "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`,
  }
}

/**
 * Returns a warning for each unused column with a name. `fields`: fields of the destination, to suggest for a column; empty for members.
 * `bound`: fields that are bound already, which are not suggested.
 */
export function unknownColumns(
  columns: readonly string[],
  used: ReadonlySet<number>,
  fields: readonly string[],
  bound: Readonly<Record<string, BoundField>> = {},
): Warning[] {
  const isPrice = (index: number) => [normalizeHeader(columns[index] ?? ''), ...fieldsCalled(columns[index] ?? '')].includes('price')
  const free = fields.filter((field) => !Object.hasOwn(bound, field))
  return columns.flatMap((column, index): Warning[] => {
    if (used.has(index) || trimText(column) === '') return []
    const name = normalizeHeader(column)
    // A function may read any column. The column named like its field is assumed to be read.
    if (Object.hasOwn(bound, name) && bound[name]?.mapping.compute !== undefined) return []
    if (serviceFields.has(name) && fields.length > 0)
      return [{ line: 1, code: 'SERVICE_FIELD_IGNORED', field: column, message: `"${column}" is set by the service and is ignored` }]
    const called = fieldsCalled(column)
    const near = suggestName(name, free) ?? called.find((field) => free.includes(field))
    const priceColumn = called.includes('currency') && fields.includes('price') ? columns[[...used].find(isPrice) ?? -1] : undefined
    const advice =
      priceColumn !== undefined
        ? `; if it is the currency of the prices: map: { ${settingOf('price', priceColumn, columns)} }`
        : near === undefined
          ? ''
          : `; did you mean ${near}?`
    return [{ line: 1, code: 'COLUMN_UNKNOWN', field: column, message: `the column "${redactPersonalData(column)}" is not used${advice}` }]
  })
}
