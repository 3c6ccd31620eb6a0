/**
 * Maps rows to records for one pipeline. To bind a header is to find the columns of each field in it. This is done once for each header.
 */
import { hash } from 'node:crypto'
import { RunError } from '../errors.ts'
import { quoteSetting } from '../format.ts'
import type { Pipeline } from '../model/pipeline.ts'
import { describeAllMissing, withOptOuts, type BoundHeader, type HeaderCell, type MappingShown } from './boundColumns.ts'
import { redactPersonalData } from './redactPersonalData.ts'
import type { Mapped, Reject, SourceRow, Warning } from '../model/record.ts'
import { nothingUnmapped, type UnmappedReport } from './members/unmappedColumns.ts'
import { hintOf, isRecordCode } from './rejectCodes.ts'
import { reasonIndexes, withOriginalCells } from './rejectsFile.ts'
import { withRowFilters } from './rowFilter.ts'
import { trimText } from './text.ts'
import { repeatsOf } from './repeatedColumns.ts'
import { shownAddress } from '../shownAddress.ts'
import { faultOfTransform, TransformError } from './transforms.ts'

/** Part of `hashOfDefinitionAndRules`. Raise it when the same cells may map to something else. */
export const mappingRulesVersion = 26

/**
 * Maps the rows of all sources of one pipeline. Does no I/O and reads no clock: the day is given when the mapper is created. The record or
 * reject depends only on the row and the day. Warnings and `reportUnmapped` may depend on earlier rows too.
 */
export interface RecordMapper {
  /** Maps a row to a record or a reject, or to `{ filtered: true }` if a row filter leaves it out. */
  readonly map: (row: SourceRow) => Mapped
  /**
   * Binds the columns of a source, and returns the warnings about the header. Call it before the first row, and again when later rows have
   * more columns.
   * - `uri`: address of the source for messages; by default, that of the first source.
   * - `isTable`: true if all rows have these columns, as in CSV. A record of XML or JSON may lack any column, so a missing one does not
   *   fail the run.
   *
   * @throws {RunError} FILE_COLUMN_MISSING if a table lacks a required column
   *
   * @throws {RunError} FILE_DUPLICATE_COLUMN if several columns have one name, and only some of them are read
   */
  readonly bindHeader: (columns: readonly string[], uri?: string, isTable?: boolean) => readonly Warning[]
  /** Reports on the unmapped columns, from the rows mapped so far. */
  readonly reportUnmapped: () => UnmappedReport
  /** Returns the cells of a row, the personal ones masked, aligned with its columns. */
  readonly mask: (row: SourceRow) => readonly string[]
}

/** Maximum number of cached headers. In JSON and XML, each new column makes a new header. */
const maxCachedHeaders = 512

/** Mapper that also describes how it maps a header, for `init` and `check`. */
export interface DescribingMapper extends RecordMapper {
  /** Returns the columns that fill the fields. `hint`: the setting that corrects all missing fields; undefined if none is missing. */
  readonly describe: (columns: readonly string[]) => MappingShown & { readonly hint: string | undefined }
  /** Returns the missing columns of this header, and the suggested entries of `map:` for optional fields. */
  readonly proposeSettings: (columns: readonly string[]) => Pick<BoundHeader, 'missing' | 'suggestions'>
}

