/**
 * Opens a source with a `join:`. Its rows get the columns of a second file by id, for example of the price file of one market. If the
 * second file has no row of the id, the row is rejected. Otherwise a product could be sent with the price of another market. The read is
 * complete only if both files were read to their ends.
 */
import { basename } from 'node:path'
import { RunError } from '../errors.ts'
import type { SourceFacts } from '../formats/rows.ts'
import { findColumn } from '../mapping/fields.ts'
import type { RecordCode } from '../mapping/rejectCodes.ts'
import { trimText } from '../mapping/text.ts'
import type { SourceDefinition, SourceJoin } from '../model/pipeline.ts'
import type { Cell, SourceRow } from '../model/record.ts'
import { shownAddress } from '../shownAddress.ts'
import { hashOfBoth } from './hashSource.ts'
import { withoutValidators, type OpenedSource, type SourceContext } from './openedSource.ts'

/**
 * Maximum number of rows of the joined file in memory. Each id has one; further rows of an id count only if their cells differ. A row takes
 * about 300 bytes.
 */
const maxJoined = 2_000_000

type Open = (definition: SourceDefinition, context: SourceContext) => Promise<OpenedSource>

interface JoinedFile {
  readonly columns: readonly string[]
  /** Cells by id; null if several rows of one id have different cells. All of these are in `conflicts`. */
  readonly cells: ReadonlyMap<string, readonly (Cell | undefined)[] | null>
  /**
   * Different cells of the rows of an id, by id and then by their JSON. A last row that may be cut off is left out. Its id is not in
   * `cells`.
   */
  readonly conflicts: ReadonlyMap<string, ReadonlyMap<string, readonly (Cell | undefined)[]>>
  readonly facts: SourceFacts
  readonly note: string
}

/** Reads the whole joined file, then opens the source. @throws {RunError} as `open`, FILE_COLUMN_MISSING, JOIN_TOO_LARGE */
export async function openJoined(
  definition: SourceDefinition,
  join: SourceJoin,
  context: SourceContext,
  open: Open,
): Promise<OpenedSource> {
  const { join: _, ...main } = definition
  const { gate: __, previous, ...rest } = context
  const file = await readJoinedFile(join, { ...rest, ...previousWithoutValidators(previous?.joined?.file) }, open)
  const source = await open(main, { ...rest, ...previousWithoutValidators(previous?.joined?.main) })
  const widen = createWidener(file, join)
  async function* rows(): AsyncGenerator<readonly SourceRow[]> {
    for await (const batch of source.rows) yield batch.map(widen)
  }
  return {
    unchanged: false,
    detected: source.detected && { ...source.detected, notes: [...source.detected.notes, file.note] },
    rows: rows(),
    facts: () => factsOfBoth(source.facts(), file),
    close: () => source.close(),
  }
}

/** Returns facts that make no request conditional, because both files are needed even if only one has changed. */
function previousWithoutValidators(facts: SourceFacts | undefined): { readonly previous?: SourceFacts } {
  return facts === undefined ? {} : { previous: withoutValidators(facts) }
}

