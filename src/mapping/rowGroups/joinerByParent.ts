import { findColumn } from '../fields.ts'
import type { ParentRowGroups } from '../presets/preset.ts'
import type { Row } from '../../model/record.ts'
import { filledFrom, withJoinWarnings, indexesOf, textAt, textSize } from './cells.ts'
import type { RowJoiner } from './rowJoiner.ts'

/**
 * Maximum number of characters of stored parents. The oldest parents are dropped first, because an export writes variations soon after
 * their parent.
 */
const mostText = 16_777_216

/** Indexes of columns; -1 for a missing column. `type` and `parent` are never missing. */
interface ColumnIndexes {
  readonly type: number
  readonly id: number
  readonly sku: number
  readonly parent: number
  readonly published: number
  readonly inherited: readonly number[]
}

/**
 * Fills variations from the row of their product, their parent. The row of a variation refers to the row of its parent, and is anywhere
 * below it. It omits the values that all variations share. The row of a parent is not a record and is not returned.
 */
export class ParentRows implements RowJoiner {
  readonly #at: ColumnIndexes
  /** Name that a variation may use for its parent (`id:7`, or the SKU) → the row of the parent. */
  readonly #parents = new Map<string, Row>()
  /** Row of a parent → its names; the oldest row first. */
  readonly #names = new Map<Row, readonly string[]>()
  /** Number of characters of the stored parents. */
  #storedSize = 0
  /** Number of rows of parents without a warning so far. The next variation that is filled gets one `ROWS_JOINED` for each of them. */
  #uncountedParents = 0
  /** Number of rows of parents. */
  #parentCount = 0
  /** Number of variations whose parent is not stored. */
  #aloneCount = 0

  /** Returns the joiner for a table; undefined if the table lacks the column of the type or the parent. */
  static of(rowGroups: ParentRowGroups, columns: readonly string[]): ParentRows | undefined {
    const [type, parent] = [findColumn(columns, rowGroups.type), findColumn(columns, rowGroups.parent)]
    if (type < 0 || parent < 0) return undefined
    return new ParentRows({
      type,
      parent,
      id: findColumn(columns, rowGroups.id),
      sku: findColumn(columns, rowGroups.sku),
      published: findColumn(columns, rowGroups.published),
      inherited: indexesOf(columns, rowGroups.inherited),
    })
  }

  private constructor(at: ColumnIndexes) {
    this.#at = at
  }

  push(row: Row): readonly Row[] {
    if (row.fault !== undefined) return [row]
    const at = this.#at
    // The type of a parent is `variable`, that of a variation for example `variation, downloadable, virtual`.
    const type = textAt(row, at.type).toLowerCase()
    if (/^variable\b/.test(type)) {
      this.#storeParent(row)
      this.#parentCount++
      this.#uncountedParents++
      return []
    }
    const name = textAt(row, at.parent)
    if (name === '' || !type.includes('variation')) return [row]
    const parent = this.#parents.get(name)
    if (parent === undefined) {
      this.#aloneCount++
      return [row]
    }
    const filled = this.#unpublishedLike(filledFrom(row, parent, at.inherited), parent)
    const joinedParents = this.#uncountedParents
    this.#uncountedParents = 0
    return [withJoinWarnings(filled, joinedParents)]
  }

  end(): readonly Row[] {
    return []
  }

  notes(): readonly string[] {
    return [
      ...(this.#parentCount === 0 ? [] : [`rows of products with variations, which are not records themselves: ${this.#parentCount}`]),
      ...(this.#aloneCount === 0
        ? []
        : [`variations without the values of their product, because its row is not above them or too far above: ${this.#aloneCount}`]),
    ]
  }

  /** Stores a parent under its names. Drops the oldest parents until the others have at most `mostText` characters. */
  #storeParent(row: Row): void {
    const [id, sku] = [textAt(row, this.#at.id), textAt(row, this.#at.sku)]
    const names = [...(id === '' ? [] : [`id:${id}`]), ...(sku === '' ? [] : [sku])]
    for (const name of names) this.#parents.set(name, row)
    this.#names.set(row, names)
    this.#storedSize += textSize(row)
    for (const [oldest, oldNames] of this.#names) {
      if (this.#storedSize <= mostText) break
      for (const name of oldNames) if (this.#parents.get(name) === oldest) this.#parents.delete(name)
      this.#names.delete(oldest)
      this.#storedSize -= textSize(oldest)
    }
  }

  /** Returns a published variation as unpublished if its parent is not published. Returns any other variation unchanged. */
  #unpublishedLike(row: Row, parent: Row): Row {
    const { published } = this.#at
    const isOnlyParentUnpublished = published >= 0 && textAt(parent, published) !== '1' && textAt(row, published) === '1'
    if (!isOnlyParentUnpublished) return row
    const cells = [...row.cells]
    cells[published] = parent.cells[published]
    return { ...row, cells }
  }
}