/** Returns the mapper of a pipeline. `bind`: binds a header for the type of the destination. */
export function mapperOf(pipeline: Pipeline, bind: (columns: readonly string[]) => BoundHeader): DescribingMapper {
  const boundHeaders = new Map<string, BoundHeader>()
  let lastColumns: readonly string[] | undefined
  let lastHeader: BoundHeader | undefined
  const boundFor = (columns: readonly string[]): BoundHeader => {
    if (columns === lastColumns && lastHeader !== undefined) return lastHeader
    const cacheKey = columns.join('\u0000')
    let bound = boundHeaders.get(cacheKey)
    if (bound === undefined) {
      if (boundHeaders.size >= maxCachedHeaders) boundHeaders.clear()
      bound = adaptToRejectsFile(withRowFilters(bind(columns), pipeline, columns), columns)
      boundHeaders.set(cacheKey, bound)
    }
    lastColumns = columns
    lastHeader = bound
    return bound
  }
  return {
    bindHeader: (columns, uri = pipeline.sources[0]?.uri ?? pipeline.name, isTable = true) => {
      const bound = boundFor(columns)
      if (bound.missing.length > 0 && columns.length > 0 && isTable) {
        const { message, hint } = describeAllMissing(bound, columns)
        throw new RunError('FILE_COLUMN_MISSING', message, { where: shownAddress(uri), hint })
      }
      checkRepeatedColumns(bound, columns, uri)
      return bound.warnings
    },
    map: (row) => {
      const bound = boundFor(row.columns)
      if (row.fault !== undefined) return mapFaultyRow(row, row.fault, bound)
      return repeatsHeader(row, bound.headerCells) ? rejectRepeatedHeader(row, bound) : withReaderWarnings(row, mapReadableRow(row, bound))
    },
    mask: (row) => boundFor(row.columns).mask(row),
    reportUnmapped: () => lastHeader?.reportUnmapped?.() ?? nothingUnmapped,
    proposeSettings: (columns) => {
      const { missing, suggestions } = boundFor(columns)
      return { missing, suggestions }
    },
    describe: (columns) => {
      const bound = boundFor(columns)
      if (bound.missing.length === 0) return { ...bound.shownMapping, hint: undefined }
      const wrapper = wrapperOf(columns)
      return {
        ...bound.shownMapping,
        hint:
          wrapper === undefined
            ? describeAllMissing(bound, columns).hint
            : `The records are inside ${JSON.stringify(wrapper)}: source: { json: { records: ${wrapper} } }`,
      }
    },
  }
}

/**
 * Returns the SHA-256 (hex) of the pipeline definition and the version of the mapping rules. With an equal hash, equal bytes give
 * equal records on one day.
 */
export function hashOfDefinitionAndRules(pipeline: Pipeline): string {
  return hash('sha256', `${mappingRulesVersion} ${pipeline.definitionHash}`)
}

/**
 * Rejects a row in which the reader found a fault. After a fault of `join:` the row's own cells are correct, so row filters and consent
 * apply. After any other fault, cells may be in the wrong column.
 */
function mapFaultyRow(row: SourceRow, { code, message, field }: NonNullable<SourceRow['fault']>, bound: BoundHeader): Mapped {
  const hasCorrectCells = code.startsWith('JOIN_')
  if (hasCorrectCells && bound.excludes?.(row) === true) return withOptOuts({ filtered: true, warnings: [] }, bound, row)
  const reject = {
    line: row.line,
    code,
    field: field ?? '',
    message: redactPersonalData(message),
    hint: isRecordCode(code) ? hintOf(code) : 'Correct the row in the source.',
  }
  const mapped: Mapped = { reject: row.cells.length === 0 ? reject : withKey(reject, bound, row), warnings: [] }
  return hasCorrectCells ? withOptOuts(mapped, bound, row) : mapped
}

/** `field`: column of the masked cell, or `key`. */
function rejectMasked(row: SourceRow, field: string, bound: BoundHeader): Mapped {
  const code = 'CELL_MASKED'
  const reject = { line: row.line, code, field, message: `${redactPersonalData(field)} is still masked`, hint: hintOf(code) }
  return { reject: field === 'key' ? reject : withKey(reject, bound, row), warnings: [] }
}

function rejectRepeatedHeader({ line, columns }: SourceRow, { headerCells }: BoundHeader): Mapped {
  const code = 'HEADER_REPEATED'
  const field = columns[headerCells[0]?.index ?? 0] ?? ''
  return { reject: { line, code, field, message: 'the header is repeated here', hint: hintOf(code) }, warnings: [] }
}

function mapReadableRow(row: SourceRow, bound: BoundHeader): Mapped {
  try {
    const mapped = bound.map(row)
    return mapped.reject === undefined ? mapped : withOptOuts(mapped, bound, row)
  } catch (error) {
    if (!(error instanceof TransformError)) throw error
    const reject = withKey({ line: row.line, ...faultOfTransform(error) }, bound, row)
    return withOptOuts({ reject, warnings: [] }, bound, row)
  }
}

function withReaderWarnings({ line, warnings }: SourceRow, mapped: Mapped): Mapped {
  if (warnings === undefined) return mapped
  return { ...mapped, warnings: [...warnings.map(({ code, field, message }) => ({ line, code, field, message })), ...mapped.warnings] }
}

