import type { HandleSpread } from '../presets/preset.ts'
import { splitImages } from '../product/links.ts'
import type { Row } from '../record.ts'
import { filledFrom, joinedInto, positions, textAt, textSize } from './cells.ts'
import type { RowJoiner } from './spreadRows.ts'

/** Of one product. A shop may have 2,048 variants of it and 250 images. */
const mostRows = 4_096
const mostText = 8_388_608
const mostImages = 250

/**
 * Rows of one product follow each other under one handle; the first one alone says what the product is, and images stand
 * one in a row, in rows of their own where there are more images than variants.
 *
 * Rows of a product wait for its last image: at most `mostRows` of them, or `mostText` characters. Those behind go on at
 * once, with the images that are known by then.
 */
export class HandleRows implements RowJoiner {
  readonly #handle: number
  readonly #title: number
  readonly #image: number
  readonly #offer: readonly number[]
  readonly #inherited: readonly number[]
  #current = ''
  #first: Row | undefined
  #held: Row[] = []
  #heldText = 0
  #full = false
  #images: string[] = []
  /** Rows of images alone: of the current product, and of all. */
  #joinedHere = 0
  #joined = 0
  #late = 0

  /** Undefined where the table has not the columns that tell rows of one product. */
  static of(spread: HandleSpread, columns: readonly string[]): HandleRows | undefined {
    const [handle] = positions(columns, spread.handle)
    const [title] = positions(columns, spread.title)
    const [image] = positions(columns, spread.image)
    if (handle === undefined || title === undefined || image === undefined) return undefined
    const inherited = columns.flatMap((column, index) => (spread.inheritedLike.test(column) ? [index] : []))
    return new HandleRows({
      handle,
      title,
      image,
      offer: positions(columns, spread.offer),
      inherited: [...new Set([...positions(columns, spread.inherited), ...inherited])],
    })
  }

  private constructor(at: {
    readonly handle: number
    readonly title: number
    readonly image: number
    readonly offer: readonly number[]
    readonly inherited: readonly number[]
  }) {
    this.#handle = at.handle
    this.#title = at.title
    this.#image = at.image
    this.#offer = at.offer
    this.#inherited = at.inherited
  }

  push(row: Row): readonly Row[] {
    // Cells of a faulty row may be shifted: it is of no product.
    if (row.fault !== undefined) return this.#held.length === 0 ? [row] : this.#hold(row)
    const handle = textAt(row, this.#handle)
    if (handle === '' || handle !== this.#current) return [...this.#release(), ...this.#begin(row, handle)]
    if (this.#first === undefined) return [withoutFirst(row)]
    if (this.#isImage(row)) {
      if (this.#full || this.#joinedHere === mostRows) this.#late++
      else {
        this.#joined++
        this.#joinedHere++
        this.#addImages(row)
      }
      return []
    }
    if (!this.#full) this.#addImages(row)
    const whole = filledFrom(row, this.#first, this.#inherited)
    return this.#full ? [this.#withImages(whole)] : this.#hold(whole, row)
  }

  end(): readonly Row[] {
    return this.#release()
  }

  notes(): readonly string[] {
    return [
      ...(this.#joined === 0 ? [] : [`rows of further images alone, read with the product above them: ${this.#joined}`]),
      ...(this.#late === 0 ? [] : [`rows of further images left out, as their products have more than ${mostRows} rows: ${this.#late}`]),
    ]
  }

  #begin(row: Row, handle: string): readonly Row[] {
    this.#current = handle
    this.#first = undefined
    this.#full = false
    this.#images = []
    if (handle === '') return [row]
    if (textAt(row, this.#title) === '') return [withoutFirst(row)]
    this.#first = row
    this.#addImages(row)
    return this.#hold(row)
  }

  #isImage(row: Row): boolean {
    return textAt(row, this.#image) !== '' && this.#offer.every((index) => textAt(row, index) === '')
  }

  /** A corrected copy of rejects has them joined by commas. */
  #addImages(row: Row): void {
    for (const image of splitImages(textAt(row, this.#image)))
      if (image !== '' && this.#images.length < mostImages && !this.#images.includes(image)) this.#images.push(image)
  }

  /** `own`: the row as it came; what it has from its product's first row is that row's memory. */
  #hold(row: Row, own = row): readonly Row[] {
    this.#held.push(row)
    this.#heldText += textSize(own)
    if (this.#held.length < mostRows && this.#heldText < mostText) return []
    this.#full = true
    return this.#release()
  }

  #release(): readonly Row[] {
    const [first, ...others] = this.#held.map((row) => (row.fault === undefined ? this.#withImages(row) : row))
    const joined = this.#joinedHere
    this.#held = []
    this.#heldText = 0
    this.#joinedHere = 0
    // A product's first row is held first, and no fault.
    return first === undefined ? others : [joinedInto(first, joined), ...others]
  }

  #withImages(row: Row): Row {
    if (this.#images.length === 0) return row
    const cells = [...row.cells]
    cells[this.#image] = this.#images.length === 1 ? this.#images[0] : this.#images
    return { ...row, cells }
  }
}

/** Its product's title and the rest stand in no row before it: guessing from another product is out of the question. */
function withoutFirst(row: Row): Row {
  return {
    ...row,
    fault: { code: 'PRODUCT_ROW_MISSING', field: 'title', message: 'the first row of its product does not stand before it' },
  }
}
