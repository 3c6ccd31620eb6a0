/** Binds columns of a source to a target field. */
import type { FieldMapping, Transform } from '../model/pipeline.ts'
import { identifierTypes, type Cell, type SourceRow } from '../model/record.ts'
import { trimText } from './text.ts'
import { applyTransforms, TransformError } from './transforms.ts'

/**
 * Reads the untrimmed texts of a field from a row. If all are empty after the transforms, returns the default of the field. Without a
 * default, returns undefined or empty texts. Throws TransformError if a transform or function fails.
 */
type FieldReader = (row: SourceRow) => Cell | undefined

/** Target field bound to the columns of one header. */
export interface BoundField {
  readonly field: string
  /** Indexes of the columns that the field reads, in order. */
  readonly indexes: readonly number[]
  /** Columns of `mapping` that the header lacks. */
  readonly missing: readonly string[]
  readonly mapping: FieldMapping
  readonly read: FieldReader
}

/** Mapping of one field in a preset. Columns are found by `normalizeHeader`. */
export interface PresetField {
  readonly columns: readonly string[]
  readonly constant?: string
  /** Possible names of the column with the country of phone numbers. The first one that the header has is used. */
  readonly defaultCountry?: readonly string[]
  /** Value for rows in which all columns are empty. */
  readonly default?: string
  readonly transforms?: readonly Transform[]
  /** Computes the field from the trimmed texts of `columns`, in their order; `''` for a missing column. */
  readonly computeFromTexts?: (texts: readonly string[]) => string
}

/** Returns true if a field takes its cells as they are, without constant, function or transform. A default is allowed. */
export const takesCellsUnchanged = ({
  constant,
  compute,
  computeFromTexts,
  transforms = [],
}: Pick<PresetField, 'constant' | 'computeFromTexts' | 'transforms'> & Pick<FieldMapping, 'compute'>): boolean =>
  constant === undefined && compute === undefined && computeFromTexts === undefined && transforms.length === 0

/** Normalizes a column name: `g:Image Link`, `image-link`, ` IMAGE_LINK` → `image_link`. Removes a prefix of one word before a colon. */
export function normalizeHeader(name: string): string {
  return trimText(name)
    .toLowerCase()
    .replace(/^[a-z0-9_]+:(?=\S)/, '')
    .replace(/[\s\-./()[\]?*]+/g, '_')
    .replace(/^_+|(?<!_)_+$/g, '')
}

/**
 * Returns the index of the column with a name: by its exact name, else trimmed and ignoring case, else by `normalizeHeader`. If several
 * columns match only by `normalizeHeader`, one with a prefix comes first (docs/inputs.md, case 142). Returns -1 if no column matches.
 */
export function findColumn(columns: readonly string[], name: string): number {
  const exact = columns.indexOf(name)
  if (exact >= 0) return exact
  const lowerName = trimText(name).toLowerCase()
  const ignoringCase = columns.findIndex((column) => trimText(column).toLowerCase() === lowerName)
  if (ignoringCase >= 0) return ignoringCase
  const normalName = normalizeHeader(name)
  const withPrefix = columns.findIndex((column) => column.includes(':') && normalizeHeader(column) === normalName)
  return withPrefix >= 0 ? withPrefix : columns.findIndex((column) => normalizeHeader(column) === normalName)
}

/** Fields that take all texts of all their columns. Any other field takes its first text that is not empty (exception: `bindField`). */
const multiValueFields: ReadonlySet<string> = new Set([...identifierTypes, 'additional_image_link'])

/**
 * Binds a field to the columns of one header. A field with one column, and without constant, function, transforms and default, gets the
 * whole cell, also one with several texts. If the field needs only one text, the mapping of the record chooses it.
 */
export function bindField(field: string, mapping: FieldMapping, columns: readonly string[]): BoundField {
  const indexes: number[] = []
  const missing: string[] = []
  for (const name of mapping.columns) {
    const index = findColumn(columns, name)
    if (index >= 0) indexes.push(index)
    else missing.push(name)
  }
  return { field, indexes, missing, mapping, read: readerOf(field, mapping, indexes) }
}

function readerOf(field: string, mapping: FieldMapping, indexes: readonly number[]): FieldReader {
  const { constant, compute, transforms, default: fallback } = mapping
  if (constant !== undefined && transforms.length === 0) return () => constant
  if (compute === undefined && transforms.length === 0 && fallback === undefined && indexes.length <= 1) {
    const [onlyIndex] = indexes
    return onlyIndex === undefined ? () => undefined : (row) => row.cells[onlyIndex]
  }
  const textsBeforeTransforms = (row: SourceRow): string[] => {
    if (constant !== undefined) return [constant]
    return compute === undefined ? textsAt(indexes, row) : computedTexts(compute, row)
  }
  const transformedTexts = (row: SourceRow): string[] => {
    try {
      return applyTransforms(textsBeforeTransforms(row), transforms)
    } catch (error) {
      if (!(error instanceof TransformError)) throw error
      throw new TransformError(error.transform, error.message, { field, columns: mapping.columns })
    }
  }
  const takesAll = multiValueFields.has(field)
  return (row) => {
    const texts = transformedTexts(row)
    const firstNonEmpty = texts.find((text) => trimText(text) !== '')
    if (firstNonEmpty === undefined && fallback !== undefined) return fallback
    return takesAll ? texts : (firstNonEmpty ?? texts[0])
  }
}

function textsAt(indexes: readonly number[], row: SourceRow): string[] {
  const texts: string[] = []
  for (const index of indexes) {
    const cell = row.cells[index]
    if (cell === undefined) continue
    if (typeof cell === 'string') texts.push(cell)
    else texts.push(...cell)
  }
  return texts
}

/**
 * Returns the texts that a function computes from a row. Numbers become text. Undefined and null are left out.
 *
 * @throws {TransformError} if the function throws or returns another type
 */
function computedTexts(compute: NonNullable<FieldMapping['compute']>, row: SourceRow): string[] {
  let value: unknown
  try {
    value = compute(cellsByName(row))
  } catch (error) {
    // The message of the error is left out, because it may quote the row.
    throw new TransformError('function', `made the function fail (${error instanceof Error ? error.name : 'not an Error'})`)
  }
  const parts = Array.isArray(value) ? value : [value]
  return parts.flatMap((part: unknown) => {
    if (part === undefined || part === null) return []
    if (typeof part === 'string') return [part]
    if (typeof part === 'number' || typeof part === 'bigint') return [String(part)]
    throw new TransformError('function', `became ${typeof part}, not text`)
  })
}

/** Returns the cells by column name, as an object without a prototype: a column may be named `__proto__` (docs/inputs.md, case 33). */
function cellsByName(row: SourceRow): Readonly<Record<string, Cell | undefined>> {
  const cells: Record<string, Cell | undefined> = Object.create(null)
  row.columns.forEach((column, index) => {
    cells[column] = row.cells[index]
  })
  return cells
}

/** Returns all texts of a cell. A missing cell has one empty text, because JSON and XML omit empty values. */
export function allTexts(cell: Cell | undefined): readonly string[] {
  if (cell === undefined || cell.length === 0) return oneEmptyText
  return typeof cell === 'string' ? [cell] : cell
}

const oneEmptyText: readonly string[] = ['']

/** Returns the text of a cell, or the first one of several; undefined if there is none. */
export function firstText(cell: Cell | undefined): string | undefined {
  return cell === undefined || typeof cell === 'string' ? cell : cell[0]
}
