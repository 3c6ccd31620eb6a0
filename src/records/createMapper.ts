/** Rows → records for one pipeline (record.ts RecordMapper): binds columns once a header, then maps without looking back. */
import { hash } from 'node:crypto'
import { RunError } from '../errors.ts'
import type { Pipeline } from '../pipeline/definition.ts'
import { catalogBinder } from './bindCatalog.ts'
import { memberBinder } from './bindMember.ts'
import { missingColumns, type Bound, type EchoColumn, type MappingShown } from './boundColumns.ts'
import { hideStray } from './mask.ts'
import type { Mapped, RecordMapper, Row } from './record.ts'
import { mendOf, recordCodes, type RecordCode } from './rejectCodes.ts'
import { reasonIndexes, withoutGuards } from './rejectsCopy.ts'
import { trimText } from './text.ts'
import { TransformFault } from './transforms.ts'

/** Rises whenever the same cells may map to something else: part of every definition hash. */
export const normalizerVersion = 3

/** Different headers kept at once: rows of JSON and XML have their own. */
const maxBound = 512

export interface DescribingMapper extends RecordMapper {
  /** How a header's columns fill the fields, and the mend for required ones that none fills; undefined where there are none. */
  readonly describe: (columns: readonly string[]) => MappingShown & { readonly mend: string | undefined }
  /** What a `map:` for this header would have to say: the required fields that no column fills, and hints for optional ones. */
  readonly propose: (columns: readonly string[]) => Pick<Bound, 'missing' | 'hints'>
}

/**
 * Pure but for a cache of bound headers; one mapper serves one source file at a time. `today` decides who is a child and
 * when a membership ends that names no end.
 */
export function createMapper(pipeline: Pipeline, today: Date): DescribingMapper {
  const bind = pipeline.destination.kind === 'catalog' ? catalogBinder(pipeline) : memberBinder(pipeline, today)
  const known = new Map<string, Bound>()
  let lastColumns: readonly string[] | undefined
  let last: Bound | undefined
  const boundFor = (columns: readonly string[]): Bound => {
    if (columns === lastColumns && last !== undefined) return last
    const key = columns.join('\u0000')
    let bound = known.get(key)
    if (bound === undefined) {
      if (known.size >= maxBound) known.clear()
      bound = boundCopy(bind(columns), columns)
      known.set(key, bound)
    }
    lastColumns = columns
    last = bound
    return bound
  }
  return {
    start: (columns, uri = pipeline.sources[0]?.uri ?? pipeline.name) => {
      const bound = boundFor(columns)
      if (bound.missing.length > 0 && isTable(pipeline, uri, columns)) {
        const { message, mend } = missingColumns(bound, columns)
        throw new RunError('FILE_COLUMN_MISSING', message, { where: uri, mend })
      }
      return bound.warnings
    },
    map: (row) => {
      const bound = boundFor(row.columns)
      if (row.fault !== undefined) {
        const { code, message, field } = row.fault
        const reject = {
          line: row.line,
          code,
          field: field ?? '',
          message: hideStray(message),
          mend: code in recordCodes ? mendOf(code as RecordCode) : 'Correct the row in the source.',
        }
        // Cells may be shifted in such a row, but where its key reads as one, that record is stale and not gone (I2).
        const key = row.cells.length === 0 ? undefined : keyDespite(bound, row)
        return { reject: key === undefined ? reject : { ...reject, key }, warnings: [] }
      }
      if (isHeaderAgain(row, bound.echo)) {
        return {
          reject: {
            line: row.line,
            code: 'HEADER_REPEATED',
            field: row.columns[bound.echo[0]?.index ?? 0] ?? '',
            message: 'the header stands here once more',
            mend: mendOf('HEADER_REPEATED'),
          },
          warnings: [],
        }
      }
      try {
        return withMends(row, bound.map(row))
      } catch (error) {
        if (!(error instanceof TransformFault)) throw error
        const { transform, message, place } = error
        const columns = place === undefined ? [] : place.columns.map((column) => `"${hideStray(column)}"`)
        const reject = {
          line: row.line,
          code: 'TRANSFORM_FAILED',
          field: place?.field ?? transform,
          message: `${place?.field ?? transform}: the value${columns.length === 0 ? '' : ` of ${columns.join(', ')}`} ${message} (${transform})`,
          mend: mendOf('TRANSFORM_FAILED'),
        }
        // Its record is stale and not gone, as with every other reject (I2).
        const key = keyDespite(bound, row)
        return { reject: key === undefined ? reject : { ...reject, key }, warnings: [] }
      }
    },
    mask: (row) => boundFor(row.columns).mask(row),
    propose: (columns) => {
      const { missing, hints } = boundFor(columns)
      return { missing, hints }
    },
    describe: (columns) => {
      const bound = boundFor(columns)
      if (bound.missing.length === 0) return { ...bound.mapping, mend: undefined }
      const wrapper = wrapperOf(columns)
      return {
        ...bound.mapping,
        mend:
          wrapper === undefined
            ? missingColumns(bound, columns).mend
            : `The records stand inside ${JSON.stringify(wrapper)}: say so, source: { json: { records: ${wrapper} } }`,
      }
    },
  }
}

