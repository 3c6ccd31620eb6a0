/** What every kind of record needs to bind a header: presets' names, missing and unknown columns, repeated headers. */
import type { FieldMapping, Pipeline } from '../pipeline/definition.ts'
import { nearest } from './closeness.ts'
import { findColumn, firstText, normalizeHeader, type BoundField, type PresetField } from './fields.ts'
import { columnCalled, fieldsCalled } from './headerWords.ts'
import { hideStray } from './mask.ts'
import { presetByName, recognizePreset, type Preset } from './presets/index.ts'
import { serviceFields } from './product/vocabulary.ts'
import type { Mapped, Row, Warning } from './record.ts'
import { trimText } from './text.ts'

/** A source's columns, bound: what maps its rows and what was worth saying about them. */
export interface Bound {
  readonly map: (row: Row) => Mapped
  readonly keyOf: (row: Row) => Uint8Array | undefined
  readonly mask: (row: Row) => readonly string[]
  readonly warnings: readonly Warning[]
  /** Why the file cannot be used at all. */
  readonly missing: readonly MissingColumn[]
  /** Settings for optional fields that found no column of their name. */
  readonly hints: readonly string[]
  readonly mapping: MappingShown
  /** Columns that repeat the header when a row holds their names (bad-inputs 24). */
  readonly echo: readonly EchoColumn[]
}

/** How fields are filled from this header, for people. */
export interface MappingShown {
  /** Name of the preset that was recognized or named. */
  readonly preset: string | undefined
  readonly fields: readonly { readonly field: string; readonly from: string }[]
}

/** `Preis, price`, `"new"`, `a function`, with the transforms behind. */
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

export interface EchoColumn {
  readonly index: number
  /** Trimmed, in lower case. */
  readonly name: string
}

export interface MissingColumn {
  readonly field: string
  readonly message: string
  readonly mend: string
  /** Its part of a `map:`; undefined for what is set elsewhere. */
  readonly setting?: string
  /** What of `setting` only the owner knows: the column, as none is called so, or what to put before each value. */
  readonly asks?: 'column' | 'prefix'
}

export function echoOf(columns: readonly string[], indexes: readonly number[]): EchoColumn[] {
  return [...new Set(indexes)]
    .map((index) => ({ index, name: trimText(columns[index] ?? '').toLowerCase() }))
    .filter(({ name }) => name !== '')
}

/** A preset's entry for this header: of its names those that are there, its function over their cells. */
export function fromPreset(given: PresetField, columns: readonly string[]): FieldMapping {
  const entry = presentOnly(given, columns)
  // Of nothing nothing follows.
  const compute = entry.columns.length === 0 ? undefined : given.compute
  // One name each, in the preset's order; '' is no column of a source.
  const names = compute === undefined ? [] : given.columns.map((name) => columns[findColumn(columns, name)] ?? '')
  return {
    ...(compute === undefined ? {} : { compute: (row) => compute(names.map((name) => trimText(firstText(row[name]) ?? ''))) }),
    columns: entry.columns,
    transforms: entry.transforms ?? [],
    ...(entry.constant === undefined ? {} : { constant: entry.constant }),
    ...(entry.defaultCountry?.[0] === undefined ? {} : { defaultCountry: entry.defaultCountry[0] }),
    ...(entry.hashed === undefined ? {} : { hashed: entry.hashed }),
    ...(entry.default === undefined ? {} : { default: entry.default }),
  }
}

/** Of a preset's names those that the source has, the prefixed one before its plain twin (bad-inputs 142). */
function presentOnly(given: PresetField, columns: readonly string[]): PresetField {
  const { defaultCountry, ...entry } = given
  const country = defaultCountry?.filter((name) => findColumn(columns, name) >= 0) ?? []
  const present = entry.columns.flatMap((name) => {
    const normal = normalizeHeader(name)
    const found = columns.filter((column) => normalizeHeader(column) === normal)
    return [...found.filter((column) => column.includes(':')), ...found.filter((column) => !column.includes(':'))]
  })
  return { ...entry, columns: present, ...(country.length === 0 ? {} : { defaultCountry: country }) }
}

export function presetOf(pipeline: Pipeline, columns: readonly string[], kind: Preset['kind']): Preset | undefined {
  if (pipeline.preset !== undefined) return presetByName(pipeline.preset)
  return recognizePreset(columns, kind) ?? (kind === 'catalog' ? presetByName('google-shopping') : undefined)
}

