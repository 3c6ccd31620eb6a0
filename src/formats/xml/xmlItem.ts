import type { Cell } from '../../model/record.ts'
import type { ColumnRegistry } from '../columnRegistry.ts'
import { ItemCells } from './itemCells.ts'
import { PlainItemReader } from './plainItem.ts'
import { StrictItemReader } from './strictItem.ts'

const noColumns: readonly string[] = []

/** Facts about all items of a feed, for its notes. */
export interface ItemFindings {
  /** Number of plain elements whose value differs from the product element of the same name. */
  overridden: number
  /** True if an element used `g:` without a declaration (docs/inputs.md, case 144). */
  prefixAssumed: boolean
}

/**
 * Reads items into cells by column. The XML must be well-formed, and every prefix must be bound; `g` is bound to the product namespace by
 * default. Resolves numeric references, the five entities of XML, and those of HTML if allowed.
 *
 * Only direct children of the item are fields; a child with child elements (`shipping`) is left out. The column of an element of
 * the product namespace, RSS or Atom is its local name; the column of any other element is `prefix:name`. If a product element and a
 * plain element have the same name, the product element is used. Repeated
 * elements become one cell of several texts. The text of an Atom link is its `href`.
 */
export class XmlItemReader {
  readonly #cells = new ItemCells()
  readonly #plain: PlainItemReader
  readonly #strict: StrictItemReader
  readonly #findings: ItemFindings
  #wasPlain = false

  /**
   * `namespaces`: prefixes bound around the items. `htmlEntities`: true to resolve entities of HTML, which are an error otherwise.
   * `findings`: updated by `read`.
   */
  constructor(columns: ColumnRegistry, namespaces: Readonly<Record<string, string>>, htmlEntities: boolean, findings: ItemFindings) {
    this.#findings = findings
    this.#plain = new PlainItemReader(columns, namespaces, this.#cells)
    this.#strict = new StrictItemReader(columns, namespaces, this.#cells, htmlEntities)
  }

  /** Returns the cells of one item. @throws XmlItemError; the reader cannot be used afterwards */
  read(item: string): readonly (Cell | undefined)[] {
    const cells = this.#cells
    cells.begin()
    this.#wasPlain = this.#plain.read(item)
    if (!this.#wasPlain) {
      cells.begin()
      this.#strict.read(item)
    }
    this.#findings.overridden += cells.overridden
    this.#findings.prefixAssumed ||= this.#plain.prefixAssumed || this.#strict.prefixAssumed
    return cells.cells
  }

  /** Columns of the last item that contained an entity of HTML. */
  get htmlColumns(): readonly string[] {
    return this.#wasPlain ? noColumns : this.#strict.htmlColumns
  }
}
