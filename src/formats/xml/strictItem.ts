import { SaxesParser } from 'saxes'
import type { SaxesTagNS } from 'saxes'
import type { ColumnRegistry } from '../columnRegistry.ts'
import { entityTable } from './htmlEntities.ts'
import type { ItemCells } from './itemCells.ts'
import { atomNamespace, productNamespace, productNamespaces, xincludeNamespace } from './namespaces.ts'

/** Error of an item that is not well-formed XML; `line` counts from 0 at the first line of the item. */
export class XmlItemError extends Error {
  readonly line: number
  constructor(message: string, line: number) {
    super(message)
    this.line = line
  }
}

/** Rejects an element of XInclude. `line`: line of the tag in the item, from 0. @throws XmlItemError */
export function rejectXInclude(tag: Pick<SaxesTagNS, 'uri'>, line: number): void {
  if (tag.uri === xincludeNamespace) throw new XmlItemError('XInclude is not supported', line)
}

/**
 * Reads any well-formed item into cells, by the rules of `XmlItemReader`. Uses saxes, because it checks well-formedness and takes 4.6 s for
 * 200,000 items; fast-xml-parser takes 15 s (docs/decisions/parsers.md). The tests compare the two.
 */
export class StrictItemReader {
  readonly #parser: SaxesParser<{ xmlns: true; fragment: true; additionalNamespaces: Record<string, string> }>
  readonly #entities: Record<string, string>
  readonly #columns: ColumnRegistry
  #depth = 0
  #text = ''
  #nested = false
  #position = -1
  #fromProduct = false
  /** True if the prefix `g` is bound around the items. */
  readonly #scopeBinds: boolean
  #htmlColumns = new Set<string>()
  /** True if `g` is bound around the items or by the current item. */
  #itemBinds = false
  readonly #cells: ItemCells
  /** True if an element used `g:` without a declaration (docs/inputs.md, case 144). */
  prefixAssumed = false

  /** `namespaces`: prefixes bound around the items. `htmlEntities`: true to resolve entities of HTML, which are an error otherwise. */
  constructor(columns: ColumnRegistry, namespaces: Readonly<Record<string, string>>, cells: ItemCells, htmlEntities = false) {
    this.#columns = columns
    this.#cells = cells
    this.#scopeBinds = namespaces['g'] !== undefined
    const parser = new SaxesParser({ xmlns: true, fragment: true, additionalNamespaces: { g: productNamespace, ...namespaces } })
    this.#parser = parser
    this.#entities = entityTable(htmlEntities, () => {
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

  /** Adds the cells of one item. @throws XmlItemError; the reader cannot be used after an error */
  read(text: string): void {
    this.#htmlColumns.clear()
    this.#depth = 0
    // saxes 6 sets its own table, which accepts `&constructor;`, at each `close`.
    this.#parser.ENTITIES = this.#entities
    this.#parser.write(text).close()
  }

  /** Columns in which the last item had an entity of HTML. */
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
    this.#cells.add(this.#position, this.#fromProduct, this.#text.trim())
  }
}
