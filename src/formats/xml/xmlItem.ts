import { SaxesParser } from 'saxes'
import type { SaxesTagNS } from 'saxes'
import type { Cell } from '../../model/record.ts'
import type { ColumnRegistry } from '../columnRegistry.ts'
import { entityTable } from './htmlEntities.ts'

/** Product namespace of Google Shopping feeds, and the beginning that is compared, because some exporters change the version or its end. */
export const productNamespace = 'http://base.google.com/ns/1.0'
export const productNamespaces = 'http://base.google.com/ns/'
const atomNamespace = 'http://www.w3.org/2005/Atom'
const xincludeNamespace = 'http://www.w3.org/2001/XInclude'

/** Error of an item that is not well-formed XML; `line` counts from 0 at the first line of the item. */
export class XmlItemError extends Error {
  readonly line: number
  constructor(message: string, line: number) {
    super(message)
    this.line = line
  }
}

/** @throws XmlItemError for an element of XInclude. `line`: of the tag, from 0 */
export function rejectXInclude(tag: Pick<SaxesTagNS, 'uri'>, line: number): void {
  if (tag.uri === xincludeNamespace) throw new XmlItemError('XInclude is not supported', line)
}

/**
 * Reads items into cells by column. The XML must be well-formed, and every prefix must be bound; `g` is bound to the product namespace by
 * default. Resolves numeric references, the five entities of XML, and those of HTML if allowed.
 *
 * Only direct children of the item are fields; a child with child elements (`shipping`) is left out. The column of an element of
 * the product namespace, RSS or Atom is its local name; the column of any other element is `prefix:name`. If a product element and a
 * plain element have the same name, the product element is used; `overridden` counts such pairs with different values. Repeated
 * elements become one cell of several texts. The text of an Atom link is its `href`.
 *
 * Uses saxes, because it checks well-formedness and takes 4.6 s for 200,000 items; fast-xml-parser takes 15 s
 * (docs/decisions/parsers.md). The tests compare the two.
 */
export class XmlItemReader {
  readonly #parser: SaxesParser<{ xmlns: true; fragment: true; additionalNamespaces: Record<string, string> }>
  readonly #columns: ColumnRegistry
  #depth = 0
  #text = ''
  #nested = false
  #position = -1
  #fromProduct = false
  readonly #scopeBinds: boolean
  #htmlColumns = new Set<string>()
  #itemBinds = false
  #cells: (Cell | undefined)[] = []
  /** Positions that a product element has filled in this item. */
  #productCells = new Set<number>()
  /** Number of plain elements whose value differs from the product element of the same name, over all items. */
  overridden = 0
  /** True if an element used `g:` without a declaration (docs/inputs.md, case 144). */
  prefixAssumed = false

  /** `namespaces`: prefixes bound around the items. `htmlEntities`: true to resolve entities of HTML, which are an error otherwise. */
  constructor(columns: ColumnRegistry, namespaces: Readonly<Record<string, string>>, htmlEntities = false) {
    this.#columns = columns
    this.#scopeBinds = namespaces['g'] !== undefined
    const parser = new SaxesParser({ xmlns: true, fragment: true, additionalNamespaces: { g: productNamespace, ...namespaces } })
    this.#parser = parser
    parser.ENTITIES = entityTable(htmlEntities, () => {
      if (this.#depth === 2) this.#htmlColumns.add(this.#columns.names()[this.#position] ?? '')
    })
    parser.on('error', (error) => {
      // saxes starts its messages with `line:column: `.
      throw new XmlItemError(error.message.replace(/^\d+:\d+: /, ''), parser.line - 1)
    })
    parser.on('opentag', (tag) => this.#open(tag))
    parser.on('text', (text) => this.#take(text))
    parser.on('cdata', (text) => this.#take(text))
    parser.on('closetag', () => this.#close())
  }

  /** Returns the cells of one item. @throws XmlItemError; the reader cannot be used afterwards */
  read(text: string): readonly (Cell | undefined)[] {
    this.#cells = []
    this.#productCells.clear()
    this.#htmlColumns.clear()
    this.#depth = 0
    this.#parser.write(text).close()
    return this.#cells
  }

  /** Columns of the last item that contained an entity of HTML. */
  get htmlColumns(): readonly string[] {
    return [...this.#htmlColumns]
  }

  #open(tag: SaxesTagNS): void {
    rejectXInclude(tag, this.#parser.line - 1)
    this.#depth++
    if (this.#depth > 2) this.#nested = true
    if (this.#depth === 1) this.#itemBinds = this.#scopeBinds || tag.ns['g'] !== undefined
    if (this.#depth !== 2) return
    if (tag.prefix === 'g' && !this.#itemBinds && tag.ns['g'] === undefined) this.prefixAssumed = true
    this.#text = ''
    this.#nested = false
    this.#fromProduct = tag.uri.startsWith(productNamespaces)
    const plain = this.#fromProduct || tag.prefix === '' || tag.uri === atomNamespace
    this.#position = this.#columns.position(plain ? tag.local : tag.name)
    const href = tag.attributes['href']
    if (tag.uri === atomNamespace && href !== undefined) this.#text = typeof href === 'string' ? href : href.value
  }

  #take(text: string): void {
    if (this.#depth === 2) this.#text += text
  }

  #close(): void {
    if (this.#depth-- !== 2 || this.#nested) return
    const text = this.#text.trim()
    const at = this.#position
    const before = this.#cells[at]
    if (this.#fromProduct && before !== undefined && !this.#productCells.has(at)) {
      if (before !== text) this.overridden++
      this.#cells[at] = text
    } else if (!this.#fromProduct && this.#productCells.has(at)) {
      if (before !== text) this.overridden++
    } else if (text !== '') {
      this.#cells[at] = before === undefined ? text : typeof before === 'string' ? [before, text] : [...before, text]
    }
    if (this.#fromProduct) this.#productCells.add(at)
  }
}
