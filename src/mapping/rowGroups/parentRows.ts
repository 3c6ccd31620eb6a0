import { findColumn } from '../fields.ts'
import type { ParentRowGroups } from '../presets/preset.ts'
import type { Row } from '../../model/record.ts'
import { filledFrom, joinedInto, positions, textAt, textSize } from './cells.ts'
import type { RowJoiner } from './rowJoiner.ts'

/**
 * Maximum number of characters of stored parents. The oldest are dropped first, because an export writes variations soon after
 * their parent.
 */
const mostText = 16_777_216

/** Positions of columns; -1 for a missing one. */
interface Places {
  readonly type: number
  readonly id: number
  readonly sku: number
  readonly parent: number
  readonly published: number
  readonly inherited: readonly number[]
}

/**
 * Joins variations with the row of their product. A product with variations has its own row. Its variations refer to it, omit
 * shared values, and may come anywhere after it. The row of the product is not a record: its values fill the rows of its
 * variations.
 */
export class ParentRows implements RowJoiner {
  readonly #at: Places
  /** Parents by each name that a variation may use. */
  readonly #parents = new Map<string, Row>()
  /** Names of each parent, the oldest first. */
  readonly #names = new Map<Row, readonly string[]>()
  /** Characters of the stored parents. */
  #text = 0
  /** Rows of parents since the last row that was passed on with a warning about them. */
  #joinedSince = 0
  /** Rows of all parents. */
  #joined = 0
  /** Variations whose parent is not stored. */
  #alone = 0

  /** Returns undefined if the table lacks the columns that identify parents and variations. */
  static of(rowGroups: ParentRowGroups, columns: readonly string[]): ParentRows | undefined {
    const [type, parent] = [findColumn(columns, rowGroups.type), findColumn(columns, rowGroups.parent)]
    if (type < 0 || parent < 0) return undefined
    return new ParentRows({
      type,
      parent,
      id: findColumn(columns, rowGroups.id),
      sku: findColumn(columns, rowGroups.sku),
      published: findColumn(columns, rowGroups.published),
      inherited: positions(columns, rowGroups.inherited),
    })
  }

  private constructor(at: Places) {
    this.#at = at
  }

  push(row: Row): readonly Row[] {
    if (row.fault !== undefined) return [row]
    const at = this.#at
    // Types are `variable` for a parent and, for example, `variation, downloadable, virtual`.
    const type = textAt(row, at.type).toLowerCase()
    if (/^variable\b/.test(type)) {
      this.#remember(row)
      this.#joined++
      this.#joinedSince++
      return []
    }
    const name = textAt(row, at.parent)
    if (name === '' || !type.includes('variation')) return [row]
    const parent = this.#parents.get(name)
    if (parent === undefined) {
      this.#alone++
      return [row]
    }
    const joined = this.#joinedSince
    this.#joinedSince = 0
    return [joinedInto(this.#unpublishedLike(filledFrom(row, parent, at.inherited), parent), joined)]
  }

  end(): readonly Row[] {
    return []
  }

  notes(): readonly string[] {
    return [
      ...(this.#joined === 0 ? [] : [`rows of products whose values were joined to their variations: ${this.#joined}`]),
      ...(this.#alone === 0 ? [] : [`variations without the values of their product, because its row is not before them: ${this.#alone}`]),
    ]
  }

  /** Stores a parent under its names. Drops the oldest parents above `mostText`. */
  #remember(row: Row): void {
    const [id, sku] = [textAt(row, this.#at.id), textAt(row, this.#at.sku)]
    const names = [...(id === '' ? [] : [`id:${id}`]), ...(sku === '' ? [] : [sku])]
    for (const name of names) this.#parents.set(name, row)
    this.#names.set(row, names)
    this.#text += textSize(row)
    for (const [oldest, called] of this.#names) {
      if (this.#text <= mostText) break
      for (const name of called) if (this.#parents.get(name) === oldest) this.#parents.delete(name)
      this.#names.delete(oldest)
      this.#text -= textSize(oldest)
    }
  }

  /** Marks a variation as unpublished if its product is not published. */
  #unpublishedLike(row: Row, parent: Row): Row {
    const { published } = this.#at
    if (published < 0 || textAt(parent, published) === '1' || textAt(row, published) !== '1') return row
    const cells = [...row.cells]
    cells[published] = parent.cells[published]
    return { ...row, cells }
  }
}