/**
 * Adds the row's key, if it can be read, to the reject. The record with this key is kept as it was (docs/guarantees.md#nothing-lost).
 */
function withKey(reject: Reject, bound: BoundHeader, row: SourceRow): Reject {
  try {
    const key = bound.keyOf(row)
    return key === undefined ? reject : { ...reject, key }
  } catch (error) {
    if (!(error instanceof TransformError)) throw error
    return reject
  }
}

/**
 * Adapts a bound header to a corrected file of `sluice rejects --csv`. The reason columns of this file cause no warnings. Cells that the
 * command changed for spreadsheets are restored. A row is rejected if a cell that decides who is sent is still masked. Returns the header
 * of any other file unchanged.
 */
function adaptToRejectsFile(bound: BoundHeader, columns: readonly string[]): BoundHeader {
  const reasonNames = new Set(reasonIndexes(columns).map((index) => columns[index]))
  if (reasonNames.size === 0) return bound
  return {
    ...bound,
    map: (row) => {
      const original = withOriginalCells(row)
      const masked = bound.maskedField?.(original)
      return masked === undefined ? bound.map(original) : rejectMasked(original, masked, bound)
    },
    keyOf: (row) => bound.keyOf(withOriginalCells(row)),
    mask: (row) => bound.mask(withOriginalCells(row)),
    ...(bound.excludes === undefined ? {} : { excludes: (row) => bound.excludes?.(withOriginalCells(row)) ?? false }),
    ...(bound.optedOut === undefined ? {} : { optedOut: (row) => bound.optedOut?.(withOriginalCells(row)) ?? [] }),
    warnings: bound.warnings.filter(({ code, field }) => code !== 'COLUMN_UNKNOWN' || !reasonNames.has(field)),
  }
}

/** Throws RunError FILE_DUPLICATE_COLUMN if several columns have one name, and the mapping reads only some of them. */
function checkRepeatedColumns({ usedIndexes, shownMapping }: BoundHeader, columns: readonly string[], uri: string): void {
  for (const index of usedIndexes) {
    const name = columns[index] ?? ''
    const repeats = repeatsOf(name, columns)
    if (repeats.every((repeat) => usedIndexes.has(columns.indexOf(repeat)))) continue
    const field = shownMapping.fields.find(({ from }) => from === name)?.field
    const names = [name, ...repeats].map(quoteSetting).join(', ')
    throw new RunError(
      'FILE_DUPLICATE_COLUMN',
      `the column "${redactPersonalData(name)}" occurs ${repeats.length + 1} times, and not all of them are read`,
      {
        where: shownAddress(uri),
        // Columns of `consent:` and countries are not fields.
        hint:
          field === undefined
            ? `Name each of these columns in its setting: ${names}`
            : `Name the columns to read, in order: map: { ${field}: [${names}] }`,
      },
    )
  }
}

/**
 * Returns the parent that more than half of the columns have, and at least three: `products` for columns such as `products.id`. Such
 * columns show that a JSON file `{ "products": … }` was read as one record. Undefined if no parent has so many columns.
 */
function wrapperOf(columns: readonly string[]): string | undefined {
  const counts = new Map<string, number>()
  for (const column of columns) {
    const dot = column.lastIndexOf('.')
    const parent = column.slice(0, dot)
    if (dot > 0) counts.set(parent, (counts.get(parent) ?? 0) + 1)
  }
  const [mostFrequent] = [...counts].sort(([, a], [, b]) => b - a)
  if (mostFrequent === undefined) return undefined
  const [parent, count] = mostFrequent
  return count >= 3 && count * 2 > columns.length ? parent : undefined
}

/**
 * Returns true if the row repeats the header: in each column of `headerCells`, the cell is the column's name. Ignores case and up to eight
 * spaces around the name. Returns false for fewer than two such columns, because one value may be equal to the name of its column.
 */
function repeatsHeader(row: SourceRow, headerCells: readonly HeaderCell[]): boolean {
  if (headerCells.length < 2) return false
  for (const { index, name } of headerCells) {
    const cell = row.cells[index]
    // Length first, because this runs for every row.
    if (typeof cell !== 'string' || cell.length < name.length || cell.length > name.length + 8) return false
    if (trimText(cell).toLowerCase() !== name) return false
  }
  return true
}
