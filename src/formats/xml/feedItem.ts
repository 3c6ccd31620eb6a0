import type { Cell } from '../../model/record.ts'
import type { ColumnRegistry } from '../columnRegistry.ts'
import { ItemCells } from './itemCells.ts'
import { PlainItemReader } from './plainItem.ts'
import { StrictItemReader } from './strictItem.ts'

const noColumns: readonly string[] = []

/** Facts about all items of a feed, for its notes. */
export interface ItemFindings {
  /** Number of differences between product elements and elements of the same name outside the product namespace. */
  overriddenCount: number
  /** True if an element used `g:` without a declaration (docs/inputs.md, case 144). */
  prefixAssumed: boolean
}

/**
 * Reads items into cells by column. The XML must be well-formed, and every prefix must be bound. By default, `g` is bound to the product
 * namespace. Resolves numeric references, the five entities of XML and, if allowed, those of HTML.
 *
 * Only direct children of the item are fields. A child with child elements (`shipping`) is left out. The text of an Atom link is its
 * `href`. `ItemCells` has the rules for elements of the same name. The column of an element is
 * - its local name, if the element has no prefix or is in the product or Atom namespace
 * - `prefix:name` otherwise
 */
export class FeedItemReader {
  readonly #cells = new ItemCells()
  readonly #plain: PlainItemReader
  readonly #strict: StrictItemReader
  readonly #findings: ItemFindings
  /** True if `PlainItemReader` could read the last item. */
  #wasPlain = false

  /**
   * `namespaces`: prefixes bound around the items. `htmlEntities`: true to resolve entities of HTML; if false, they are an error.
   * `findings`: updated by `read`.
   */
  constructor(columns: ColumnRegistry, namespaces: Readonly<Record<string, string>>, htmlEntities: boolean, findings: ItemFindings) {
    this.#findings = findings
    this.#plain = new PlainItemReader(columns, namespaces, this.#cells)
    this.#strict = new StrictItemReader(columns, namespaces, this.#cells, htmlEntities)
  }

  /** Returns the cells of one item. @throws XmlItemError; the reader cannot be used after an error */
  read(item: string): readonly (Cell | undefined)[] {
    const cells = this.#cells
    cells.begin()
    this.#wasPlain = this.#plain.read(item)
    if (!this.#wasPlain) {
      cells.begin()
      this.#strict.read(item)
    }
    this.#findings.overriddenCount += cells.overriddenCount
    this.#findings.prefixAssumed ||= this.#plain.prefixAssumed || this.#strict.prefixAssumed
    return cells.cells
  }

  /** Columns in which the last item had an entity of HTML. */
  get htmlColumns(): readonly string[] {
    return this.#wasPlain ? noColumns : this.#strict.htmlColumns
  }
}
