import type { SaxesTagNS } from 'saxes'
import type { Cell } from '../../model/record.ts'
import { addText, maxNameLength, type ColumnRegistry, type OpenCells } from '../columnRegistry.ts'
import { FragmentParser, XmlItemError } from './fragmentParser.ts'

/**
 * Reads records of any XML into cells by column, as strictly as `FeedItemReader`. The elements are unknown, so each element below the record
 * with a text of its own becomes a column. Its name is its path without prefixes (`price`, `pictures.picture`). Each attribute becomes a
 * column too, with @ before its name (`@id`, `price.@currency`). Repeated elements are one cell of several texts.
 */
export class XmlRecordReader {
  readonly #parser: FragmentParser
  readonly #columns: ColumnRegistry
  /**
   * Open elements below the record, with their path and all text in them. `hasOwnText`: true if some of the text is not in an inner
   * element.
   */
  readonly #open: { readonly path: string; text: string; hasOwnText: boolean }[] = []
  #inRecord = false
  readonly #htmlColumns = new Set<string>()
  #cells: OpenCells = []

  /** `namespaces`: prefixes bound around the records. `htmlEntities`: true to resolve entities of HTML; if false, they are an error. */
  constructor(columns: ColumnRegistry, namespaces: Readonly<Record<string, string>>, htmlEntities: boolean) {
    this.#columns = columns
    this.#parser = new FragmentParser(namespaces, htmlEntities, {
      open: (tag) => this.#begin(tag),
      text: (text) => this.#addText(text),
      close: () => this.#end(),
      htmlEntity: () => {
        const element = this.#open.at(-1)
        if (element !== undefined) this.#htmlColumns.add(element.path)
      },
    })
  }

  /** Returns the cells of one record. @throws XmlItemError, also for a long path; the reader cannot be used after an error */
  read(text: string): readonly (Cell | undefined)[] {
    this.#cells = []
    this.#htmlColumns.clear()
    this.#open.length = 0
    this.#inRecord = false
    this.#parser.parse(text)
    return this.#cells
  }

  /** Columns in which the last record had an entity of HTML. */
  get htmlColumns(): readonly string[] {
    return [...this.#htmlColumns]
  }

  #begin(tag: SaxesTagNS): void {
    const parent = this.#open.at(-1)
    const prefix = parent === undefined ? '' : `${parent.path}.`
    const path = this.#inRecord ? `${prefix}${tag.local}` : ''
    for (const { name, local, value } of Object.values(tag.attributes))
      if (name !== 'xmlns' && !name.startsWith('xmlns:')) this.#add(path === '' ? `@${local}` : `${path}.@${local}`, value)
    if (this.#inRecord) this.#open.push({ path, text: '', hasOwnText: false })
    this.#inRecord = true
  }

  #addText(text: string): void {
    const element = this.#open.at(-1)
    if (element === undefined) return
    element.text += text
    element.hasOwnText ||= text.trim() !== ''
  }

  /** Ends an element. Its text includes the text of inner elements (`a <b>good</b> cup`). White space alone is not a text. */
  #end(): void {
    const closed = this.#open.pop()
    if (closed === undefined) return
    const parent = this.#open.at(-1)
    if (parent !== undefined) parent.text += closed.text
    if (closed.hasOwnText) this.#add(closed.path, closed.text)
  }

  #add(column: string, given: string): void {
    // The file is rejected, so the line of the record is enough.
    if (column.length > maxNameLength) throw new XmlItemError(`an element with its path is longer than ${maxNameLength} characters`, 0)
    const text = given.trim()
    const at = this.#columns.position(column)
    if (text !== '') addText(this.#cells, at, text)
  }
}