/** `names`: what the field was looked for under, as the owner wrote it; its own name where nobody wrote any. */
export function missingColumn(field: string, names: readonly string[], columns: readonly string[]): MissingColumn {
  const wanted = names[0] ?? field
  const near = nearest(wanted, columns) ?? nearest(field, columns) ?? columnCalled(field, columns)
  return {
    field,
    message: `no column for ${field}: "${wanted}" is not among ${listed(columns)}`,
    mend:
      near !== undefined
        ? `map: { ${settingOf(field, near, columns)} }`
        : `Add the column, or map it: map: { ${field === 'condition' ? constantCondition : `${field}: <column>`} }`,
    setting: near !== undefined ? settingOf(field, near, columns) : field === 'condition' ? constantCondition : `${field}: <column>`,
    ...(near !== undefined || field === 'condition' ? {} : { asks: 'column' }),
  }
}

/** Few exports have the column, and few shops sell used goods. */
const constantCondition = 'condition: { const: new }'

/** Optional fields that a column of another name may hold; they come with the mend for the required ones. */
export function hintsFor(fields: readonly string[], columns: readonly string[]): readonly string[] {
  return fields.flatMap((field) => {
    const column = columnCalled(field, columns)
    return column === undefined ? [] : [settingOf(field, column, columns)]
  })
}

/** `gtin: "EAN"`, with the transform that the field will need of such a column. */
export function settingOf(field: string, column: string, columns: readonly string[]): string {
  const name = JSON.stringify(column)
  const currency = field === 'price' || field === 'sale_price' ? columnCalled('currency', columns) : undefined
  if (currency !== undefined && currency !== column) return `${field}: { columns: [${name}, ${JSON.stringify(currency)}], transform: join }`
  // A number of pieces is no word of the service.
  return field === 'availability' && /stock|qty|quantit|bestand|lager|menge|onhand|inventory|stok|existenc|giacenza|voorraad/i.test(column)
    ? `availability: { column: ${name}, transform: stock }`
    : `${field}: ${name}`
}

function listed(columns: readonly string[]): string {
  const shown = columns.slice(0, 20).map((column) => `"${hideStray(column)}"`)
  return `${shown.join(', ')}${columns.length > 20 ? ' …' : ''}`
}

/** One sentence and one mend to paste, however many fields found no column. */
export function missingColumns(
  { missing, hints }: Pick<Bound, 'missing' | 'hints'>,
  columns: readonly string[],
): Pick<MissingColumn, 'message' | 'mend'> {
  const [first, second] = missing
  if (first === undefined || second === undefined) return { message: first?.message ?? '', mend: first?.mend ?? '' }
  const [only, more] = columns
  if (only !== undefined && more === undefined && !missing.some(({ mend }) => mend.includes(only)))
    return {
      message: `no columns for ${missing.map(({ field }) => field).join(', ')}: all there is is one column, ${listed(columns)}`,
      mend: 'Check that this is the export: it has a single column. If it is, name what separates the others: source: { csv: { delimiter: "|" } }',
    }
  const settings = [...missing.flatMap(({ setting }) => setting ?? []), ...hints]
  const others = missing.flatMap(({ setting, mend }) => (setting === undefined ? [mend] : []))
  return {
    message: `no columns for ${missing.map(({ field }) => field).join(', ')}; the source has ${listed(columns)}`,
    mend: [...(settings.length === 0 ? [] : [`map: { ${settings.join(', ')} }`]), ...others].join('; '),
  }
}

export function columnMissing(field: string, name: string, columns: readonly string[]): Warning {
  const near = nearest(name, columns) ?? columnCalled(field.slice(field.indexOf('.') + 1), columns)
  return {
    line: 1,
    code: 'COLUMN_MISSING',
    field,
    message: `${field}: the source has no column "${name}"${near === undefined ? '' : `; did you mean "${near}"?`}`,
  }
}

/** `fields`: those that a column may be meant for; `bound`: those of them that have a source already. */
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
    // A function reads what it likes, and most of all the column of its own field.
    if (Object.hasOwn(bound, name) && bound[name]?.mapping.compute !== undefined) return []
    if (serviceFields.has(name) && fields.length > 0)
      return [{ line: 1, code: 'SERVICE_FIELD_IGNORED', field: column, message: `"${column}" is set by the service and is ignored` }]
    const called = fieldsCalled(column)
    const near = nearest(name, free) ?? called.find((field) => free.includes(field))
    const price = called.includes('currency') && fields.includes('price') ? columns[[...used].find(isPrice) ?? -1] : undefined
    if (price !== undefined)
      return [
        {
          line: 1,
          code: 'COLUMN_UNKNOWN',
          field: column,
          message: `the column "${hideStray(column)}" is not used; if it is that of the prices: map: { ${settingOf('price', price, columns)} }`,
        },
      ]
    return [
      {
        line: 1,
        code: 'COLUMN_UNKNOWN',
        field: column,
        message: `the column "${hideStray(column)}" is not used${near === undefined ? '' : `; did you mean ${near}?`}`,
      },
    ]
  })
}
