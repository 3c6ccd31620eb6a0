import type { Cell } from '../../model/record.ts'

/**
 * Cells of the current item by column. A product element is in the product namespace; a plain element is not. If both have the same name,
 * the product element is used, even if it is empty. Repeated elements become one cell of several texts. Other empty elements are left out.
 */
export class ItemCells {
  cells: (Cell | undefined)[] = []
  /** By position: number of the last item with a product element there. */
  readonly #filledIn: number[] = []
  #item = 0
  /** Number of differences between plain elements and product elements of the same name, in this item. */
  overridden = 0

  /** Begins an item without cells. */
  begin(): void {
    this.cells = []
    this.overridden = 0
    this.#item++
  }

  /** Adds the text of an element. `at`: position of its column. `fromProduct`: true if the element is in the product namespace. */
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