async function readJoinedFile(join: SourceJoin, context: SourceContext, open: Open): Promise<JoinedFile> {
  const source = await open(join.source, context)
  const columns = new JoinedColumns(join)
  const cells = new Map<string, readonly (Cell | undefined)[] | null>()
  const conflicts = new Map<string, Map<string, readonly (Cell | undefined)[]>>()
  let lastId: string | undefined
  /** Value of `cells` for `lastId` before its last row; undefined if this row is the only one of its id. */
  let earlier: readonly (Cell | undefined)[] | null | undefined
  /** JSON of the cells of the last row, if this row added them to `conflicts`. */
  let lastVariant: string | undefined
  let [rowsWithId, rowsWithoutId, variantCount] = [0, 0, 0]
  try {
    for await (const rows of source.rows) {
      context.signal?.throwIfAborted()
      for (const row of rows) {
        columns.addHeader(row.columns)
        // A row that cannot be read is skipped. If no other row has its id, the product of this id is rejected.
        const id = row.fault === undefined ? columns.idOf(row) : undefined
        if (id === undefined) {
          rowsWithoutId++
          continue
        }
        rowsWithId++
        lastId = id
        const joinedCells = columns.cellsOf(row)
        earlier = cells.get(id)
        lastVariant = undefined
        if (earlier === undefined) cells.set(id, joinedCells)
        else if (earlier !== null && !haveSameCells(joinedCells, earlier)) {
          cells.set(id, null)
          conflicts.set(id, new Map([[JSON.stringify(earlier), earlier]]))
        }
        const conflict = conflicts.get(id)
        const text = conflict && JSON.stringify(joinedCells)
        if (conflict !== undefined && text !== undefined && !conflict.has(text)) {
          conflict.set(text, joinedCells)
          lastVariant = text
          variantCount++
        }
        if (cells.size + variantCount > maxJoined)
          throw new RunError('JOIN_TOO_LARGE', `the joined file has more than ${maxJoined} ids and different rows of one id`, {
            where: shownAddress(join.source.uri),
            hint: 'Join both in the database or export that writes the source.',
          })
      }
    }
    const facts = source.facts()
    columns.addHeader(facts.columns)
    const note = `joined with ${basename(facts.uri)} by ${join.fileColumn}: ${rowsWithId} rows${conflicts.size === 0 ? '' : `, ${conflicts.size} ids with different values`}${rowsWithoutId === 0 ? '' : `, ${rowsWithoutId} rows without a usable ${join.fileColumn}`}`
    // The last row may be cut off, for example `10` of `100.00`. Earlier rows of its id are kept, because they may opt out.
    if (!facts.completeness.complete && lastId !== undefined) {
      cells.delete(lastId)
      if (earlier === null && lastVariant !== undefined) conflicts.get(lastId)?.delete(lastVariant)
      else if (earlier) conflicts.set(lastId, new Map([[JSON.stringify(earlier), earlier]]))
    }
    return {
      columns: columns.names(),
      cells,
      conflicts,
      facts: { ...facts, rows: rowsWithId + rowsWithoutId },
      note,
    }
  } finally {
    await source.close()
  }
}

/** Columns of the joined file. The header of JSON and XML grows during the read. A column keeps the index at which it was found first. */
class JoinedColumns {
  readonly #join: SourceJoin
  #header: readonly string[] = []
  #idIndex = -1
  /** Index in the header of each joined column; -1 for a configured column that was not found yet. */
  #indexes: readonly number[] = []

  constructor(join: SourceJoin) {
    this.#join = join
  }

