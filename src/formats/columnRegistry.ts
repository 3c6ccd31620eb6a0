import type { SourceRow } from '../model/record.ts'

/** Row of a batch. Its columns are `unnamed` until the whole batch is parsed. */
export interface ParsedRow extends SourceRow {
  columns: readonly string[]
}

/** Columns of a row until `nameColumns` sets them. */
export const unnamed: readonly string[] = []

/** Maximum length of the name of a column, which may be a path. Without a limit, the paths below one long key fill the memory. */
export const maxNameLength = 1_000

/**
 * Columns of JSON and XML, where each row names its own cells. Each new name is added. Rows of one batch share one array of names, so that
 * the mapper can cache its work per array.
 */
export class ColumnRegistry {
  readonly #positions = new Map<string, number>()
  #names: readonly string[] = []

  /** Adds columns that are known in advance. */
  add(names: readonly string[]): void {
    for (const name of names) this.position(name)
  }

  /** Returns the index of a column. Adds a new column at the end; returns -1 for it if there are `limit` columns already. */
  position(name: string, limit = Infinity): number {
    const known = this.#positions.get(name)
    if (known !== undefined) return known
    const added = this.#positions.size
    if (added >= limit) return -1
    this.#positions.set(name, added)
    return added
  }

  /** Returns all names so far, in order of first appearance; the same array until a name is added. */
  names(): readonly string[] {
    if (this.#names.length !== this.#positions.size) this.#names = [...this.#positions.keys()]
    return this.#names
  }

  /** Sets the columns of the rows of a batch: all names so far. Returns the rows. */
  nameColumns(rows: readonly ParsedRow[]): readonly SourceRow[] {
    const names = this.names()
    for (const row of rows) row.columns = names
    return rows
  }
}

/** Cells of a record while it is read. */
export type OpenCells = (string | string[] | undefined)[]

/** Adds a text to a cell. The list of several texts is extended in place: a copy for each text takes minutes for 100,000 texts. */
export function addText(cells: OpenCells, at: number, text: string): void {
  const existing = cells[at]
  if (existing === undefined) cells[at] = text
  else if (typeof existing === 'string') cells[at] = [existing, text]
  else existing.push(text)
}
