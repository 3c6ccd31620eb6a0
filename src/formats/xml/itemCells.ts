import { addText, type OpenCells } from '../columnRegistry.ts'

/**
 * Cells of the current item by column. A product element is in the product namespace; a plain element is not. If both have the same name,
 * the product element is used, even if it is empty. Repeated elements become one cell of several texts. Other empty elements are left out.
 */
export class ItemCells {
  cells: OpenCells = []
  /** By position of a column: number of the last item with a product element of this column. */
  readonly #lastProductItem: number[] = []
  #item = 0
  /** Number of differences between plain elements and product elements of the same name, in this item. */
  overriddenCount = 0

  /** Begins an item without cells. */
  begin(): void {
    this.cells = []
    this.overriddenCount = 0
    this.#item++
  }

  /** Adds the text of an element. `at`: position of its column. `fromProduct`: true if the element is in the product namespace. */
  add(at: number, fromProduct: boolean, text: string): void {
    const existing = this.cells[at]
    const hasProduct = this.#lastProductItem[at] === this.#item
    if (fromProduct && existing !== undefined && !hasProduct) {
      if (existing !== text) this.overriddenCount++
      this.cells[at] = text
    } else if (!fromProduct && hasProduct) {
      if (existing !== text) this.overriddenCount++
    } else if (text !== '') addText(this.cells, at, text)
    if (fromProduct) this.#lastProductItem[at] = this.#item
  }
}