  /** Finds the columns in the header of the next row. */
  addHeader(header: readonly string[]): void {
    if (header === this.#header) return
    const { fileColumn, columns } = this.#join
    const find = (name: string, known = -1) => (known < 0 ? findColumn(header, name) : known)
    this.#header = header
    this.#idIndex = find(fileColumn, this.#idIndex)
    this.#indexes =
      columns?.map((name, place) => find(name, this.#indexes[place])) ?? [...header.keys()].filter((index) => index !== this.#idIndex)
  }

  idOf(row: SourceRow): string | undefined {
    const id = textOf(row.cells[this.#idIndex])
    return id === undefined ? undefined : copyOf(id)
  }

  cellsOf(row: SourceRow): readonly (Cell | undefined)[] {
    return this.#indexes.map((index) => {
      const cell = row.cells[index]
      return typeof cell === 'string' ? copyOf(cell) : cell?.map(copyOf)
    })
  }

  /** Returns the names of the joined columns. Called after the last row. @throws {RunError} FILE_COLUMN_MISSING */
  names(): readonly string[] {
    const { source, fileColumn, columns = [] } = this.#join
    const missing = this.#idIndex < 0 ? fileColumn : columns.find((_, place) => (this.#indexes[place] ?? -1) < 0)
    if (missing !== undefined)
      throw new RunError('FILE_COLUMN_MISSING', `the joined file has no column "${missing}"`, {
        where: shownAddress(source.uri),
        hint: `Its columns are ${this.#header.slice(0, 20).join(', ')}: correct join.on or join.columns.`,
      })
    return this.#indexes.map((index) => this.#header[index] ?? '')
  }
}

/** Columns of the rows of the source after the join. */
interface WideHeader {
  readonly columns: readonly string[]
  /** Index in `columns` of each joined cell. */
  readonly joinedIndexes: readonly number[]
  /** Index in `columns` of the id; -1 if the source has no such column. */
  readonly idIndex: number
}

/**
 * Returns a function that adds the joined cells to a row. A joined cell always replaces the cell of the same column, even if the joined
 * cell is empty. Otherwise the price of the main file could be sent. A row without a match gets the fault JOIN_ROW_MISSING. A row with
 * several different matches gets JOIN_ROW_CONFLICT.
 */
function createWidener(file: JoinedFile, { sourceColumn }: SourceJoin): (row: SourceRow) => SourceRow {
  const headers = new Map<string, WideHeader>()
  let lastColumns: readonly string[] | undefined
  let lastHeader: WideHeader | undefined
  const widenHeader = (given: readonly string[]): WideHeader => {
    const columns = [...given]
    const joinedIndexes = file.columns.map((name) => {
      const index = findColumn(columns, name)
      return index >= 0 ? index : columns.push(name) - 1
    })
    return { columns, joinedIndexes, idIndex: findColumn(given, sourceColumn) }
  }
  const cachedHeader = (given: readonly string[]) => {
    if (given === lastColumns && lastHeader !== undefined) return lastHeader
    const key = given.join('\u0000')
    const header = headers.get(key) ?? widenHeader(given)
    if (headers.size >= maxCachedHeaders) headers.clear()
    headers.set(key, header)
    lastColumns = given
    lastHeader = header
    return header
  }
  const variantsOf = (key: string | undefined) => {
    const variants = key === undefined ? undefined : file.conflicts.get(key)
    return variants === undefined ? {} : { variants: [...variants.values()] }
  }
  return (row) => {
    const { columns, joinedIndexes, idIndex } = cachedHeader(row.columns)
    const key = textOf(row.cells[idIndex])
    const joined = key === undefined ? undefined : file.cells.get(key)
    const cells = [...row.cells]
    joinedIndexes.forEach((index, place) => (cells[index] = joined?.[place]))
    // A row that cannot be read keeps its own fault.
    if (row.fault !== undefined || (joined !== undefined && joined !== null)) return { ...row, columns, cells }
    return {
      ...row,
      columns,
      cells,
      fault: { ...faultOf(joined, sourceColumn, idIndex >= 0), unjoined: joinedIndexes, ...variantsOf(key) },
    }
  }
}

/** Maximum number of cached headers. Each row of JSON and XML may have its own columns. */
const maxCachedHeaders = 512

function faultOf(joined: null | undefined, field: string, hasColumn: boolean): NonNullable<SourceRow['fault']> {
  const code: RecordCode = joined === null ? 'JOIN_ROW_CONFLICT' : 'JOIN_ROW_MISSING'
  const missing = hasColumn ? 'the joined file has no row of this id' : `the row has no column "${field}", by which the file is joined`
  return { code, message: joined === null ? 'the joined file has several rows of this id with different values' : missing, field }
}

function factsOfBoth(main: SourceFacts, { columns, facts: file, note }: JoinedFile): SourceFacts {
  const incomplete = [main, file].find(({ completeness }) => !completeness.complete)
  return {
    ...withoutValidators(main),
    ...hashOfBoth(main, file),
    columns: [...main.columns, ...columns.filter((name) => findColumn(main.columns, name) < 0)],
    completeness:
      incomplete === undefined
        ? { complete: true, proof: [...new Set([main.completeness.proof, file.completeness.proof])].join(', ') }
        : { ...incomplete.completeness, reason: `${incomplete.uri}: ${incomplete.completeness.reason ?? incomplete.completeness.proof}` },
    notes: [...(main.notes ?? []), note],
    joined: { main, file },
  }
}

/** Returns a copy of a text. A cell may be a part of the text of its record, and would keep the whole record in memory. */
function copyOf(text: string): string {
  // V8 itself copies a part of fewer than 13 characters.
  return text.length < 13 ? text : (JSON.parse(JSON.stringify(text)) as string)
}

function textOf(cell: Cell | undefined): string | undefined {
  const text = trimText(typeof cell === 'string' ? cell : (cell?.[0] ?? ''))
  return text === '' ? undefined : text
}

/** Returns true if both rows have the same cells. `earlier` may have fewer. */
function haveSameCells(cells: readonly (Cell | undefined)[], earlier: readonly (Cell | undefined)[]): boolean {
  return cells.every((cell, index) => JSON.stringify(cell ?? '') === JSON.stringify(earlier[index] ?? ''))
}
