import type { HandleRowGroups } from '../presets/preset.ts'
import { splitImages } from '../products/links.ts'
import type { SourceRow } from '../../model/record.ts'
import { fillEmptyCells, withJoinWarnings, indexesOf, textAt, textSize } from './cells.ts'
import type { RowJoiner } from './rowJoiner.ts'

/**
 * Maximum number of buffered rows of one product, and of its joined image-only rows. A product of a Shopify shop has at most 2,048 variants
 * and 250 images.
 */
const maxRows = 4_096
/** Number of buffered characters at which the rows are returned. Texts copied from the first row do not count. */
const maxCharacters = 8_388_608
const maxImages = 250

/** Indexes of the columns of `HandleRowGroups` in one table. */
interface ColumnIndexes {
  readonly handle: number
  readonly title: number
  readonly image: number
  readonly offer: readonly number[]
  readonly inherited: readonly number[]
}

/**
 * Joins the rows of one product, which follow each other and have the same handle. Adds all images of the product to each row, and fills
 * its empty `inherited` cells from the first row. Leaves out image-only rows: a row has one image, so further images have rows of their
 * own.
 *
 * Buffers the rows of a product until its last image is known, or until they reach `maxRows` or `maxCharacters`. Later rows of the product
 * are returned immediately, with the images that were known at that limit.
 */
export class JoinerByHandle implements RowJoiner {
  readonly #indexes: ColumnIndexes
  /** Handle of the current product; `''` if the last row has none. */
  #currentHandle = ''
  /** First row of the current product; undefined if it has no title. */
  #firstRow: SourceRow | undefined
  #buffered: SourceRow[] = []
  #bufferedCharacters = 0
  #reachedLimit = false
  /** Different images of the current product. */
  #images: string[] = []
  /** Image-only rows joined to the buffered rows. */
  #currentJoinedCount = 0
  /** Image-only rows joined to all products. */
  #joinedCount = 0
  /** Image-only rows left out, after their product reached a limit. */
  #leftOutCount = 0

  /** Returns the joiner for a table; undefined if the table lacks the column of the handle, the title or the image. */
  static of(rowGroups: HandleRowGroups, columns: readonly string[]): JoinerByHandle | undefined {
    const [handle] = indexesOf(columns, rowGroups.handle)
    const [title] = indexesOf(columns, rowGroups.title)
    const [image] = indexesOf(columns, rowGroups.image)
    if (handle === undefined || title === undefined || image === undefined) return undefined
    const alsoInherited = columns.flatMap((column, index) => (rowGroups.inheritedLike.test(column) ? [index] : []))
    return new JoinerByHandle({
      handle,
      title,
      image,
      offer: indexesOf(columns, rowGroups.offer),
      inherited: [...new Set([...indexesOf(columns, rowGroups.inherited), ...alsoInherited])],
    })
  }

  private constructor(indexes: ColumnIndexes) {
    this.#indexes = indexes
  }

  push(row: SourceRow): readonly SourceRow[] {
    // The cells of a faulty row may be shifted, so its product is not known. Buffered only to keep the order.
    if (row.fault !== undefined) return this.#buffered.length === 0 ? [row] : this.#buffer(row)
    const handle = textAt(row, this.#indexes.handle)
    if (handle === '' || handle !== this.#currentHandle) return [...this.#release(), ...this.#begin(row, handle)]
    if (this.#firstRow === undefined) return [withMissingFirstRow(row)]
    if (this.#isImageOnly(row)) {
      if (this.#reachedLimit || this.#currentJoinedCount === maxRows) this.#leftOutCount++
      else {
        this.#joinedCount++
        this.#currentJoinedCount++
        this.#addImages(row)
      }
      return []
    }
    if (!this.#reachedLimit) this.#addImages(row)
    const completedRow = fillEmptyCells(row, this.#firstRow, this.#indexes.inherited)
    return this.#reachedLimit ? [this.#withImages(completedRow)] : this.#buffer(completedRow, textSize(row))
  }

  end(): readonly SourceRow[] {
    return this.#release()
  }

  notes(): readonly string[] {
    return [
      ...(this.#joinedCount === 0 ? [] : [`image-only rows joined to the product above them: ${this.#joinedCount}`]),
      ...(this.#leftOutCount === 0
        ? []
        : [
            `image-only rows left out, because their products have over ${maxRows} rows or ${maxCharacters} characters: ${this.#leftOutCount}`,
          ]),
    ]
  }

  /**
   * Starts a product with its first row, and buffers this row. Returns a row without a handle unchanged, and a row without a title with a
   * fault.
   */
  #begin(row: SourceRow, handle: string): readonly SourceRow[] {
    this.#currentHandle = handle
    this.#firstRow = undefined
    this.#reachedLimit = false
    this.#images = []
    if (handle === '') return [row]
    if (textAt(row, this.#indexes.title) === '') return [withMissingFirstRow(row)]
    this.#firstRow = row
    this.#addImages(row)
    return this.#buffer(row)
  }

  #isImageOnly(row: SourceRow): boolean {
    return textAt(row, this.#indexes.image) !== '' && this.#indexes.offer.every((index) => textAt(row, index) === '')
  }

  /** Adds the images of a row. A corrected rejects file has several in one cell, joined by commas. */
  #addImages(row: SourceRow): void {
    for (const image of splitImages(textAt(row, this.#indexes.image)))
      if (image !== '' && this.#images.length < maxImages && !this.#images.includes(image)) this.#images.push(image)
  }

  /**
   * Buffers a row. If it reaches a limit now, returns all buffered rows. `ownTextSize`: number of characters before the row was filled.
   * Copied texts take no further memory.
   */
  #buffer(row: SourceRow, ownTextSize = textSize(row)): readonly SourceRow[] {
    this.#buffered.push(row)
    this.#bufferedCharacters += ownTextSize
    if (this.#buffered.length < maxRows && this.#bufferedCharacters < maxCharacters) return []
    this.#reachedLimit = true
    return this.#release()
  }

  /** Returns the buffered rows with the images known so far, and empties the buffer. */
  #release(): readonly SourceRow[] {
    const [first, ...others] = this.#buffered.map((row) => (row.fault === undefined ? this.#withImages(row) : row))
    const joined = this.#currentJoinedCount
    this.#buffered = []
    this.#bufferedCharacters = 0
    this.#currentJoinedCount = 0
    // The first buffered row is the first row of the product, so it has no fault.
    return first === undefined ? [] : [withJoinWarnings(first, joined), ...others]
  }

  /** Returns the row with all known images of the current product. */
  #withImages(row: SourceRow): SourceRow {
    if (this.#images.length === 0) return row
    const cells = [...row.cells]
    cells[this.#indexes.image] = this.#images.length === 1 ? this.#images[0] : this.#images
    return { ...row, cells }
  }
}

/** Returns the row with the fault that the first row of its product is not above it. */
function withMissingFirstRow(row: SourceRow): SourceRow {
  return {
    ...row,
    fault: {
      code: 'PRODUCT_ROW_MISSING',
      field: 'title',
      message: 'the first row of its product, with the title, is not above this row',
    },
  }
}
