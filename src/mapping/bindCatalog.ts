/** Binds the header of a feed to the fields of a product. */
import { quoteSetting } from '../format.ts'
import type { FieldMapping, Pipeline } from '../model/pipeline.ts'
import {
  missingColumnWarning,
  headerCellsOf,
  mappingFromPreset,
  describeSource,
  suggestedSettings,
  describeMissingColumn,
  presetOf,
  unusedColumnWarnings,
  type BoundHeader,
  type MappingShown,
  type MissingColumn,
} from './boundColumns.ts'
import { bindField, normalizeHeader, type BoundField } from './fields.ts'
import { columnForField } from './headerWords.ts'
import { redactPersonalData } from './redactPersonalData.ts'
import { mapProduct, keyOfRejectedRow } from './products/mapProduct.ts'
import type { CurrencyColumn, ProductBinding } from './products/productRow.ts'
import { productRules } from './products/rules.ts'
import { mappableFields, requiredProductFields } from './products/vocabulary.ts'
import type { Preset } from './presets/index.ts'
import type { Warning } from '../model/record.ts'
import { cellText } from './rejectsFile.ts'

/** Product fields bound to one header. */
interface BoundFields {
  readonly binding: Record<string, BoundField>
  readonly usedIndexes: Set<number>
  readonly missing: MissingColumn[]
  readonly warnings: Warning[]
}

/**
 * Returns a function that binds one header to the fields of a product. A field is bound by the first of these that maps it:
 * - `map:` of the pipeline
 * - the preset
 * - a column with the field's name
 */
export function catalogBinder(pipeline: Pipeline): (columns: readonly string[]) => BoundHeader {
  const rules = productRules(pipeline)
  return (columns) => {
    const preset = presetOf(pipeline, columns, 'products')
    const { binding, usedIndexes, missing, warnings } = bindFields(pipeline, preset, columns)
    const currency = findCurrencyColumn(binding, columns, usedIndexes)
    if (currency !== undefined) usedIndexes.add(currency.index)
    const productBinding: ProductBinding = currency === undefined ? binding : { ...binding, currency }
    const unboundOptional = mappableFields.filter((field) => binding[field] === undefined && !requiredProductFields.includes(field))
    const unused = columns.filter((_, index) => !usedIndexes.has(index))
    return {
      map: (row) => mapProduct(row, productBinding, rules),
      keyOf: (row) => keyOfRejectedRow(row, productBinding, rules),
      mask: (row) => row.columns.map((_, index) => redactPersonalData(cellText(row.cells[index]))),
      warnings: [...warnings, ...unusedColumnWarnings(columns, usedIndexes, mappableFields, binding)],
      usedIndexes,
      missing,
      suggestions: suggestedSettings(unboundOptional, unused),
      shownMapping: {
        // `presetOf` falls back to `google-shopping`, so a preset is named only if a field is bound.
        preset: Object.keys(binding).length === 0 ? undefined : preset?.name,
        fields: shownFields(binding, currency, columns),
      },
      headerCells: headerCellsOf([binding['id'], binding['title'], binding['price']], columns),
    }
  }
}

function bindFields(pipeline: Pipeline, preset: Preset | undefined, columns: readonly string[]): BoundFields {
  const fields: BoundFields = { binding: {}, usedIndexes: new Set(), missing: [], warnings: [] }
  for (const field of mappableFields) {
    const configured = pipeline.map[field]
    const mapping = configured ?? unconfiguredMapping(preset, field, columns)
    const bound = bindField(field, mapping, columns)
    for (const index of bound.indexes) fields.usedIndexes.add(index)
    const needsNoColumn = mapping.constant !== undefined || mapping.compute !== undefined || mapping.default !== undefined
    if (bound.indexes.length > 0 || needsNoColumn) fields.binding[field] = bound
    else if (requiredProductFields.includes(field))
      fields.missing.push(describeMissingWithPrefix(preset, field, columns) ?? describeMissingColumn(field, mapping.columns, columns))
    fields.warnings.push(
      ...(configured === undefined
        ? unconfiguredWarnings(bound, columns)
        : bound.missing.map((name) => missingColumnWarning(field, name, columns))),
    )
  }
  fields.missing.sort((a, b) => requiredProductFields.indexOf(a.field) - requiredProductFields.indexOf(b.field))
  return fields
}

