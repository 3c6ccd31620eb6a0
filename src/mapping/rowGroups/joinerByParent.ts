import { findColumn } from '../fields.ts'
import type { ParentRowGroups } from '../presets/preset.ts'
import type { SourceRow } from '../../model/record.ts'
import { fillEmptyCells, withJoinWarnings, indexesOf, textAt, textSize } from './cells.ts'
import type { RowJoiner } from './rowJoiner.ts'

/**
 * Maximum number of characters in the stored parents. The oldest are dropped first: an export writes variations soon after their parent.
 */
const maxCharacters = 16_777_216

/**
 * Indexes of the columns of `ParentRowGroups`; -1 for a missing one. `type` and `parent` are never missing. `inherited` leaves out missing
 * ones.
 */
interface ColumnIndexes {
  readonly type: number
  readonly id: number
  readonly sku: number
  readonly parent: number
  readonly published: number
  readonly inherited: readonly number[]
}

/**
 * Fills each variation with the values that all variations of its product share. A row above the variations, the parent, has these values.
 * A parent is not a record and is not returned.
 */
export class JoinerByParent implements RowJoiner {
  readonly #indexes: ColumnIndexes
  /** Name by which a variation may refer to its parent (`id:7`, or the SKU) → the parent. */
  readonly #parents = new Map<string, SourceRow>()
  /** Stored parent → its names; the oldest parent first. */
  readonly #namesByParent = new Map<SourceRow, readonly string[]>()
  #storedCharacters = 0
  /** Number of parents stored since the last filled variation. The next one gets one warning `ROWS_JOINED` for each of them. */
  #uncountedParents = 0
  #parentCount = 0
  /** Number of variations whose parent is not stored. */
  #orphanCount = 0

  /** Returns the joiner for a table; undefined if the table lacks the column of the type or the parent. */
  static of(rowGroups: ParentRowGroups, columns: readonly string[]): JoinerByParent | undefined {
    const [type, parent] = [findColumn(columns, rowGroups.type), findColumn(columns, rowGroups.parent)]
    if (type < 0 || parent < 0) return undefined
    return new JoinerByParent({
      type,
      parent,
      id: findColumn(columns, rowGroups.id),
      sku: findColumn(columns, rowGroups.sku),
      published: findColumn(columns, rowGroups.published),
      inherited: indexesOf(columns, rowGroups.inherited),
    })
  }

  private constructor(indexes: ColumnIndexes) {
    this.#indexes = indexes
  }

  push(row: SourceRow): readonly SourceRow[] {
    if (row.fault !== undefined) return [row]
    // `variable` for a parent; a text such as `variation, downloadable, virtual` for a variation.
    const type = textAt(row, this.#indexes.type).toLowerCase()
    if (/^variable\b/.test(type)) {
      this.#storeParent(row)
      this.#parentCount++
      this.#uncountedParents++
      return []
    }
    const parentName = textAt(row, this.#indexes.parent)
    if (parentName === '' || !type.includes('variation')) return [row]
    const parent = this.#parents.get(parentName)
    if (parent === undefined) {
      this.#orphanCount++
      return [row]
    }
    const completedRow = this.#inheritUnpublished(fillEmptyCells(row, parent, this.#indexes.inherited), parent)
    const joinedParents = this.#uncountedParents
    this.#uncountedParents = 0
    return [withJoinWarnings(completedRow, joinedParents)]
  }

  end(): readonly SourceRow[] {
    return []
  }

  notes(): readonly string[] {
    return [
      ...(this.#parentCount === 0 ? [] : [`rows of products with variations, which are not records themselves: ${this.#parentCount}`]),
      ...(this.#orphanCount === 0
        ? []
        : [`variations without the values of their product, because its row is not above them or too far above: ${this.#orphanCount}`]),
    ]
  }

  /** Stores a parent, and drops the oldest ones beyond `maxCharacters`. */
  #storeParent(row: SourceRow): void {
    const [id, sku] = [textAt(row, this.#indexes.id), textAt(row, this.#indexes.sku)]
    const names = [...(id === '' ? [] : [`id:${id}`]), ...(sku === '' ? [] : [sku])]
    for (const name of names) this.#parents.set(name, row)
    this.#namesByParent.set(row, names)
    this.#storedCharacters += textSize(row)
    for (const [oldest, oldNames] of this.#namesByParent) {
      if (this.#storedCharacters <= maxCharacters) break
      for (const name of oldNames) if (this.#parents.get(name) === oldest) this.#parents.delete(name)
      this.#namesByParent.delete(oldest)
      this.#storedCharacters -= textSize(oldest)
    }
  }

  /** Copies `published` from the parent if only the parent is unpublished. */
  #inheritUnpublished(row: SourceRow, parent: SourceRow): SourceRow {
    const { published } = this.#indexes
    const isOnlyParentUnpublished = published >= 0 && textAt(parent, published) !== '1' && textAt(row, published) === '1'
    if (!isOnlyParentUnpublished) return row
    const cells = [...row.cells]
    cells[published] = parent.cells[published]
    return { ...row, cells }
  }
}
