/** Row filters of a pipeline: `only:` and `except:`. */
import type { Pipeline } from '../model/pipeline.ts'
import { describeMissingColumn, withOptOuts, type BoundHeader } from './boundColumns.ts'
import { suggestName } from '../suggestName.ts'
import { findColumn } from './fields.ts'
import type { Cell, SourceRow } from '../model/record.ts'
import { isMasked } from './members/maskedCells.ts'
import { comparableText, foldedText } from './text.ts'

/**
 * Adds the pipeline's row filters to a bound header. An excluded row maps to `filtered: true`. The result of a member's row also has the
 * identifiers that the row opts out (docs/consent.md#one-identifier-on-several-rows). Adds a filter column that the header lacks to
 * `missing`, so that the run of a table fails. In JSON and XML, the missing column counts as an empty cell.
 */
export function withRowFilters(bound: BoundHeader, pipeline: Pipeline, columns: readonly string[]): BoundHeader {
  if (pipeline.filters.length === 0) return bound
  const filters = pipeline.filters.map(({ keep, column, values }) => {
    // In a file of people, a value of `except:` may mean `no`. So it also matches cells that only look the same, with invisible or
    // full-width characters, as `not_values` does.
    const mayBeNo = !keep && bound.optedOut !== undefined
    const formOf = mayBeNo ? (text: string) => comparableText(foldedText(text)) : comparableText
    return { keep, column, index: findColumn(columns, column), values: new Set(values.map(formOf)), formOf }
  })
  // `ignored`: indexes of the columns whose filters are skipped.
  const passes = (cells: SourceRow['cells'], ignored: readonly number[] = []) =>
    filters.every(({ keep, index, values, formOf }) => ignored.includes(index) || cellIsOneOf(cells[index], values, formOf) === keep)
  const excludes = ({ cells, fault }: SourceRow) => {
    const { unjoined = [], variants } = fault ?? {}
    // Without a match in the joined file, the cells of that file are missing. Missing cells must not delete the record.
    if (variants === undefined) return !passes(cells, unjoined)
    return variants.every(
      (variant) => !passes(cells.map((cell, index) => (unjoined.includes(index) ? variant[unjoined.indexOf(index)] : cell))),
    )
  }
  const missingFilters = filters.filter(({ index }) => index < 0)
  const filterColumns = new Set(filters.map(({ index }) => columns[index]))
  const { maskedField } = bound
  const isDoNotReach = bound.optedOut !== undefined && maskedField === undefined
  // On a do-not-reach list, a masked cell that passes `except:` only adds its person. With `only:`, it would leave the person out.
  const filtersOfMasked = isDoNotReach ? filters.filter(({ keep }) => keep) : filters
  const maskedFilterColumn = (row: SourceRow) => row.columns[filtersOfMasked.find(({ index }) => isMasked(row.cells[index]))?.index ?? -1]
  return {
    ...bound,
    excludes,
    // Members only.
    ...(bound.optedOut === undefined ? {} : { maskedField: (row) => maskedField?.(row) ?? maskedFilterColumn(row) }),
    map: (row) => (passes(row.cells) ? bound.map(row) : withOptOuts({ filtered: true, warnings: [] }, bound, row)),
    warnings: bound.warnings.filter(({ code, field }) => code !== 'COLUMN_UNKNOWN' || !filterColumns.has(field)),
    missing: [
      ...bound.missing,
      ...missingFilters.map(({ keep, column }) => {
        const field = keep ? 'only' : 'except'
        const suggestion = suggestName(column, columns)
        return {
          field,
          message: describeMissingColumn(field, [column], columns).message,
          hint:
            suggestion === undefined
              ? `export "${column}" again, or write its new name under ${field}:`
              : `write ${JSON.stringify(suggestion)} under ${field}:`,
        }
      }),
    ],
  }
}

/** Returns true if `formOf` of a text of the cell is in `values`. A missing cell counts as empty. */
function cellIsOneOf(cell: Cell | undefined, values: ReadonlySet<string>, formOf: (text: string) => string): boolean {
  if (cell === undefined) return values.has('')
  return typeof cell === 'string' ? values.has(formOf(cell)) : cell.some((text) => values.has(formOf(text)))
}
