import { SaxesParser } from 'saxes'
import type { SaxesTagNS } from 'saxes'
import type { Cell } from '../../model/record.ts'
import type { ColumnRegistry } from '../columnRegistry.ts'
import { entityTable } from './htmlEntities.ts'
import { productNamespace, refuseXInclude, XmlItemError } from './xmlItem.ts'

/**
 * Reads records of any XML, one after the other, into cells by column, as strictly as `XmlItemReader`. Nothing is known of
 * their elements, so everything in them is a column: a text by the names on its way (`price`, `pictures.picture`), without
 * prefixes, an attribute with @ before its name (`@id`, `price.@currency`). What repeats is one cell of several texts;
 * blank texts are absent, and an element that only holds others is no column.
 */
export class XmlElementReader {
  readonly #parser: SaxesParser<{ xmlns: true; fragment: true; additionalNamespaces: Record<string, string> }>
  readonly #columns: ColumnRegistry
  /** Elements that are open below the record: path, all text in them, and whether some of it is their own. */
  readonly #open: { readonly path: string; text: string; speaks: boolean }[] = []
  #inRecord = false
  readonly #htmlColumns = new Set<string>()
  #cells: (Cell | undefined)[] = []
  readonly overridden = 0
  readonly prefixAssumed = false

  constructor(columns: ColumnRegistry, namespaces: Readonly<Record<string, string>>, htmlEntities: boolean) {
    this.#columns = columns
    const parser = new SaxesParser({ xmlns: true, fragment: true, additionalNamespaces: { g: productNamespace, ...namespaces } })
    this.#parser = parser
    parser.ENTITIES = entityTable(htmlEntities, () => {
      const around = this.#open.at(-1)
      if (around !== undefined) this.#htmlColumns.add(around.path)
    })
    parser.on('error', (error) => {
      // saxes puts `line:column: ` in front.
      throw new XmlItemError(error.message.replace(/^\d+:\d+: /, ''), parser.line - 1)
    })
    parser.on('opentag', (tag) => this.#begin(tag))
    parser.on('text', (text) => this.#take(text))
    parser.on('cdata', (text) => this.#take(text))
    parser.on('closetag', () => this.#end())
  }

  /** @throws XmlItemError; the reader cannot be used afterwards */
  read(text: string): readonly (Cell | undefined)[] {
    this.#cells = []
    this.#htmlColumns.clear()
    this.#open.length = 0
    this.#inRecord = false
    this.#parser.write(text).close()
    return this.#cells
  }

  /** Columns of the last record in whose text an entity of HTML stood. */
  get htmlColumns(): readonly string[] {
    return [...this.#htmlColumns]
  }

  #begin(tag: SaxesTagNS): void {
    refuseXInclude(tag, this.#parser.line - 1)
    const around = this.#open.at(-1)
    const way = around === undefined ? '' : `${around.path}.`
    const path = this.#inRecord ? `${way}${tag.local}` : ''
    for (const { name, local, value } of Object.values(tag.attributes))
      if (name !== 'xmlns' && !name.startsWith('xmlns:')) this.#add(path === '' ? `@${local}` : `${path}.@${local}`, value)
    if (this.#inRecord) this.#open.push({ path, text: '', speaks: false })
    this.#inRecord = true
  }

  #take(text: string): void {
    const around = this.#open.at(-1)
    if (around === undefined) return
    around.text += text
    around.speaks ||= text.trim() !== ''
  }

  /** Of `a <b>good</b> cup` all words count; blanks between elements are layout. */
  #end(): void {
    const closed = this.#open.pop()
    if (closed === undefined) return
    const around = this.#open.at(-1)
    if (around !== undefined) around.text += closed.text
    if (closed.speaks) this.#add(closed.path, closed.text)
  }

  #add(column: string, given: string): void {
    const text = given.trim()
    const at = this.#columns.position(column)
    if (text === '') return
    const before = this.#cells[at]
    this.#cells[at] = before === undefined ? text : typeof before === 'string' ? [before, text] : [...before, text]
  }
}
