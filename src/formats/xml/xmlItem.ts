import type { Cell } from '../../model/record.ts'
import type { ColumnRegistry } from '../columnRegistry.ts'
import { ItemCells } from './itemCells.ts'
import { PlainItemReader } from './plainItem.ts'
import { StrictItemReader } from './strictItem.ts'

const noColumns: readonly string[] = []

/**
 * Reads items into cells by column. The XML must be well-formed, and every prefix must be bound; `g` is bound to the product namespace by
 * default. Resolves numeric references, the five entities of XML, and those of HTML if allowed.
 *
 * Only direct children of the item are fields; a child with child elements (`shipping`) is left out. The column of an element of
 * the product namespace, RSS or Atom is its local name; the column of any other element is `prefix:name`. If a product element and a
 * plain element have the same name, the product element is used; `overridden` counts such pairs with different values. Repeated
 * elements become one cell of several texts. The text of an Atom link is its `href`.
 */
export class XmlItemReader {
  readonly #cells = new ItemCells()
  readonly #plain: PlainItemReader
  readonly #strict: StrictItemReader
  #wasPlain = false

  /** `namespaces`: prefixes bound around the items. `htmlEntities`: true to resolve entities of HTML, which are an error otherwise. */
  constructor(columns: ColumnRegistry, namespaces: Readonly<Record<string, string>>, htmlEntities = false) {
    this.#plain = new PlainItemReader(columns, namespaces, this.#cells)
    this.#strict = new StrictItemReader(columns, namespaces, this.#cells, htmlEntities)
  }

  /** Returns the cells of one item. @throws XmlItemError; the reader cannot be used afterwards */
  read(item: string): readonly (Cell | undefined)[] {
    const cells = this.#cells
    const { overridden } = cells
    cells.begin()
    this.#wasPlain = this.#plain.read(item)
    if (!this.#wasPlain) {
      cells.begin()
      cells.overridden = overridden
      this.#strict.read(item)
    }
    return cells.cells
  }

  /** Columns of the last item that contained an entity of HTML. */
  get htmlColumns(): readonly string[] {
    return this.#wasPlain ? noColumns : this.#strict.htmlColumns
  }

  /** Number of plain elements whose value differs from the product element of the same name, over all items. */
  get overridden(): number {
    return this.#cells.overridden
  }

  /** True if an element used `g:` without a declaration (docs/inputs.md, case 144). */
  get prefixAssumed(): boolean {
    return this.#plain.prefixAssumed || this.#strict.prefixAssumed
  }
}
