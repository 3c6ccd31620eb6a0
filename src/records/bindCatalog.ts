/** The header of a feed bound to the fields of a product. */
import type { FieldMapping, Pipeline } from '../pipeline/definition.ts'
import {
  columnMissing,
  echoOf,
  fromPreset,
  fromText,
  hintsFor,
  missingColumn,
  presetOf,
  settingOf,
  unknownColumns,
  type Bound,
  type MissingColumn,
} from './boundColumns.ts'
import { bindField, normalizeHeader, type BoundField } from './fields.ts'
import { columnCalled } from './headerWords.ts'
import { hideStray } from './mask.ts'
import { mapProduct, productKey } from './product/mapProduct.ts'
import type { ProductBinding } from './product/productRow.ts'
import { productRules } from './product/rules.ts'
import { productFields, requiredProductFields } from './product/vocabulary.ts'
import type { Preset } from './presets/index.ts'
import type { Row, Warning } from './record.ts'
import { cellText } from './rejectsCopy.ts'

/** As a person would list them. */
const order: readonly string[] = requiredProductFields
const emptyMapping: FieldMapping = { columns: [], transforms: [] }

export function catalogBinder(pipeline: Pipeline): (columns: readonly string[]) => Bound {
  const rules = productRules(pipeline)
  return (columns) => {
    const preset = presetOf(pipeline, columns, 'catalog')
    const binding: Record<string, BoundField> = {}
    const used = new Set<number>()
    const missing: MissingColumn[] = []
    const warnings: Warning[] = []
    for (const field of productFields) {
      const own = pipeline.map[field]
      const entry = preset?.map[field]
      const many = field === 'additional_image_link'
      // A preset lists every name a field goes by; of those that are there, the first that is filled is read.
      const given = entry === undefined ? emptyMapping : fromPreset(entry, columns)
      const mapping = own ?? (given.columns.length > 0 || given.constant !== undefined ? given : byName(field, given))
      const bound = bindField(field, mapping, columns, many)
      for (const index of bound.indexes) used.add(index)
      if (bound.indexes.length > 0 || mapping.constant !== undefined || mapping.compute !== undefined || mapping.default !== undefined)
        binding[field] = bound
      else if (requiredProductFields.includes(field))
        missing.push(asked(preset, field, columns) ?? missingColumn(field, mapping.columns, columns))
      if (own !== undefined) for (const name of bound.missing) warnings.push(columnMissing(field, name, columns))
      const name = columns[bound.indexes[0] ?? -1]
      if (own === undefined && name !== undefined && name !== field && !name.includes(':') && normalizeHeader(name) === field)
        warnings.push({ line: 1, code: 'COLUMN_SPELLED', field: name, message: `the column "${hideStray(name)}" is read as ${field}` })
      if (own === undefined && bound.indexes.length > 1 && prefixedTwin(columns, bound.indexes)) {
        warnings.push({
          line: 1,
          code: 'PREFIX_CONFLICT',
          field,
          message: `${field} stands in two columns; the one with the prefix is used`,
        })
      }
    }
    missing.sort((a, b) => order.indexOf(a.field) - order.indexOf(b.field))
    warnings.push(...unknownColumns(columns, used, productFields, binding))
    const typed: ProductBinding = binding
    const echo = echoOf(
      columns,
      ['id', 'title', 'price'].flatMap((field) => binding[field]?.indexes.slice(0, 1) ?? []),
    )
    return {
      map: (row) => mapProduct(row, typed, rules),
      keyOf: (row) => productKey(row, typed, rules),
      mask: (row) => row.columns.map((_, index) => shownCell(row, index)),
      warnings,
      missing,
      hints: [
        ...priceHint(pipeline, binding, columns, used),
        ...hintsFor(
          productFields.filter((field) => binding[field] === undefined && !requiredProductFields.includes(field)),
          columns.filter((_, index) => !used.has(index)),
        ),
      ],
      mapping: {
        preset: Object.keys(binding).length === 0 ? undefined : preset?.name,
        fields: productFields.flatMap((field) => {
          const one = binding[field]
          return one === undefined ? [] : [{ field, from: fromText(one, columns) }]
        }),
      },
      echo,
    }
  }
}

/** A column of the field's own name, where the preset's are not there. */
function byName(field: string, preset: FieldMapping): FieldMapping {
  return { ...emptyMapping, columns: [field], ...(preset.default === undefined ? {} : { default: preset.default }) }
}

/** What an export of the kind never has, with the setting that makes it of what it has. */
function asked(preset: Preset | undefined, field: string, columns: readonly string[]): MissingColumn | undefined {
  const ask = preset?.ask?.[field]
  const column = ask?.columns.find((name) => columns.includes(name))
  if (ask === undefined || column === undefined) return undefined
  const setting = `${field}: { column: ${JSON.stringify(column)}, transform: { prefix: { with: ${JSON.stringify(ask.prefix)} } } }`
  return {
    field,
    message: `no column for ${field}: a ${preset?.title} has none`,
    mend: `map: { ${setting} }   (with your own address)`,
    setting,
    asks: 'prefix',
  }
}

/** A price that found its column by name, beside a column of currencies that nobody reads. */
function priceHint(
  pipeline: Pipeline,
  binding: Readonly<Record<string, BoundField>>,
  columns: readonly string[],
  used: ReadonlySet<number>,
): readonly string[] {
  const column = columns[binding['price']?.indexes[0] ?? -1]
  const free = columns.filter((_, index) => !used.has(index))
  return column === undefined || pipeline.map['price'] !== undefined || columnCalled('currency', free) === undefined
    ? []
    : [settingOf('price', column, free)]
}

function prefixedTwin(columns: readonly string[], [first = -1, second = -1]: readonly number[]): boolean {
  return columns[first]?.includes(':') === true && normalizeHeader(columns[first]) === normalizeHeader(columns[second] ?? '')
}

function shownCell(row: Row, index: number): string {
  return hideStray(cellText(row.cells[index]))
}