/**
 * Returns the mapping of a field that is not in `map:`, from the first of these that exists:
 * - the preset's columns in this header, or the preset's constant
 * - the column with the field's name, with the preset's default
 */
function unconfiguredMapping(preset: Preset | undefined, field: string, columns: readonly string[]): FieldMapping {
  const entry = preset?.map[field]
  const mapping = entry === undefined ? undefined : mappingFromPreset(entry, columns)
  if (mapping !== undefined && (mapping.columns.length > 0 || mapping.constant !== undefined)) return mapping
  return { columns: [field], transforms: [], ...(mapping?.default === undefined ? {} : { default: mapping.default }) }
}

/**
 * Returns a warning for a field that no setting maps, or none:
 * - COLUMN_SPELLED: the column has the name of the field in another spelling.
 * - PREFIX_CONFLICT: several columns match the field, and the first has a prefix (`g:price` beside `price`).
 */
function unconfiguredWarnings({ field, indexes }: BoundField, columns: readonly string[]): Warning[] {
  const [name, nextName] = indexes.map((index) => columns[index] ?? '')
  if (name === undefined) return []
  const hasPrefix = name.includes(':')
  if (!hasPrefix && name !== field && normalizeHeader(name) === field)
    return [{ line: 1, code: 'COLUMN_SPELLED', field: name, message: `the column "${redactPersonalData(name)}" is read as ${field}` }]
  if (hasPrefix && nextName !== undefined && normalizeHeader(name) === normalizeHeader(nextName))
    return [{ line: 1, code: 'PREFIX_CONFLICT', field, message: `several columns match ${field}; "${redactPersonalData(name)}" is used` }]
  return []
}

function shownFields(
  binding: Readonly<Record<string, BoundField>>,
  currency: CurrencyColumn | undefined,
  columns: readonly string[],
): MappingShown['fields'] {
  return mappableFields.flatMap((field) => {
    const boundField = binding[field]
    if (boundField === undefined) return []
    const shown = { field, from: describeSource(boundField, columns) }
    return field === 'price' && currency !== undefined ? [shown, { field: 'currency', from: currency.name }] : [shown]
  })
}

/**
 * Describes a missing required field that exports of this preset never have, such as the link. The hint builds the field from another
 * column and a prefix: `https://shop.example/` and the handle. Undefined if the preset suggests no column of this header.
 */
function describeMissingWithPrefix(preset: Preset | undefined, field: string, columns: readonly string[]): MissingColumn | undefined {
  const suggested = preset?.suggestedPrefix?.[field]
  const column = suggested?.columns.find((name) => columns.includes(name))
  if (suggested === undefined || column === undefined) return undefined
  const setting = `${field}: { column: ${quoteSetting(column)}, transform: { prefix: { with: ${JSON.stringify(suggested.prefix)} } } }`
  return {
    field,
    message: `no column for ${field}: a ${preset?.title} does not have one`,
    hint: `map: { ${setting} }   (with your own address)`,
    setting,
    unknownPart: 'prefix',
  }
}

/** Returns the unused column with a usual name for currencies. Undefined if there is none, or if the price is not read from a column. */
function findCurrencyColumn(
  binding: Readonly<Record<string, BoundField>>,
  columns: readonly string[],
  usedIndexes: ReadonlySet<number>,
): CurrencyColumn | undefined {
  if ((binding['price']?.indexes.length ?? 0) === 0) return undefined
  const unused = columns.filter((_, index) => !usedIndexes.has(index))
  const name = columnForField('currency', unused)
  return name === undefined ? undefined : { name, index: columns.indexOf(name) }
}