/** Changes whenever the same bytes could map to something else (definition, normalizer version); the day is not in it. */
export function definitionHashOf(pipeline: Pipeline): string {
  return hash('sha256', `${normalizerVersion} ${pipeline.definitionHash}`)
}

function withMends({ line, mends }: Row, mapped: Mapped): Mapped {
  if (mends === undefined) return mapped
  return { ...mapped, warnings: [...mends.map(({ code, field, message }) => ({ line, code, field, message })), ...mapped.warnings] }
}

/** The key itself may be what a transform does not fit. */
function keyDespite(bound: Bound, row: Row): Uint8Array | undefined {
  try {
    return bound.keyOf(row)
  } catch (error) {
    if (!(error instanceof TransformFault)) throw error
    return undefined
  }
}

/** Of a corrected rejects file: its reasons are not told as unknown columns, its apostrophes fall away. */
function boundCopy(bound: Bound, columns: readonly string[]): Bound {
  const ignored = new Set(reasonIndexes(columns).map((index) => columns[index]))
  if (ignored.size === 0) return bound
  return {
    ...bound,
    map: (row) => bound.map(withoutGuards(row)),
    keyOf: (row) => bound.keyOf(withoutGuards(row)),
    warnings: bound.warnings.filter(({ code, field }) => code !== 'COLUMN_UNKNOWN' || !ignored.has(field)),
  }
}

/**
 * Where a missing column can be told from a missing value: files with one header for all rows. Items of XML and JSON each
 * bring their own names, and there the row is rejected instead.
 */
function isTable(pipeline: Pipeline, uri: string, columns: readonly string[]): boolean {
  if (columns.length === 0) return false
  const { format = 'auto', xml, json } = pipeline.sources.find((source) => source.uri === uri) ?? {}
  if (xml?.item !== undefined || json !== undefined) return false
  if (format !== 'auto') return format === 'csv' || format === 'tsv' || format === 'xlsx'
  return (
    !/\.(?:xml|rss|atom|json|jsonl|ndjson)(?:\.(?:gz|zip|zst))?(?:[?#].*)?$/i.test(uri) &&
    !columns.some((column) => /^[a-z0-9]+:\S/i.test(column))
  )
}

/** `products` of a JSON answer `{ "products": [ … ] }`, which reads as one record whose columns all stand below it. */
function wrapperOf(columns: readonly string[]): string | undefined {
  const below = new Map<string, number>()
  for (const column of columns) {
    const at = column.lastIndexOf('.')
    if (at > 0) below.set(column.slice(0, at), (below.get(column.slice(0, at)) ?? 0) + 1)
  }
  const [most] = [...below].sort((a, b) => b[1] - a[1])
  return most !== undefined && most[1] >= 3 && most[1] * 2 > columns.length ? most[0] : undefined
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
