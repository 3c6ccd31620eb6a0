import type { Cell } from '../../model/record.ts'

/**
 * Cells of the current item by column. If a product element and a plain element have the same name, the product element is used. Repeated
 * elements become one cell of several texts; empty elements are left out.
 */
export class ItemCells {
  cells: (Cell | undefined)[] = []
  /** Number of the item in which a product element filled the position last. */
  readonly #filledIn: number[] = []
  #item = 0
  /** Number of plain elements of this item whose value differs from the product element of the same name. */
  overridden = 0

  /** Begins an item without cells. */
  begin(): void {
    this.cells = []
    this.overridden = 0
    this.#item++
  }

  /** Adds the text of an element. `fromProduct`: the element is in the product namespace. */
  add(at: number, fromProduct: boolean, text: string): void {
    const before = this.cells[at]
    const filled = this.#filledIn[at] === this.#item
    if (fromProduct && before !== undefined && !filled) {
      if (before !== text) this.overridden++
      this.cells[at] = text
    } else if (!fromProduct && filled) {
      if (before !== text) this.overridden++
    } else if (text !== '') {
      this.cells[at] = before === undefined ? text : typeof before === 'string' ? [before, text] : [...before, text]
    }
    if (fromProduct) this.#filledIn[at] = this.#item
  }
}
